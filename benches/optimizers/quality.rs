//! What each optimizer reaches, over a search of learning rates.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{Device, Optimizer, Result, TopicModel};

use crate::fitted_corpora::{FittedCorpus, TOPICS, fitted_corpora};
use crate::numbers::{median, numbers};
use crate::seeds::{SEEDS, fit_all_seeds};

/// Optimizers, with the factors of the default learning rates (0.05 falling to 0.01) that are tried.
const SEARCH: [(Optimizer, &[f64]); 8] = [
    (Optimizer::AdamW, &[0.5, 1.0, 2.0]),
    (Optimizer::RowwiseAdamW, &[0.5, 1.0, 2.0]),
    (Optimizer::RowwiseAdam, &[1.0, 2.0, 4.0]),
    (Optimizer::RowwiseAdamax, &[1.0, 2.0, 4.0, 8.0]),
    (Optimizer::RowwiseAdadelta, &[4.0, 10.0, 20.0, 40.0]),
    (Optimizer::RowwiseRmsProp, &[0.05, 0.1, 0.2, 0.5]),
    (Optimizer::RowwiseAdagrad, &[4.0, 8.0, 16.0, 32.0, 64.0]),
    (Optimizer::RowwiseSgd, &[0.01, 0.05, 0.1, 0.2, 0.5]),
];

/// Fits to the NIPS papers, where their counts are given, and to drawn counts.
pub fn quality(nips: Option<&Path>) -> Result<Vec<Value>> {
    fitted_corpora(nips)?.iter().map(search).collect()
}

fn search(corpus: &FittedCorpus) -> Result<Value> {
    let FittedCorpus {
        name,
        counts,
        true_f,
        epochs,
    } = corpus;
    let mut rows = Vec::new();
    for (optimizer, factors) in SEARCH {
        for factor in factors {
            let model = TopicModel::new(TOPICS)
                .device(Device::Cpu)
                .optimizer(optimizer)
                .max_lr(0.05 * factor)
                .base_lr(0.01 * factor)
                .epochs(*epochs);
            let outcome = fit_all_seeds(&model, counts, true_f.as_ref(), &SEEDS)?;
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
    }))
}

/// The section of the page: each optimizer at the factor with the best median score.
pub fn markdown(corpora: &[Value]) -> String {
    let mut page = String::new();
    for corpus in corpora {
        let rows = corpus["rows"].as_array().map_or(&[][..], Vec::as_slice);
        let reference = rows
            .iter()
            .find(|row| row["optimizer"] == Optimizer::AdamW.to_string() && row["factor"] == 1.0)
            .map_or(f64::NAN, |row| median(&numbers(&row["scores"])));
        page += &format!(
            "\n## Quality: {}, {} x {}, {} epochs, k = {TOPICS}, batch 16\n\n\
             Median of five seeds, at the best of the factors that were tried on the default learning rates. The score is \
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
