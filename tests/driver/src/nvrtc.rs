//! A compiler that takes any kernel of CubeCL for one that does nothing: for tests that are not about kernels, and where
//! NVIDIA's compiler is not to be had.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::launch::Signature;
use crate::state::state;

const SUCCESS: c_int = 0;
const COMPILATION: c_int = 6;

struct Program {
    source: String,
    ptx: Vec<u8>,
}

/// # Safety
/// Both pointers are valid for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: as promised by the caller.
    unsafe { (*major, *minor) = state().settings.nvrtc };
    SUCCESS
}

/// # Safety
/// `program` is valid for a pointer, and `source` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcCreateProgram(
    program: *mut *mut c_void,
    source: *const c_char,
    _name: *const c_char,
    _headers: c_int,
    _: *const *const c_char,
    _: *const *const c_char,
) -> c_int {
    // SAFETY: as promised by the caller.
    let source = unsafe { CStr::from_ptr(source) }
        .to_string_lossy()
        .into_owned();
    let made = Box::new(Program {
        source,
        ptx: Vec::new(),
    });
    // SAFETY: as promised by the caller.
    unsafe { *program = Box::into_raw(made).cast() };
    SUCCESS
}

/// # Safety
/// `program` was created above, and there are so many options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcCompileProgram(
    program: *mut c_void,
    options: c_int,
    texts: *const *const c_char,
) -> c_int {
    // SAFETY: as promised by the caller.
    let program = unsafe { &mut *program.cast::<Program>() };
    let target = (0..options as usize).find_map(|at| {
        // SAFETY: as promised by the caller.
        let text = unsafe { CStr::from_ptr(*texts.add(at)) }.to_str().ok()?;
        let target = text.strip_prefix("--gpu-architecture=sm_")?;
        target.trim_end_matches('a').parse().ok()
    });
    let kernel = target.and_then(|target| Signature::of_source(&program.source, target));
    let Some(kernel) = kernel else {
        return COMPILATION;
    };
    program.ptx = kernel.ptx().into_bytes();
    program.ptx.push(0);
    SUCCESS
}

/// # Safety
/// `program` was created above, and `size` is valid for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetPTXSize(program: *mut c_void, size: *mut usize) -> c_int {
    // SAFETY: as promised by the caller.
    unsafe { *size = (*program.cast::<Program>()).ptx.len() };
    SUCCESS
}

/// # Safety
/// `program` was created above, and `ptx` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetPTX(program: *mut c_void, ptx: *mut c_char) -> c_int {
    // SAFETY: as promised by the caller.
    unsafe {
        let made = &(*program.cast::<Program>()).ptx;
        made.as_ptr().copy_to_nonoverlapping(ptx.cast(), made.len());
    }
    SUCCESS
}

/// # Safety
/// `size` is valid for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetProgramLogSize(_: *mut c_void, size: *mut usize) -> c_int {
    // SAFETY: as promised by the caller.
    unsafe { *size = 1 };
    SUCCESS
}

/// # Safety
/// `log` is valid for one byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetProgramLog(_: *mut c_void, log: *mut c_char) -> c_int {
    // SAFETY: as promised by the caller.
    unsafe { *log = 0 };
    SUCCESS
}

/// What compilers of these versions know.
fn architectures() -> &'static [c_int] {
    let all = &[50, 60, 70, 75, 80, 86, 89, 90, 100, 120];
    match state().settings.nvrtc >= (12, 8) {
        true => all,
        false => &all[..8],
    }
}

/// # Safety
/// `count` is valid for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> c_int {
    // SAFETY: as promised by the caller.
    unsafe { *count = architectures().len() as c_int };
    SUCCESS
}

/// # Safety
/// `list` is valid for so many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetSupportedArchs(list: *mut c_int) -> c_int {
    let known = architectures();
    // SAFETY: as promised by the caller.
    unsafe { known.as_ptr().copy_to_nonoverlapping(list, known.len()) };
    SUCCESS
}
