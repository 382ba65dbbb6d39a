//! Allocation of GPU memory and of pinned host memory.

use super::write_result;
use crate::clock::Handle;
use crate::state::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status {
    let state = state();
    // SAFETY: the caller's pointers are valid for writing.
    unsafe {
        write_result(free, Some(state.memory.free()), INVALID_VALUE);
        write_result(total, Some(state.memory.total), INVALID_VALUE)
    }
}

/// Addresses are aligned to pages, which includes the 512 bytes of a real driver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(out: *mut usize, bytes: usize) -> Status {
    let mut state = state();
    let address = state.memory.allocate(bytes);
    match address {
        Some(_) => state.report.allocations += 1,
        None => state.report.failed_allocations += 1,
    }
    state.update_report();
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, address, OUT_OF_MEMORY) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(out: *mut usize, bytes: usize, _: Handle) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { cuMemAlloc_v2(out, bytes) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: usize) -> Status {
    let mut state = state();
    if !state.memory.free_block(address) {
        return state.invalid_access("a free of memory that is not allocated");
    }
    state.update_report();
    SUCCESS
}

/// Like the memory pool of a driver, this keeps the memory until a synchronisation, or until an allocation needs it.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: usize, _: Handle) -> Status {
    let mut state = state();
    match state.memory.free_async(address) {
        true => SUCCESS,
        false => state.invalid_access("a free of memory that is not allocated"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(out: *mut usize, bytes: usize) -> Status {
    let mut state = state();
    let address = state.memory.pin(bytes);
    state.update_report();
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, address, OUT_OF_MEMORY) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: usize) -> Status {
    let mut state = state();
    if !state.memory.unpin(address) {
        return state.invalid_access("a free of pinned memory that is not allocated");
    }
    state.update_report();
    SUCCESS
}
