//! What this process uses and what the machine has left.

use std::fs;

use crate::display::bytes;
use crate::error::{Error, ErrorKind, Result};

/// Memory of this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.split_whitespace().next())
            .and_then(|kib| kib.parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024)
    };
    ProcessMemory {
        anonymous: field("RssAnon:") + field("RssShmem:"),
        file_backed: field("RssFile:"),
    }
}

/// Memory that can still be taken, in bytes: what the system has available, or the cgroup's limit where that is tighter.
pub(crate) fn free_memory() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let available = system.available_memory();
    match system.cgroup_limits() {
        Some(limits) => available.min(limits.free_memory),
        None => available,
    }
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
