//! Benchmarks, and their records in benches/records.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::corpus;
use crate::jupyter;
use crate::places::Places;
use crate::setup;
use crate::task::{At, Fail, Result, command, run};
use crate::toolchain::Toolchain;

/// Measures the time from a kernel's start to the first value, and of single cells, in our kernel and in one without
/// dependencies.
pub fn cells(places: &Places) -> Result<()> {
    setup::all(places)?;
    let records = places.root.join("benches/records");
    fs::create_dir_all(&records).at(&records)?;
    run(jupyter::python(places)
        .arg(places.root.join("xtask/python/bench_cells.py"))
        .arg(setup::evcxr_jupyter(places)?)
        .arg(records.join("cells.json"))
        .env("TOPICBOOK_KERNELS", places.kernels()))
}

/// Starts a thousand kernels on a busy machine, and counts those that never answer.
pub fn starts(places: &Places, counts: &[&str]) -> Result<()> {
    setup::all(places)?;
    run(jupyter::python(places)
        .arg(places.root.join("xtask/python/bench_starts.py"))
        .args([places.kernel_exe(), setup::evcxr_jupyter(places)?])
        .arg(places.root.join("benches/records/starts.json"))
        .args(counts)
        .env("TOPICBOOK_KERNELS", places.kernels()))
}

/// Measures topicbook in a plain evcxr, without our kernel: evcxr then builds all crates itself.
pub fn plain(places: &Places) -> Result<()> {
    setup::all(places)?;
    run(jupyter::python(places)
        .arg(places.root.join("xtask/python/bench_plain.py"))
        .arg(setup::evcxr_jupyter(places)?)
        .arg(places.root.join("notebooks"))
        .arg(places.root.join("Cargo.lock"))
        .arg(places.root.join("benches/records/plain.json"))
        .env("TOPICBOOK_KERNELS", places.kernels()))
}

