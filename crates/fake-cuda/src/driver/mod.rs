//! The functions of the CUDA driver API, with the names and signatures of `cuda.h`. All handles are numbers.

mod copy;
mod device;
mod kernel;
mod memory;
mod stream;

use std::ffi::{c_char, c_void};

use crate::state::*;

/// Writes a value and reports success, or returns `otherwise` where there is no value.
///
/// # Safety
/// `out` is valid for writing a `T`.
unsafe fn write_result<T>(out: *mut T, value: Option<T>, otherwise: Status) -> Status {
    let Some(value) = value else {
        return otherwise;
    };
    // SAFETY: as the caller promises.
    unsafe { out.write(value) };
    SUCCESS
}

/// The status of a call whose handles exist (`Some`) or not.
fn handle_result(done: Option<()>) -> Status {
    done.map_or(INVALID_HANDLE, |()| SUCCESS)
}

/// Also serves as `cuGetErrorName`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(status: Status, out: *mut *const c_char) -> Status {
    let text = match status {
        SUCCESS => c"no error",
        OUT_OF_MEMORY => c"out of memory",
        NO_DEVICE => c"no CUDA-capable device is detected",
        NO_BINARY_FOR_GPU => c"no kernel image is available for execution on the device",
        ILLEGAL_ADDRESS => c"an illegal memory access was encountered",
        _ => c"another error",
    };
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(text.as_ptr()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(status: Status, out: *mut *const c_char) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { cuGetErrorString(status, out) }
}

/// A table of functions that `cuda.h` does not list. NVRTC 13 requests one, and continues if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetExportTable(out: *mut *const c_void, _id: *const c_void) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(std::ptr::null()), INVALID_VALUE) };
    NOT_FOUND
}
