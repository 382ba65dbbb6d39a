//! Clippy over our own crates alone.
//!
//! `cargo clippy` would check 300 dependencies first, although they are compiled already. So Clippy's driver
//! takes rustc's place for the workspace's crates in an ordinary build. That build has a target folder of its
//! own, where the compiled dependencies are links to the first one: crates compiled by the driver have
//! another identity under the same file name, and must not replace those that tests and kernels link to.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::places::Places;
use crate::task::{At, Result, command, run};

/// Fails on any warning, in any target.
pub fn clippy(places: &Places) -> Result<()> {
    let folder = places.target.join("lint");
    for part in ["deps", "build", ".fingerprint"] {
        let from = places.target.join("debug").join(part);
        if from.is_dir() {
            mirror(&from, &folder.join("debug").join(part))?;
        }
    }
    run(command("cargo")
        .args(["build", "--workspace", "--all-targets"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &folder)
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__")
        // Nobody runs what this build makes. The dependencies keep their own level.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0"))
}

/// Brings `to` up to date with `from`, without our own crates. Artifacts are linked; Cargo's records, which
/// it may write over, are copied with their times, by which it knows that they are up to date.
fn mirror(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).at(to)?;
    for entry in fs::read_dir(from).at(from)? {
        let entry = entry.at(from)?;
        let name = entry.file_name();
        let own = name.to_string_lossy();
        if own.contains("topicbook") || own.contains("xtask") {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        let new = entry.metadata().at(&source)?;
        if new.is_dir() {
            mirror(&source, &target)?;
            continue;
        }
        let artifact = new.len() > 64 * 1024;
        if let Ok(old) = fs::metadata(&target) {
            let same = if artifact {
                old.ino() == new.ino()
            } else {
                old.modified().at(&target)? == new.modified().at(&source)?
            };
            if same {
                continue;
            }
            fs::remove_file(&target).at(&target)?;
        }
        if artifact {
            fs::hard_link(&source, &target).at(&target)?;
        } else {
            fs::copy(&source, &target).at(&target)?;
            fs::File::options()
                .write(true)
                .open(&target)
                .and_then(|file| file.set_modified(new.modified()?))
                .at(&target)?;
        }
    }
    Ok(())
}
