//! Memory, disk and processor use of this process, sampled independently of the library's monitor.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::anonymous::anonymous;
use crate::support::record::cpu_seconds;
use crate::support::sampler::Sampler;

const PERIOD: Duration = Duration::from_millis(20);

/// Totals since the start of this process, or of the machine, at one moment.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    /// Bytes that this process had read from disks, and of pages that it had changed.
    read: f64,
    written: f64,
    cpu_seconds: f64,
    /// Seconds in which at least one task of the machine waited for a disk (pressure stall information).
    waiting: f64,
}

pub struct Samples {
    all: Vec<Sample>,
    peak_anonymous: u64,
}

impl Sample {
    fn now() -> Self {
        let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
        let bytes = |name: &str| {
            let line = io.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().parse().ok())
                .unwrap_or(f64::NAN)
        };
        let [user, system] = cpu_seconds();
        Self {
            at: Instant::now(),
            read: bytes("read_bytes:"),
            written: bytes("write_bytes:"),
            cpu_seconds: user + system,
            waiting: waiting(),
        }
    }
}

impl Samples {
    pub fn start() -> Sampler<Self> {
        let samples = Self {
            all: vec![Sample::now()],
            peak_anonymous: 0,
        };
        Sampler::each(PERIOD, samples, |samples| {
            samples.peak_anonymous = samples.peak_anonymous.max(anonymous());
            samples.all.push(Sample::now());
        })
    }

    /// The samples of a sampler that ends now.
    pub fn finish(sampler: Sampler<Self>) -> Self {
        let mut samples = sampler.finish();
        samples.all.push(Sample::now());
        samples
    }

    pub fn peak_anonymous(&self) -> u64 {
        self.peak_anonymous
    }

    pub fn whole(&self) -> Value {
        difference(self.all[0], self.all[self.all.len() - 1])
    }

    /// What happened between two moments, to a period of the samples.
    pub fn between(&self, start: Instant, end: Instant) -> Value {
        let at = |moment: Instant| {
            let next = self.all.partition_point(|sample| sample.at < moment);
            self.all[next.min(self.all.len() - 1)]
        };
        difference(at(start), at(end))
    }
}

fn difference(start: Sample, end: Sample) -> Value {
    json!({
        "seconds": (end.at - start.at).as_secs_f64(),
        "read": end.read - start.read,
        "written": end.written - start.written,
        "cpu_seconds": end.cpu_seconds - start.cpu_seconds,
        "waiting_seconds": end.waiting - start.waiting,
    })
}

/// The total of the line `some` in `/proc/pressure/io`, which is in microseconds.
fn waiting() -> f64 {
    let text = fs::read_to_string("/proc/pressure/io").unwrap_or_default();
    let total = text
        .lines()
        .next()
        .and_then(|line| line.split_once("total="));
    let total = total.and_then(|(_, total)| total.trim().parse::<f64>().ok());
    total.map_or(f64::NAN, |total| total / 1e6)
}
