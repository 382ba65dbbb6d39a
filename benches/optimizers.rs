//! `cargo xtask bench optimizers`: how optimizers grow with the number of documents. Writes `optimizers.json` and
//! `optimizers.md` into a folder.
//!
//! ```text
//! optimizers FOLDER
//! ```

#[path = "support/few_terms.rs"]
mod few_terms;
#[path = "support/record.rs"]
mod record;
#[path = "support/words.rs"]
mod words;

use std::path::Path;

use serde_json::{Value, json};
use topicbook::replay::{self, Path as Way};
use topicbook::{Optimizer, Result, TopicModel};

use few_terms::{TERMS, few_terms};

/// Largest table behind L with its moments that is tried, in bytes.
const LARGEST: usize = 3 << 30;
fn main() -> Result<()> {
    match words::words().as_slice() {
        [folder] => measure(Path::new(folder)),
        // `cargo test` without arguments has nothing to measure.
        _ => Ok(()),
    }
}

fn measure(folder: &Path) -> Result<()> {
    let record = json!({ "batch_size": 16, "terms": TERMS, "optimizers": optimizers()? });
    record::write(folder, "optimizers", &record, &markdown(&record));
    Ok(())
}

/// Iterations a second at batch 16 over counts of `documents` x 200 with five terms a document.
fn optimizers() -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for topics in [20, 188] {
        for documents in [10_000, 100_000, 1_000_000, 10_000_000] {
            if documents * topics * 12 > LARGEST {
                continue;
            }
            let counts = few_terms(documents)?;
            let mut row = json!({ "documents": documents, "topics": topics });
            for (name, way, optimizer) in [
                ("rowwise_adamw", Way::Fused, Optimizer::RowwiseAdamW),
                ("adamw", Way::Fused, Optimizer::AdamW),
                ("burn_adamw", Way::Operation, Optimizer::AdamW),
            ] {
                // Burn keeps gradients, moments and copies of them.
                if way == Way::Operation && documents * topics * 40 > LARGEST {
                    continue;
                }
                let steps = match way {
                    Way::Fused => 4000,
                    _ => (20_000_000 / (documents * topics)).clamp(3, 300),
                };
                let settings = TopicModel::new(topics).optimizer(optimizer).settings();
                row[name] = json!(replay::iterations(way, &settings, &counts, steps)?);
            }
            println!("{row}");
            rows.push(row);
        }
    }
    Ok(rows)
}

fn markdown(record: &Value) -> String {
    let number = |value: &Value, scale: f64, decimals: usize| match value.as_f64() {
        Some(value) => format!("{:.decimals$}", value / scale),
        None => "-".into(),
    };
    let mut text = String::from(
        "# Optimizers and the number of documents\n\n\
         `cargo xtask bench optimizers`: iterations a second, batch 16, 200 terms, five of them in a document. Tables \
         behind L above 3 GiB with their moments are left out.\n\n\
         | documents | k | row-wise AdamW | dense AdamW, asleep rows by formula | dense AdamW, Burn's |\n\
         |---|---|---|---|---|\n",
    );
    for row in record["optimizers"].as_array().into_iter().flatten() {
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            row["documents"],
            row["topics"],
            number(&row["rowwise_adamw"], 1.0, 0),
            number(&row["adamw"], 1.0, 0),
            number(&row["burn_adamw"], 1.0, 1),
        );
    }
    text
}
