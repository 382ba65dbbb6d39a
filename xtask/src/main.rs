//! `cargo xtask`: set-up, notebooks and tests, each with one command.

mod bench;
mod corpus;
mod gpu;
mod lint;
mod notebook;
mod places;
mod setup;
mod task;
mod test;
// What cells are told about Rust and the library is used by the launcher only.
#[allow(dead_code)]
mod toolchain;
#[allow(dead_code)]
mod warm;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use places::Places;
use task::{Result, command, run};

const HELP: &str = "\
cargo xtask <command>

  run <notebook>   runs a notebook; the executed .ipynb and an .html go to build/
  lab [options]    opens JupyterLab with the kernel \"Rust (topicbook)\"
  test             format, lints, tests, documentation tests, then kernel, notebooks and a browser
  setup            makes everything the other commands need: Python environment, evcxr, library, kernel
  bench cells      times cells beside those of a bare evcxr; the record goes to benches/cells.json
  bench plain      builds everything inside a plain evcxr, without our kernel (half an hour); benches/plain.json
  bench memory     fits to counts larger than the memory they get; the record goes to benches/memory.json and memory.md
  bench peers [row ...]
                   fits and generates beside the peers; the record goes to benches/peers.json and peers.md
  bench optimizers optimizers against the number of documents; the record goes to benches/optimizers.json and .md
  bench precision  what tables of bf16 do to a fit, on a driver that needs no card; benches/precision.json
  bench bus        how long its bytes keep an epoch, on a simulated bus; benches/bus.json
  bench batches    learning rates against batch sizes (a quarter of an hour); benches/batches.json and .md
  bench gpu        packs a program that measures fits on a card, for machines without Rust: build/topicbook-gpu.tar.xz
  doctor           looks for processor, memory, driver and cards, and fits a small model on each
  corpus           gathers the texts of notebook 05 into build/

Everything but build/ goes to a cache: TOPICBOOK_CACHE, else $XDG_CACHE_HOME/topicbook, else
~/.cache/topicbook. Compiled crates go to CARGO_TARGET_DIR, else to the folder target in that cache.
";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("topicbook: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[OsString]) -> Result<ExitCode> {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    match words.as_slice() {
        ["run", notebook] => notebook::execute(&Places::of_xtask()?, Path::new(notebook))?,
        ["lab", ..] => notebook::lab(&Places::of_xtask()?, &arguments[1..])?,
        ["test"] => return test::all(&Places::of_xtask()?),
        ["setup"] => setup::all(&Places::of_xtask()?)?,
        ["bench", "cells"] => bench::cells(&Places::of_xtask()?)?,
        ["bench", "plain"] => bench::plain(&Places::of_xtask()?)?,
        ["bench", "memory"] => bench::memory(&Places::of_xtask()?)?,
        ["bench", "peers", rows @ ..] => bench::peers(&Places::of_xtask()?, rows)?,
        ["bench", "optimizers"] => bench::optimizers(&Places::of_xtask()?)?,
        ["bench", "precision"] => bench::precision(&Places::of_xtask()?)?,
        ["bench", "bus"] => bench::bus(&Places::of_xtask()?)?,
        ["bench", "batches"] => bench::batches(&Places::of_xtask()?)?,
        ["bench", "gpu"] => gpu::pack(&Places::of_xtask()?)?,
        ["doctor"] => doctor(&Places::of_xtask()?)?,
        ["corpus"] => corpus::prepare(&Places::of_xtask()?)?,
        [] | ["help" | "--help" | "-h"] => print!("{HELP}"),
        _ => {
            eprint!("{HELP}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The library looks: it alone knows what a fit needs.
fn doctor(places: &Places) -> Result<()> {
    run(command("cargo")
        .args(["run", "--quiet", "--example", "doctor"])
        .current_dir(&places.root)
        .env("CARGO_TARGET_DIR", &places.target))
}
