//! `cargo xtask bench batches`: which learning rates go with which batch size. Writes `batches.json` and `batches.md` into
//! a folder.
//!
//! ```text
//! batches FOLDER [NIPS.npz]
//! ```
//! A *factor* multiplies both learning rates, 0.05 and 0.01.

mod page;
#[path = "../support/record.rs"]
mod record;
#[path = "../support/words.rs"]
mod words;

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{Counts, Device, Fit, Matrix, Optimizer, Result, Synthetic, TopicModel};

const TOPICS: usize = 10;
const SEEDS: [u64; 3] = [42, 1, 2];
const FACTORS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
/// The period of the learning rate that the grid is measured with: the default.
const PERIOD: usize = 20;
const OPTIMIZERS: [Optimizer; 2] = [Optimizer::AdamW, Optimizer::RowwiseAdamW];

/// Counts to fit to, and how.
struct Corpus {
    name: String,
    counts: Counts,
    true_f: Option<Matrix>,
    epochs: usize,
    optimizers: &'static [Optimizer],
    batches: &'static [usize],
    /// Batch size, epochs and period of fits at the rule's rates, beside those of the grid.
    others: &'static [[usize; 3]],
}

impl Corpus {
    fn drawn([documents, terms, length, epochs]: [usize; 4]) -> Result<Self> {
        let corpus = Synthetic::new(documents, terms, TOPICS)
            .avg_doc_length(length)
            .seed(42)
            .generate()?;
        Ok(Self {
            name: format!("synthetic, {length} tokens a document"),
            counts: corpus.counts(),
            true_f: Some(corpus.true_f()),
            epochs,
            optimizers: &OPTIMIZERS,
            batches: &[16, 64, 256, 1_024, 4_096],
            others: &[],
        })
    }

    fn steps(&self, batch: usize) -> usize {
        self.counts.documents().div_ceil(batch)
    }
}

/// What the documentation of `TopicModel::batch_size` says.
fn rule(optimizer: Optimizer, steps: usize) -> f64 {
    let dense = (64.0 / steps as f64).sqrt().max(1.0);
    match optimizer {
        Optimizer::AdamW => dense.min(8.0),
        // A row moves once an epoch, whatever the batch.
        _ => (2.0 * dense).min(8.0),
    }
}

/// The settings of one fit that differ from the defaults.
struct Work {
    optimizer: Optimizer,
    batch: usize,
    factor: f64,
    epochs: usize,
    t_0: usize,
}

fn main() -> Result<()> {
    let words = words::words();
    // `cargo test` without arguments has nothing to measure.
    let Some((folder, nips)) = words.split_first() else {
        return Ok(());
    };
    let mut corpora = Vec::new();
    if let Some(path) = nips.first() {
        corpora.push(Corpus {
            name: "NIPS papers".into(),
            counts: Counts::open(path)?,
            true_f: None,
            epochs: 200,
            optimizers: &OPTIMIZERS,
            // All documents at once, at last.
            batches: &[16, 64, 256, 1_024, 2_483],
            others: &[
                [1_024, 200, 10],
                [1_024, 200, 40],
                [1_024, 200, 200],
                [256, 600, 20],
                [1_024, 600, 20],
                [2_483, 600, 20],
            ],
        });
    }
    corpora.push(Corpus {
        others: &[
            [1_024, 40, 10],
            [1_024, 40, 40],
            [16, 120, 20],
            [1_024, 120, 20],
            [4_096, 120, 20],
        ],
        ..Corpus::drawn([20_000, 1_000, 500, 40])?
    });
    corpora.push(Corpus {
        optimizers: &[Optimizer::AdamW],
        batches: &[16, 1_024, 4_096],
        ..Corpus::drawn([80_000, 500, 100, 40])?
    });
    let corpora: Result<Vec<Value>> = corpora.iter().map(measured).collect();
    let record = json!({
        "machine": record::machine(),
        "topics": TOPICS,
        "seeds": SEEDS,
        "factors": FACTORS,
        "period": PERIOD,
        "corpora": corpora?,
    });
    record::write(
        Path::new(folder),
        "batches",
        &record,
        &page::markdown(&record),
    );
    Ok(())
}

fn measured(corpus: &Corpus) -> Result<Value> {
    let mut rows = Vec::new();
    for &optimizer in corpus.optimizers {
        for &batch in corpus.batches {
            let grown = (batch as f64 / 16.0).sqrt();
            let by_rule = rule(optimizer, corpus.steps(batch));
            // As far as the square root of the batch's growth.
            let mut factors: Vec<f64> = FACTORS
                .iter()
                .copied()
                .filter(|&factor| factor <= grown)
                .collect();
            if !factors.contains(&by_rule) {
                factors.push(by_rule);
            }
            for factor in factors {
                let work = Work {
                    optimizer,
                    batch,
                    factor,
                    epochs: corpus.epochs,
                    t_0: PERIOD,
                };
                rows.push(row(corpus, &work)?);
            }
        }
    }
    for &[batch, epochs, t_0] in corpus.others {
        let factor = rule(Optimizer::AdamW, corpus.steps(batch));
        let work = Work {
            optimizer: Optimizer::AdamW,
            batch,
            factor,
            epochs,
            t_0,
        };
        rows.push(row(corpus, &work)?);
    }
    Ok(json!({
        "name": corpus.name,
        "documents": corpus.counts.documents(),
        "terms": corpus.counts.terms(),
        "epochs": corpus.epochs,
        "rows": rows,
    }))
}

/// One setting, with every seed at once.
fn row(corpus: &Corpus, work: &Work) -> Result<Value> {
    let cpu_seconds = || -> f64 { record::cpu_seconds().iter().sum() };
    let before = cpu_seconds();
    let fits = SEEDS.map(|seed| {
        TopicModel::new(TOPICS)
            .device(Device::Cpu)
            .optimizer(work.optimizer)
            .batch_size(work.batch)
            .max_lr(0.05 * work.factor)
            .base_lr(0.01 * work.factor)
            .epochs(work.epochs)
            .t_0(work.t_0)
            .seed(seed)
            .spawn(&corpus.counts)
    });
    let fits: Result<Vec<Fit>> = fits.into_iter().map(|fit| fit?.join()).collect();
    let fits = fits?;
    let seconds = (cpu_seconds() - before) / SEEDS.len() as f64;
    let (mut scores, mut errors) = (Vec::new(), Vec::new());
    for fit in &fits {
        let score = fit.score(&corpus.counts)?;
        assert!(score.is_finite(), "a fit that went astray: {score}");
        scores.push(score);
        if let Some(true_f) = &corpus.true_f {
            errors.push(error_of_f(fit, true_f)?);
        }
    }
    let steps = corpus.steps(work.batch);
    let row = json!({
        "optimizer": work.optimizer.to_string(),
        "batch": work.batch,
        "steps_an_epoch": steps,
        "factor": work.factor,
        "rule": rule(work.optimizer, steps),
        "epochs": work.epochs,
        "period": work.t_0,
        "scores": scores,
        "errors_of_f": errors,
        "cpu_seconds": seconds,
    });
    println!("{} {row}", corpus.name);
    Ok(row)
}

/// The total variation distance between a true topic and its learned one, the mean over topics: 0 is the truth, 1 has
/// nothing in common with it.
fn error_of_f(fit: &Fit, true_f: &Matrix) -> Result<f64> {
    let learned = fit.align_to(true_f)?.f();
    let pairs = learned.values().iter().zip(true_f.values());
    let apart: f64 = pairs.map(|(a, b)| f64::from((a - b).abs())).sum();
    Ok(apart / 2.0 / learned.rows() as f64)
}
