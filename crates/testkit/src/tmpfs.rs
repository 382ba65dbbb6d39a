//! Small file systems, which tests can fill up or make read-only.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted tmpfs, unmounted when dropped.
pub struct Tmpfs {
    folder: PathBuf,
}

impl Tmpfs {
    /// Mounts a tmpfs of a size such as `8m` on an existing folder. Where that is not possible (it takes root on
    /// Linux), prints that the test is skipped and returns `None`.
    pub fn or_skip(folder: &Path, size: &str) -> Option<Self> {
        let mounted = mount(
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
            folder,
        );
        if !mounted {
            eprintln!("SKIPPED: no tmpfs can be mounted here (it takes root on Linux)");
            return None;
        }
        Some(Self {
            folder: folder.into(),
        })
    }

    /// Whether the file system could be made read-only.
    pub fn make_read_only(&self) -> bool {
        mount(&["-o", "remount,ro"], &self.folder)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount")
        .args(arguments)
        .arg(folder)
        .output()
        .is_ok_and(|output| output.status.success())
}
