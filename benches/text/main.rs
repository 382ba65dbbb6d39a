//! `cargo xtask bench text`: the `Vectorizer` beside scikit-learn's `CountVectorizer`, on the same file and with the same
//! settings. Writes `text.json` and `text.md` into a folder after every size.
//!
//! ```text
//! text RECORDS WORK PYTHON SCRIPT DOCUMENTATION [MEGABYTES ...]
//! ```
//!
//! The text repeats the pages of Rust's documentation, one per line, and changes a tenth of the words in each repetition, so
//! that the vocabulary grows as that of real text does. The script of the peer compares the counts cell by cell.

#[path = "../support/arguments.rs"]
mod arguments;
mod page;
#[path = "../support/record.rs"]
mod record;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use topicbook::{Result, Vectorizer};

use arguments::number;

/// Runs of our side, of which the fastest counts. The peer runs once: it takes minutes.
const RUNS: usize = 2;

fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [records, work, python, script, documentation, sizes @ ..] => {
            let pages = pages(Path::new(documentation));
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
        // `cargo test` runs benchmarks without arguments.
        _ => Ok(()),
    }
}

fn measure(
    work: &Path,
    pages: &[String],
    [python, script]: [&String; 2],
    megabytes: usize,
) -> Result<Value> {
    let (text, out) = (work.join("text.txt"), work.join("counts.npz"));
    write_text(&text, pages, megabytes * 1_000_000).expect("the text is written");
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

/// The texts of the pages of Rust's documentation, without tags and line breaks.
fn pages(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    find(folder, &mut files);
    files.sort();
    let pages = files.iter().map(|file| {
        let page = fs::read_to_string(file).unwrap_or_default();
        let parts = page
            .split('<')
            .map(|part| part.split_once('>').map_or("", |part| part.1));
        let words: Vec<&str> = parts.flat_map(str::split_whitespace).collect();
        words.join(" ")
    });
    pages.filter(|page| page.len() > 500).collect()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "html")
            && path.file_stem().is_none_or(|name| name != "print")
        {
            files.push(path);
        }
    }
}

/// Writes the pages again and again, one per line; in each repetition another tenth of the words ends in other letters.
fn write_text(path: &Path, pages: &[String], bytes: usize) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let (mut written, mut repetition) = (0, 0u64);
    while written < bytes {
        for page in pages {
            let mut line = String::with_capacity(page.len() + page.len() / 10);
            for word in page.split(' ') {
                line.push_str(word);
                let mixed = word.bytes().fold(repetition, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                });
                if repetition > 0 && mixed >> 32 & 0xff < 26 {
                    line.push(char::from(b'a' + (mixed >> 40) as u8 % 26));
                    line.push(char::from(b'a' + (mixed >> 48) as u8 % 4));
                }
                line.push(' ');
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
            written += line.len();
            if written >= bytes {
                break;
            }
        }
        repetition += 1;
    }
    out.flush()
}
