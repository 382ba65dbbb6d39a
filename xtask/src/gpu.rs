//! Packs the GPU benchmark into an archive: one self-contained program, and a script that runs it.

use std::fs;
use std::path::Path;

use crate::built::Built;
use crate::places::Places;
use crate::task::{At, Fail, Result, command, output, run, step};

/// Largest size of the packed archive in bytes.
const LIMIT: u64 = 60 << 20;

/// The script of the archive: `./run.sh`, and `./run.sh --small` on a machine without a GPU.
const SCRIPT: &str = include_str!("gpu_run.sh");

/// Builds the program, checks that it needs no shared library of Rust or topicbook, and packs it with its script.
pub fn pack(places: &Places) -> Result<()> {
    let folder = places.build.join("gpu");
    if folder.is_dir() {
        fs::remove_dir_all(&folder).at(&folder)?;
    }
    fs::create_dir_all(&folder).at(&folder)?;
    let ours = folder.join("gpu");
    step("building the benchmark", || build(places, &ours))?;
    let needed = output(command("ldd").arg(&ours))?;
    if let Some(line) = needed
        .lines()
        .find(|line| line.contains("libtopicbook") || line.contains("libstd"))
    {
        return Err(Fail::new(format!(
            "the program is not self-contained: {line}"
        )));
    }
    let script = folder.join("run.sh");
    fs::write(&script, SCRIPT).at(&script)?;
    run(command("chmod").arg("+x").arg(&script))?;
    let peers = places.root.join("xtask/python/gpu_peers.py");
    fs::copy(&peers, folder.join("gpu_peers.py")).at(&peers)?;
    step("downloading tinytopics", || {
        run(command("python3")
            .args(["-m", "pip", "download", "--quiet", "--no-input"])
            .args(["--disable-pip-version-check", "--no-deps"])
            .args(["--only-binary", ":all:", "--requirement"])
            .arg(places.root.join("xtask/python/gpu_peers.txt"))
            .arg("--dest")
            .arg(&folder))
    })?;
    let archive = places.build.join("topicbook-gpu.tar.xz");
    run(command("tar")
        .arg("-C")
        .arg(&places.build)
        .arg("-cJf")
        .arg(&archive)
        .arg("gpu"))?;
    let size = fs::metadata(&archive).at(&archive)?.len();
    if size > LIMIT {
        return Err(Fail::new(format!(
            "{} has {size} bytes, more than {LIMIT}",
            archive.display()
        )));
    }
    eprintln!(
        "topicbook: {} ({:.1} MB). With a GPU: tar -xJf {0} && gpu/run.sh; without one: gpu/run.sh --small",
        archive.display(),
        size as f64 / 1e6
    );
    Ok(())
}

/// Links the program statically, against the same compiled crates as everything else. rustc links it without Cargo,
/// because Cargo would append this repository's flag `-Cprefer-dynamic` after all others.
fn build(places: &Places, program: &Path) -> Result<()> {
    let messages = output(
        command("cargo")
            .args(["build", "--package", "topicbook-bench"])
            .args(["--message-format", "json-render-diagnostics"])
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target),
    )?;
    let built = Built::of(&messages);
    let mut rustc = command("rustc");
    rustc
        .args([
            "--edition",
            "2024",
            "--crate-name",
            "topicbook_bench",
            "--crate-type",
            "bin",
        ])
        .args(["-C", "opt-level=3", "-C", "strip=symbols"])
        .arg("-L")
        .arg(format!(
            "dependency={}",
            places.target.join("debug/deps").display()
        ));
    for path in &built.native {
        rustc.args(["-L", path]);
    }
    for name in ["topicbook", "serde_json", "libc", "testkit"] {
        rustc.args(["--extern", &built.named(name)?]);
    }
    run(rustc
        .arg(places.root.join("crates/topicbook-bench/src/main.rs"))
        .arg("-o")
        .arg(program)
        .current_dir(&places.root)
        .env("CARGO_PKG_VERSION", env!("CARGO_PKG_VERSION")))
}
