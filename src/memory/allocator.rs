//! The C library's allocator, told to keep nothing that nobody uses.

use std::sync::Once;

/// Blocks of at least this size come from the system one by one, and go back to it when they are freed.
///
/// glibc begins with 128 KiB and raises that bound to the largest block that was freed, up to 32 MiB. Large tables then come
/// out of the heaps of single threads, where a vector that grows leaves its smaller selves behind: what the process holds
/// would depend on what it did before. A megabyte's pages cost less to get anew than to fill.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 1 << 20;

/// Tells the allocator once, before large tables are made.
pub(crate) fn keep_nothing_unused() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            // By itself, glibc makes a heap for every thread, up to eight for each processor; every one keeps a little.
            let heaps = rayon::current_num_threads().try_into().unwrap_or(1);
            // SAFETY: mallopt only sets numbers, under the allocator's own lock.
            unsafe {
                libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
                libc::mallopt(libc::M_ARENA_MAX, heaps);
            }
        }
    });
}

/// Gives back to the system what earlier work has freed, so that the process's memory is what it still holds.
pub(crate) fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim has no preconditions; it walks the allocator's free lists under its own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
