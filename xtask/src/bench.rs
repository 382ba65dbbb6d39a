//! Figures that users feel, measured and kept.

use std::fs;

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

/// Our fits and generator beside tinytopics, on the same work and in the same run.
pub fn peers(places: &Places) -> Result<()> {
    let shared = places.root.join("../shared");
    let (peers, nips) = (shared.join("peers/peers.py"), shared.join("data/nips.npz"));
    if !peers.is_file() || !nips.is_file() {
        return Err(Fail::new(format!(
            "{} and {} are not there: nothing to compare with",
            peers.display(),
            nips.display()
        )));
    }
    // PyTorch is large, so the peers have an environment of their own.
    let folder = places.cache.join("peers");
    setup::environment(
        "installing the peers (PyTorch: some minutes and gigabytes)",
        &folder,
        &shared.join("peers/requirements.txt"),
        &[],
    )?;
    let python = folder.join("bin").join("python");
    let ours = || {
        let mut cargo = command("cargo");
        cargo
            .args(["test", "--quiet", "--bench", "peers"])
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target);
        cargo
    };
    run(ours().arg("--no-run"))?;
    setup::python(places)?;
    run(command(places.python_exe())
        .arg(places.root.join("xtask/python/bench_peers.py"))
        .args([&peers, &python, &nips, &places.root.join("benches")])
        // Cargo starts our side, because it knows where the shared libraries are.
        .env("CARGO_TARGET_DIR", &places.target)
        .current_dir(&places.root))
}

/// The fused step against the machine's measured peaks, and how optimizers grow with the number of documents.
pub fn fused(places: &Places) -> Result<()> {
    run(command("cargo")
        .args(["test", "--quiet", "--bench", "fused", "--"])
        .arg(places.root.join("benches"))
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target))
}
