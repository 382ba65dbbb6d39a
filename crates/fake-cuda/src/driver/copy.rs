//! Copies between host and GPU, and within the GPU's memory.

use std::ffi::c_uint;

use crate::clock::{Direction, Handle};
use crate::state::*;

/// The rows of a two-dimensional copy, without their addresses.
#[derive(Clone, Copy)]
struct Rows {
    /// Bytes of one row.
    bytes: usize,
    count: usize,
}

impl Rows {
    fn one(bytes: usize) -> Self {
        Self { bytes, count: 1 }
    }

    fn total_bytes(self) -> usize {
        self.bytes * self.count
    }

    /// Bytes from the first row's start to the last row's end.
    fn span(self, pitch: usize) -> usize {
        match self.count {
            0 => 0,
            count => (count - 1) * pitch + self.bytes,
        }
    }

    /// # Safety
    /// The memory at `to` and `from` is valid for these rows.
    unsafe fn copy(self, to: Start, from: Start) {
        for row in 0..self.count {
            let to = to.address + row * to.pitch;
            let from = from.address + row * from.pitch;
            // SAFETY: as the caller promises.
            unsafe { (from as *const u8).copy_to(to as *mut u8, self.bytes) };
        }
    }
}

/// Up to this size, a driver's upload out of pageable memory returns at once. A larger one goes through the driver's
/// own staging buffers and returns when the last of them has been filled; here it returns when all has been copied.
const ASYNCHRONOUS_PAGEABLE: usize = 64 << 10;

/// Where the rows of a copy start.
#[derive(Clone, Copy)]
struct Start {
    address: usize,
    /// Bytes from one row's start to the next one's.
    pitch: usize,
}

impl Start {
    fn contiguous(address: usize) -> Self {
        Self { address, pitch: 0 }
    }
}

/// # Safety
/// The host memory at `from` is valid for the rows.
unsafe fn upload(to: Start, from: Start, rows: Rows, stream: Handle) -> Status {
    let mut state = state();
    if !state.memory.gpu.contain(to.address, rows.span(to.pitch)) {
        return state.invalid_access("a copy to the GPU outside of its allocations");
    }
    // SAFETY: the GPU's memory is checked; the caller promises the host's.
    unsafe { rows.copy(to, from) };
    let Some(end) = state
        .clock
        .copy(stream, Direction::Upload, rows.total_bytes())
    else {
        return INVALID_HANDLE;
    };
    let (bytes, span) = (rows.total_bytes() as u64, rows.span(from.pitch));
    state.report.uploads += 1;
    state.report.upload_bytes += bytes;
    if state.memory.pinned.contain(from.address, span) {
        let now = state.clock.now();
        if state.memory.record_upload(from.address, span, now, end) {
            state.report.overwritten += 1;
        }
        return SUCCESS;
    }
    state.report.pageable_uploads += 1;
    state.report.pageable_upload_bytes += bytes;
    match rows.total_bytes() > ASYNCHRONOUS_PAGEABLE {
        true => sleep_until(state, end),
        false => SUCCESS,
    }
}

/// # Safety
/// The host memory at `to` is valid for the rows.
unsafe fn download(to: Start, from: Start, rows: Rows, stream: Handle) -> Status {
    let mut state = state();
    if !state
        .memory
        .gpu
        .contain(from.address, rows.span(from.pitch))
    {
        return state.invalid_access("a copy from the GPU outside of its allocations");
    }
    // SAFETY: the GPU's memory is checked; the caller promises the host's.
    unsafe { rows.copy(to, from) };
    let Some(end) = state
        .clock
        .copy(stream, Direction::Download, rows.total_bytes())
    else {
        return INVALID_HANDLE;
    };
    state.report.downloads += 1;
    state.report.download_bytes += rows.total_bytes() as u64;
    if state.memory.pinned.contain(to.address, rows.span(to.pitch)) {
        return SUCCESS;
    }
    // Into pageable memory, the call returns when all has been copied.
    state.report.pageable_downloads += 1;
    sleep_until(state, end)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: Handle,
) -> Status {
    let [to, from] = [to, from].map(Start::contiguous);
    // SAFETY: as the caller promises.
    unsafe { upload(to, from, Rows::one(bytes), stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: Handle,
) -> Status {
    let [to, from] = [to, from].map(Start::contiguous);
    // SAFETY: as the caller promises.
    unsafe { download(to, from, Rows::one(bytes), stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: Handle,
) -> Status {
    let mut state = state();
    if !(state.memory.gpu.contain(to, bytes) && state.memory.gpu.contain(from, bytes)) {
        return state.invalid_access("a copy on the GPU outside of its allocations");
    }
    if !state.clock.has_stream(stream) {
        return INVALID_HANDLE;
    }
    state.report.device_copy_bytes += bytes as u64;
    // SAFETY: both ranges are checked above.
    unsafe { Rows::one(bytes).copy(Start::contiguous(to), Start::contiguous(from)) };
    SUCCESS
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
pub struct Copy2d {
    from_x: usize,
    from_y: usize,
    from_kind: c_uint,
    from_host: usize,
    from_gpu: usize,
    from_array: usize,
    from_pitch: usize,
    to_x: usize,
    to_y: usize,
    to_kind: c_uint,
    to_host: usize,
    to_gpu: usize,
    to_array: usize,
    to_pitch: usize,
    width: usize,
    height: usize,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DAsync_v2(copy: *const Copy2d, stream: Handle) -> Status {
    const HOST: c_uint = 1;
    const GPU: c_uint = 2;
    // SAFETY: as the caller promises.
    let copy = unsafe { &*copy };
    let rows = Rows {
        bytes: copy.width,
        count: copy.height,
    };
    if [copy.from_x, copy.from_y, copy.to_x, copy.to_y] != [0; 4]
        || copy.from_pitch < copy.width
        || copy.to_pitch < copy.width
    {
        return INVALID_VALUE;
    }
    let from = |address| Start {
        address,
        pitch: copy.from_pitch,
    };
    let to = |address| Start {
        address,
        pitch: copy.to_pitch,
    };
    // SAFETY: as the caller promises.
    unsafe {
        match (copy.from_kind, copy.to_kind) {
            (HOST, GPU) => upload(to(copy.to_gpu), from(copy.from_host), rows, stream),
            (GPU, HOST) => download(to(copy.to_host), from(copy.from_gpu), rows, stream),
            _ => INVALID_VALUE,
        }
    }
}
