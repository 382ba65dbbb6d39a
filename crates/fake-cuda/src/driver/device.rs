//! Devices and contexts.

use std::ffi::{c_char, c_int, c_uint};

use super::write_result;
use crate::clock::Handle;
use crate::state::*;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: c_uint) -> Status {
    match state().settings.gpus {
        0 => NO_DEVICE,
        _ => SUCCESS,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(out: *mut c_int) -> Status {
    let (major, minor) = state().settings.cuda;
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(1000 * major + 10 * minor), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(out: *mut c_int) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(state().settings.gpus), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(out: *mut c_int, number: c_int) -> Status {
    let exists = (0..state().settings.gpus).contains(&number);
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, exists.then_some(number), INVALID_DEVICE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(out: *mut c_char, length: c_int, _: c_int) -> Status {
    let name = c"no GPU";
    if (length as usize) < name.count_bytes() + 1 {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's buffer has `length` bytes, which are enough.
    unsafe {
        name.as_ptr()
            .copy_to_nonoverlapping(out, name.count_bytes() + 1)
    };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(
    out: *mut c_char,
    length: c_int,
    gpu: c_int,
) -> Status {
    // CUDA and NVML may number GPUs differently: bus ids run the other way round here.
    let bus_id = format!("0000:{:02x}:00.0\0", state().settings.gpus - 1 - gpu);
    if (length as usize) < bus_id.len() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's buffer has `length` bytes, which are enough.
    unsafe {
        bus_id
            .as_ptr()
            .cast::<c_char>()
            .copy_to_nonoverlapping(out, bus_id.len())
    };
    SUCCESS
}

/// `out` points at the 16 bytes of a `CUuuid`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(out: *mut u8, gpu: c_int) -> Status {
    let uuid = [gpu as u8; 16];
    // SAFETY: the caller's pointer is valid for writing 16 bytes.
    unsafe { write_result(out.cast(), Some(uuid), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(out: *mut usize, _: c_int) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(state().memory.total), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    out: *mut c_int,
    attribute: c_int,
    _: c_int,
) -> Status {
    let (major, minor) = state().settings.capability;
    let value = match attribute {
        // Threads per block, and per block dimension x and y.
        1..=3 => Some(1024),
        // Block dimension z.
        4 => Some(64),
        // Grid dimensions x, y and z.
        5 => Some(i32::MAX),
        6 | 7 => Some(65_535),
        // Threads per warp.
        10 => Some(32),
        // Multiprocessors.
        16 => Some(100),
        // The compute capability.
        75 => Some(major),
        76 => Some(minor),
        // Shared memory per block (opt-in) of compute capability 7.5, which has the least of all supported GPUs.
        97 => Some(64 << 10),
        _ => None,
    };
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, value, INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(out: *mut Handle, gpu: c_int) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(gpu as usize + 1), INVALID_DEVICE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(_context: Handle) -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Status {
    let mut state = state();
    state.report.synchronisations += 1;
    let end = state.clock.end_of_all_streams();
    sleep_until(state, end)
}
