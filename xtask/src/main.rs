//! `cargo xtask`: set-up, notebooks and tests, each with one command.

mod bench;
mod built;
mod changes;
mod doc_examples;
mod examples;
mod fuzz;
mod gpu;
mod layers;
mod links;
mod lint;
mod notebook;
mod pages;
mod setup;
mod sizes;
mod test;
mod wheel;
mod worker;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use topicbook_launcher::{
    corpus, crates, doctor, jupyter, kernel_spec, places, task, toolchain, warm,
};

use places::Places;
use task::Result;

const HELP: &str = "\
cargo xtask <command>

  run <notebook>   runs a notebook; the executed .ipynb, an .html and an .md go to build/, here or next to a notebook
                   of your own
  notebooks [notebook ...]
                   runs the notebooks of the repository, or some of them, and writes their pages in notebooks/executed
  lab [path] [options]
                   opens JupyterLab with the kernel \"Rust (topicbook)\" on notebooks/, or on a folder or notebook of your
                   own; the options are JupyterLab's
  kernel install [--user | --prefix <folder>] [--remove]
                   makes the kernel known to every Jupyter and VS Code of yours, or of an environment
  check            checks format, layers, links and lints, and runs the unit tests of the library: run it after every
                   change
  test             runs everything: format, layers, links, lints, documentation, tests, the library without its default
                   features, then the kernel, the wheels, the notebooks and a browser
  test --wheel     installs the wheels, as root in a bare Debian without network, compiler or Rust, too
  setup            installs what the other commands need: Python environment, evcxr, library, kernel
  wheel            writes Python wheels of library and kernel into build/wheel: with them, and with Rust, no build is needed
  bundle           packs these wheels with JupyterLab's and with Rust: build/topicbook-bundle.tar, for machines without a network
  worker           builds the program of the ranks of a fit on a cluster, with the site's MPI (MPICC, or mpicc in the PATH), or
                   with Open MPI from Python packages
  bench cells      compares the times of cells with a bare evcxr; writes benches/records/cells.json
  bench starts     starts 1,000 kernels on a busy machine; writes benches/records/starts.json
  bench plain      times a plain evcxr that builds topicbook itself (half an hour); writes benches/records/plain.json
  bench kernels [record | part]
                   times passes of every solver over small counts within a minute, against a record: all rows, or those
                   with this part in their name; record writes it
  bench plans      compares predicted with measured memory on 220 random fits; writes benches/records/plans.json and .md
  bench peers [row ...]
                   compares fits and the generator with the peers; writes benches/records/peers.json and peers.md
  bench search [seconds seeds]
                   compares the automatic solver with many random starts on six corpora (60 s, 5 seeds: three hours);
                   writes benches/records/search.json and .md
  bench held_out texts [seeds]
                   compares how well topics predict held-out documents with gensim, scikit-learn and tomotopy (5 seeds: an
                   hour); writes benches/records/held_out.json and .md
  bench held_out numbers [corpora seconds]
                   compares the numbers of topics that are recommended, for 100 drawn corpora and short pieces of papers, until
                   the seconds have passed (two hours); writes the same record
  bench text [megabytes ...]
                   compares the vectorizer with scikit-learn's; writes benches/records/text.json and text.md
  bench gpu        packs a program that measures fits on a GPU, tinytopics and PyTorch within eight minutes, for machines
                   without Rust: build/topicbook-gpu.tar.xz
  fuzz <target> [seconds]
                   mutates files of crates/fuzz/corpus/<target> for ten minutes, or for that many seconds
  fuzz round [mutants] [seed]
                   gives 100,000 mutants to all targets, in processes limited to 2 GiB, and compares the values of accepted
                   counts with NumPy, SciPy, safetensors and Polars; the report goes to build/fuzz
  doctor           reports cache, disk, Rust, Python, kernel, processor, memory, driver and GPUs within seconds, and fits a small
                   model on each device
  corpus           writes the counts of notebooks 02 and 06 into build/

