//! Settings of glibc's malloc, so that freed memory returns to the system (`mallopt`, `malloc_trim`).

use std::sync::{Once, OnceLock};

/// `M_MMAP_THRESHOLD`: allocations of at least this many bytes are mapped one by one, and unmapped when freed.
///
/// glibc starts with 128 KiB and raises the threshold to the largest mapped block that was freed, up to 32 MiB. Large tables
/// then come from the heaps (arenas) of single threads. Growing vectors fragment these heaps by repeated reallocation, so the
/// memory of the process would depend on what it did before. Mapping a new megabyte takes less time than filling it.
pub const MAPPED_BYTES: usize = 1 << 20;

/// Configures malloc by `mallopt`; only the first call has an effect. Called before large tables are allocated.
pub fn configure_malloc() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            // glibc's default is up to eight arenas per processor, each of which retains some freed memory.
            let arenas = rayon::current_num_threads().try_into().unwrap_or(1);
            // SAFETY: mallopt only sets parameters, under the allocator's own lock.
            unsafe {
                libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES as libc::c_int);
                libc::mallopt(libc::M_ARENA_MAX, arenas);
            }
        }
    });
}

/// Returns freed heap memory to the system (`malloc_trim`), so that the process's memory is what it has allocated.
pub fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim has no preconditions; it walks the allocator's free lists under its own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The bytes that malloc has handed out and that were not freed, in all threads: to the byte, while the system counts pages and
/// what malloc keeps. 0 where the C library does not say so (glibc 2.33 does, by `mallinfo2`).
pub fn allocated() -> u64 {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        type MallInfo = unsafe extern "C" fn() -> libc::mallinfo2;
        static FOUND: OnceLock<Option<MallInfo>> = OnceLock::new();
        let found = FOUND.get_or_init(|| {
            // Looked up by name, so that a library for an older glibc can be built.
            // SAFETY: the name ends with a zero, and glibc's `mallinfo2` has this signature.
            unsafe {
                let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr());
                (!symbol.is_null())
                    .then(|| std::mem::transmute::<*mut libc::c_void, MallInfo>(symbol))
            }
        });
        // SAFETY: it reads the allocator's counters under the allocator's own locks.
        found.map_or(0, |mallinfo2| unsafe {
            let info = mallinfo2();
            (info.uordblks + info.hblkhd) as u64
        })
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    0
}
