//! `cargo xtask bench gpu`: one self-contained program for a machine with a GPU, which needs neither Cargo nor Rust
//! there.
//!
//! ```text
//! gpu record FOLDER DATA PYTHON GPU_PEERS.PY [--small] [PART ...]
//!                     all rows, or those with a PART in their name, into FOLDER/gpu.json and gpu.md; counts in DATA
//! gpu generate FOLDER N M K LENGTH
//! gpu convert FOLDER FORM N        FORM: csr or disk
//! gpu fit ON FOLDER FORM METHOD N K BATCH EPOCHS VRAM
//!                                  FORM: f32, narrow, csr or disk; METHOD: f32, bf16 or em
//! gpu equal ON FOLDER K BATCH N SCORE
//! gpu bus ON BYTES ROWS COLUMNS
//! gpu gathered ON TABLE_ROWS ROWS COLUMNS
//! gpu offload ON N K BATCH STEPS
//! gpu technique ON full|small NAME
//! gpu growth ON N M K FITS
//! ```
//! ON is `cpu` or a GPU's number. All but the first print one JSON line; `record` runs each in a process of its own,
//! with a memory pool of its own.

mod counts;
mod equal;
mod fit;
mod goals;
mod host;
mod page;
mod rows;
mod run;
mod schedule;
#[cfg(test)]
mod schedule_tests;
mod sizes;
#[cfg(test)]
mod tests;
mod work;

use std::path::Path;
use std::process::exit;

use arguments::{arguments, number};
use counts::Form;
use equal::Target;
use fit::{Fit, Method, device};
use run::{Call, run, sizes_of};
use serde_json::Value;
use topicbook::Result;
use topicbook::bench_hooks::On;

use crate::support::arguments;
use crate::techniques::{gpu_runs, measure, table};

pub fn main() -> Result<()> {
    let arguments = arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => Err(arguments::unknown()),
        ["record", folder, data, python, peers, rest @ ..] => {
            let (small, parts) = match rest {
                ["--small", parts @ ..] => (true, parts),
                parts => (false, parts),
            };
            record_rows(&Call {
                folder: Path::new(folder),
                data: Path::new(data),
                program: &std::env::current_exe().unwrap_or_else(|error| panic!("{error}")),
                peers: [Path::new(python), Path::new(peers)],
                small,
                parts,
            })
        }
        piece => {
            println!("{}", work_of(piece)?);
            Ok(())
        }
    }
}

/// Runs the rows, and exits with an error when a goal is missed or nothing can be run.
fn record_rows(call: &Call<'_>) -> Result<()> {
    match run(call) {
        Ok(missed) if missed.is_empty() => Ok(()),
        Ok(missed) => {
            eprintln!("Goals missed:\n{}", missed.join("\n"));
            exit(1)
        }
        Err(reason) => {
            eprintln!("{reason}");
            exit(2)
        }
    }
}

/// The result of a piece of work.
///
/// # Panics
/// When the arguments are none of those above.
fn work_of(arguments: &[&str]) -> Result<Value> {
    match *arguments {
        ["generate", folder, n, m, k, length] => {
            counts::generate(Path::new(folder), numbers([n, m, k, length]))
        }
        ["convert", folder, form, n] => {
            counts::convert(Path::new(folder), parse_form(form), number(n))
        }
        ["fit", on, folder, form, method, n, k, batch, epochs, vram] => {
            let fit = Fit {
                form: parse_form(form),
                method: Method::parse(method).unwrap_or_else(|| panic!("unknown method: {method}")),
                documents: number(n),
                topics: number(k),
                batch: number(batch),
                epochs: number(epochs),
                vram,
            };
            fit::fit(parse_on(on), Path::new(folder), &fit)
        }
        ["equal", on, folder, k, batch, n, score] => {
            let target = Target {
                documents: number(n),
                score: score
                    .parse()
                    .unwrap_or_else(|_| panic!("not a score: {score}")),
            };
            equal::equal(
                parse_on(on),
                Path::new(folder),
                numbers([k, batch]),
                &target,
            )
        }
        ["bus", on, bytes, rows, columns] => {
            work::bus(parse_on(on), number(bytes), (number(rows), number(columns)))
        }
        ["gathered", on, table_rows, rows, columns] => work::gathered(
            parse_on(on),
            number(table_rows),
            (number(rows), number(columns)),
        ),
        ["offload", on, n, k, batch, steps] => {
            work::offload(parse_on(on), numbers([n, k, batch, steps]))
        }
        ["technique", on, size, name] => {
            let (_, sizes) = sizes_of(size == "small");
            let mut runs = gpu_runs::on_gpu(device(parse_on(on)), &sizes.techniques).into_iter();
            let run = runs.find(|run| run.name == name);
            let run = run.unwrap_or_else(|| panic!("no technique {name}"));
            measure::measure(&run)
        }
        ["growth", on, n, m, k, fits] => {
            work::growth(parse_on(on), numbers([n, m, k]), number(fits))
        }
        _ => panic!("unknown arguments: {arguments:?}"),
    }
}

fn parse_form(text: &str) -> Form {
    Form::parse(text).unwrap_or_else(|| panic!("unknown form of counts: {text}"))
}

fn parse_on(text: &str) -> On {
    match text {
        "cpu" => On::Cpu,
        gpu => On::Gpu(number(gpu)),
    }
}

/// # Panics
/// When an argument is not a number.
fn numbers<const N: usize>(arguments: [&str; N]) -> [usize; N] {
    arguments.map(number)
}