/// Compares our fits and generator with the peers, on the same work and in the same run: all rows of the table, or
/// those named.
pub fn peers(places: &Places, rows: &[&str]) -> Result<()> {
    let shared = places.root.join("../shared");
    let (peers, nips) = (shared.join("peers/peers.py"), shared.join("data/nips.npz"));
    if !peers.is_file() || !nips.is_file() {
        return Err(Fail::new(format!(
            "{} and {} are needed for the comparison, and missing",
            peers.display(),
            nips.display()
        )));
    }
    let python = peers_python(places, &shared)?;
    run(command("cargo")
        .args(["build", "--quiet", "--package", "topicbook-bench"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target))?;
    // One of the rows is a fit in a cell.
    if rows.is_empty() || rows.contains(&"notebook") {
        setup::all(places)?;
    }
    run(jupyter::python(places)
        .arg(places.root.join("xtask/python/bench_peers.py"))
        .args([&peers, &python, &nips, &places.root.join("benches/records")])
        .args(rows)
        // The script runs our side by Cargo.
        .env("CARGO_TARGET_DIR", &places.target)
        .current_dir(&places.root))
}

/// Runs a benchmark and removes the folder of its files, also when it has failed.
fn run_and_remove(bench: &mut Command, folder: &Path) -> Result<()> {
    let done = run(bench);
    if folder.is_dir() {
        fs::remove_dir_all(folder).at(folder)?;
    }
    done
}

/// Times passes of every solver over small counts: `compare` prints the ratios to the record, of all rows or of those
/// with a part in their name; `record` writes it.
pub fn kernels(places: &Places, task: &str, part: &[&str]) -> Result<()> {
    let record = places.root.join("benches/records/kernels.json");
    let mut bench = ours(places, "kernels");
    run(bench.arg(task).arg(record).args(part))
}

/// Compares predicted with measured memory on random fits, half of them in control groups, in a folder of the cache that
/// is removed afterwards.
pub fn plans(places: &Places) -> Result<()> {
    let folder = places.cache.join("bench-plans");
    let mut bench = ours(places, "plans");
    bench.arg("record");
    bench.arg(places.root.join("benches/records")).arg(&folder);
    run_and_remove(&mut bench, &folder)
}

/// Compares the vectorizer with scikit-learn's, on texts of these sizes in megabytes made from Rust's documentation, in
/// a folder of the cache that is removed afterwards.
pub fn text(places: &Places, megabytes: &[&str]) -> Result<()> {
    setup::python(places)?;
    let documentation = Toolchain::find(places)?.documentation().ok_or_else(|| {
        Fail::new(
            "this benchmark repeats Rust's documentation: install it with `rustup component add rust-docs`",
        )
    })?;
    let folder = places.cache.join("bench-text");
    fs::create_dir_all(&folder).at(&folder)?;
    let mut bench = ours(places, "text");
    bench.arg(places.root.join("benches/records"));
    bench.args([&folder, &places.python.clone()]);
    bench.arg(places.root.join("xtask/python/bench_text.py"));
    bench.arg(documentation).args(megabytes);
    run_and_remove(&mut bench, &folder)
}

/// Compares what the automatic solver reaches with many random starts, for seconds and numbers of seeds that are given.
pub fn search(places: &Places, seconds: &str, seeds: &str) -> Result<()> {
    let mut bench = ours(places, "search");
    bench.arg(places.root.join("benches/records"));
    bench.args([seconds, seeds]);
    bench.args(texts(places)?);
    run(&mut bench)
}

/// Compares with the peers how well topics predict held-out documents, for a number of seeds on the corpora of text
/// that exist. Or compares the recommended numbers of topics, for a number of drawn corpora and seconds.
pub fn held_out(places: &Places, part: &str, sizes: &[&str]) -> Result<()> {
    let peers = places.cache.join("held-out-peers");
    setup::environment(
        "installing gensim, scikit-learn and tomotopy into the cache (300 MB)",
        &peers,
        &places.root.join("xtask/python/held_out_peers.txt"),
        &[],
    )?;
    let folder = places.cache.join("bench-held-out");
    let mut bench = ours(places, "held_out");
    bench.arg(places.root.join("benches/records"));
    bench.args([&folder, &peers.join("bin/python")]);
    bench.arg(places.root.join("xtask/python/held_out_peers.py"));
    let mut texts = texts(places)?;
    // Short pieces are cut from the first corpus alone.
    texts.truncate(if part == "numbers" { 1 } else { texts.len() });
    bench.arg(part).args(sizes).args(texts);
    run_and_remove(&mut bench, &folder)
}

/// The corpora of text that exist on this machine, as `name=file`.
fn texts(places: &Places) -> Result<Vec<String>> {
    let nips = places.root.join("../shared/data/nips.npz");
    let nips = nips.is_file().then_some(("NIPS papers", nips));
    let documentation = corpus::of_documentation(places)?;
    let documentation = documentation.map(|counts| ("Rust's documentation", counts));
    let texts = nips.into_iter().chain(documentation);
    Ok(texts
        .map(|(name, counts)| format!("{name}={}", counts.display()))
        .collect())
}

/// Our side of a comparison. Cargo runs it, because it sets the path of the shared libraries; in the profile `dev`, in
/// which the library, the tests and the kernel are compiled.
fn ours(places: &Places, bench: &str) -> Command {
    let mut cargo = command("cargo");
    cargo
        .args([
            "run",
            "--quiet",
            "--package",
            "topicbook-bench",
            "--",
            bench,
        ])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target);
    cargo
}

/// The Python with the peers. PyTorch is large, so it gets an environment of its own.
fn peers_python(places: &Places, shared: &Path) -> Result<PathBuf> {
    let folder = places.cache.join("peers");
    setup::environment(
        "installing the peers (PyTorch: some minutes and gigabytes)",
        &folder,
        &shared.join("peers/requirements.txt"),
        &[],
    )?;
    Ok(folder.join("bin").join("python"))
}
