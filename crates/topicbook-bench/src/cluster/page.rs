//! The page of the record.

use serde_json::Value;

use super::{RANKS, STEPS};
use crate::cluster::model;
use crate::support::numbers::{median, numbers};

pub fn markdown(record: &Value) -> String {
    let machine = &record["machine"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut page = format!(
        "# Ranks on one machine\n\n`cargo xtask bench cluster` on {}, {} threads; k = {}. Ranks share the cores (one rank has both, \
        two have one each, three and four share them), the disk and the page cache, so that they compute no faster than one process: the \
        table shows what ranks and their exchange cost, and what they gain where one reads while another computes. A pass is the median of the fits' medians without their first pass, and its ratio to a pass of one process the median of the rounds'; the \
        whole fit includes starting the ranks, and writing and reading L and F.\n",
        text(&machine["processor"]),
        machine["threads"],
        record["topics"],
    );
    for work in record["works"].as_array().into_iter().flatten() {
        let fits = work["fits"].as_array().map_or(&[][..], Vec::as_slice);
        let nonzeros = fits
            .first()
            .and_then(|fit| fit["result"]["nonzeros"].as_f64());
        let cells = work["documents"].as_f64().zip(work["terms"].as_f64());
        let density = nonzeros
            .zip(cells)
            .map(|(nonzeros, (n, m))| nonzeros / n / m);
        page += &format!(
            "\n## {}, {:.1}% nonzero\n\n| solver | ranks | fits | s a pass | beside one process | exchange, % | whole fit, s | same score |\n\
            |---|---:|---:|---:|---:|---:|---:|---|\n",
            text(&work["name"]),
            100.0 * density.unwrap_or(f64::NAN),
        );
        let mut solvers: Vec<&str> = fits
            .iter()
            .filter_map(|fit| fit["solver"].as_str())
            .collect();
        solvers.dedup();
        for solver in solvers {
            let is_by_steps = solver.starts_with(STEPS);
            let of = |ranks: usize| -> Vec<&Value> {
                let is = |fit: &&Value| fit["solver"] == solver && fit["ranks"] == ranks;
                fits.iter().filter(is).map(|fit| &fit["result"]).collect()
            };
            let alone = passes(&of(0));
            // One process draws other batches.
            let same = of(usize::from(is_by_steps));
            for ranks in RANKS {
                let results = of(ranks);
                if results.is_empty() {
                    continue;
                }
                let own = passes(&results);
                // Fits of a round ran one after the other.
                let ratios = own.iter().zip(&alone).map(|(own, alone)| own / alone);
                let ratio = median(&ratios.collect::<Vec<f64>>());
                let whole: Vec<f64> = results
                    .iter()
                    .filter_map(|one| one["whole"].as_f64())
                    .collect();
                let is_same = results.iter().all(|one| one["score"] == same[0]["score"]);
                page += &format!(
                    "| {solver} | {} | {} | {:.3} | {ratio:.3} | {} | {:.1} | {} |\n",
                    if ranks == 0 {
                        "one process".into()
                    } else {
                        ranks.to_string()
                    },
                    results.len(),
                    median(&own),
                    shares(&results),
                    median(&whole),
                    match (is_by_steps, ranks) {
                        (true, 0) => "other batches",
                        _ if is_same => "yes",
                        _ => "NO",
                    },
                );
            }
        }
    }
    page + &model::markdown(&record["exchange"])
}

/// The exchange's share of a pass, in percent; nothing for one process.
fn shares(results: &[&Value]) -> String {
    let shares: Vec<f64> = results
        .iter()
        .filter_map(|one| one["exchange"].as_f64())
        .collect();
    match shares.is_empty() {
        true => String::new(),
        false => format!("{:.2}", 100.0 * median(&shares)),
    }
}

/// Seconds of a pass in each fit, in the order of the rounds.
fn passes(results: &[&Value]) -> Vec<f64> {
    let of_each = results.iter().map(|result| {
        let seconds = numbers(&result["seconds"]);
        median(seconds.get(1..).unwrap_or_default())
    });
    of_each.collect()
}
