//! Samples memory of this process in a thread of its own, independently of the library's monitor.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::anonymous::anonymous;

/// Keeps the peak of anonymous memory, and the CPU time of the library's monitor thread.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Samples>,
}

#[derive(Default)]
struct Samples {
    /// In bytes.
    peak_anonymous: u64,
    monitor_seconds: f64,
}

impl Sampler {
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut samples = Samples::default();
            while !stopped.load(Ordering::Relaxed) {
                samples.peak_anonymous = samples.peak_anonymous.max(anonymous());
                samples.monitor_seconds = samples.monitor_seconds.max(monitor_seconds());
                std::thread::sleep(Duration::from_millis(10));
            }
            samples
        });
        Self { stop, thread }
    }

    /// Stops sampling and adds the samples to a record.
    pub fn finish(self, record: &mut Value) {
        self.stop.store(true, Ordering::Relaxed);
        let samples = self.thread.join().unwrap();
        record["peak_anonymous"] = json!(samples.peak_anonymous);
        record["monitor_cpu_seconds"] = json!(samples.monitor_seconds);
        record["cpu_seconds"] = json!(crate::support::record::cpu_seconds());
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
