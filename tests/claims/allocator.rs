//! Counts the bytes that are allocated. The C library's functions are replaced: `#[global_allocator]` does not see what Rust's
//! `std` allocates where it is a shared library.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

type Block = *mut c_void;

// glibc's own allocator, under names that stay when C's names are replaced.
unsafe extern "C" {
    fn __libc_malloc(size: usize) -> Block;
    fn __libc_calloc(number: usize, size: usize) -> Block;
    fn __libc_realloc(block: Block, size: usize) -> Block;
    fn __libc_memalign(alignment: usize, size: usize) -> Block;
    fn __libc_free(block: Block);
    fn malloc_usable_size(block: Block) -> usize;
}

static NOW: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// The most bytes that are allocated at once during a call, beyond what was allocated before it.
pub fn peak_of<T>(call: impl FnOnce() -> T) -> (usize, T) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = call();
    let peak = PEAK.load(Relaxed) - before;
    (peak as usize, result)
}

fn count(block: Block, sign: isize) -> Block {
    // SAFETY: the block is of glibc's allocator, or null, which has no bytes.
    let bytes = sign * unsafe { malloc_usable_size(block) } as isize;
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    block
}

// SAFETY, of all: the caller keeps the contract of the C function, and glibc's function has the same contract.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc(size: usize) -> Block {
    count(unsafe { __libc_malloc(size) }, 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn calloc(number: usize, size: usize) -> Block {
    count(unsafe { __libc_calloc(number, size) }, 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: Block, size: usize) -> Block {
    count(block, -1);
    count(unsafe { __libc_realloc(block, size) }, 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: Block) {
    unsafe { __libc_free(count(block, -1)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> Block {
    count(unsafe { __libc_memalign(alignment, size) }, 1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(found: *mut Block, alignment: usize, size: usize) -> c_int {
    let block = count(unsafe { __libc_memalign(alignment, size) }, 1);
    if block.is_null() {
        return 12; // ENOMEM
    }
    unsafe { *found = block };
    0
}
