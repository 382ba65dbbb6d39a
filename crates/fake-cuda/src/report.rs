//! Counters of the driver's calls.

use std::fmt::Write;
use std::path::Path;

macro_rules! report {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Counters since the library was loaded: bytes and numbers of calls.
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Report {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Report {
            /// One line per counter: name and value.
            pub fn text(&self) -> String {
                let mut text = String::new();
                $(let _ = writeln!(text, "{} {}", stringify!($field), self.$field);)*
                text
            }

            /// Reads the file that a process with `FAKE_CUDA_REPORT` writes when it exits.
            pub fn read(path: &Path) -> Option<Self> {
                let text = std::fs::read_to_string(path).ok()?;
                let value = |name: &str| {
                    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
                    line.parse().ok()
                };
                Some(Self { $($field: value(stringify!($field))?,)* })
            }
        }
    };
}

// xtask/python/kernel_tests.py reads the first five by position.
report! {
    /// Bytes of GPU memory that are allocated, and their peak.
    memory,
    memory_peak,
    allocations,
    /// Allocations that failed because the GPU was full.
    failed_allocations,
    /// Bytes of pinned host memory that are allocated, and their peak.
    pinned,
    pinned_peak,
    /// Copies from host to GPU; those out of pageable (not pinned) memory are also counted by themselves.
    uploads,
    upload_bytes,
    pageable_uploads,
    pageable_upload_bytes,
    /// Copies from GPU to host; those into pageable memory are also counted by themselves.
    downloads,
    download_bytes,
    pageable_downloads,
    /// Bytes copied within the GPU's memory.
    device_copy_bytes,
    /// Kernels that were loaded.
    kernels,
    launches,
    /// Calls that synchronise the host with a stream or an event; those that had to block; and the time blocked.
    synchronisations,
    waits,
    waited_microseconds,
    /// Calls with an address outside of all allocations.
    invalid_accesses,
    /// Uploads out of pinned memory that was overwritten while an earlier upload out of it was in flight.
    overwritten,
}
