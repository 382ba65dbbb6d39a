//! Helpers for tests that call Python.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with NumPy and SciPy: `TOPICBOOK_PYTHON`, or the one in topicbook's cache folder. Where there is none,
/// prints that the test is skipped and returns `None`.
pub fn python() -> Option<PathBuf> {
    let found = candidates().into_iter().find(|python| {
        Command::new(python)
            .args(["-c", "import numpy, scipy.sparse"])
            .output()
            .is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        eprintln!(
            "SKIPPED: no Python with numpy and scipy (set TOPICBOOK_PYTHON, or let `cargo xtask test` install one)"
        );
    }
    found
}

fn candidates() -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    if let Some(python) = std::env::var_os("TOPICBOOK_PYTHON") {
        candidates.push(PathBuf::from(python));
    }
    let cache = std::env::var_os("TOPICBOOK_CACHE")
        .map(PathBuf::from)
        .or_else(|| {
            std::env::var_os("XDG_CACHE_HOME").map(|cache| Path::new(&cache).join("topicbook"))
        })
        .or_else(|| {
            std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache").join("topicbook"))
        });
    if let Some(cache) = cache {
        candidates.push(cache.join("python").join("bin").join("python"));
    }
    candidates
}

/// Runs a script in `folder` and returns its standard output.
///
/// # Panics
/// When the script fails, with its standard error.
pub fn run(python: &Path, folder: &Path, script: &str) -> String {
    let output = Command::new(python)
        .current_dir(folder)
        .args(["-c", script])
        .output()
        .expect("Python starts");
    assert!(
        output.status.success(),
        "the script failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("Python prints UTF-8")
}
