//! Fuzzing of everything that reads files, settings and texts: one target with an engine, or a round over all of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::places::Places;
use crate::setup;
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
    let found = places.build.join("fuzz").join(name);
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

/// Gives all targets together at least that many mutants, each in a process limited to 2 GiB, and compares the values of
/// accepted counts with those that NumPy, SciPy, safetensors, Polars and Python's csv read. The folder of the round keeps its
/// report, the inputs that failed and the files that were accepted.
pub fn round(places: &Places, mutants: &str, seed: &str) -> Result<()> {
    let peers = places.cache.join("fuzz-peers");
    setup::environment(
        "installing NumPy, SciPy, safetensors and Polars into the cache (200 MB)",
        &peers,
        &places.root.join("xtask/python/fuzz.txt"),
        &[],
    )?;
    let folder = places.build.join("fuzz").join(format!("round-{seed}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).at(&folder)?;
    }
    fs::create_dir_all(&folder).at(&folder)?;
    step(&format!("a round of {mutants} mutants"), || {
        run(command("cargo")
            // The library's own package selects the dependencies with the features that they have in every other build.
            .args([
                "test",
                "--quiet",
                "--package",
                "topicbook",
                "--package",
                "fuzz",
            ])
            .args([
                "--test",
                "corpus",
                "--",
                "--ignored",
                "--nocapture",
                "a_long_round",
            ])
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target)
            .env("TOPICBOOK_FUZZ_MUTANTS", mutants)
            .env("TOPICBOOK_FUZZ_SEED", seed)
            .env("TOPICBOOK_FUZZ_FOLDER", &folder))
    })?;
    step("comparing values with the peers", || {
        run(command(peers.join("bin").join("python"))
            .arg(places.root.join("xtask/python/fuzz_peers.py"))
            .arg(&folder))
    })?;
    let report = folder.join("report.md");
    match fs::read_to_string(&report)
        .at(&report)?
        .contains("/failures/")
    {
        false => Ok(()),
        true => Err(Fail::new(format!(
            "some inputs failed: see {}",
            report.display()
        ))),
    }
}

/// Builds or runs the targets, with the branches of our own crates counted for the engine.
fn cargo(places: &Places, folder: &Path, subcommand: &str) -> Command {
    let mut cargo = command("cargo");
    cargo
        .args([subcommand, "--package", "fuzz", "--bin", "fuzz"])
        .args(["--features", "engine"])
        .args(["--profile", "test"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &places.target)
        .env("RUSTC_WORKSPACE_WRAPPER", folder.join("rustc-coverage"));
    cargo
}
