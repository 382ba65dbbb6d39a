//! A CUDA driver that needs no GPU, for tests.
//!
//! The shared library stands in for `libcuda`, for `libnvidia-ml` and, where NVIDIA's is not installed, for
//! `libnvrtc`: it exports the functions that CubeCL's CUDA runtime and topicbook call. A process that finds it under
//! those names (through `LD_LIBRARY_PATH`) runs the whole code path of a GPU except for the kernels' arithmetic:
//!
//! - GPU memory is mapped without being reserved, so only pages that are written cost host memory. Allocations are
//!   counted, and fail beyond the GPU's size.
//! - Copies are carried out. An address outside of all allocations is an error.
//! - A launch does nothing but check that each of its pointers lies in an allocation, and count.
//! - Streams and events keep their order in simulated time. With a bus bandwidth, copies take simulated time and a
//!   synchronisation sleeps until then: this shows the schedule of a step, not the speed of any real GPU.
//!
//! Environment variables describe the GPU: see [`Settings`](settings::Settings). The counters are in the [`Report`].

mod clock;
mod driver;
mod memory;
mod nvml;
mod nvrtc;
mod report;
mod settings;
mod signature;
mod state;

pub use report::Report;

use std::ffi::{CStr, c_void};

/// The counters of the driver that this process loads as `libcuda.so.1`; `None` where that is another driver, or none.
pub fn report() -> Option<Report> {
    let read: unsafe extern "C" fn(*mut Report) = driver_function(c"fake_cuda_report")?;
    let mut report = Report::default();
    // SAFETY: `fake_cuda_report` below has this type.
    unsafe { read(&mut report) };
    Some(report)
}

/// Simulates other processes that use `bytes` of the GPU's memory in all, at once or after `after` more allocations.
pub fn set_used_by_others(bytes: u64, after: u64) {
    let set: Option<unsafe extern "C" fn(u64, u64)> =
        driver_function(c"fake_cuda_set_used_by_others");
    if let Some(set) = set {
        // SAFETY: `fake_cuda_set_used_by_others` below has this type.
        unsafe { set(bytes, after) };
    }
}

/// A function of the library that this process finds as `libcuda.so.1`.
fn driver_function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: both names are C strings, and the callers name functions of this file with their types.
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
/// `out` is valid for writing a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_report(out: *mut Report) {
    // SAFETY: as the caller promises.
    unsafe { *out = state::state().report };
}

#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_set_used_by_others(bytes: u64, after: u64) {
    state::state()
        .memory
        .set_used_by_others(bytes as usize, after);
}
