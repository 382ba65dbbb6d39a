//! The stop button of a notebook.
//!
//! topicbook's kernel sends SIGINT to the process of the cells if the process has a handler for it, and ends the process
//! otherwise. So a handler is installed exactly while something listens: work that can end early.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::live_output::in_own_kernel;

/// How often the button was pressed while something listened.
static PRESSES: AtomicUsize = AtomicUsize::new(0);

/// How many listen.
static LISTENERS: Mutex<usize> = Mutex::new(0);

extern "C" fn pressed(_signal: libc::c_int) {
    PRESSES.fetch_add(1, Ordering::Relaxed);
}

/// Listens to the stop button until it is dropped.
pub struct StopButton {
    before: usize,
}

impl StopButton {
    /// `None` outside of topicbook's kernel: there an interrupt ends the program, as people expect.
    pub fn listen() -> Option<Self> {
        in_own_kernel().then(|| {
            let mut listeners = listeners();
            if *listeners == 0 {
                handle(pressed as *const () as libc::sighandler_t);
            }
            *listeners += 1;
            Self {
                before: PRESSES.load(Ordering::Relaxed),
            }
        })
    }

    /// Whether the button was pressed since this began to listen.
    pub fn is_pressed(&self) -> bool {
        PRESSES.load(Ordering::Relaxed) != self.before
    }
}

impl Drop for StopButton {
    fn drop(&mut self) {
        let mut listeners = listeners();
        *listeners -= 1;
        if *listeners == 0 {
            handle(libc::SIG_IGN);
        }
    }
}

fn listeners() -> MutexGuard<'static, usize> {
    // A poisoned lock is harmless: no code panics between a change of the number and the end of its lock.
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn handle(handler: libc::sighandler_t) {
    // SAFETY: the handler only adds to an atomic number, which is allowed in a handler. With `signal`, glibc restarts
    // the system calls that the signal interrupts.
    unsafe { libc::signal(libc::SIGINT, handler) };
}
