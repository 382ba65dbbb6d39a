//! A memory limit for a process: a cgroup of its own, version 1 or 2.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A cgroup that is removed when dropped.
pub struct Cgroup {
    folder: PathBuf,
    files: &'static Files,
}

/// Names of files in a cgroup's folder.
struct Files {
    limit: &'static str,
    peak: &'static str,
    processes: &'static str,
}

const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
    processes: "cgroup.procs",
};
const VERSION_2: Files = Files {
    limit: "memory.max",
    peak: "memory.peak",
    processes: "cgroup.procs",
};

impl Cgroup {
    /// A cgroup with a memory limit in bytes. Where none can be created, prints that the test is skipped, with the
    /// reason, and returns `None`.
    pub fn or_skip(limit: u64) -> Option<Self> {
        Self::new(limit)
            .inspect_err(|reason| eprintln!("SKIPPED: {reason}"))
            .ok()
    }

    fn new(limit: u64) -> Result<Self, String> {
        let (parent, files) = if Path::new("/sys/fs/cgroup/memory").is_dir() {
            ("/sys/fs/cgroup/memory", &VERSION_1)
        } else {
            // In version 2 a group has a memory controller only if its parent enables it.
            let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
            ("/sys/fs/cgroup", &VERSION_2)
        };
        // Several tests of one process can have cgroups at the same time.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("topicbook-{}-{number}", std::process::id());
        let group = Self {
            folder: Path::new(parent).join(name),
            files,
        };
        let failed = |error: io::Error| format!("no cgroup in {parent}: {error}");
        fs::create_dir(&group.folder).map_err(failed)?;
        fs::write(group.folder.join(files.limit), limit.to_string()).map_err(failed)?;
        Ok(group)
    }

    /// The file that a process writes `0` into to join the cgroup.
    pub fn processes(&self) -> PathBuf {
        self.folder.join(self.files.processes)
    }

    /// Runs a program in the cgroup and waits for it.
    pub fn run(&self, program: &mut Command) -> io::Result<Output> {
        let processes = self.processes();
        // SAFETY: between fork and exec, the closure only writes to a file whose path is allocated before.
        unsafe {
            program.pre_exec(move || fs::write(&processes, "0"));
        }
        program.output()
    }

    /// Peak memory use in the cgroup in bytes, page cache included.
    pub fn peak(&self) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join(self.files.peak)).ok()?;
        text.trim().parse().ok()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}
