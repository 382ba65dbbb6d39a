//! What `libnvidia-ml` says of the card's memory.

use std::ffi::{CStr, c_char, c_int, c_void};

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
/// `place` is a string, and `device` is valid for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    place: *const c_char,
    device: *mut *mut c_void,
) -> c_int {
    // SAFETY: as promised by the caller.
    let place = unsafe { CStr::from_ptr(place) }.to_string_lossy();
    let bus = place
        .split(':')
        .nth(1)
        .and_then(|bus| i32::from_str_radix(bus, 16).ok());
    match bus.filter(|bus| (0..state().settings.cards).contains(bus)) {
        // SAFETY: as promised by the caller.
        Some(bus) => unsafe { *device = (bus as usize + 1) as *mut c_void },
        None => return INVALID_ARGUMENT,
    }
    SUCCESS
}

/// # Safety
/// `memory` is valid for what is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(_: *mut c_void, memory: *mut Memory) -> c_int {
    let state = state();
    let of = Memory {
        total: state.memory.total as u64,
        free: state.memory.free() as u64,
        used: (state.memory.total - state.memory.free()) as u64,
    };
    // SAFETY: as promised by the caller.
    unsafe { *memory = of };
    SUCCESS
}
