//! Memory and the monitor's CPU time of this process, sampled independently of the library's monitor.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::anonymous::anonymous;
use crate::support::record::cpu_seconds;
use crate::support::sampler::Sampler;

#[derive(Default)]
pub struct Samples {
    /// In bytes.
    peak_anonymous: u64,
    monitor_seconds: f64,
}

impl Samples {
    pub fn start() -> Sampler<Self> {
        Sampler::each(Duration::from_millis(10), Self::default(), |samples| {
            samples.peak_anonymous = samples.peak_anonymous.max(anonymous());
            samples.monitor_seconds = samples.monitor_seconds.max(monitor_seconds());
        })
    }

    /// Adds the samples to a record.
    pub fn add_to(&self, record: &mut Value) {
        record["peak_anonymous"] = json!(self.peak_anonymous);
        record["monitor_cpu_seconds"] = json!(self.monitor_seconds);
        record["cpu_seconds"] = json!(cpu_seconds());
    }
}

/// CPU seconds of the thread that samples memory for a fit.
fn monitor_seconds() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .flatten()
        .filter(|task| {
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            // Linux truncates thread names to 15 characters.
            name.starts_with("topicbook memor")
        })
        .filter_map(|task| {
            let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
            times.split_whitespace().next()?.parse::<f64>().ok()
        })
        .fold(0.0, f64::max)
        / 1e9
}
