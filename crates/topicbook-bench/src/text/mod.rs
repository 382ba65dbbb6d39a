//! `cargo xtask bench text`: the `Vectorizer` compared with scikit-learn's `CountVectorizer`, on the same file and with
//! the same settings. Writes `text.json` and `text.md` into a folder after every size.
//!
//! ```text
//! text RECORDS WORK PYTHON SCRIPT DOCUMENTATION [MEGABYTES ...]
//! ```
//!
//! The text repeats the pages of Rust's documentation, one per line, and changes a tenth of the words in each
//! repetition, so that the vocabulary grows as in real text. The script of the peer compares the counts cell by cell.

mod page;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use topicbook::{Result, Vectorizer};

use crate::support::{arguments, long_text, record};

use arguments::number;

/// Runs of our side, of which the fastest counts. The peer runs once: it takes minutes.
const RUNS: usize = 2;

pub fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [records, work, python, script, documentation, sizes @ ..] => {
            let pages = long_text::pages(Path::new(documentation));
            let mut rows = Vec::new();
            for megabytes in sizes.iter().map(|size| number(size)) {
                let row = measure(Path::new(work), &pages, [python, script], megabytes)?;
                println!("{}", page::line(&row));
                rows.push(row);
                let whole = json!({ "machine": record::machine(), "rows": rows });
                record::write(Path::new(records), "text", &whole, &page::markdown(&whole));
            }
            Ok(())
        }
        _ => Err(arguments::unknown()),
    }
}

fn measure(
    work: &Path,
    pages: &[String],
    [python, script]: [&String; 2],
    megabytes: usize,
) -> Result<Value> {
    let (text, out) = (work.join("text.txt"), work.join("counts.npz"));
    long_text::write(&text, pages, megabytes * 1_000_000).expect("the text is written");
    let bytes = fs::metadata(&text).expect("the text is there").len();
    let (mut ours, mut cpu) = (Vec::new(), Vec::new());
    let mut shape = (0, 0);
    for _ in 0..RUNS {
        let (begin, used) = (Instant::now(), cpu_seconds());
        let counted = Vectorizer::new().out(&out).fit_transform(&text)?;
        ours.push(begin.elapsed().as_secs_f64());
        cpu.push(cpu_seconds() - used);
        shape = counted.counts().shape();
    }
    let fastest = ours.iter().copied().fold(f64::INFINITY, f64::min);
    let output = Command::new(python)
        .args([Path::new(script), &text, &out])
        .output()
        .expect("Python starts");
    let peer = record::result_of(&output);
    let ratio = peer["seconds"].as_f64().map(|seconds| seconds / fastest);
    Ok(json!({
        "bytes": bytes,
        "documents": shape.0,
        "terms": shape.1,
        "ours": ours,
        "ours_cpu": cpu,
        "peer": peer,
        "ratio": ratio,
    }))
}

/// CPU seconds of this process so far.
fn cpu_seconds() -> f64 {
    record::cpu_seconds().iter().sum()
}
