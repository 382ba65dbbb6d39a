//! What each optimizer reaches, over a search of learning rates.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::{Device, Optimizer, Result, Solver, TopicModel};

use crate::support::described::described;
use crate::support::fitted_corpora::{FittedCorpus, TOPICS, fitted_corpora};
use crate::support::numbers::{median, numbers};
use crate::support::seeds::{SEEDS, fit_all_seeds};

/// Optimizers, with the factors of the default learning rates (0.05 falling to 0.01) that are tried.
const SEARCH: [(Optimizer, &[f64]); 8] = [
    (Optimizer::AdamW, &[1.0, 2.0]),
    (Optimizer::RowwiseAdamW, &[0.5, 1.0, 2.0]),
    (Optimizer::RowwiseAdam, &[1.0, 2.0, 4.0]),
    (Optimizer::RowwiseAdamax, &[1.0, 2.0, 4.0, 8.0]),
    (Optimizer::RowwiseAdadelta, &[4.0, 10.0, 20.0, 40.0]),
    (Optimizer::RowwiseRmsProp, &[0.05, 0.1, 0.2, 0.5]),
    (Optimizer::RowwiseAdagrad, &[4.0, 8.0, 16.0, 32.0, 64.0]),
    (Optimizer::RowwiseSgd, &[0.01, 0.05, 0.1, 0.2, 0.5]),
];

/// Period of the learning rate, in epochs: the default. A fit that ends within one ends with a large rate.
const PERIOD: usize = 20;

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
    let fits = |optimizer: Optimizer, factor: f64, epochs: usize| -> Result<Value> {
        let steps = Solver::mini_batch()
            .optimizer(optimizer)
            .max_lr(0.05 * factor)
            .base_lr(0.01 * factor);
        let model = TopicModel::new(TOPICS)
            .device(Device::Cpu)
            .solver(steps)
            .epochs(epochs);
        let outcome = fit_all_seeds(&model, counts, true_f.as_ref(), &SEEDS)?;
        let row = json!({
            "optimizer": optimizer.to_string(),
            "factor": factor,
            "epochs": epochs,
            "scores": outcome.scores,
            "errors_of_f": outcome.errors_of_f,
            "cpu_seconds": outcome.cpu_seconds,
        });
        println!("{name} {row}");
        Ok(row)
    };
    let (mut rows, mut equal_time) = (Vec::new(), Vec::new());
    for (optimizer, factors) in SEARCH {
        let tried: Vec<Value> = factors
            .iter()
            .map(|factor| fits(optimizer, *factor, *epochs))
            .collect::<Result<_>>()?;
        rows.extend(tried);
        if optimizer == Optimizer::AdamW {
            continue;
        }
        // The number of epochs that takes the seconds of dense AdamW, in whole periods of the learning rate.
        let (Some(dense), Some(best)) = (best(&rows, Optimizer::AdamW), best(&rows, optimizer))
        else {
            continue;
        };
        let seconds = |row: &Value| row["cpu_seconds"].as_f64().unwrap_or(f64::NAN);
        let more = seconds(dense) / seconds(best);
        let factor = best["factor"].as_f64().unwrap_or(1.0);
        let periods = (*epochs as f64 * more / PERIOD as f64).round().max(1.0) as usize;
        equal_time.push(match periods * PERIOD == *epochs {
            true => best.clone(),
            false => fits(optimizer, factor, periods * PERIOD)?,
        });
    }
    Ok(json!({
        "name": name,
        "documents": counts.documents(),
        "terms": counts.terms(),
        "counts": described(counts)?,
        "epochs": epochs,
        "rows": rows,
        "equal_time": equal_time,
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
             Counts: {}. Median of five seeds, at the best of the factors that were tried on the default learning rates. The score is \
             the log-likelihood above dense AdamW's at its defaults ({reference:.0}), in thousands. The error is the mean total \
             variation distance of learned topics from the true ones (0 to 1).\n\n\
             | optimizer | factor tried: thousands | best factor | score | error | CPU s a fit | score in the seconds of dense AdamW |\n|---|---|---:|---:|---:|---:|---:|\n",
            corpus["name"].as_str().unwrap_or_default(),
            corpus["documents"],
            corpus["terms"],
            corpus["epochs"],
            corpus["counts"].as_str().unwrap_or_default(),
        );
        for (optimizer, _) in SEARCH {
            page += &line(optimizer, corpus, reference);
        }
    }
    page
}

/// The row of an optimizer with the best median score.
fn best(rows: &[Value], optimizer: Optimizer) -> Option<&Value> {
    let score = |row: &Value| median(&numbers(&row["scores"]));
    let name = optimizer.to_string();
    let rows = rows.iter().filter(|row| row["optimizer"] == name);
    rows.max_by(|a, b| score(a).total_cmp(&score(b)))
}

fn line(optimizer: Optimizer, corpus: &Value, reference: f64) -> String {
    let name = optimizer.to_string();
    let rows = |part: &str| corpus[part].as_array().map_or(&[][..], Vec::as_slice);
    let score = |row: &Value| (median(&numbers(&row["scores"])) - reference) / 1e3;
    let tried = rows("rows").iter().filter(|row| row["optimizer"] == name);
    let tried: Vec<String> = tried
        .map(|row| format!("{}: {:.1}", row["factor"], score(row)))
        .collect();
    let Some(best) = best(rows("rows"), optimizer) else {
        return String::new();
    };
    let as_long = rows("equal_time")
        .iter()
        .find(|row| row["optimizer"] == name);
    let as_long = as_long.map_or("-".into(), |row| {
        format!("{:.1} ({} epochs)", score(row), row["epochs"])
    });
    let errors = numbers(&best["errors_of_f"]);
    let error = match errors.is_empty() {
        true => "-".into(),
        false => format!("{:.3}", median(&errors)),
    };
    format!(
        "| {name} | {} | {} | {:.1} | {error} | {:.1} | {as_long} |\n",
        tried.join(", "),
        best["factor"],
        score(best),
        best["cpu_seconds"].as_f64().unwrap_or(f64::NAN),
    )
}
