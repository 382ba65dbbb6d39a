//! `cargo xtask bench batches`: scores by batch size and learning rate. Writes `batches.json` and `batches.md` into a
//! folder.
//!
//! ```text
//! batches FOLDER [NIPS.npz]
//! ```
//! A *factor* multiplies both learning rates, `max_lr` = 0.05 and `base_lr` = 0.01.

mod page;

use std::path::Path;

use described::described;
use rate_rule::rule;
use seeds::SEEDS;
use serde_json::{Value, json};
use topicbook::{Counts, Device, Matrix, Optimizer, Result, Synthetic, TopicModel};

use crate::support::{arguments, described, rate_rule, record, seeds};

const TOPICS: usize = 10;
const FACTORS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
/// Period of the learning rate in the grid, in epochs: the default.
const PERIOD: usize = 20;
const OPTIMIZERS: [Optimizer; 2] = [Optimizer::AdamW, Optimizer::RowwiseAdamW];

/// Counts, and the fits to them.
struct Corpus {
    name: String,
    counts: Counts,
    true_f: Option<Matrix>,
    epochs: usize,
    optimizers: &'static [Optimizer],
    batches: &'static [usize],
    /// Batch size, epochs and period of further fits, with learning rates by the rule.
    others: &'static [[usize; 3]],
}

impl Corpus {
    fn synthetic([documents, terms, length, epochs]: [usize; 4]) -> Result<Self> {
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

/// The settings of a fit that differ from the defaults.
struct Setting {
    optimizer: Optimizer,
    batch: usize,
    factor: f64,
    epochs: usize,
    t_0: usize,
}

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let Some((folder, nips)) = arguments.split_first() else {
        return Err(arguments::unknown());
    };
    let mut corpora = Vec::new();
    if let Some(path) = nips.first() {
        corpora.push(Corpus {
            name: "NIPS papers".into(),
            counts: Counts::open(path)?,
            true_f: None,
            epochs: 200,
            optimizers: &OPTIMIZERS,
            // The last is all documents.
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
        ..Corpus::synthetic([20_000, 1_000, 500, 40])?
    });
    corpora.push(Corpus {
        optimizers: &[Optimizer::AdamW],
        batches: &[16, 1_024, 4_096],
        ..Corpus::synthetic([80_000, 500, 100, 40])?
    });
    let corpora: Result<Vec<Value>> = corpora.iter().map(measure).collect();
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

fn measure(corpus: &Corpus) -> Result<Value> {
    let mut rows = Vec::new();
    for &optimizer in corpus.optimizers {
        for &batch in corpus.batches {
            let largest = (batch as f64 / 16.0).sqrt();
            let by_rule = rule(corpus.steps(batch));
            // Up to the square root of the ratio to batch size 16.
            let mut factors: Vec<f64> = FACTORS
                .iter()
                .copied()
                .filter(|&factor| factor <= largest)
                .collect();
            if !factors.contains(&by_rule) {
                factors.push(by_rule);
            }
            for factor in factors {
                let setting = Setting {
                    optimizer,
                    batch,
                    factor,
                    epochs: corpus.epochs,
                    t_0: PERIOD,
                };
                rows.push(fit_all_seeds(corpus, &setting)?);
            }
        }
    }
    for &[batch, epochs, t_0] in corpus.others {
        let factor = rule(corpus.steps(batch));
        let setting = Setting {
            optimizer: Optimizer::AdamW,
            batch,
            factor,
            epochs,
            t_0,
        };
        rows.push(fit_all_seeds(corpus, &setting)?);
    }
    Ok(json!({
        "name": corpus.name,
        "documents": corpus.counts.documents(),
        "terms": corpus.counts.terms(),
        "counts": described(&corpus.counts)?,
        "epochs": corpus.epochs,
        "rows": rows,
    }))
}

/// The fits with one setting and all seeds, as a row of the record.
fn fit_all_seeds(corpus: &Corpus, setting: &Setting) -> Result<Value> {
    let model = TopicModel::new(TOPICS)
        .device(Device::Cpu)
        .optimizer(setting.optimizer)
        .batch_size(setting.batch)
        .max_lr(0.05 * setting.factor)
        .base_lr(0.01 * setting.factor)
        .epochs(setting.epochs)
        .t_0(setting.t_0);
    let outcome = seeds::fit_all_seeds(&model, &corpus.counts, corpus.true_f.as_ref(), &SEEDS)?;
    let steps = corpus.steps(setting.batch);
    let row = json!({
        "optimizer": setting.optimizer.to_string(),
        "batch": setting.batch,
        "steps_an_epoch": steps,
        "factor": setting.factor,
        "rule": rule(steps),
        "epochs": setting.epochs,
        "period": setting.t_0,
        "scores": outcome.scores,
        "errors_of_f": outcome.errors_of_f,
        "cpu_seconds": outcome.cpu_seconds,
    });
    println!("{} {row}", corpus.name);
    Ok(row)
}
