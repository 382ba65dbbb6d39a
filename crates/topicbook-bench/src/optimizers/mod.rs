//! `cargo xtask bench optimizers`: what each optimizer reaches, and its iterations per second by the number of documents.
//! Writes `optimizers.json` and `optimizers.md` into a folder. With the name of one part, the other one keeps the figures that
//! are in the record.
//!
//! ```text
//! optimizers FOLDER all|speed|quality [NIPS.npz]
//! ```

mod quality;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use topicbook::bench_hooks::{self, Path as StepPath};
use topicbook::{Optimizer, Result, Solver, TopicModel};

use crate::support::{arguments, ceiling, disk, few_terms, record};

use few_terms::few_terms;

const TERMS: usize = 200;
/// Bytes of the largest table of logits of L with two moments that is measured.
const LARGEST: usize = 3 << 30;

pub fn main() -> Result<()> {
    match arguments::arguments().as_slice() {
        [folder, part, nips @ ..] => measure(Path::new(folder), part, nips.first().map(Path::new)),
        _ => Err(arguments::unknown()),
    }
}

fn measure(folder: &Path, part: &str, nips: Option<&Path>) -> Result<()> {
    let old = fs::read_to_string(folder.join("optimizers.json")).unwrap_or_default();
    let mut record: Value = serde_json::from_str(&old).unwrap_or_else(|_| json!({}));
    if part != "quality" {
        record["speed"] = json!({
            "machine": record::machine(),
            "peaks": ceiling::ceiling().record(),
            "disk": disk::speeds(&std::env::temp_dir()),
            "batch_size": 16,
            "terms": TERMS,
            "rows": speed()?,
        });
    }
    if part != "speed" {
        record["quality"] = json!({
            "machine": record::machine(),
            "corpora": quality::quality(nips)?,
        });
    }
    record::write(folder, "optimizers", &record, &markdown(&record));
    Ok(())
}

/// The columns of the record: name, implementation of the step, optimizer.
const COLUMNS: [(&str, StepPath, Optimizer); 9] = [
    ("adamw", StepPath::Fused, Optimizer::AdamW),
    ("rowwise_adamw", StepPath::Fused, Optimizer::RowwiseAdamW),
    ("rowwise_adam", StepPath::Fused, Optimizer::RowwiseAdam),
    ("rowwise_adamax", StepPath::Fused, Optimizer::RowwiseAdamax),
    (
        "rowwise_adadelta",
        StepPath::Fused,
        Optimizer::RowwiseAdadelta,
    ),
    (
        "rowwise_rmsprop",
        StepPath::Fused,
        Optimizer::RowwiseRmsProp,
    ),
    (
        "rowwise_adagrad",
        StepPath::Fused,
        Optimizer::RowwiseAdagrad,
    ),
    ("rowwise_sgd", StepPath::Fused, Optimizer::RowwiseSgd),
    ("burn_adamw", StepPath::Operation, Optimizer::AdamW),
];

/// Iterations per second at batch size 16, over counts of `documents` x 200 with five terms per document.
fn speed() -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for topics in [20, 188] {
        for documents in [10_000, 100_000, 1_000_000, 10_000_000] {
            if documents * topics * 12 > LARGEST {
                continue;
            }
            let counts = few_terms(documents, TERMS)?;
            let mut row = json!({ "documents": documents, "topics": topics });
            for (name, path, optimizer) in COLUMNS {
                // Burn needs memory for gradients, moments and copies of them.
                if path == StepPath::Operation && documents * topics * 40 > LARGEST {
                    continue;
                }
                let steps = match path {
                    StepPath::Fused => 4000,
                    _ => (20_000_000 / (documents * topics)).clamp(3, 300),
                };
                let solver = Solver::mini_batch().optimizer(optimizer);
                let settings = TopicModel::new(topics).solver(solver).settings();
                row[name] = json!(bench_hooks::iterations(path, &settings, &counts, steps)?);
            }
            println!("{row}");
            rows.push(row);
        }
    }
    Ok(rows)
}

fn markdown(record: &Value) -> String {
    let number = |value: &Value, decimals: usize| match value.as_f64() {
        Some(value) => format!("{value:.decimals$}"),
        None => "-".into(),
    };
    let speed = &record["speed"];
    let (machine, disk) = (&speed["machine"], &speed["disk"]);
    let mut text = format!(
        "# Optimizers\n\n\
         `cargo xtask bench optimizers` on {}, {} threads.\n\n\
         ## Speed\n\n\
         Iterations a second, batch 16, 200 terms, five of them in a document. Tables of logits of L above 3 GiB with two \
         moments are left out. Dense AdamW updates L's rows lazily; the other optimizers of ours are row-wise in L. Before these \
         rows, memory was read and written at {} GB/s, a file written at {} GB/s and read at {} GB/s from the disk, and {} \
         blocks of 4 KiB a second were read from random places.\n\n\
         | documents | k | dense AdamW | AdamW | Adam | Adamax | Adadelta | RMSprop | Adagrad | SGD | dense AdamW, Burn's |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
        machine["processor"].as_str().unwrap_or_default(),
        machine["threads"],
        number(&giga(&speed["peaks"]["bytes_per_second"]), 1),
        number(&giga(&disk["write_bytes_per_second"]), 2),
        number(&giga(&disk["read_bytes_per_second"]), 2),
        number(&disk["random_reads_per_second"], 0),
    );
    for row in speed["rows"].as_array().into_iter().flatten() {
        text += &format!("| {} | {} |", row["documents"], row["topics"]);
        for (name, path, _) in COLUMNS {
            let decimals = usize::from(path == StepPath::Operation);
            text += &format!(" {} |", number(&row[name], decimals));
        }
        text += "\n";
    }
    let corpora = &record["quality"]["corpora"];
    text + &quality::markdown(corpora.as_array().map_or(&[], Vec::as_slice))
}

fn giga(value: &Value) -> Value {
    json!(value.as_f64().map(|value| value / 1e9))
}