Executed notebooks go to build/, compiled crates to CARGO_TARGET_DIR or target/, as for Cargo. The rest (Python
environment, evcxr, kernel) goes to a cache folder: TOPICBOOK_CACHE, else $XDG_CACHE_HOME/topicbook, else
~/.cache/topicbook. Only `kernel install` writes elsewhere.
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
        [] | ["help" | "-h", ..] | [_, .., "--help" | "-h"] | ["--help"] => print!("{HELP}"),
        ["kernel", "install", ..] => {
            kernel_spec::install(&Places::of_xtask()?, &arguments[2..], setup::all)?;
        }
        ["run", notebook] => notebook::execute(&Places::of_xtask()?, Path::new(notebook))?,
        ["notebooks"] => {
            let places = Places::of_xtask()?;
            pages::write(&places, &notebook::all(&places)?)?;
        }
        ["notebooks", ..] => {
            let some: Vec<PathBuf> = arguments[1..].iter().map(PathBuf::from).collect();
            pages::write(&Places::of_xtask()?, &some)?;
        }
        ["lab", ..] => notebook::lab(&Places::of_xtask()?, &arguments[1..])?,
        ["check"] => return test::check(&Places::of_xtask()?),
        ["test", "--wheel"] => return test::wheel(&Places::of_xtask()?),
        ["test"] => return test::all(&Places::of_xtask()?),
        ["bundle"] => wheel::bundle(&Places::of_xtask()?, "6").map(drop)?,
        ["wheel"] => wheel::make(&Places::of_xtask()?, "9").map(drop)?,
        ["worker"] => worker::build(&Places::of_xtask()?)?,
        ["setup"] => setup::all(&Places::of_xtask()?)?,
        ["bench", "kernels", "record"] => bench::kernels(&Places::of_xtask()?, "record", &[])?,
        ["bench", "kernels", part @ ..] => bench::kernels(&Places::of_xtask()?, "compare", part)?,
        ["bench", "cells"] => bench::cells(&Places::of_xtask()?)?,
        ["bench", "starts", counts @ ..] => bench::starts(&Places::of_xtask()?, counts)?,
        ["bench", "plain"] => bench::plain(&Places::of_xtask()?)?,
        ["bench", "plans"] => bench::plans(&Places::of_xtask()?)?,
        ["bench", "peers", rows @ ..] => bench::peers(&Places::of_xtask()?, rows)?,
        ["bench", "held_out", "texts"] => bench::held_out(&Places::of_xtask()?, "texts", &["5"])?,
        ["bench", "held_out", "numbers"] => {
            bench::held_out(&Places::of_xtask()?, "numbers", &["100", "14400"])?
        }
        [
            "bench",
            "held_out",
            part @ ("texts" | "numbers"),
            sizes @ ..,
        ] => bench::held_out(&Places::of_xtask()?, part, sizes)?,
        ["bench", "search"] => bench::search(&Places::of_xtask()?, "60", "5")?,
        ["bench", "search", seconds, seeds] => bench::search(&Places::of_xtask()?, seconds, seeds)?,
        ["bench", "text"] => bench::text(&Places::of_xtask()?, &["100", "1000"])?,
        ["bench", "text", megabytes @ ..] => bench::text(&Places::of_xtask()?, megabytes)?,
        ["bench", "gpu"] => gpu::pack(&Places::of_xtask()?)?,
        ["fuzz", "round"] => fuzz::round(&Places::of_xtask()?, "100000", "1")?,
        ["fuzz", "round", mutants] => fuzz::round(&Places::of_xtask()?, mutants, "1")?,
        ["fuzz", "round", mutants, seed] => fuzz::round(&Places::of_xtask()?, mutants, seed)?,
        ["fuzz", target] => fuzz::target(&Places::of_xtask()?, target, "600")?,
        ["fuzz", target, seconds] => fuzz::target(&Places::of_xtask()?, target, seconds)?,
        ["doctor"] => doctor::doctor(&Places::of_xtask()?)?,
        ["corpus"] => corpus::prepare(&Places::of_xtask()?)?,
        _ => {
            eprint!("{HELP}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
