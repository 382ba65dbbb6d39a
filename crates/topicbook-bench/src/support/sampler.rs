//! Samples this process in a thread of its own, independently of the library's monitor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::anonymous::anonymous;

/// Keeps what the samples add up to.
pub struct Sampler<T> {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<T>,
}

impl Sampler<u64> {
    /// Keeps the peak of anonymous memory, in bytes.
    pub fn start() -> Self {
        Self::each(Duration::from_millis(1), 0, |peak| {
            *peak = anonymous().max(*peak);
        })
    }
}

impl<T: Send + 'static> Sampler<T> {
    /// Calls `sample` once in a period.
    pub fn each(period: Duration, mut samples: T, sample: fn(&mut T)) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                sample(&mut samples);
                std::thread::sleep(period);
            }
            samples
        });
        Self { stop, thread }
    }

    /// Stops sampling.
    ///
    /// # Panics
    /// When a sample has.
    pub fn finish(self) -> T {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
