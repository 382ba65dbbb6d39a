//! Waiting for other threads and processes.

use std::time::{Duration, Instant};

/// Polls until `done` is true.
///
/// # Panics
/// After two minutes: the test fails, and `what` is named as missing.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
