//! Memory of this process, free memory of the machine, and the settings of malloc.

mod allocator;
mod cgroup;
mod monitor;
mod rlimit;

use std::fs;

use serde::{Deserialize, Serialize};

pub use allocator::{MAPPED_BYTES, allocated, release_freed};
pub use cgroup::OutOfMemory;
pub use monitor::{Handle, Log, Monitor, PhaseGuard, Sample, Span, kind_of_phase, phase};

use crate::error::{Error, Result};
use crate::text::bytes;

/// Resident memory of this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessMemory {
    /// Anonymous and shared-memory pages (`RssAnon`, `RssShmem`): a memory limit cannot reclaim them and kills instead.
    pub anonymous: u64,
    /// Pages of mapped files (`RssFile`), which the system reclaims when memory is short.
    pub file_backed: u64,
}

/// Names of the kinds of RAM in tables and charts.
pub mod label {
    /// [`ProcessMemory::anonymous`](super::ProcessMemory::anonymous).
    pub const ANONYMOUS: &str = "RAM, anonymous";
    /// [`ProcessMemory::file_backed`](super::ProcessMemory::file_backed).
    pub const FILE_PAGES: &str = "RAM, pages of files";
    /// All memory that the kernel charges to the control group, page cache included.
    pub const GROUP: &str = "RAM, control group";
}

/// Memory of this process from `/proc/self/status`; zeros on systems without it.
pub fn process_memory() -> ProcessMemory {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        return ProcessMemory::default();
    };
    let kib = |name: &str| field(&status, name).unwrap_or(0) * 1024;
    ProcessMemory {
        anonymous: kib("RssAnon:") + kib("RssShmem:"),
        file_backed: kib("RssFile:"),
    }
}

/// The number after `name` at the start of a line, in the format of files in /proc and /sys.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
}

/// Free memory in bytes: what the system has available, or less if a limit of a cgroup or of this process leaves less.
///
/// Page cache counts as free, because the system reclaims it.
pub fn free_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let limits = [cgroup::tightest().map(cgroup::Limit::free), rlimit::free()];
    limits
        .into_iter()
        .flatten()
        .fold(system.available_memory(), u64::min)
}

/// Bytes that the tightest cgroup of this process has in use, page cache included, and its limit; `None` without a limit.
pub fn group_memory() -> Option<(u64, u64)> {
    cgroup::Cgroup::of_process().map(|group| (group.used(), group.limit))
}

/// An error of kind [`ErrorKind::Space`](crate::error::ErrorKind::Space) if fewer than `needed` bytes of memory are free; `what` needs them.
pub fn check_free(needed: u64, what: &str) -> Result<()> {
    let free = free_memory();
    if needed <= free {
        return Ok(());
    }
    Err(Error::space(format!(
        "{what} would need {} of memory, but {} are free",
        bytes(needed),
        bytes(free)
    ))
    .fix("use fewer documents or terms, free some memory, or keep the counts in a file"))
}
