//! `cargo xtask bench search`: what `Solver::auto` reaches in a time, beside coordinate descent from one random start after
//! the other. Writes `search.json` and `search.md` into a folder after every cell, and keeps the cells that are there from
//! an earlier run with the same limits and seeds: all of them take three hours.
//!
//! ```text
//! search FOLDER SECONDS SEEDS [name=COUNTS.npz ...]
//! ```
//!
//! A second is two seconds of CPU time, as two threads have: other work on the machine changes it little.

#[path = "../support/arguments.rs"]
mod arguments;
mod corpora;
#[path = "../support/draw.rs"]
mod draw;
mod page;
#[path = "../support/record.rs"]
mod record;
#[path = "../support/tokens.rs"]
mod tokens;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use topicbook::{Counts, Device, Result, Solver, TopicModel};

use arguments::number;

const TOPICS: [usize; 3] = [5, 20, 100];
/// Seconds after which both are compared.
const LIMITS: [f64; 3] = [5.0, 20.0, 60.0];

fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [folder, seconds, seeds, files @ ..] => measure(
            Path::new(folder),
            number(seconds) as f64,
            number(seeds) as u64,
            files,
        ),
        // `cargo test` runs benchmarks without arguments.
        _ => Ok(()),
    }
}

fn measure(folder: &Path, seconds: f64, seeds: u64, files: &[String]) -> Result<()> {
    let limits: Vec<f64> = LIMITS
        .into_iter()
        .filter(|limit| *limit <= seconds)
        .collect();
    let measured = measured_before(folder, &limits, seeds);
    let mut cells = Vec::new();
    for (name, counts) in corpora::corpora(files)? {
        let summary = counts.summary()?;
        let (documents, terms) = counts.shape();
        for topics in TOPICS {
            let is_this = |cell: &&Value| cell["corpus"] == name && cell["topics"] == topics;
            if let Some(cell) = measured.iter().find(is_this) {
                cells.push(cell.clone());
                continue;
            }
            let machine = record::machine();
            let mut scores = Vec::new();
            // Seeds that nothing was tuned with.
            for seed in (0..seeds).map(|seed| 9_000 + 10 * seed) {
                let auto = auto(&counts, topics, seed, &limits)?;
                let starts = starts(&counts, topics, seed, &limits)?;
                scores.push(json!({ "seed": seed, "auto": auto, "starts": starts }));
            }
            let cell = json!({
                "corpus": name,
                "documents": documents,
                "terms": terms,
                "nonzeros": summary.nonzeros(),
                "tokens": summary.total(),
                "topics": topics,
                "scores": scores,
                "machine": machine,
            });
            println!("{}", page::line(&cell, &limits));
            cells.push(cell);
            // Cells that come later and were measured before stay in the record if this run ends here.
            let of_later = measured.iter().filter(|cell| {
                !cells.iter().any(|done| {
                    ["corpus", "topics"]
                        .iter()
                        .all(|key| done[*key] == cell[*key])
                })
            });
            let all: Vec<&Value> = cells.iter().chain(of_later).collect();
            let record = json!({ "limits": limits, "cells": all });
            record::write(folder, "search", &record, &page::markdown(&record));
        }
    }
    Ok(())
}

/// The cells of the folder's record, if it has the same limits and number of seeds.
fn measured_before(folder: &Path, limits: &[f64], seeds: u64) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("search.json")).unwrap_or_default();
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    if record["limits"] != json!(limits) {
        return Vec::new();
    }
    let cells = record["cells"].as_array().into_iter().flatten();
    let cells = cells.filter(|cell| {
        let scores = cell["scores"].as_array();
        scores.is_some_and(|scores| scores.len() as u64 == seeds)
    });
    cells.cloned().collect()
}

/// The best score so far at each limit.
struct Watch {
    limits: Vec<f64>,
    start: f64,
    best: f64,
    reached: Vec<f64>,
}

impl Watch {
    fn start(limits: &[f64]) -> Self {
        Self {
            limits: limits.to_vec(),
            start: seconds(),
            best: f64::NEG_INFINITY,
            reached: Vec::new(),
        }
    }

    /// Notes a log-likelihood per token of now; the time is over behind the last limit.
    fn note(&mut self, score: f64) -> ControlFlow<()> {
        let now = seconds() - self.start;
        let passed = self.limits.iter().filter(|limit| now > **limit).count();
        // What was reached before a limit counts, so a limit is noted with the best score before this one.
        while self.reached.len() < passed {
            self.reached.push(self.best);
        }
        self.best = self.best.max(score);
        match passed == self.limits.len() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// The best scores, one for each limit; the last for those that were not reached.
    fn scores(mut self) -> Vec<f64> {
        self.reached.resize(self.limits.len(), self.best);
        self.reached
    }
}

/// Seconds of CPU time of this process on two threads.
fn seconds() -> f64 {
    record::cpu_seconds().iter().sum::<f64>() / 2.0
}

fn model(topics: usize, seed: u64, solver: Solver) -> TopicModel {
    let model = TopicModel::new(topics).seed(seed).solver(solver);
    model.device(Device::Cpu).epochs(1_000_000).quiet()
}

/// A fit, watched. Returns whether time is over.
fn fit(counts: &Counts, model: &TopicModel, watch: &Arc<Mutex<Watch>>) -> Result<bool> {
    let observer = Arc::clone(watch);
    let model = model.on_epoch(move |epoch| match observer.lock() {
        Ok(mut watch) => watch.note(epoch.log_likelihood_per_token),
        Err(_) => ControlFlow::Break(()),
    });
    model.fit(counts)?;
    let over = watch
        .lock()
        .is_ok_and(|watch| watch.reached.len() == watch.limits.len());
    Ok(over)
}

fn watched(
    limits: &[f64],
    fits: impl FnOnce(&Arc<Mutex<Watch>>) -> Result<()>,
) -> Result<Vec<f64>> {
    let watch = Arc::new(Mutex::new(Watch::start(limits)));
    fits(&watch)?;
    let watch = Arc::into_inner(watch).and_then(|watch| watch.into_inner().ok());
    Ok(watch.map_or_else(Vec::new, Watch::scores))
}

fn auto(counts: &Counts, topics: usize, seed: u64, limits: &[f64]) -> Result<Vec<f64>> {
    watched(limits, |watch| {
        fit(counts, &model(topics, seed, Solver::auto()), watch)?;
        Ok(())
    })
}

/// Coordinate descent to convergence, from one start after the other.
fn starts(counts: &Counts, topics: usize, seed: u64, limits: &[f64]) -> Result<Vec<f64>> {
    watched(limits, |watch| {
        for start in 0.. {
            let solver = Solver::coordinate_descent();
            let model = model(topics, seed + 100_000 * start, solver).tolerance(1e-6);
            if fit(counts, &model, watch)? {
                break;
            }
        }
        Ok(())
    })
}
