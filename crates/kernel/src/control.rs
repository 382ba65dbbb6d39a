//! The stop button and the end of the process of the cells.
//!
//! A fit of the library catches SIGINT while it runs: it ends after its current step and returns what it has fitted. If
//! nothing catches the signal, the cell runs code that cannot be stopped, and the process is killed, which loses the
//! variables. So does a second press of the button, if the first had no effect.
//!
//! While a cell is still being compiled, the process of the cells has a handler for the signal that does nothing.
//! Before it runs the cell it looks for a file, and does not run the cell if the file is there.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex};

use crate::kernel_folder;

/// The process in which the cells run. Every thread may have a copy of this.
#[derive(Clone, Default)]
pub struct Control(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    process: Option<Arc<Mutex<Child>>>,
    /// Requests to run a cell that have been received and not been answered.
    requests: usize,
    /// Whether the running cell, or the next one if none runs yet, has been asked to stop.
    asked: bool,
}

impl Control {
    pub fn set_process(&self, process: Arc<Mutex<Child>>) {
        self.with(|state| state.process = Some(process));
    }

    /// Notes that a request to run a cell has been received.
    pub fn received(&self) {
        self.with(|state| state.requests += 1);
    }

    /// Notes that the oldest request is answered. Returns whether its cell was asked to stop.
    pub fn answered(&self) -> bool {
        self.with(|state| {
            state.requests -= 1;
            let _ = fs::remove_file(stop_file());
            std::mem::take(&mut state.asked)
        })
    }

    /// Whether the cell has been asked to stop.
    pub fn is_asked(&self) -> bool {
        self.with(|state| state.asked)
    }

    /// Stops the running cell, or keeps the next one from running if its request has been received.
    pub fn interrupt(&self) {
        self.with(|state| {
            if state.requests == 0 {
                return;
            }
            let again = std::mem::replace(&mut state.asked, true);
            let Some(id) = state.process.as_ref().and_then(id) else {
                return;
            };
            // Before the look at the handler: the process ignores the signal before it looks for the file.
            let _ = fs::write(stop_file(), "");
            let signal = match catches_interrupts(id) && !again {
                true => libc::SIGINT,
                false => libc::SIGKILL,
            };
            // SAFETY: the call touches no memory, and the process has not been waited for, so that its number is its own.
            unsafe { libc::kill(id, signal) };
        });
    }

    /// Ends the process of the cells.
    pub fn kill(&self) {
        self.with(|state| {
            if let Some(id) = state.process.as_ref().and_then(id) {
                // SAFETY: as above.
                unsafe { libc::kill(id, libc::SIGKILL) };
            }
        });
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // The state is valid even after a panic of a thread that held the lock.
        change(
            &mut self
                .0
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        )
    }
}

/// The file that keeps the process of the cells from running the next cell.
pub fn stop_file() -> PathBuf {
    kernel_folder().join("stop")
}

/// The process's number, unless somebody waits for its end.
fn id(process: &Arc<Mutex<Child>>) -> Option<i32> {
    process.try_lock().ok()?.id().try_into().ok()
}

/// Whether a process has a handler for SIGINT (the bits of caught signals in /proc).
fn catches_interrupts(id: i32) -> bool {
    fs::read_to_string(format!("/proc/{id}/status")).is_ok_and(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
            .is_some_and(|bits| bits & (1 << (libc::SIGINT - 1)) != 0)
    })
}
