//! `cargo xtask bench held_out`: how well topics predict held-out documents, compared with tomotopy, gensim and
//! scikit-learn. Writes `held_out.json` and `held_out.md` into a folder after every cell. Results of the other part
//! stay in the record, and so do results of `numbers` for other corpora.
//!
//! ```text
//! held_out RECORDS FOLDER PYTHON SCRIPT texts SEEDS [name=COUNTS.npz ...]
//! held_out RECORDS FOLDER PYTHON SCRIPT numbers CORPORA SECONDS [name=COUNTS.npz]
//! ```
//!
//! A fifth of the documents is held out, and halved by tokens. All methods are fitted to the same rest, and infer the topics of
//! the held-out documents from the same halves. Terms without a training document are left out. `numbers` chooses the number of
//! topics of corpora that are drawn, until CORPORA are done or SECONDS have passed, and of short pieces of real texts.

mod numbers;
mod page;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use topicbook::bench_hooks::fit_of;
use topicbook::{Counts, Matrix, Result, Solver, TopicModel};

use crate::support::{arguments, described, record};

use arguments::number;
use described::described;

const TOPICS: [usize; 2] = [10, 20];
const PEERS: [&str; 3] = ["tomotopy", "gensim", "scikit-learn"];
/// A peer has this many times our CPU time.
const TIMES: f64 = 10.0;
/// Tokens of every term that are added to our topics in one of the rows.
const SMOOTHING: f64 = 0.1;

pub fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [records, folder, python, script, part, size, files @ ..] => {
            let peers = Peers {
                folder: Path::new(folder),
                python,
                script,
            };
            std::fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{error}"));
            let record = Record::read(Path::new(records));
            match &**part {
                "numbers" => peers.numbers(record, number(size), files),
                _ => peers.measure(record, number(size) as u64, files),
            }
        }
        _ => Err(arguments::unknown()),
    }
}

/// A corpus in three parts.
struct Parts {
    train: Counts,
    held_out: Counts,
}

impl Parts {
    fn of(counts: &Counts) -> Result<Self> {
        let (train, held_out) = counts.split(0.8, 1)?;
        let unseen = train.summary()?.empty_terms().to_vec();
        let seen: Vec<usize> = (0..counts.terms())
            .filter(|term| unseen.binary_search(term).is_err())
            .collect();
        Ok(Self {
            train: train.select_terms(&seen)?,
            held_out: held_out.select_terms(&seen)?,
        })
    }
}

/// The record: what each part has measured.
struct Record<'a> {
    folder: &'a Path,
    parts: Value,
}

impl<'a> Record<'a> {
    fn read(folder: &'a Path) -> Self {
        let text = std::fs::read_to_string(folder.join("held_out.json")).unwrap_or_default();
        let parts = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
        Self { folder, parts }
    }

    /// What a part has measured before.
    fn cells(&self, part: &str) -> Vec<Value> {
        self.parts[part]["cells"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    }

    fn write(&mut self, part: &str, cells: &[Value]) {
        self.parts[part] = json!({ "machine": record::machine(), "cells": cells });
        record::write(
            self.folder,
            "held_out",
            &self.parts,
            &page::markdown(&self.parts),
        );
    }
}

struct Peers<'a> {
    folder: &'a Path,
    python: &'a str,
    script: &'a str,
}

impl Peers<'_> {
    fn measure(&self, mut record: Record<'_>, seeds: u64, files: &[String]) -> Result<()> {
        let mut cells = Vec::new();
        for file in files {
            let (name, path) = file.split_once('=').unwrap_or((file, file));
            let parts = Parts::of(&Counts::open(path)?)?;
            self.write(&parts)?;
            for topics in TOPICS {
                let mut runs = Vec::new();
                for seed in 1..=seeds {
                    runs.push(self.run(&parts, topics, seed)?);
                    println!("{name}, k = {topics}, seed {seed}");
                }
                let (train, held_out) = (parts.train.summary()?, parts.held_out.summary()?);
                cells.push(json!({
                    "corpus": name,
                    "topics": topics,
                    "terms": parts.train.terms(),
                    "counts": described(&parts.train)?,
                    "documents": [parts.train.documents(), parts.held_out.documents()],
                    "tokens": [train.total() as u64, held_out.total() as u64],
                    "runs": runs,
                }));
                record.write("texts", &cells);
            }
        }
        Ok(())
    }

    /// Writes the parts for the peers.
    fn write(&self, parts: &Parts) -> Result<()> {
        // The halves of `Fit::evaluate`.
        let (observed, completed) = parts.held_out.split_tokens(0)?;
        for (name, counts) in [
            ("train", &parts.train),
            ("observed", &observed),
            ("completed", &completed),
        ] {
            let path = self.folder.join(format!("{name}.npz"));
            if path.exists() {
                std::fs::remove_file(&path).unwrap_or_else(|error| panic!("{error}"));
            }
            counts.write_npz(path)?;
        }
        Ok(())
    }

    /// All methods with one number of topics and one seed.
    fn run(&self, parts: &Parts, topics: usize, seed: u64) -> Result<Value> {
        let model = TopicModel::new(topics).seed(seed).quiet();
        let descent = model.solver(Solver::coordinate_descent());
        let ours = [
            ("coordinate descent", descent.clone()),
            ("smoothed", descent.smoothing(SMOOTHING)),
            ("AdamW", model),
        ];
        let mut results = serde_json::Map::new();
        let mut seconds = 0.0;
        for (name, model) in ours {
            let before: f64 = record::cpu_seconds().iter().sum();
            let fit = model.fit(&parts.train)?;
            let spent = record::cpu_seconds().iter().sum::<f64>() - before;
            if name == "coordinate descent" {
                seconds = spent;
            }
            let score = fit.evaluate(&parts.held_out)?.score_per_token();
            results.insert(
                name.into(),
                json!({ "cpu_seconds": spent, "evaluate": score, "bound": self.bound(&fit.f()) }),
            );
        }
        for peer in PEERS {
            let budget = (TIMES * seconds).to_string();
            let mut result = self.call(&[peer, &topics.to_string(), &seed.to_string(), &budget]);
            if let Some(path) = result["topics"].as_str().map(String::from) {
                let fit = fit_of(read_topics(&path, topics)?)?;
                result["evaluate"] = fit.evaluate(&parts.held_out)?.score_per_token().into();
                result["bound"] = self.bound_of(&path, topics);
            }
            results.insert(peer.into(), result);
        }
        Ok(results.into())
    }

    /// scikit-learn's own measure of topics.
    fn bound(&self, f: &Matrix) -> Value {
        let path = self.folder.join("ours.f32");
        let bytes: Vec<u8> = f.values().iter().flat_map(|p| p.to_le_bytes()).collect();
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{error}"));
        self.bound_of(&path.display().to_string(), f.rows())
    }

    fn bound_of(&self, path: &str, topics: usize) -> Value {
        self.call(&["bound", path, &topics.to_string()])["bound"].take()
    }

    fn call(&self, arguments: &[&str]) -> Value {
        let output = Command::new(self.python)
            .arg(self.script)
            .arg(self.folder)
            .args(arguments)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", self.python));
        record::result_of(&output)
    }
}

/// The topics that a peer wrote: `f32`, one topic after the other.
fn read_topics(path: &str, topics: usize) -> Result<Matrix> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let values: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|value| f32::from_le_bytes([value[0], value[1], value[2], value[3]]))
        .collect();
    Matrix::new(topics, values.len() / topics, values)
}
