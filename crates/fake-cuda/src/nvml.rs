//! The functions of `libnvidia-ml` that report the driver's version and the GPU's memory.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::state::state;

/// `nvmlMemory_t`
#[repr(C)]
pub struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

const SUCCESS: c_int = 0;
const INVALID_ARGUMENT: c_int = 2;

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    SUCCESS
}

/// # Safety
/// `version` is valid for writing `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> c_int {
    let text = c"0.0";
    if (length as usize) < text.count_bytes() + 1 {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller's buffer has `length` bytes, which are enough.
    unsafe {
        text.as_ptr()
            .copy_to_nonoverlapping(version, text.count_bytes() + 1)
    };
    SUCCESS
}

/// # Safety
/// `bus_id` is a C string, and `device` is valid for writing a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    bus_id: *const c_char,
    device: *mut *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    let bus_id = unsafe { CStr::from_ptr(bus_id) }.to_string_lossy();
    let bus = bus_id
        .split(':')
        .nth(1)
        .and_then(|bus| i32::from_str_radix(bus, 16).ok());
    match bus.filter(|bus| (0..state().settings.gpus).contains(bus)) {
        // SAFETY: as the caller promises.
        Some(bus) => unsafe { *device = (bus as usize + 1) as *mut c_void },
        None => return INVALID_ARGUMENT,
    }
    SUCCESS
}

/// # Safety
/// `memory` is valid for writing an `nvmlMemory_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(_: *mut c_void, memory: *mut Memory) -> c_int {
    let state = state();
    let info = Memory {
        total: state.memory.total as u64,
        free: state.memory.free() as u64,
        used: (state.memory.total - state.memory.free()) as u64,
    };
    // SAFETY: as the caller promises.
    unsafe { *memory = info };
    SUCCESS
}
