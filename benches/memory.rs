//! `cargo xtask bench memory`: fits to counts larger than the memory they get, in a cgroup.
//!
//! ```text
//! memory record FOLDER [PYTHON PEERS.py]   everything, into benches/memory.json and benches/memory.md
//! memory generate FOLDER N M K LENGTH      X_f32.npy, X_u16.npy, X_u8.npy, X.npz, and X_small.npy
//! memory read PATH BYTES                   only reading, so many bytes at a time
//! memory fit PATH SOLVER K EPOCHS BATCH READING   one fit; READING is auto, inplace or BLOCKxBLOCKS, SOLVER adamw or em
//! memory table DOCUMENTS K FOLDER READING  one epoch with the table behind L mapped, in FOLDER
//! memory flat PATH FITS EPOCHS             many fits in one process: what memory does over epochs and fits
//! ```
//! All but the first print one JSON line.

#[path = "../tests/support/cgroup.rs"]
mod cgroup;
#[path = "support/few_terms.rs"]
mod few_terms;
#[path = "support/memory_record.rs"]
mod memory_record;
#[path = "support/record.rs"]
mod record;
#[path = "support/watch.rs"]
mod watch;
#[path = "support/words.rs"]
mod words;

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use topicbook::{
    Counts, Dtype, Fit, Optimizer, Reading, Result, Solver, Synthetic, TablePlace, TopicModel,
};

use few_terms::few_terms;
use watch::Watch;
use words::number;

fn main() -> Result<()> {
    let words = words::words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let line = match words.as_slice() {
        ["record", folder, peer @ ..] => return memory_record::record(Path::new(folder), peer),
        ["generate", folder, n, m, k, length] => generate(
            Path::new(folder),
            [n, m, k, length].map(|word| number(word)),
        )?,
        ["read", path, bytes] => read(path, number(bytes)),
        ["fit", path, solver, k, epochs, batch, reading] => {
            let [k, epochs, batch] = [k, epochs, batch].map(|word| number(word));
            let model = TopicModel::new(k)
                .solver(solver_of(solver))
                .epochs(epochs)
                .batch_size(batch)
                .reading(reading_of(reading));
            fit(&model, &Counts::open(path)?)?
        }
        ["table", documents, k, folder, reading] => {
            let folder = Path::new(folder);
            table(number(documents), number(k), folder, reading_of(reading))?
        }
        ["flat", path, fits, epochs] => flat(path, number(fits), number(epochs))?,
        // `cargo test` without arguments has nothing to measure.
        _ => return Ok(()),
    };
    println!("{line}");
    Ok(())
}

fn solver_of(word: &str) -> Solver {
    match word {
        "adamw" => Solver::AdamW,
        "em" => Solver::Em,
        _ => panic!("no such solver: {word}"),
    }
}

fn reading_of(word: &str) -> Reading {
    match (word, word.split_once('x')) {
        ("auto", _) => Reading::Auto,
        ("inplace", _) => Reading::InPlace,
        (_, Some((block, blocks))) => Reading::Stream {
            block: number(block),
            blocks: number(blocks),
        },
        _ => panic!("no such reading: {word}"),
    }
}

fn generate(folder: &Path, [n, m, k, length]: [usize; 4]) -> Result<Value> {
    let began = Instant::now();
    let corpus = Synthetic::new(n, m, k)
        .avg_doc_length(length)
        .seed(1)
        .write_npy(folder.join("X_u8.npy"))?;
    let generated = began.elapsed().as_secs_f64();
    let counts = corpus.counts();
    assert_eq!(counts.dtype(), Dtype::U8);
    let dense = counts.write_npy_as(folder.join("X_f32.npy"), Dtype::F32)?;
    let narrow = counts.write_npy_as(folder.join("X_u16.npy"), Dtype::U16)?;
    let sparse = counts.write_npz(folder.join("X.npz"))?;
    Synthetic::new(2_000, 20_000, 10)
        .avg_doc_length(500)
        .seed(1)
        .write_npy(folder.join("X_small.npy"))?;
    let nonzeros = counts.summary()?.nonzeros();
    let sizes = [dense, narrow, counts, sparse].map(|counts| counts.bytes_stored());
    Ok(json!({
        "generate_seconds": generated,
        "seconds": began.elapsed().as_secs_f64(),
        "nonzeros": nonzeros,
        "bytes": sizes,
    }))
}

