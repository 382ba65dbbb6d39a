//! Prefetching of cache lines.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache lines of these values into the processor's caches, without waiting for them.
#[inline(always)]
pub fn prefetch_lines<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for values in values.chunks((LINE / size_of::<T>()).max(1)) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        // SAFETY: a prefetch reads nothing that the program sees, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
