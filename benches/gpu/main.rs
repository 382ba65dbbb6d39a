//! `cargo xtask bench gpu`: one self-contained program for a machine with a GPU, which needs neither Cargo nor Rust
//! there.
//!
//! ```text
//! gpu record FOLDER [--small] [PYTHON GPU_PEERS.PY]   all rows, into FOLDER/gpu.json and gpu.md; data in FOLDER/data
//! gpu generate FOLDER N M K
//! gpu fit ON FOLDER COUNTS METHOD K BATCH EPOCHS VRAM   COUNTS: f32, narrow, csr or disk; METHOD: f32, bf16 or em
//! gpu bus ON BYTES ROWS COLUMNS
//! gpu offload ON N K BATCH STEPS
//! gpu growth ON N M K FITS
//! ```
//! ON is `cpu` or a GPU's number. All but the first print one JSON line; `record` runs each in a process of its own,
//! with a memory pool of its own.

#[path = "../support/arguments.rs"]
mod arguments;
#[path = "../support/few_terms.rs"]
mod few_terms;
mod page;
#[path = "../support/record.rs"]
mod record;
mod rows;
mod work;

use std::path::Path;

use arguments::{arguments, number};
use topicbook::Result;
use topicbook::bench_hooks::On;
use work::{Fit, Form, Method};

fn main() -> Result<()> {
    let arguments = arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match arguments.as_slice() {
        ["record", folder, rest @ ..] => return rows::record(Path::new(folder), rest),
        ["generate", folder, sizes @ ..] if sizes.len() == 3 => {
            work::generate(Path::new(folder), numbers(sizes))?
        }
        ["fit", on, folder, form, method, k, batch, epochs, vram] => {
            let fit = Fit {
                form: Form::parse(form).unwrap_or_else(|| panic!("unknown form of counts: {form}")),
                method: Method::parse(method).unwrap_or_else(|| panic!("unknown method: {method}")),
                topics: number(k),
                batch: number(batch),
                epochs: number(epochs),
                vram,
            };
            work::fit(parse_on(on), Path::new(folder), &fit)?
        }
        ["bus", on, bytes, rows, columns] => {
            work::bus(parse_on(on), number(bytes), (number(rows), number(columns)))?
        }
        ["offload", on, sizes @ ..] if sizes.len() == 4 => {
            work::offload(parse_on(on), numbers(sizes))?
        }
        ["growth", on, n, m, k, fits] => {
            work::growth(parse_on(on), numbers(&[n, m, k]), number(fits))?
        }
        // `cargo test` runs benchmarks without arguments.
        _ => return Ok(()),
    };
    println!("{line}");
    Ok(())
}

fn parse_on(text: &str) -> On {
    match text {
        "cpu" => On::Cpu,
        gpu => On::Gpu(number(gpu)),
    }
}

/// # Panics
/// When there are fewer than `N` arguments, or one is not a number.
fn numbers<const N: usize>(arguments: &[&str]) -> [usize; N] {
    std::array::from_fn(|index| number(arguments[index]))
}
