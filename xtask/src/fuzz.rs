//! Fuzzing of the readers of all file formats.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::places::Places;
use crate::task::{At, Fail, Result, command, run, step};

/// The largest input, in bytes.
const LARGEST: u32 = 1 << 16;

/// MiB that the process may use. A reader that allocates what a header claims, without checking the file's size, fails.
const MEMORY: u32 = 2_048;

/// Runs one target for some seconds. New inputs go to the build folder, and so does the input of a failure; the corpus
/// in the repository is only read.
pub fn target(places: &Places, name: &str, seconds: &str) -> Result<()> {
    let folder = places.root.join("crates").join("fuzz");
    let corpus = folder.join("corpus").join(name);
    if !corpus.is_dir() {
        return Err(Fail::new(format!(
            "there is no corpus {}: name one of the folders of crates/fuzz/corpus",
            corpus.display()
        )));
    }
    step("building the fuzz targets", || {
        run(&mut cargo(places, &folder, "build"))
    })?;
    let found = places.build().join("fuzz").join(name);
    fs::create_dir_all(&found).at(&found)?;
    step(&format!("fuzzing {name} for {seconds} s"), || {
        run(cargo(places, &folder, "run")
            .args(["--quiet", "--"])
            .args([&found, &corpus])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-max_len={LARGEST}"))
            .arg(format!("-rss_limit_mb={MEMORY}"))
            .arg(format!("-malloc_limit_mb={MEMORY}"))
            .args(["-timeout=5", "-print_final_stats=1"])
            .arg(format!("-artifact_prefix={}/failure-", found.display()))
            .env("TOPICBOOK_FUZZ", name))
    })
}

/// Builds or runs the targets, with the branches of our own crates counted for the engine.
fn cargo(places: &Places, folder: &Path, subcommand: &str) -> Command {
    let mut cargo = command("cargo");
    cargo
        .args([subcommand, "--package", "fuzz", "--features", "engine"])
        .args(["--profile", "test"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &places.target)
        .env("RUSTC_WORKSPACE_WRAPPER", folder.join("rustc-coverage"));
    cargo
}
