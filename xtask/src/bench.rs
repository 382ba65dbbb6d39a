//! Figures that users feel, measured and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::places::Places;
use crate::setup;
use crate::task::{At, Fail, Result, command, run};

/// Seconds from a kernel's start to a value, and of single cells, beside a kernel without any dependency.
pub fn cells(places: &Places) -> Result<()> {
    setup::all(places)?;
    let records = places.root.join("benches");
    fs::create_dir_all(&records).at(&records)?;
    run(setup::jupyter(places, "python")
        .arg(places.root.join("xtask/python/bench_cells.py"))
        .arg(places.evcxr_exe())
        .arg(records.join("cells.json"))
        .env("TOPICBOOK_KERNELS", places.kernels()))
}

/// What a plain evcxr pays for topicbook, without our kernel: everything is built inside it, once more.
pub fn plain(places: &Places) -> Result<()> {
    setup::all(places)?;
    run(setup::jupyter(places, "python")
        .arg(places.root.join("xtask/python/bench_plain.py"))
        .arg(places.evcxr_exe())
        .arg(places.root.join("notebooks"))
        .arg(places.root.join("Cargo.lock"))
        .arg(places.root.join("benches/plain.json"))
        .env("TOPICBOOK_KERNELS", places.kernels()))
}

/// Our fits and generator beside the peers, on the same work and in the same run: every row of the table, or those named.
pub fn peers(places: &Places, rows: &[&str]) -> Result<()> {
    let shared = places.root.join("../shared");
    let (peers, nips) = (shared.join("peers/peers.py"), shared.join("data/nips.npz"));
    if !peers.is_file() || !nips.is_file() {
        return Err(Fail::new(format!(
            "{} and {} are not there: nothing to compare with",
            peers.display(),
            nips.display()
        )));
    }
    let python = peers_python(places, &shared)?;
    run(ours(places, "peers").arg("--no-run"))?;
    // A fit in a cell is among the rows.
    setup::all(places)?;
    run(setup::jupyter(places, "python")
        .arg(places.root.join("xtask/python/bench_peers.py"))
        .args([&peers, &python, &nips, &places.root.join("benches")])
        .args(rows)
        // Cargo starts our side, because it knows where the shared libraries are.
        .env("CARGO_TARGET_DIR", &places.target)
        .current_dir(&places.root))
}

/// Fits to 8 GB of counts in a cgroup of 1 GiB, in a folder of the cache that is removed afterwards. tinytopics does the
/// same where the peers' script is there.
pub fn memory(places: &Places) -> Result<()> {
    let shared = places.root.join("../shared");
    let peers = shared.join("peers/peers.py");
    let folder = places.cache.join("bench-memory");
    let mut bench = ours(places, "memory");
    bench.args(["--", "record"]).arg(&folder);
    if peers.is_file() {
        bench.arg(peers_python(places, &shared)?).arg(&peers);
    }
    let done = run(&mut bench);
    if folder.is_dir() {
        fs::remove_dir_all(&folder).at(&folder)?;
    }
    done
}

/// How optimizers grow with the number of documents.
pub fn optimizers(places: &Places) -> Result<()> {
    run(ours(places, "optimizers")
        .arg("--")
        .arg(places.root.join("benches")))
}

/// What tables read as bf16 do to a fit: on the driver that needs no card, which only the library's own tests can use.
pub fn precision(places: &Places) -> Result<()> {
    let test = ["--lib", "real_counts_in_both_precisions"];
    measuring_test(places, &test, "TOPICBOOK_PRECISION", "precision.json")
}

/// How long the bytes of an epoch keep it, on the simulated bus of a driver without a card.
pub fn bus(places: &Places) -> Result<()> {
    let test = ["--test", "card", "an_epoch_takes_as_long_as_its_bytes"];
    measuring_test(places, &test, "TOPICBOOK_BUS", "bus.json")
}

/// A measurement that needs what only tests have: an ignored test, which writes its record where a variable says.
fn measuring_test(places: &Places, test: &[&str], variable: &str, record: &str) -> Result<()> {
    run(command("cargo")
        .args(["test", "--quiet"])
        .args(test)
        .args(["--", "--ignored", "--nocapture"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target)
        .env(variable, places.root.join("benches").join(record)))
}

/// Which learning rates go with which batch size, on drawn counts and, where they are there, the NIPS papers.
pub fn batches(places: &Places) -> Result<()> {
    let nips = places.root.join("../shared/data/nips.npz");
    let mut bench = ours(places, "batches");
    bench.arg("--").arg(places.root.join("benches"));
    // A fit on each thread is quicker than all threads on one fit.
    bench.env("RAYON_NUM_THREADS", "1");
    if nips.is_file() {
        bench.arg(nips);
    }
    run(&mut bench)
}

/// Our side of a comparison: Cargo starts it, because it knows where the shared libraries are.
fn ours(places: &Places, bench: &str) -> Command {
    let mut cargo = command("cargo");
    cargo
        .args(["test", "--quiet", "--bench", bench])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target);
    cargo
}

/// The peers' Python. PyTorch is large, so they have an environment of their own.
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
