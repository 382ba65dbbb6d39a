//! The benchmark for a machine with a card: one program, and what runs it there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::task::{At, Fail, Result, command, output, run, step};

/// What a packed program may take.
const LIMIT: u64 = 60 << 20;

/// `./run.sh`, and `./run.sh --small` where there is no card.
const SCRIPT: &str = "\
#!/bin/sh
# Measures topicbook on this machine's card, and tinytopics and PyTorch beside it where Python has them (PYTHON names
# another Python than python3). `--small` tries everything at tiny sizes. Writes gpu.json and gpu.md into this folder.
cd \"$(dirname \"$0\")\" || exit 1
exec ./gpu record . \"$@\" \"${PYTHON:-python3}\" gpu_peers.py
";

/// Builds the program, packs it, and tries the pack: unpacked in a folder of its own, without Rust's libraries.
pub fn pack(places: &Places) -> Result<()> {
    let folder = places.build().join("gpu");
    if folder.is_dir() {
        fs::remove_dir_all(&folder).at(&folder)?;
    }
    fs::create_dir_all(&folder).at(&folder)?;
    let program = step("building the benchmark", || build(places))?;
    let ours = folder.join("gpu");
    fs::copy(&program, &ours).at(&program)?;
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
    let archive = places.build().join("topicbook-gpu.tar.xz");
    run(command("tar")
        .arg("-C")
        .arg(places.build())
        .arg("-cJf")
        .arg(&archive)
        .arg("gpu"))?;
    let size = fs::metadata(&archive).at(&archive)?.len();
    if size > LIMIT {
        return Err(Fail::new(format!(
            "{} takes {size} bytes, more than {LIMIT}",
            archive.display()
        )));
    }
    eprintln!(
        "topicbook: {} ({:.1} MB). On a machine with a card: tar -xJf {0} && gpu/run.sh; without one, gpu/run.sh --small",
        archive.display(),
        size as f64 / 1e6
    );
    Ok(())
}

/// The same crates as everything else; only the last link takes them in, and Rust's own library too.
fn build(places: &Places) -> Result<PathBuf> {
    let messages = output(
        command("cargo")
            .args(["rustc", "--bench", "gpu", "--profile", "dev"])
            .args(["--message-format", "json-render-diagnostics", "--"])
            .args(["-C", "prefer-dynamic=no", "-C", "strip=symbols"])
            .current_dir(&places.root)
            .env("CARGO_TARGET_DIR", &places.target),
    )?;
    let program = messages.lines().rev().find_map(|line| {
        let (_, rest) = line.split_once("\"executable\":\"")?;
        rest.split('"').next()
    });
    let program = program.ok_or_else(|| Fail::new("cargo names no program"))?;
    Ok(Path::new(program).to_path_buf())
}
