//! A stand-in for NVRTC that compiles every kernel of CubeCL to an empty one: for tests that are not about kernels,
//! and for machines without NVIDIA's compiler.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::signature::Signature;
use crate::state::state;

const SUCCESS: c_int = 0;
const COMPILATION_ERROR: c_int = 6;

struct Program {
    source: String,
    ptx: Vec<u8>,
}

/// # Safety
/// Both pointers are valid for writing a `c_int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { (*major, *minor) = state().settings.nvrtc };
    SUCCESS
}

/// # Safety
/// `program` is valid for writing a pointer, and `source` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcCreateProgram(
    program: *mut *mut c_void,
    source: *const c_char,
    _name: *const c_char,
    _headers: c_int,
    _: *const *const c_char,
    _: *const *const c_char,
) -> c_int {
    // SAFETY: as the caller promises.
    let source = unsafe { CStr::from_ptr(source) }
        .to_string_lossy()
        .into_owned();
    let boxed = Box::new(Program {
        source,
        ptx: Vec::new(),
    });
    // SAFETY: as the caller promises.
    unsafe { *program = Box::into_raw(boxed).cast() };
    SUCCESS
}

/// # Safety
/// `program` comes from `nvrtcCreateProgram`, and `options` points at `count` C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcCompileProgram(
    program: *mut c_void,
    count: c_int,
    options: *const *const c_char,
) -> c_int {
    // SAFETY: as the caller promises.
    let program = unsafe { &mut *program.cast::<Program>() };
    let target = (0..count as usize).find_map(|at| {
        // SAFETY: as the caller promises.
        let text = unsafe { CStr::from_ptr(*options.add(at)) }.to_str().ok()?;
        let target = text.strip_prefix("--gpu-architecture=sm_")?;
        target.trim_end_matches('a').parse().ok()
    });
    let kernel = target.and_then(|target| Signature::of_source(&program.source, target));
    let Some(kernel) = kernel else {
        return COMPILATION_ERROR;
    };
    program.ptx = kernel.ptx().into_bytes();
    program.ptx.push(0);
    SUCCESS
}

/// # Safety
/// `program` comes from `nvrtcCreateProgram`, and `size` is valid for writing a `usize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetPTXSize(program: *mut c_void, size: *mut usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { *size = (*program.cast::<Program>()).ptx.len() };
    SUCCESS
}

/// # Safety
/// `program` comes from `nvrtcCreateProgram`, and `ptx` is valid for writing the bytes that `nvrtcGetPTXSize` gives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetPTX(program: *mut c_void, ptx: *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let text = &(*program.cast::<Program>()).ptx;
        text.as_ptr().copy_to_nonoverlapping(ptx.cast(), text.len());
    }
    SUCCESS
}

/// # Safety
/// `size` is valid for writing a `usize`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetProgramLogSize(_: *mut c_void, size: *mut usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { *size = 1 };
    SUCCESS
}

/// # Safety
/// `log` is valid for writing one byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetProgramLog(_: *mut c_void, log: *mut c_char) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { *log = 0 };
    SUCCESS
}

/// Architectures that NVRTC supports: Blackwell (100 and 120) from 12.8 on.
fn architectures() -> &'static [c_int] {
    let all = &[50, 60, 70, 75, 80, 86, 89, 90, 100, 120];
    match state().settings.nvrtc >= (12, 8) {
        true => all,
        false => &all[..8],
    }
}

/// # Safety
/// `count` is valid for writing a `c_int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { *count = architectures().len() as c_int };
    SUCCESS
}

/// # Safety
/// `list` is valid for writing the number of `c_int` that `nvrtcGetNumSupportedArchs` gives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetSupportedArchs(list: *mut c_int) -> c_int {
    let known = architectures();
    // SAFETY: as the caller promises.
    unsafe { known.as_ptr().copy_to_nonoverlapping(list, known.len()) };
    SUCCESS
}
