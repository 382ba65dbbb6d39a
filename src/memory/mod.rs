//! What this process uses and what the machine has left.

mod allocator;
mod card;
mod cgroup;
mod monitor;
mod profile;
mod scope;

use std::fs;

use serde::{Deserialize, Serialize};

use crate::display::bytes;
use crate::error::{Error, ErrorKind, Result};

pub(crate) use allocator::release_freed;
pub(crate) use card::card_memory;
pub(crate) use monitor::{Handle, Monitor, Phase, phase};
pub(crate) use profile::{Goal, Profile};
pub use scope::{MemoryScope, memory_scope};

/// Memory of this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ProcessMemory {
    /// Pages that only this process holds and no file backs: what a memory limit kills for.
    pub(crate) anonymous: u64,
    /// Pages of mapped files: the system takes them back when it needs them.
    pub(crate) file_backed: u64,
}

/// Reads the process's memory; zeros where the system does not tell.
pub(crate) fn process_memory() -> ProcessMemory {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        return ProcessMemory::default();
    };
    let kib = |name: &str| field(&status, name).unwrap_or(0) * 1024;
    ProcessMemory {
        anonymous: kib("RssAnon:") + kib("RssShmem:"),
        file_backed: kib("RssFile:"),
    }
}

/// The number after a name at the start of a line, as the files in /proc and /sys have them.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
}

/// Memory that can still be taken, in bytes: what the system has available, or what a cgroup's limit leaves where that
/// is less. Page cache counts as free: the system gives it up.
pub(crate) fn free_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let available = system.available_memory();
    cgroup::tightest().map_or(available, |limit| available.min(limit.free()))
}

/// Refuses `needed` bytes of memory for `what` when fewer are free.
pub(crate) fn check_free(needed: u64, what: &str) -> Result<()> {
    let free = free_memory();
    if needed <= free {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Space,
        format!(
            "{what} would take {} of memory, and {} are free",
            bytes(needed),
            bytes(free)
        ),
    )
    .fix("use fewer documents or terms, free some memory, or keep the counts in a file"))
}
