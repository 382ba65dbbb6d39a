//! What `libnvidia-ml` says of the card's memory.

use std::ffi::{c_int, c_uint, c_void};

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
/// `device` is valid for a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(
    card: c_uint,
    device: *mut *mut c_void,
) -> c_int {
    if i64::from(card) >= i64::from(state().settings.cards) {
        return INVALID_ARGUMENT;
    }
    // SAFETY: as promised by the caller.
    unsafe { *device = (card as usize + 1) as *mut c_void };
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
