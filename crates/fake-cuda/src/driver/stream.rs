//! Streams and events, in simulated time.

use std::ffi::c_uint;

use super::{handle_result, write_result};
use crate::clock::Handle;
use crate::state::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(out: *mut Handle, _flags: c_uint) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(state().clock.new_stream()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: Handle) -> Status {
    handle_result(state().clock.destroy_stream(stream).then_some(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: Handle) -> Status {
    let mut state = state();
    state.report.synchronisations += 1;
    match state.clock.end_of_stream(stream) {
        Some(end) => sleep_until(state, end),
        None => INVALID_HANDLE,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) -> Status {
    handle_result(state().clock.wait_for(stream, event))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(out: *mut Handle, _flags: c_uint) -> Status {
    // SAFETY: the caller's pointer is valid for writing.
    unsafe { write_result(out, Some(state().clock.new_event()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: Handle) -> Status {
    handle_result(state().clock.destroy_event(event).then_some(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Status {
    handle_result(state().clock.record(event, stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: Handle) -> Status {
    let state = state();
    match state.clock.end_of_event(event) {
        Some(end) if end <= state.clock.now() => SUCCESS,
        Some(_) => NOT_READY,
        None => INVALID_HANDLE,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: Handle) -> Status {
    let mut state = state();
    state.report.synchronisations += 1;
    match state.clock.end_of_event(event) {
        Some(end) => sleep_until(state, end),
        None => INVALID_HANDLE,
    }
}
