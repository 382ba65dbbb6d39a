//! `cargo xtask bench fused`: what the machine can do at most, what the fused step needs of it, and how optimizers grow
//! with the number of documents. Writes `fused.json` and `fused.md` into a folder.
//!
//! ```text
//! fused FOLDER
//! ```

#[path = "support/few_terms.rs"]
mod few_terms;
#[path = "support/words.rs"]
mod words;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use topicbook::replay::{self, Path as Way};
use topicbook::{Optimizer, Result, Synthetic, TopicModel};

use few_terms::few_terms;

const THREADS: usize = 2;
/// Largest table behind L with its moments that is tried, in bytes.
const LARGEST: usize = 3 << 30;

fn main() -> Result<()> {
    match words::words().as_slice() {
        [folder] => record(Path::new(folder)),
        // `cargo test` without arguments has nothing to measure.
        _ => Ok(()),
    }
}

fn record(folder: &Path) -> Result<()> {
    let ceiling = ceiling();
    let work = work(&ceiling)?;
    let optimizers = optimizers()?;
    let record = json!({
        "threads": THREADS,
        "ceiling": ceiling.record(),
        "work": work,
        "optimizers": optimizers,
    });
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    };
    write("fused.md", markdown(&record));
    write("fused.json", format!("{record:#}\n"));
    Ok(())
}

/// The machine's measured peaks, on [`THREADS`] threads.
struct Ceiling {
    /// Fused multiply-adds in f32, two operations each.
    operations: f64,
    /// Reading and writing tables of 256 MiB.
    bytes: f64,
}

impl Ceiling {
    fn record(&self) -> Value {
        json!({ "operations_per_second": self.operations, "bytes_per_second": self.bytes })
    }
}

/// The best of five, on all threads at once: the amount of work over its time.
fn best(amount: f64, work: impl Fn(usize) + Sync) -> f64 {
    let once = || {
        let began = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let work = &work;
                scope.spawn(move || work(thread));
            }
        });
        THREADS as f64 * amount / began.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once()).fold(0.0, f64::max)
}

fn ceiling() -> Ceiling {
    const ROUNDS: usize = 20_000_000;
    const LENGTH: usize = 1 << 25;
    let operations = best((ROUNDS * CHAINS * LANES * 2) as f64, |_| {
        black_box(multiply_adds(ROUNDS));
    });
    let tables: Vec<_> = (0..THREADS)
        .map(|_| std::sync::Mutex::new(vec![1.0f32; LENGTH]))
        .collect();
    // Every value is read and written.
    let bytes = best((LENGTH * 8) as f64, |thread| {
        if let Ok(mut table) = tables[thread].lock() {
            for value in table.iter_mut() {
                *value = *value * 0.5 + 1.0;
            }
        }
    });
    Ceiling { operations, bytes }
}

const LANES: usize = 16;
/// Independent sums: more than the processor keeps under way.
const CHAINS: usize = 12;

/// As many multiply-adds as the processor's widest registers take.
fn multiply_adds(rounds: usize) -> f32 {
    #[inline(always)]
    fn body(rounds: usize) -> f32 {
        let mut sums = [[0.0f32; LANES]; CHAINS];
        let factor = black_box([1.000_000_1f32; LANES]);
        for _ in 0..rounds {
            for sum in &mut sums {
                for (sum, factor) in sum.iter_mut().zip(&factor) {
                    *sum = sum.mul_add(*factor, *factor);
                }
            }
        }
        sums.iter().flatten().sum()
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx2,fma")]
        fn avx512(rounds: usize) -> f32 {
            body(rounds)
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2(rounds: usize) -> f32 {
            body(rounds)
        }
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions, as just detected.
            return unsafe { avx512(rounds) };
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { avx2(rounds) };
        }
    }
    body(rounds)
}

/// The rows of the table of peers: what an epoch needs, and the part of the ceiling it reaches.
fn work(ceiling: &Ceiling) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for (documents, terms, topics, length) in [(5000, 1000, 10, 65_536), (1000, 20_000, 100, 1000)]
    {
        let counts = Synthetic::new(documents, terms, topics)
            .avg_doc_length(length)
            .seed(42)
            .generate()?
            .counts();
        let nonzeros = counts.summary()?.nonzeros() as f64;
        let batch = 16.0;
        let steps = documents as f64 / batch;
        let entries = (terms * topics) as f64;
        // A nonzero count: three multiply-adds a topic, about 30 operations for logarithm and division. An entry of F:
        // about 30 for gradient, AdamW and exponential.
        let operations = nonzeros * (6.0 * topics as f64 + 30.0) + steps * entries * 30.0;
        // F's table, two moments and exponentials are read and written once a step; the counts are read once.
        let bytes = steps * entries * 4.0 * 8.0 + counts.bytes_stored() as f64;
        let model = TopicModel::new(topics).epochs(4).quiet();
        let mut seconds: Vec<f64> = (0..3)
            .map(|_| Ok(model.fit(&counts)?.seconds() / 4.0))
            .collect::<Result<_>>()?;
        seconds.sort_by(f64::total_cmp);
        let seconds = seconds[1];
        rows.push(json!({
            "work": format!("{documents} x {terms}, k {topics}, batch 16"),
            "seconds_per_epoch": seconds,
            "operations": operations,
            "bytes": bytes,
            "part_of_operations": operations / seconds / ceiling.operations,
            "part_of_bytes": bytes / seconds / ceiling.bytes,
        }));
    }
    Ok(rows)
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
    let empty = Vec::new();
    let list = |name: &str| record[name].as_array().unwrap_or(&empty).clone();
    let mut text = format!(
        "# The fused step and the machine\n\nMade by `cargo xtask bench fused`, {THREADS} threads.\n\n\
         Ceiling: {} Gflop/s (fused multiply-adds), {} GB/s (reading and writing).\n\n\
         | work | s an epoch | Gflop | GB | part of the flop ceiling | part of the memory ceiling |\n|---|---|---|---|---|---|\n",
        number(&record["ceiling"]["operations_per_second"], 1e9, 0),
        number(&record["ceiling"]["bytes_per_second"], 1e9, 1),
    );
    for row in list("work") {
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            row["work"].as_str().unwrap_or_default(),
            number(&row["seconds_per_epoch"], 1.0, 4),
            number(&row["operations"], 1e9, 2),
            number(&row["bytes"], 1e9, 2),
            number(&row["part_of_operations"], 1.0, 2),
            number(&row["part_of_bytes"], 1.0, 2),
        );
    }
    text += "\nTables that fit the caches move faster than the memory ceiling.\n\n\
             Iterations a second, batch 16, 200 terms; tables behind L above 3 GiB with their moments are left out.\n\n\
             | documents | k | row-wise AdamW | dense AdamW, asleep rows by formula | dense AdamW, Burn's |\n|---|---|---|---|---|\n";
    for row in list("optimizers") {
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
