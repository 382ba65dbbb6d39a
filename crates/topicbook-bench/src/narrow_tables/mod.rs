//! `cargo xtask bench narrow_tables`: what fits lose with the tables of L in `bf16`, beside `f32`. Writes `narrow_tables.json` and
//! `narrow_tables.md` into a folder.
//!
//! ```text
//! narrow_tables FOLDER [NIPS.npz]
//! ```

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{Counts, Device, Optimizer, Precision, Result, TopicModel};

use crate::support::{arguments, described, fitted_corpora, numbers, record, seeds};

use described::described;
use fitted_corpora::{FittedCorpus, TOPICS, fitted_corpora};
use numbers::{median, numbers};
use seeds::{SEEDS, fit_all_seeds};

/// Both at the default learning rates.
const OPTIMIZERS: [Optimizer; 2] = [Optimizer::AdamW, Optimizer::RowwiseAdamW];

/// For each optimizer, the scores of five seeds with the tables of L in `f32` and in `bf16`.
fn rows(counts: &Counts, epochs: usize) -> Result<Vec<Value>> {
    let row = |optimizer: Optimizer| {
        let scores = |precision| {
            let model = TopicModel::new(TOPICS)
                .device(Device::Cpu)
                .optimizer(optimizer)
                .table_precision(precision)
                .epochs(epochs);
            fit_all_seeds(&model, counts, None, &SEEDS)
        };
        let (wide, narrow) = (scores(Precision::F32)?, scores(Precision::Bf16)?);
        let row = json!({
            "optimizer": optimizer.to_string(),
            "f32": wide.scores,
            "bf16": narrow.scores,
            "cpu_seconds": [wide.cpu_seconds, narrow.cpu_seconds],
        });
        println!("{row}");
        Ok(row)
    };
    OPTIMIZERS.into_iter().map(row).collect()
}

/// The table of a corpus.
fn table(rows: &Value) -> String {
    let mut page = "\n| optimizer | median in f32 | spread of the seeds | bf16 minus f32, each seed | their median | CPU s a fit, f32 and bf16 |\n\
        |---|---:|---:|---|---:|---|\n"
        .to_owned();
    for row in rows.as_array().into_iter().flatten() {
        let (wide, narrow) = (numbers(&row["f32"]), numbers(&row["bf16"]));
        let spread = wide.iter().copied().fold(f64::MIN, f64::max)
            - wide.iter().copied().fold(f64::MAX, f64::min);
        let differences = wide.iter().zip(&narrow).map(|(wide, narrow)| narrow - wide);
        let differences: Vec<f64> = differences.map(|difference| difference / 1e3).collect();
        let each: Vec<String> = differences
            .iter()
            .map(|each| format!("{each:.1}"))
            .collect();
        let seconds = numbers(&row["cpu_seconds"]);
        let seconds: Vec<String> = seconds.iter().map(|each| format!("{each:.1}")).collect();
        page += &format!(
            "| {} | {:.0} | {:.1} | {} | {:.1} | {} |\n",
            row["optimizer"].as_str().unwrap_or_default(),
            median(&wide) / 1e3,
            spread / 1e3,
            each.join(", "),
            median(&differences),
            seconds.join(" and "),
        );
    }
    page
}

pub fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [folder, nips @ ..] => measure(Path::new(folder), nips.first().map(Path::new)),
        _ => Err(arguments::unknown()),
    }
}

fn measure(folder: &Path, nips: Option<&Path>) -> Result<()> {
    let mut corpora = Vec::new();
    for FittedCorpus {
        name,
        counts,
        epochs,
        ..
    } in fitted_corpora(nips)?
    {
        corpora.push(json!({
            "name": name,
            "documents": counts.documents(),
            "terms": counts.terms(),
            "counts": described(&counts)?,
            "epochs": epochs,
            "rows": rows(&counts, epochs)?,
        }));
    }
    let record = json!({ "machine": record::machine(), "corpora": corpora });
    record::write(folder, "narrow_tables", &record, &markdown(&record));
    Ok(())
}

/// The page.
fn markdown(record: &Value) -> String {
    let mut page = format!(
        "# Tables of L in bf16\n\n`cargo xtask bench narrow_tables` on {}. The logits of L and their moments are stored in `bf16` with \
        stochastic rounding, or in `f32`: log-likelihoods in thousands, of fits from the same starts with batches of 16, k = {TOPICS} \
        and the default learning rates.\n",
        record["machine"]["processor"].as_str().unwrap_or_default()
    );
    for corpus in record["corpora"].as_array().into_iter().flatten() {
        page += &format!(
            "\n## {}, {} x {}, {} epochs\n\nCounts: {}.\n",
            corpus["name"].as_str().unwrap_or_default(),
            corpus["documents"],
            corpus["terms"],
            corpus["epochs"],
            corpus["counts"].as_str().unwrap_or_default(),
        );
        page += &table(&corpus["rows"]);
    }
    page
}
