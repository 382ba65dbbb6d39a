//! Loading and launching of kernels.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::write_result;
use crate::clock::Handle;
use crate::signature::Signature;
use crate::state::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(out: *mut Handle, image: *const c_char) -> Status {
    // SAFETY: a PTX program is a C string.
    let ptx = unsafe { CStr::from_ptr(image) }.to_string_lossy();
    let Some(kernel) = Signature::of_ptx(&ptx) else {
        return INVALID_VALUE;
    };
    let mut state = state();
    let (major, minor) = state.settings.capability;
    if kernel.target as i32 > 10 * major + minor {
        return NO_BINARY_FOR_GPU;
    }
    state.report.kernels += 1;
    state.kernels.push(kernel);
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(state.kernels.len()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    out: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Status {
    let state = state();
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let kernel = module.checked_sub(1).and_then(|at| state.kernels.get(at));
    let exists = kernel.is_some_and(|kernel| kernel.name == name);
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, exists.then_some(module), NOT_FOUND) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(_kernel: Handle, _attribute: c_int, _value: c_int) -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn cuLaunchKernel(
    kernel: Handle,
    blocks_x: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads_x: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    _shared: c_uint,
    stream: Handle,
    arguments: *const *const c_void,
    _extra: *const *const c_void,
) -> Status {
    let mut state = state();
    let loaded = kernel.checked_sub(1).and_then(|at| state.kernels.get(at));
    let Some(signature) = loaded.cloned() else {
        return INVALID_HANDLE;
    };
    let blocks = [blocks_x, blocks_y, blocks_z];
    let threads = [threads_x, threads_y, threads_z];
    if blocks.contains(&0)
        || threads.contains(&0)
        || blocks_x > i32::MAX as u32
        || blocks_y > 65_535
        || blocks_z > 65_535
        || threads
            .iter()
            .map(|count| u64::from(*count))
            .product::<u64>()
            > 1024
    {
        eprintln!(
            "fake_cuda: {} launched with {blocks:?} blocks of {threads:?} threads",
            signature.name
        );
        return INVALID_VALUE;
    }
    if !state.clock.has_stream(stream) {
        return INVALID_HANDLE;
    }
    for (at, pointer) in signature.pointers.iter().enumerate() {
        if *pointer {
            // SAFETY: `arguments` has the address of each of the kernel's arguments.
            let address = unsafe { **arguments.add(at).cast::<*const usize>() };
            if !state.memory.gpu.contain(address, 1) {
                let name = &signature.name;
                return state
                    .invalid_access(&format!("argument {at} of {name} is not in GPU memory"));
            }
        }
    }
    state.report.launches += 1;
    SUCCESS
}
