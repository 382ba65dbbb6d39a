//! `cargo xtask bench search`: what `Solver::auto` reaches in a time, compared with coordinate descent from one random
//! start after the other. Writes `search.json` and `search.md` into a folder after every fit and at the end. It
//! measures only what is not there from an earlier run with the same limits: all of it takes six hours of CPU time.
//! After a change of the search, take `auto` out of the record's scores.
//!
//! ```text
//! search FOLDER SECONDS SEEDS [name=COUNTS.npz ...]
//! ```
//!
//! A second is two seconds of CPU time, as two threads have: other work on the machine changes it little.

mod corpora;
mod page;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use topicbook::{Counts, Device, Result, Solver, TopicModel};

use crate::support::{arguments, described, record};

use arguments::number;
use described::described;

const TOPICS: [usize; 3] = [5, 20, 100];
/// Seconds after which both are compared.
const LIMITS: [f64; 3] = [5.0, 20.0, 60.0];
/// What a seed reaches in a corpus by k topics, at each limit.
type ScoresOf = fn(&Counts, usize, u64, &[f64]) -> Result<Vec<f64>>;
const SIDES: [(&str, ScoresOf); 2] = [("auto", auto), ("starts", starts)];

pub fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [folder, seconds, seeds, files @ ..] => measure(
            Path::new(folder),
            number(seconds) as f64,
            number(seeds) as u64,
            files,
        ),
        _ => Err(arguments::unknown()),
    }
}

fn measure(folder: &Path, seconds: f64, seeds: u64, files: &[String]) -> Result<()> {
    let limits: Vec<f64> = LIMITS
        .into_iter()
        .filter(|limit| *limit <= seconds)
        .collect();
    let mut record = measured_before(folder, &limits);
    for (name, counts) in corpora::corpora(files)? {
        for topics in TOPICS {
            let at = position(&mut record["cells"], |cell| {
                cell["corpus"] == name && cell["topics"] == topics
            });
            if record["cells"][at].is_null() {
                record["cells"][at] = new_cell(&name, &counts, topics)?;
            }
            // Seeds that nothing was tuned with.
            for seed in (0..seeds).map(|seed| 9_000 + 10 * seed) {
                for (side, scores_of) in SIDES {
                    let scores = &mut record["cells"][at]["scores"];
                    let of_seed = position(scores, |scores| scores["seed"] == seed);
                    if scores[of_seed][side].is_null() {
                        scores[of_seed]["seed"] = json!(seed);
                        scores[of_seed][side] = json!(scores_of(&counts, topics, seed, &limits)?);
                        record::write(folder, "search", &record, &page::markdown(&record));
                    }
                }
            }
            println!("{}", page::line(&record["cells"][at], &limits));
        }
    }
    record::write(folder, "search", &record, &page::markdown(&record));
    Ok(())
}

/// The folder's record, if it has the same limits, or an empty one.
fn measured_before(folder: &Path, limits: &[f64]) -> Value {
    let text = fs::read_to_string(folder.join("search.json")).unwrap_or_default();
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    match record["limits"] == json!(limits) {
        true => record,
        false => json!({ "limits": limits, "cells": [] }),
    }
}

/// The position of a value in a list, to which null is added if it is not there.
fn position(list: &mut Value, is_wanted: impl Fn(&Value) -> bool) -> usize {
    let values = list.as_array_mut().expect("a list");
    values.iter().position(is_wanted).unwrap_or_else(|| {
        values.push(Value::Null);
        values.len() - 1
    })
}

/// A cell of which nothing was measured.
fn new_cell(name: &str, counts: &Counts, topics: usize) -> Result<Value> {
    let (documents, terms) = counts.shape();
    Ok(json!({
        "corpus": name,
        "documents": documents,
        "terms": terms,
        "counts": described(counts)?,
        "tokens": counts.summary()?.total() as u64,
        "topics": topics,
        "scores": [],
        "machine": record::machine(),
    }))
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

    /// Records the current log-likelihood per token. Breaks after the last limit.
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
