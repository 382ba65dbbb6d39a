//! What a process takes, looked at from a thread of its own: independent of the library's monitor.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// Keeps the most anonymous memory that it has seen, and how long the library's monitor ran.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

#[derive(Default)]
struct Seen {
    anonymous: u64,
    monitor: f64,
}

impl Watch {
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut seen = Seen::default();
            while !stopped.load(Ordering::Relaxed) {
                seen.anonymous = seen.anonymous.max(anonymous());
                seen.monitor = seen.monitor.max(monitor_seconds());
                std::thread::sleep(Duration::from_millis(10));
            }
            seen
        });
        Self { stop, thread }
    }

    /// Adds what was seen to a record.
    pub fn end(self, record: &mut Value) {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.thread.join().unwrap();
        record["peak_anonymous"] = json!(seen.anonymous);
        record["monitor_cpu_seconds"] = json!(seen.monitor);
        record["cpu_seconds"] = json!(crate::record::cpu_seconds());
    }
}

fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

/// How long the thread that samples memory for the fit has run on a processor.
fn monitor_seconds() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks
        .flatten()
        .filter(|task| {
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            // Names are cut after 15 characters.
            name.starts_with("topicbook memor")
        })
        .filter_map(|task| {
            let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
            times.split_whitespace().next()?.parse::<f64>().ok()
        })
        .fold(0.0, f64::max)
        / 1e9
}
