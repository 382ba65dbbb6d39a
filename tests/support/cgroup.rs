//! A memory limit around a process: a cgroup of its own, version 1 or 2.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A cgroup that is removed when dropped.
pub struct Cgroup {
    folder: PathBuf,
    /// The files that hold the limit, the largest use and the members.
    names: &'static [&'static str; 3],
}

const ONE: [&str; 3] = [
    "memory.limit_in_bytes",
    "memory.max_usage_in_bytes",
    "cgroup.procs",
];
const TWO: [&str; 3] = ["memory.max", "memory.peak", "cgroup.procs"];

impl Cgroup {
    /// A cgroup with a limit of memory. Says why where there can be none on this machine: what needs it is skipped.
    pub fn or_skip(limit: u64) -> Option<Self> {
        Self::new(limit)
            .inspect_err(|reason| eprintln!("SKIPPED: {reason}"))
            .ok()
    }

    fn new(limit: u64) -> Result<Self, String> {
        let (parent, names) = if Path::new("/sys/fs/cgroup/memory").is_dir() {
            ("/sys/fs/cgroup/memory", &ONE)
        } else {
            // Version 2 gives memory to groups only where the one above says so.
            let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
            ("/sys/fs/cgroup", &TWO)
        };
        // Tests of one process run side by side.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("topicbook-{}-{number}", std::process::id());
        let group = Self {
            folder: Path::new(parent).join(name),
            names,
        };
        let failed = |error: io::Error| format!("no cgroup in {parent}: {error}");
        fs::create_dir(&group.folder).map_err(failed)?;
        fs::write(group.folder.join(names[0]), limit.to_string()).map_err(failed)?;
        Ok(group)
    }

    /// Runs a program inside and waits for it.
    pub fn run(&self, program: &mut Command) -> io::Result<Output> {
        let members = self.folder.join(self.names[2]);
        // SAFETY: between fork and exec the closure only writes a file; its path was made before.
        unsafe {
            program.pre_exec(move || fs::write(&members, "0"));
        }
        program.output()
    }

    #[allow(dead_code)] // not every test asks
    /// The most memory that was in use inside, with the page cache.
    pub fn largest_use(&self) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join(self.names[1])).ok()?;
        text.trim().parse().ok()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}
