//! `cargo xtask bench techniques`: what each memory technique of training saves and costs, compared with what its plan
//! predicts and what a table of such techniques claims for neural networks.
//!
//! ```text
//! techniques record RECORDS FOLDER   all runs, into techniques.json and techniques.md in RECORDS; counts in FOLDER
//! techniques run NAME FOLDER         one run, in this process; prints one JSON line
//! ```

pub mod gpu_runs;
pub mod list;
pub mod measure;
mod page;
mod runs;
pub mod table;

use std::fs;
use std::path::Path;
use std::process::exit;

use serde_json::{Map, Value, json};
use topicbook::{Device, Result};

use crate::support::{arguments, record};

use gpu_runs::{MAIN, MANY, Run, on_gpu};
use measure::measure;
use record::result_of;
use runs::{describe, on_cpu, prepare};

/// How often each run is repeated. All runs are done once, then all again, so that a slow minute does not affect one alone.
const ROUNDS: usize = 3;

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["record", records, folder] => record_all(Path::new(records), Path::new(folder)),
        ["run", name, folder] => {
            println!("{}", run(name, Path::new(folder))?);
            Ok(())
        }
        _ => Err(arguments::unknown()),
    }
}

/// The runs on this machine.
fn all(has_gpu: bool) -> Vec<Run> {
    let mut runs = on_cpu();
    if has_gpu {
        runs.extend(on_gpu(Device::Cuda(0), &[MAIN, MANY]));
    }
    runs
}

/// Fits once.
///
/// # Panics
/// When there is no run of that name.
fn run(name: &str, folder: &Path) -> Result<Value> {
    let run = all(true).into_iter().find(|run| run.name == name);
    measure(&run.unwrap_or_else(|| panic!("no run {name}")), folder)
}

/// Runs everything that this machine can, and writes the record. Exits with an error if a run failed or a measured peak is
/// further than a tenth from the plan's.
fn record_all(records: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).unwrap();
    let gpu = Device::Auto.describe();
    let has_gpu = gpu.starts_with("CUDA");
    if !has_gpu {
        eprintln!("SKIPPED: the runs on a GPU: {gpu}");
    }
    let described = prepare(folder)?;
    let mut results: Map<String, Value> = Map::new();
    for round in 0..ROUNDS {
        for run in all(has_gpu) {
            eprintln!("round {}: {}", round + 1, run.name);
            let mut program = record::this_program(&["run", run.name]);
            let output = program.arg(folder).output();
            let result = result_of(&output.unwrap());
            let rounds = results.entry(run.name).or_insert(json!([]));
            if let Some(rounds) = rounds.as_array_mut() {
                rounds.push(result);
            }
        }
    }
    let record = json!({
        "machine": record::machine(),
        "uptime": fs::read_to_string("/proc/uptime").unwrap_or_default().trim(),
        "burn": version_of("burn"),
        "gpu": gpu,
        "sizes": [describe(&MAIN), describe(&MANY)],
        "density": described,
        "cache": "warm: the files were written by this command",
        "runs": results,
    });
    let (page, wrong) = page::markdown(&record);
    record::write(records, "techniques", &record, &page);
    if !wrong.is_empty() {
        eprintln!("{}", wrong.join("\n"));
        exit(1);
    }
    Ok(())
}

/// The version of a crate in our lock file.
fn version_of(name: &str) -> String {
    let lock = include_str!("../../../../Cargo.lock");
    let entry = format!("name = \"{name}\"\nversion = \"");
    let version = lock
        .split_once(&entry)
        .and_then(|(_, rest)| rest.split('"').next());
    version.unwrap_or_default().into()
}
