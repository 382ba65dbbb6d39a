//! `cargo xtask bench gpu`: one program that needs neither cargo nor Rust where it runs, for a machine with a card.
//!
//! ```text
//! gpu record FOLDER [--small] [PYTHON GPU_PEERS.PY]   all rows, into FOLDER/gpu.json and FOLDER/gpu.md; data in FOLDER/data
//! gpu generate FOLDER N M K
//! gpu fit ON FOLDER FORM LAW K BATCH EPOCHS VRAM   ON: cpu or a card's number; FORM: f32, narrow, csr, disk; LAW: f32, bf16, em
//! gpu bus ON BYTES ROWS COLUMNS
//! gpu hosted ON N K BATCH STEPS
//! gpu flat ON N M K FITS
//! ```
//! All but the first print one JSON line; `record` runs them in processes of their own, so that no pool is left behind.

#[path = "../support/record.rs"]
mod common;
#[path = "../support/few_terms.rs"]
mod few_terms;
mod page;
mod record;
#[path = "../support/words.rs"]
mod words;
mod work;

use std::path::Path;

use topicbook::Result;
use topicbook::replay::On;
use words::{number, words};
use work::{As, Fit, Law};

fn main() -> Result<()> {
    let words = words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let folder = |word| Path::new(word);
    let line = match words.as_slice() {
        ["record", place, rest @ ..] => return record::record(folder(place), rest),
        ["generate", place, sizes @ ..] if sizes.len() == 3 => {
            work::generate(folder(place), numbers(sizes))?
        }
        ["fit", on, place, form, law, k, batch, epochs, vram] => {
            let asked = Fit {
                form: As::of(form).unwrap_or_else(|| panic!("no such form of counts: {form}")),
                law: Law::of(law).unwrap_or_else(|| panic!("no such law: {law}")),
                topics: number(k),
                batch: number(batch),
                epochs: number(epochs),
                vram,
            };
            work::fit(place_of(on), folder(place), &asked)?
        }
        ["bus", on, bytes, rows, columns] => {
            work::bus(place_of(on), number(bytes), (number(rows), number(columns)))?
        }
        ["hosted", on, sizes @ ..] if sizes.len() == 4 => {
            work::hosted(place_of(on), numbers(sizes))?
        }
        ["flat", on, n, m, k, fits] => work::flat(place_of(on), numbers(&[n, m, k]), number(fits))?,
        // `cargo test` without arguments has nothing to measure.
        _ => return Ok(()),
    };
    println!("{line}");
    Ok(())
}

fn place_of(word: &str) -> On {
    match word {
        "cpu" => On::Cpu,
        card => On::Card(number(card)),
    }
}

/// As many as the caller has counted.
fn numbers<const N: usize>(words: &[&str]) -> [usize; N] {
    std::array::from_fn(|at| number(words[at]))
}
