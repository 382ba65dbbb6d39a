//! Tests that measure what belongs to the process.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs a test while no other one runs by this function. It has a thread of its own, which has freed its buffers when the next test
/// begins.
///
/// # Panics
/// As the test.
pub fn alone(test: fn()) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(panic) = thread::spawn(test).join() {
        resume_unwind(panic);
    }
}
