//! `cargo xtask bench tables`: fits whose L does not fit their memory, at the sizes of the tables in the documents that this project
//! was made from. Each runs in a cgroup of [`LIMIT`] bytes, with L in a mapped file.
//!
//! ```text
//! tables record RECORDS FOLDER [DOCUMENTS TOPICS ...]   all rows, into tables.json and tables.md; files in FOLDER
//! tables counts PATH DOCUMENTS                          counts in a file
//! tables fit PATH TOPICS PRECISION STEPS EPOCHS FOLDER CHECKPOINT   one fit of STEPS steps an epoch; `-` for no checkpoint
//! tables rows PATH ROWS WIDTH STEPS                     steps of a `RowTable`: gathers rows from everywhere in it, and updates them
//! tables continue PATH CHECKPOINT EPOCHS SECONDS        continues a fit, and kills this process after SECONDS, unless that is 0
//! ```
//! All but the first print one JSON line.

mod monitor;
mod page;
mod rows;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use topicbook::{
    Checkpoint, Counts, Fit, Optimizer, Precision, Result, RowTable, Solver, TableStorage,
    TopicModel,
};

use crate::support::{arguments, disk, few_terms};

use arguments::number;
use few_terms::few_terms;
use monitor::Samples;

/// Bytes of each cgroup.
pub const LIMIT: u64 = 2 << 30;
/// At least the number of topics.
const TERMS: usize = 500;
const SEED: u64 = 1;
/// A prime number.
const STRIDE: usize = 1_000_003;

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match arguments.as_slice() {
        ["record", records, folder, sizes @ ..] => {
            rows::record(Path::new(records), Path::new(folder), sizes);
            return Ok(());
        }
        ["counts", path, documents] => {
            let counts = few_terms(number(documents), TERMS)?.write_npz(path)?;
            json!({ "bytes": counts.bytes_stored() })
        }
        [
            "fit",
            path,
            topics,
            precision,
            steps,
            epochs,
            folder,
            checkpoint,
        ] => {
            let counts = Counts::open(path)?;
            let precision = match *precision {
                "bf16" => Precision::Bf16,
                _ => Precision::F32,
            };
            let in_file = Solver::mini_batch()
                .batch_size(counts.documents().div_ceil(number(steps)))
                .optimizer(Optimizer::RowwiseAdamW)
                .table_precision(precision)
                .table_storage(TableStorage::File((*folder).into()));
            let model = TopicModel::new(number(topics))
                .solver(in_file)
                .epochs(number(epochs))
                .seed(SEED)
                .quiet();
            let model = match *checkpoint {
                "-" => model,
                checkpoint => model.checkpoint(checkpoint),
            };
            let mut result = fit(&model, &counts, number(steps))?;
            result["batch_size"] = json!(counts.documents().div_ceil(number(steps)));
            result
        }
        ["rows", path, rows, width, steps] => {
            row_table(path, [rows, width, steps].map(|size| number(size)))?
        }
        ["continue", path, checkpoint, epochs, seconds] => continued(
            &Counts::open(path)?,
            checkpoint,
            number(epochs),
            number(seconds),
        )?,
        _ => return Err(arguments::unknown()),
    };
    println!("{line}");
    Ok(())
}

/// A fit, with what it did to memory and disk.
fn fit(model: &TopicModel, counts: &Counts, steps: usize) -> Result<Value> {
    let monitor = Samples::start();
    let started = Instant::now();
    let ends = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let all = ends.clone();
    let model = model.on_epoch(move |epoch| {
        if let Ok(mut all) = all.lock() {
            all.push((Instant::now(), epoch.duration));
        }
        std::ops::ControlFlow::Continue(())
    });
    let plan = model.plan(counts)?;
    let predicted = plan.peak_ram();
    let fit = plan.fit()?;
    let seconds = started.elapsed().as_secs_f64();
    let samples = Samples::finish(monitor);
    let epochs: Vec<Value> = ends
        .lock()
        .map(|ends| ends.clone())
        .unwrap_or_default()
        .into_iter()
        .map(|(end, duration)| {
            let mut epoch = samples.between(end - duration, end);
            epoch["steps_per_second"] = json!(steps as f64 / duration.as_secs_f64());
            epoch
        })
        .collect();
    Ok(json!({
        "steps": steps,
        "seconds": seconds,
        "epochs": epochs,
        "whole": samples.whole(),
        "predicted_anonymous": predicted,
        "peak_anonymous": samples.peak_anonymous(),
        "reading": format!("{:?}", fit.settings().reading),
        "log_likelihood_per_token": fit.log_likelihood_per_token(),
        "digest": digest(&fit),
    }))
}

/// Steps of a table of rows, without a model: each gathers as many rows as a batch of the fits has, and updates them.
fn row_table(path: &str, [rows, width, steps]: [usize; 3]) -> Result<Value> {
    let monitor = Samples::start();
    let table = RowTable::builder(rows, width)
        .optimizer(Optimizer::RowwiseAdamW)
        .init_uniform(-0.1, 0.1)
        .seed(SEED)
        .file(path)
        .create()?;
    let batch = rows.div_ceil(steps);
    let started = Instant::now();
    for step in 0..steps {
        // The stride has no factor in common with the rows: all rows are visited before one is visited again.
        let some: Vec<usize> = (step * batch..(step + 1) * batch)
            .map(|at| at % rows * STRIDE % rows)
            .collect();
        let values = table.gather(&some)?;
        table.update(some, values, 0.01)?;
    }
    let ended = Instant::now();
    table.flush()?;
    let flushed = ended.elapsed().as_secs_f64();
    let samples = Samples::finish(monitor);
    let mut result = samples.between(started, ended);
    result["batch_size"] = json!(batch);
    result["steps_per_second"] = json!(steps as f64 / (ended - started).as_secs_f64());
    result["flush_seconds"] = json!(flushed);
    result["peak_anonymous"] = json!(samples.peak_anonymous());
    Ok(result)
}

/// The rest of a fit, or a part of it.
fn continued(counts: &Counts, checkpoint: &str, epochs: usize, seconds: usize) -> Result<Value> {
    let monitor = Samples::start();
    let started = Instant::now();
    if seconds > 0 {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(seconds as u64));
            // SAFETY: the call touches no memory of this process.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        });
    }
    let checkpoint = Checkpoint::open(checkpoint)?.epochs(epochs).quiet();
    let opened = started.elapsed().as_secs_f64();
    let done = checkpoint.epochs_done();
    let fit = checkpoint.fit(counts)?;
    let samples = Samples::finish(monitor);
    Ok(json!({
        "epochs_done": done,
        "open_seconds": opened,
        "seconds": started.elapsed().as_secs_f64(),
        "peak_anonymous": samples.peak_anonymous(),
        "digest": digest(&fit),
    }))
}

/// A number that any changed bit of L and F changes.
fn digest(fit: &Fit) -> String {
    let (l, f) = (fit.l(), fit.f());
    let values = l.values().iter().chain(f.values());
    let sum = values.fold(0u64, |sum, value| {
        (sum.rotate_left(5) ^ u64::from(value.to_bits())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    format!("{sum:016x}")
}
