//! Samples the anonymous memory of this process in a thread of its own, independently of the library's monitor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::anonymous::anonymous;

/// Keeps the peak of anonymous memory.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Sampler {
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut peak = 0;
            while !stopped.load(Ordering::Relaxed) {
                peak = anonymous().max(peak);
                std::thread::sleep(Duration::from_millis(1));
            }
            peak
        });
        Self { stop, thread }
    }

    /// Stops sampling and returns the peak in bytes.
    pub fn finish(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}
