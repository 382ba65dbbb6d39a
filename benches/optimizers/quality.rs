//! What each optimizer reaches, over a search of learning rates.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{Counts, Device, Matrix, Optimizer, Result, Synthetic, TopicModel};

use crate::narrow;
use crate::seeds::{SEEDS, fit_all_seeds};

pub const TOPICS: usize = 10;

/// Optimizers, with the factors of the default learning rates (0.05 falling to 0.01) that are tried.
const SEARCH: [(Optimizer, &[f64]); 6] = [
    (Optimizer::AdamW, &[1.0, 2.0]),
    (Optimizer::RowwiseAdamW, &[1.0, 2.0, 4.0]),
    (Optimizer::RowwiseAdam, &[1.0, 2.0, 4.0]),
    (Optimizer::RowwiseRmsProp, &[0.05, 0.1, 0.2, 0.5]),
    (Optimizer::RowwiseAdagrad, &[2.0, 4.0, 8.0, 16.0, 32.0]),
    (Optimizer::RowwiseSgd, &[0.01, 0.05, 0.2, 0.5, 1.0]),
];

/// Fits to the NIPS papers, where their counts are given, and to drawn counts.
pub fn quality(nips: Option<&Path>) -> Result<Vec<Value>> {
    let mut corpora = Vec::new();
    if let Some(path) = nips {
        corpora.push(search("NIPS papers", &Counts::open(path)?, None, 200)?);
    }
    let drawn = Synthetic::new(5_000, 1_000, TOPICS)
        .avg_doc_length(500)
        .seed(42)
        .generate()?;
    let true_f = drawn.true_f();
    corpora.push(search(
        "synthetic, 500 tokens a document",
        &drawn.counts(),
        Some(&true_f),
        40,
    )?);
    Ok(corpora)
}

fn search(name: &str, counts: &Counts, true_f: Option<&Matrix>, epochs: usize) -> Result<Value> {
    let mut rows = Vec::new();
    for (optimizer, factors) in SEARCH {
        for factor in factors {
            let model = TopicModel::new(TOPICS)
                .device(Device::Cpu)
                .optimizer(optimizer)
                .max_lr(0.05 * factor)
                .base_lr(0.01 * factor)
                .epochs(epochs);
            let outcome = fit_all_seeds(&model, counts, true_f, &SEEDS)?;
            let row = json!({
                "optimizer": optimizer.to_string(),
                "factor": factor,
                "scores": outcome.scores,
                "errors_of_f": outcome.errors_of_f,
                "cpu_seconds": outcome.cpu_seconds,
            });
            println!("{name} {row}");
            rows.push(row);
        }
    }
    Ok(json!({
        "name": name,
        "documents": counts.documents(),
        "terms": counts.terms(),
        "epochs": epochs,
        "rows": rows,
        "narrow": narrow::rows(counts, epochs)?,
    }))
}

/// The section of the page: each optimizer at the factor with the best median score.
pub fn markdown(corpora: &[Value]) -> String {
    let mut page = String::new();
    for corpus in corpora {
        let rows = corpus["rows"].as_array().map_or(&[][..], Vec::as_slice);
        let reference = rows
            .first()
            .map_or(f64::NAN, |row| median(&numbers(&row["scores"])));
        page += &format!(
            "\n## Quality: {}, {} x {}, {} epochs, k = {TOPICS}, batch 16\n\n\
             Median of three seeds, at the best of the factors that were tried on the default learning rates. The score is \
             the log-likelihood above dense AdamW's at its defaults ({reference:.0}), in thousands. The error is the mean total \
             variation distance of learned topics from the true ones (0 to 1).\n\n\
             | optimizer | factor tried: thousands | best factor | score | error | CPU s a fit |\n|---|---|---:|---:|---:|---:|\n",
            corpus["name"].as_str().unwrap_or_default(),
            corpus["documents"],
            corpus["terms"],
            corpus["epochs"],
        );
        for (optimizer, _) in SEARCH {
            let name = optimizer.to_string();
            page += &line(&name, rows, reference);
        }
        page += &narrow::markdown(&corpus["narrow"]);
    }
    page
}

fn line(name: &str, rows: &[Value], reference: f64) -> String {
    let score = |row: &Value| (median(&numbers(&row["scores"])) - reference) / 1e3;
    let rows: Vec<&Value> = rows.iter().filter(|row| row["optimizer"] == name).collect();
    let tried: Vec<String> = rows
        .iter()
        .map(|row| format!("{}: {:.1}", row["factor"], score(row)))
        .collect();
    let Some(best) = rows.iter().max_by(|a, b| score(a).total_cmp(&score(b))) else {
        return String::new();
    };
    let errors = numbers(&best["errors_of_f"]);
    let error = match errors.is_empty() {
        true => "-".into(),
        false => format!("{:.3}", median(&errors)),
    };
    format!(
        "| {name} | {} | {} | {:.1} | {error} | {:.1} |\n",
        tried.join(", "),
        best["factor"],
        score(best),
        best["cpu_seconds"].as_f64().unwrap_or(f64::NAN),
    )
}

pub fn numbers(values: &Value) -> Vec<f64> {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    values.iter().filter_map(Value::as_f64).collect()
}

/// The middle one of an odd number of values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
