//! Temporary files, and small file systems, which tests can fill up or make read-only.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A tmpfs in a temporary folder; both are removed when it is dropped.
pub struct Tmpfs {
    folder: TempDir,
}

impl Tmpfs {
    /// Mounts a tmpfs of a size such as `8m`. Where that is not possible (it takes root on Linux), prints that the test is
    /// skipped and returns `None`.
    pub fn or_skip(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mounted = mount(
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
            folder.path(),
        );
        if !mounted {
            eprintln!("SKIPPED: no tmpfs can be mounted here (it takes root on Linux)");
            return None;
        }
        Some(Self { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether the file system could be made read-only.
    pub fn make_read_only(&self) -> bool {
        mount(&["-o", "remount,ro"], self.path())
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount")
        .args(arguments)
        .arg(folder)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A temporary folder, and the path of a file in it.
///
/// # Panics
/// When the folder cannot be made.
pub fn temp_path(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    (folder, path)
}
