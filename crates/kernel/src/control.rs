//! The stop button and the end of the process of the cells.
//!
//! A fit of the library catches SIGINT while it runs: it ends after its current step and returns what it has fitted. If
//! nothing catches the signal, the cell runs code that cannot be stopped, and the process is killed, which loses the
//! variables. So does a second press of the button, if the first had no effect.
//!
//! While a cell is still being compiled, the process of the cells waits with a handler for the signal that does nothing,
//! and looks for a file before it runs the cell: if the file is there, it does not run the cell.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex};

/// The process in which the cells run. Every thread may have a copy of this.
#[derive(Clone, Default)]
pub struct Control(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    process: Option<Arc<Mutex<Child>>>,
    running: bool,
    /// Whether the running cell has been asked to stop.
    asked: bool,
}

impl Control {
    pub fn set_process(&self, process: Arc<Mutex<Child>>) {
        self.with(|state| state.process = Some(process));
    }

    pub fn cell_begins(&self) {
        self.with(|state| {
            (state.running, state.asked) = (true, false);
            let _ = fs::remove_file(stop_file());
        });
    }

    /// Returns whether the cell was asked to stop.
    pub fn cell_ends(&self) -> bool {
        self.with(|state| {
            state.running = false;
            std::mem::take(&mut state.asked)
        })
    }

    /// Whether the running cell has been asked to stop.
    pub fn is_asked(&self) -> bool {
        self.with(|state| state.asked)
    }

    /// Stops the running cell, if there is one.
    pub fn interrupt(&self) {
        self.with(|state| {
            let Some(id) = state.process.as_ref().and_then(id) else {
                return;
            };
            if !state.running {
                return;
            }
            // Before the look at the handler: the process ignores the signal before it looks for the file.
            let _ = fs::write(stop_file(), "");
            let signal = match catches_interrupts(id) && !state.asked {
                true => libc::SIGINT,
                false => libc::SIGKILL,
            };
            state.asked = true;
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
        // A thread that panicked left a state that is as good as any.
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
    PathBuf::from(env::var_os("TOPICBOOK_KERNEL").unwrap_or_default()).join("stop")
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
