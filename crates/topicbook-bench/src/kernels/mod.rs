//! `cargo xtask bench kernels`: passes of every solver over small counts, within a minute, compared with the times of a
//! record from a machine with the same vector instructions.
//!
//! ```text
//! kernels compare RECORD [PART]   prints the times and their ratios to the record, of the rows whose name has PART in it
//! kernels record RECORD           writes the record
//! ```

mod row;

use std::fs;

use serde_json::{Value, json};
use topicbook::Result;

use crate::support::{arguments, ceiling, record};

use ceiling::ceiling;
use row::rows;

/// A ratio that is marked: shorter ones are noise.
const SLOWER: f64 = 1.2;

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let (path, part) = match arguments.as_slice() {
        [task, path] if task == "compare" => (path, Some("")),
        [task, path, part] if task == "compare" => (path, Some(part.as_str())),
        [task, path] if task == "record" => (path, None),
        _ => return Err(arguments::unknown()),
    };
    let mut record: Value = fs::read_to_string(path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_else(|| json!({}));
    let before = record[record::instructions()].take();
    let peak = ceiling();
    let peak_before = before["peak"]["operations_per_second"].as_f64();
    println!(
        "peak {:.0} Gflop/s, {:.1} GB/s\n",
        peak.operations / 1e9,
        peak.bytes / 1e9
    );
    println!(
        "{:56}{:>10}{:>12}{:>14}",
        "", "seconds", "of peak", "to the record"
    );
    let mut results = Vec::new();
    for row in rows()? {
        if !row.name.contains(part.unwrap_or_default()) {
            continue;
        }
        let seconds = row.seconds()?;
        let before = before["rows"].as_array().into_iter().flatten();
        let before = before
            .filter(|before| before["row"] == row.name)
            .find_map(|before| before["seconds"].as_f64());
        // A machine that is faster now is faster at everything.
        let ratio = before
            .zip(peak_before)
            .map(|(before, peak_before)| seconds * peak.operations / (before * peak_before));
        let share = row.operations / seconds / peak.operations;
        let compared = match ratio {
            None => String::new(),
            Some(ratio) if ratio > SLOWER => format!("{ratio:.2} SLOWER"),
            Some(ratio) => format!("{ratio:.2}"),
        };
        println!(
            "{:56}{seconds:>10.4}{:>11.1}%{compared:>14}",
            row.name,
            100.0 * share
        );
        results.push(json!({ "row": row.name, "seconds": seconds, "share_of_peak": share }));
    }
    if part.is_none() {
        record[record::instructions()] =
            json!({ "machine": record::machine(), "peak": peak.record(), "rows": results });
        fs::write(path, format!("{record:#}\n")).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    Ok(())
}