/// The plain way: one thread, one buffer, in order.
fn read(path: &str, bytes: usize) -> Value {
    use std::io::Read;
    let mut file = File::open(path).unwrap();
    memory_record::advise(&file, libc::POSIX_FADV_SEQUENTIAL);
    let mut buffer = vec![0; bytes];
    let began = Instant::now();
    let mut total = 0;
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => break,
            more => total += more,
        }
    }
    json!({ "seconds": began.elapsed().as_secs_f64(), "bytes": total })
}

fn fit(model: &TopicModel, counts: &Counts) -> Result<Value> {
    let watch = Watch::start();
    // Counts that will be streamed are checked here, by a first pass over them.
    let began = Instant::now();
    let plan = model.clone().seed(1).quiet().plan(counts)?;
    let checked = began.elapsed().as_secs_f64();
    let predicted = plan.peak_ram();
    let began = Instant::now();
    let fit = plan.fit()?;
    let seconds = began.elapsed().as_secs_f64();
    let mut record = json!({
        "check_seconds": checked,
        "fit_seconds": seconds,
        "epoch_seconds": column(&fit, "seconds"),
        "loss": fit.loss(),
        "log_likelihood_per_token": fit.log_likelihood_per_token(),
        "predicted_anonymous": predicted,
        "reading": format!("{:?}", fit.settings().reading),
    });
    watch.end(&mut record);
    Ok(record)
}

fn column(fit: &Fit, name: &str) -> Vec<f64> {
    let history = fit.history();
    let column = history.column(name).unwrap();
    let column = column.cast(&topicbook::polars::prelude::DataType::Float64);
    column.unwrap().f64().unwrap().into_no_null_iter().collect()
}

/// One epoch with the table behind L and its moments in a file, by row-wise AdamW. Streamed counts come from a file, block
/// by block, so that a batch's rows of L lie in blocks as well.
fn table(documents: usize, k: usize, folder: &Path, reading: Reading) -> Result<Value> {
    let mut counts = few_terms(documents)?;
    if reading != Reading::InPlace {
        counts = counts.write_npz(folder.join("X_table.npz"))?;
    }
    let model = TopicModel::new(k)
        .epochs(1)
        .reading(reading)
        .optimizer(Optimizer::RowwiseAdamW)
        .table_place(TablePlace::File(folder.into()));
    let mut record = fit(&model, &counts)?;
    let steps = documents.div_ceil(model.settings().batch_size) as f64;
    let seconds = record["epoch_seconds"][0].as_f64().unwrap_or(f64::NAN);
    record["iterations_per_second"] = json!(steps / seconds);
    record["table_bytes"] = json!(12 * documents * k);
    Ok(record)
}

/// What the process holds at the end of every epoch of every fit.
fn flat(path: &str, fits: usize, epochs: usize) -> Result<Value> {
    let counts = Counts::open(path)?;
    let model = TopicModel::new(10)
        .epochs(epochs)
        .batch_size(64)
        .reading(reading_of("20x25"))
        .quiet();
    let began = Instant::now();
    let (mut within, mut between) = (Vec::new(), Vec::new());
    for fit in 0..fits {
        let memory = column(&model.fit(&counts)?, "memory");
        // The first epoch fills the buffers; the first fit starts threads and fills caches.
        let rest = &memory[1..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        let middle = rest.len() as f64 / 2.0 - 0.5;
        let deviations = rest.iter().enumerate();
        within.extend(deviations.map(|(epoch, held)| (epoch as f64 - middle, held - mean)));
        if fit > 0 {
            between.push((fit as f64, mean));
        }
    }
    let [(of_epoch, epoch_error), (of_fit, fit_error)] = [
        slope(&within, within.len().saturating_sub(fits + 1)),
        slope(&between, between.len().saturating_sub(2)),
    ];
    Ok(json!({
        "fits": fits,
        "epochs": epochs,
        "seconds": began.elapsed().as_secs_f64(),
        "bytes_an_epoch": of_epoch,
        "bytes_an_epoch_standard_error": epoch_error,
        "bytes_a_fit": of_fit,
        "bytes_a_fit_standard_error": fit_error,
        "anonymous": between.last().map(|last| last.1),
    }))
}

/// The slope of a straight line through points, and its standard error.
fn slope(points: &[(f64, f64)], degrees_of_freedom: usize) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum::<f64>()
        / spread;
    let left: f64 = points
        .iter()
        .map(|point| (point.1 - y - slope * (point.0 - x)).powi(2))
        .sum();
    (slope, (left / degrees_of_freedom as f64 / spread).sqrt())
}
