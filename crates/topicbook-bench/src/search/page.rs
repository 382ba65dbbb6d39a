//! The page of the record.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

/// The median of the scores of one side at a limit.
fn median(cell: &Value, side: &str, limit: usize) -> f64 {
    let seeds = cell["scores"].as_array().into_iter().flatten();
    let mut scores: Vec<f64> = seeds
        .filter_map(|seed| seed[side][limit].as_f64())
        .collect();
    scores.sort_by(f64::total_cmp);
    match scores.len() {
        0 => f64::NAN,
        length => f64::midpoint(scores[(length - 1) / 2], scores[length / 2]),
    }
}

/// Whether both sides have been measured with `seeds` seeds.
fn is_complete(cell: &Value, seeds: usize) -> bool {
    let both = |scores: &Value| scores["auto"].is_array() && scores["starts"].is_array();
    (cell["scores"].as_array())
        .is_some_and(|scores| scores.len() == seeds && scores.iter().all(both))
}

/// How much higher the median of `Solver::auto` is, in nats per million tokens.
fn gain(cell: &Value, limit: usize) -> f64 {
    (median(cell, "auto", limit) - median(cell, "starts", limit)) * 1e6
}

/// One cell in a line of text.
pub fn line(cell: &Value, limits: &[f64]) -> String {
    let gains: Vec<String> = (0..limits.len())
        .map(|limit| format!("{:.0}", gain(cell, limit)))
        .collect();
    format!(
        "{} k {}: {}",
        cell["corpus"],
        cell["topics"],
        gains.join(" ")
    )
}

pub fn markdown(record: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (mut cells, limits) = (list(&record["cells"]), list(&record["limits"]));
    let scores = cells.iter().map(|cell| list(&cell["scores"]).len());
    let seeds = scores.max().unwrap_or_default();
    cells.retain(|cell| is_complete(cell, seeds));
    let machine = |cell: &Value, key: &str| {
        cell["machine"][key]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    let processors: BTreeSet<String> = cells
        .iter()
        .map(|cell| machine(cell, "processor"))
        .collect();
    let mut page = format!(
        "# Search\n\n`cargo xtask bench search` on {}. A second is two seconds of CPU time, as two threads have.\n\n\
        How much higher the best log-likelihood of `Solver::auto` is than that of coordinate descent from one random start \
        after the other (to a relative gain of 1e-6), at the same time: medians of {seeds} seeds, in nats per million \
        tokens.\n\n\
        A document of a drawn corpus has tokens of three topics, with shares of 0.6, 0.3 and 0.1. The 30 topics are Zipf's law \
        over shuffled terms, and share the most frequent fiftieth of the terms.\n\n\
        | corpus | documents x terms | counts | tokens | k |",
        Vec::from_iter(processors).join(" and ")
    );
    for limit in &limits {
        let _ = write!(page, " {} s |", limit.as_f64().unwrap_or_default());
    }
    page.push_str(" load before |\n|---|---|---|---:|---:|");
    limits.iter().for_each(|_| page.push_str("---:|"));
    page.push_str("---|");
    let mut not_lower = vec![0; limits.len()];
    for cell in &cells {
        let _ = write!(
            page,
            "\n| {} | {} x {} | {} | {} | {} |",
            cell["corpus"].as_str().unwrap_or_default(),
            cell["documents"],
            cell["terms"],
            cell["counts"].as_str().unwrap_or_default(),
            cell["tokens"],
            cell["topics"]
        );
        for (limit, not_lower) in not_lower.iter_mut().enumerate() {
            let gain = gain(cell, limit);
            *not_lower += i32::from(gain >= 0.0);
            let _ = write!(page, " {gain:.0} |");
        }
        let load = machine(cell, "load_average");
        let _ = write!(page, " {} |", load.split(' ').next().unwrap_or_default());
    }
    page.push_str("\n\nNot lower in");
    for (limit, not_lower) in limits.iter().zip(&not_lower) {
        let limit = limit.as_f64().unwrap_or_default();
        let _ = write!(page, " {not_lower} of {} cells at {limit} s;", cells.len());
    }
    page.pop();
    page.push_str(".\n");
    page
}
