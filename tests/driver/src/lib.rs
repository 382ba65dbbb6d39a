//! A CUDA driver without a card.
//!
//! The shared library stands in for `libcuda`, for `libnvidia-ml` and, where the real one is not to be had, for
//! `libnvrtc`: it exports what CubeCL's CUDA runtime and this repository ask of them. A process that finds it under those
//! names (through `LD_LIBRARY_PATH`) runs the whole path of a card but for the kernels' arithmetic:
//!
//! - The card's memory is address space of which only touched pages cost anything. What is taken is counted, and refused
//!   beyond the card's size.
//! - Copies copy, within what is allocated; any other pointer is an error.
//! - A launch does nothing. That each pointer it gets lies in an allocation is checked, and counted.
//! - Streams and events keep their order on a clock of their own. With a rate of the bus, copies take their time there,
//!   and who waits for them sleeps so long: the schedule of a simulated bus, not the speed of any.
//!
//! The environment describes the card; [`Settings`](settings::Settings) lists the variables. What happened is in the
//! [`Report`].

mod clock;
mod cuda;
mod launch;
mod memory;
mod nvml;
mod nvrtc;
mod report;
mod settings;
mod state;

pub use report::Report;

use std::ffi::{CStr, c_void};

/// What the driver that this process finds has seen; `None` where it finds another, or none.
pub fn report() -> Option<Report> {
    let ask: unsafe extern "C" fn(*mut Report) = of_driver(c"cardless_report")?;
    let mut report = Report::default();
    // SAFETY: the function below, of the same source.
    unsafe { ask(&mut report) };
    Some(report)
}

/// Another process holds so many bytes of the card: from now on, or after so many more allocations.
pub fn others_take(bytes: u64, after: u64) {
    let ask: Option<unsafe extern "C" fn(u64, u64)> = of_driver(c"cardless_others_take");
    if let Some(ask) = ask {
        // SAFETY: the function below, of the same source.
        unsafe { ask(bytes, after) };
    }
}

/// A function of the driver that this process finds.
fn of_driver<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: both names are C strings; and `F` is the function's type, as both callers are of the same source.
    unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        let address = match library.is_null() {
            true => library,
            false => libc::dlsym(library, name.as_ptr()),
        };
        (!address.is_null()).then(|| std::mem::transmute_copy(&address))
    }
}

/// # Safety
/// `out` is valid for a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cardless_report(out: *mut Report) {
    // SAFETY: as promised by the caller.
    unsafe { *out = state::state().report };
}

#[unsafe(no_mangle)]
pub extern "C" fn cardless_others_take(bytes: u64, after: u64) {
    state::state().memory.others_take(bytes as usize, after);
}
