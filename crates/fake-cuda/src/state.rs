//! The state of the library, under one mutex.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::memory::Memory;
use crate::report::Report;
use crate::settings::Settings;
use crate::signature::Signature;

pub struct State {
    pub settings: Settings,
    pub memory: Memory,
    pub clock: Clock,
    pub report: Report,
    /// Loaded kernels; the handle of each is its index plus one.
    pub kernels: Vec<Signature>,
}

/// Results of the driver's functions (`CUresult`).
pub type Status = i32;
pub const SUCCESS: Status = 0;
pub const INVALID_VALUE: Status = 1;
pub const OUT_OF_MEMORY: Status = 2;
pub const NO_DEVICE: Status = 100;
pub const INVALID_DEVICE: Status = 101;
pub const NO_BINARY_FOR_GPU: Status = 209;
pub const INVALID_HANDLE: Status = 400;
pub const NOT_FOUND: Status = 500;
pub const NOT_READY: Status = 600;
pub const ILLEGAL_ADDRESS: Status = 700;

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    // SAFETY: a function without arguments; the library is never unloaded.
    unsafe { libc::atexit(at_exit) };
    let settings = Settings::from_environment();
    Mutex::new(State {
        memory: Memory::new(settings.memory, settings.used_by_others),
        clock: Clock::new(settings.bus),
        report: Report::default(),
        kernels: Vec::new(),
        settings,
    })
});

pub fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn at_exit() {
    if let Some(path) = std::env::var_os("FAKE_CUDA_REPORT") {
        let _ = std::fs::write(path, state().report.text());
    }
}

impl State {
    /// Counts and prints a call with an invalid address, which a real driver would reject or crash on.
    pub fn invalid_access(&mut self, message: &str) -> Status {
        self.report.invalid_accesses += 1;
        eprintln!("fake_cuda: {message}");
        ILLEGAL_ADDRESS
    }

    /// Brings the report's memory counters up to date.
    pub fn update_report(&mut self) {
        let (report, memory) = (&mut self.report, &self.memory);
        report.memory = memory.allocated as u64;
        report.memory_peak = report.memory_peak.max(report.memory);
        report.pinned = memory.pinned_bytes as u64;
        report.pinned_peak = report.pinned_peak.max(report.pinned);
    }
}

/// Blocks until a time on the clock, with the lock released. Memory freed by `cuMemFreeAsync` is released first, as a
/// driver does at a synchronisation.
pub fn sleep_until(mut state: MutexGuard<'static, State>, end: f64) -> Status {
    let seconds = end - state.clock.now();
    state.memory.release_freed();
    state.update_report();
    if seconds > 0.0 {
        state.report.waits += 1;
        state.report.waited_microseconds += (1e6 * seconds) as u64;
        drop(state);
        std::thread::sleep(Duration::from_secs_f64(seconds));
    }
    SUCCESS
}
