//! Locks of values that are never half changed, so that a panic of another thread leaves them whole.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for the lock, and ignores that a thread has panicked while it held it.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
