//! What the tables of L lose in `bf16`, beside `f32`.

use serde_json::{Value, json};
use topicbook::{Counts, Device, Optimizer, Precision, Result, TopicModel};

use crate::quality::{TOPICS, median, numbers};
use crate::seeds::fit_all_seeds;

const SEEDS: [u64; 5] = [42, 1, 2, 3, 4];

/// Optimizers with the factor of the default learning rates.
const FITS: [(Optimizer, f64); 2] = [(Optimizer::AdamW, 1.0), (Optimizer::RowwiseAdamW, 2.0)];

/// For each optimizer, the scores of five seeds with the tables of L in `f32` and in `bf16`.
pub fn rows(counts: &Counts, epochs: usize) -> Result<Vec<Value>> {
    let row = |(optimizer, factor): (Optimizer, f64)| {
        let scores = |precision| {
            let model = TopicModel::new(TOPICS)
                .device(Device::Cpu)
                .optimizer(optimizer)
                .table_precision(precision)
                .max_lr(0.05 * factor)
                .base_lr(0.01 * factor)
                .epochs(epochs);
            fit_all_seeds(&model, counts, None, &SEEDS)
        };
        let (wide, narrow) = (scores(Precision::F32)?, scores(Precision::Bf16)?);
        let row = json!({
            "optimizer": optimizer.to_string(),
            "factor": factor,
            "f32": wide.scores,
            "bf16": narrow.scores,
            "cpu_seconds": [wide.cpu_seconds, narrow.cpu_seconds],
        });
        println!("{row}");
        Ok(row)
    };
    FITS.into_iter().map(row).collect()
}

/// The table of a corpus.
pub fn markdown(rows: &Value) -> String {
    let mut page = "\nThe logits of L and their moments in `bf16` with stochastic rounding, five seeds, scores in thousands:\n\n\
        | optimizer | factor | median in f32 | spread of the seeds | bf16 minus f32, each seed | their median | CPU s a fit, f32 and bf16 |\n\
        |---|---:|---:|---:|---|---:|---|\n"
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
            "| {} | {} | {:.0} | {:.1} | {} | {:.1} | {} |\n",
            row["optimizer"].as_str().unwrap_or_default(),
            row["factor"],
            median(&wide) / 1e3,
            spread / 1e3,
            each.join(", "),
            median(&differences),
            seconds.join(" and "),
        );
    }
    page
}
