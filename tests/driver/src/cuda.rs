//! The driver's functions, by the names and signatures of `cuda.h`. Handles are numbers.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::clock::{Handle, Lane};
use crate::launch::Signature;
use crate::state::*;

/// # Safety
/// `out` is valid for a `T`.
unsafe fn give<T>(out: *mut T, value: Option<T>, otherwise: Status) -> Status {
    let Some(value) = value else {
        return otherwise;
    };
    // SAFETY: as promised by the caller.
    unsafe { out.write(value) };
    SUCCESS
}

fn found(what: Option<()>) -> Status {
    what.map_or(INVALID_HANDLE, |()| SUCCESS)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: c_uint) -> Status {
    match state().settings.cards {
        0 => NO_DEVICE,
        _ => SUCCESS,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(out: *mut c_int) -> Status {
    let (major, minor) = state().settings.cuda;
    // SAFETY: the caller's pointer is valid, as in all of these functions.
    unsafe { give(out, Some(1000 * major + 10 * minor), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(out: *mut c_int) -> Status {
    // SAFETY: as above.
    unsafe { give(out, Some(state().settings.cards), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(out: *mut c_int, number: c_int) -> Status {
    let there = (0..state().settings.cards).contains(&number);
    // SAFETY: as above.
    unsafe { give(out, there.then_some(number), INVALID_DEVICE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(out: *mut c_char, length: c_int, _: c_int) -> Status {
    let name = c"no card";
    if (length as usize) < name.count_bytes() + 1 {
        return INVALID_VALUE;
    }
    // SAFETY: as above, for so many bytes.
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
    card: c_int,
) -> Status {
    // The other way round than NVML counts them.
    let text = format!("0000:{:02x}:00.0\0", state().settings.cards - 1 - card);
    if (length as usize) < text.len() {
        return INVALID_VALUE;
    }
    // SAFETY: as above, for so many bytes.
    unsafe {
        text.as_ptr()
            .cast::<c_char>()
            .copy_to_nonoverlapping(out, text.len())
    };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(out: *mut usize, _: c_int) -> Status {
    // SAFETY: as above.
    unsafe { give(out, Some(state().memory.total), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    out: *mut c_int,
    attribute: c_int,
    _: c_int,
) -> Status {
    let (major, minor) = state().settings.capability;
    let value = match attribute {
        // Threads of a block: in all, and along each side.
        1..=3 => Some(1024),
        4 => Some(64),
        // Blocks along each side.
        5 => Some(i32::MAX),
        6 | 7 => Some(65_535),
        // Threads of a warp.
        10 => Some(32),
        // Multiprocessors.
        16 => Some(100),
        75 => Some(major),
        76 => Some(minor),
        // Shared memory that a block may have: as much as the smallest of cards gives.
        97 => Some(64 << 10),
        _ => None,
    };
    // SAFETY: as above.
    unsafe { give(out, value, INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(out: *mut Handle, card: c_int) -> Status {
    // SAFETY: as above.
    unsafe { give(out, Some(card as usize + 1), INVALID_DEVICE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(_context: Handle) -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Status {
    let mut state = state();
    state.report.synchronisations += 1;
    let end = state.clock.end_of_all();
    sleep_until(state, end)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(out: *mut Handle, _flags: c_uint) -> Status {
    // SAFETY: as above.
    unsafe { give(out, Some(state().clock.new_stream()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: Handle) -> Status {
    found(state().clock.end_stream(stream).then_some(()))
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
    found(state().clock.wait_for(stream, event))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(out: *mut Handle, _flags: c_uint) -> Status {
    // SAFETY: as above.
    unsafe { give(out, Some(state().clock.new_event()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: Handle) -> Status {
    found(state().clock.end_event(event).then_some(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Status {
    found(state().clock.record(event, stream))
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status {
    let state = state();
    // SAFETY: as above.
    unsafe {
        give(free, Some(state.memory.free()), INVALID_VALUE);
        give(total, Some(state.memory.total), INVALID_VALUE)
    }
}

/// As a driver, it gives addresses at multiples of 512.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(out: *mut usize, bytes: usize) -> Status {
    let mut state = state();
    let address = state.memory.allocate(bytes);
    match address {
        Some(_) => state.report.allocations += 1,
        None => state.report.refused += 1,
    }
    state.tally();
    // SAFETY: as above.
    unsafe { give(out, address, OUT_OF_MEMORY) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(out: *mut usize, bytes: usize, _: Handle) -> Status {
    // SAFETY: as above.
    unsafe { cuMemAlloc_v2(out, bytes) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: usize) -> Status {
    let mut state = state();
    if !state.memory.free_block(address) {
        return state.wrong("memory is given back that is not allocated");
    }
    state.tally();
    SUCCESS
}

/// As a driver's pool, it keeps the memory until somebody waits, or needs it.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: usize, _: Handle) -> Status {
    match state().memory.keep_block(address) {
        true => SUCCESS,
        false => state().wrong("memory is given back that is not allocated"),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(out: *mut usize, bytes: usize) -> Status {
    let mut state = state();
    let address = state.memory.pin(bytes);
    state.tally();
    // SAFETY: as above.
    unsafe { give(out, address, OUT_OF_MEMORY) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(address: usize) -> Status {
    let mut state = state();
    if !state.memory.unpin(address) {
        return state.wrong("pinned memory is given back that is not allocated");
    }
    state.tally();
    SUCCESS
}

/// Rows of bytes: how long they are, how far apart, and how many.
#[derive(Clone, Copy)]
struct Rows {
    bytes: usize,
    count: usize,
}

impl Rows {
    fn one(bytes: usize) -> Self {
        Self { bytes, count: 1 }
    }

    fn all(self) -> usize {
        self.bytes * self.count
    }

    /// From the first byte to the last one.
    fn span(self, pitch: usize) -> usize {
        match self.count {
            0 => 0,
            count => (count - 1) * pitch + self.bytes,
        }
    }

    /// # Safety
    /// Both places are valid for these rows.
    unsafe fn copy(self, to: (usize, usize), from: (usize, usize)) {
        for row in 0..self.count {
            let (to, from) = (to.0 + row * to.1, from.0 + row * from.1);
            // SAFETY: as promised by the caller.
            unsafe { (from as *const u8).copy_to(to as *mut u8, self.bytes) };
        }
    }
}

/// Plain memory up to this is taken along at once by a driver; more of it goes through stages of the driver's own, and
/// the call returns when the last of them has been filled. Here it returns when all has been copied.
const TAKEN_ALONG: usize = 64 << 10;

/// Address and pitch.
type Place = (usize, usize);

/// # Safety
/// The host's memory is valid for the rows.
unsafe fn to_card(to: Place, from: Place, rows: Rows, stream: Handle) -> Status {
    let mut state = state();
    if !state.memory.card.have(to.0, rows.span(to.1)) {
        return state.wrong("a copy to the card goes beyond what is allocated");
    }
    // SAFETY: the card's memory is checked, the host's is as promised by the caller.
    unsafe { rows.copy(to, from) };
    let Some(end) = state.clock.copy(stream, Lane::ToCard, rows.all()) else {
        return INVALID_HANDLE;
    };
    let (bytes, span) = (rows.all() as u64, rows.span(from.1));
    state.report.to_card += 1;
    state.report.to_card_bytes += bytes;
    if state.memory.pinned.have(from.0, span) {
        let now = state.clock.now();
        if state.memory.leaves(from.0, span, now, end) {
            state.report.overwritten += 1;
        }
        return SUCCESS;
    }
    state.report.to_card_plain += 1;
    state.report.to_card_plain_bytes += bytes;
    match rows.all() > TAKEN_ALONG {
        true => sleep_until(state, end),
        false => SUCCESS,
    }
}

/// # Safety
/// The host's memory is valid for the rows.
unsafe fn from_card(to: Place, from: Place, rows: Rows, stream: Handle) -> Status {
    let mut state = state();
    if !state.memory.card.have(from.0, rows.span(from.1)) {
        return state.wrong("a copy from the card goes beyond what is allocated");
    }
    // SAFETY: the card's memory is checked, the host's is as promised by the caller.
    unsafe { rows.copy(to, from) };
    let Some(end) = state.clock.copy(stream, Lane::FromCard, rows.all()) else {
        return INVALID_HANDLE;
    };
    state.report.from_card += 1;
    state.report.from_card_bytes += rows.all() as u64;
    if state.memory.pinned.have(to.0, rows.span(to.1)) {
        return SUCCESS;
    }
    // Into plain memory: the call returns when all is there.
    state.report.from_card_plain += 1;
    sleep_until(state, end)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: Handle,
) -> Status {
    // SAFETY: as promised by the caller.
    unsafe { to_card((to, 0), (from, 0), Rows::one(bytes), stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: Handle,
) -> Status {
    // SAFETY: as promised by the caller.
    unsafe { from_card((to, 0), (from, 0), Rows::one(bytes), stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: usize,
    from: usize,
    bytes: usize,
    stream: Handle,
) -> Status {
    let mut state = state();
    if !(state.memory.card.have(to, bytes) && state.memory.card.have(from, bytes)) {
        return state.wrong("a copy on the card goes beyond what is allocated");
    }
    if !state.clock.knows(stream) {
        return INVALID_HANDLE;
    }
    state.report.on_card_bytes += bytes as u64;
    // SAFETY: both are checked.
    unsafe { Rows::one(bytes).copy((to, 0), (from, 0)) };
    SUCCESS
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
pub struct Copy2d {
    from_x: usize,
    from_y: usize,
    from_kind: c_uint,
    from_host: usize,
    from_card: usize,
    from_array: usize,
    from_pitch: usize,
    to_x: usize,
    to_y: usize,
    to_kind: c_uint,
    to_host: usize,
    to_card: usize,
    to_array: usize,
    to_pitch: usize,
    width: usize,
    height: usize,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DAsync_v2(copy: *const Copy2d, stream: Handle) -> Status {
    const HOST: c_uint = 1;
    const CARD: c_uint = 2;
    // SAFETY: as promised by the caller.
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
    let (from, to) = (copy.from_pitch, copy.to_pitch);
    // SAFETY: as promised by the caller.
    unsafe {
        match (copy.from_kind, copy.to_kind) {
            (HOST, CARD) => to_card((copy.to_card, to), (copy.from_host, from), rows, stream),
            (CARD, HOST) => from_card((copy.to_host, to), (copy.from_card, from), rows, stream),
            _ => INVALID_VALUE,
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(out: *mut Handle, program: *const c_char) -> Status {
    // SAFETY: a program in PTX is a C string.
    let ptx = unsafe { CStr::from_ptr(program) }.to_string_lossy();
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
    // SAFETY: as above.
    unsafe { give(out, Some(state.kernels.len()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    out: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Status {
    let state = state();
    // SAFETY: as promised by the caller.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let kernel = module.checked_sub(1).and_then(|at| state.kernels.get(at));
    let there = kernel.is_some_and(|kernel| kernel.name == name);
    // SAFETY: as above.
    unsafe { give(out, there.then_some(module), NOT_FOUND) }
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
    let known = kernel.checked_sub(1).and_then(|at| state.kernels.get(at));
    let Some(signature) = known.cloned() else {
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
            "cardless: {} with {blocks:?} blocks of {threads:?}",
            signature.name
        );
        return INVALID_VALUE;
    }
    if !state.clock.knows(stream) {
        return INVALID_HANDLE;
    }
    for (at, pointer) in signature.pointers.iter().enumerate() {
        if *pointer {
            // SAFETY: a launch gives as many arguments as its kernel has, each by its address.
            let address = unsafe { **arguments.add(at).cast::<*const usize>() };
            if !state.memory.card.have(address, 1) {
                let what = format!("argument {at} of {} points at no memory", signature.name);
                return state.wrong(&what);
            }
        }
    }
    state.report.launches += 1;
    SUCCESS
}

/// Name and text of a result are one here.
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
    // SAFETY: as above.
    unsafe { give(out, Some(text.as_ptr()), INVALID_VALUE) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(status: Status, out: *mut *const c_char) -> Status {
    // SAFETY: as above.
    unsafe { cuGetErrorString(status, out) }
}
