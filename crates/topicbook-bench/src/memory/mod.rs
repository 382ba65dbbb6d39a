//! `cargo xtask bench memory`: fits to counts larger than the memory limit of their cgroup.
//!
//! ```text
//! memory record RECORDS FOLDER [PYTHON PEERS.py]   all rows, into memory.json and memory.md in RECORDS; data in FOLDER
//! memory generate FOLDER N M K LENGTH      X_f32.npy, X_u16.npy, X_u8.npy, X.npz, and X_small.npy
//! memory generate-article FOLDER N M K LENGTH   X_article_u8.npy and X_article_f32.npy
//! memory article RECORDS FOLDER DOCUMENTS ...      the article's sizes, into article.json and article.md in RECORDS
//! memory generate-u8 PATH N M K LENGTH     one file of u8
//! memory read PATH BYTES                   reads a file, BYTES at a time
//! memory fit PATH SOLVER K EPOCHS BATCH READING   one fit; SOLVER: adamw, em or cd; READING: auto, inplace or BLOCKxBLOCKS
//! memory mapped-l DOCUMENTS K FOLDER READING      one epoch with L's logits in a mapped file in FOLDER
//! memory growth PATH FITS EPOCHS           growth of memory over epochs and fits of one process
//! ```
//! All but the first print one JSON line.

mod article;
mod page;
mod rows;
mod sampler;

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use topicbook::{
    Counts, Dtype, Optimizer, Reading, Result, Solver, Synthetic, TableStorage, TopicModel,
};

use crate::support::{arguments, few_terms};

use arguments::number;
use few_terms::few_terms;
use sampler::Samples;

/// Documents a batch: tinytopics' default.
const BATCH_SIZE: usize = 16;

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match arguments.as_slice() {
        ["record", records, folder, peer @ ..] => {
            return rows::record([records, folder].map(Path::new), peer);
        }
        ["article", records, folder, sizes @ ..] => {
            return article::record([records, folder].map(Path::new), sizes);
        }
        ["generate-u8", path, n, m, k, length] => {
            generate_u8(path, [n, m, k, length].map(|size| number(size)))?
        }
        ["generate", folder, n, m, k, length] => generate(
            Path::new(folder),
            [n, m, k, length].map(|size| number(size)),
        )?,
        ["generate-article", folder, n, m, k, length] => generate_article(
            Path::new(folder),
            [n, m, k, length].map(|size| number(size)),
        )?,
        ["read", path, bytes] => read(path, number(bytes)),
        ["fit", path, solver, k, epochs, batch, reading] => {
            let [k, epochs, batch] = [k, epochs, batch].map(|size| number(size));
            let model = match *solver {
                "adamw" => TopicModel::new(k).batch_size(batch),
                "em" => TopicModel::new(k).solver(Solver::em()),
                "cd" => TopicModel::new(k).solver(Solver::coordinate_descent()),
                _ => panic!("unknown solver: {solver}"),
            };
            let model = model.epochs(epochs).reading(reading_of(reading));
            fit(&model, &Counts::open(path)?)?
        }
        ["mapped-l", documents, k, folder, reading] => {
            let folder = Path::new(folder);
            mapped_l(number(documents), number(k), folder, reading_of(reading))?
        }
        ["growth", path, fits, epochs] => growth(path, number(fits), number(epochs))?,
        _ => return Err(arguments::unknown()),
    };
    println!("{line}");
    Ok(())
}

fn reading_of(text: &str) -> Reading {
    match (text, text.split_once('x')) {
        ("auto", _) => Reading::Auto,
        ("inplace", _) => Reading::InPlace,
        (_, Some((block, blocks))) => Reading::Stream {
            block: number(block),
            blocks: number(blocks),
        },
        _ => panic!("unknown reading: {text}"),
    }
}

fn generate(folder: &Path, [n, m, k, length]: [usize; 4]) -> Result<Value> {
    let start = Instant::now();
    let corpus = Synthetic::new(n, m, k)
        .avg_doc_length(length)
        .seed(1)
        .write_npy(folder.join("X_u8.npy"))?;
    let generate_seconds = start.elapsed().as_secs_f64();
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
        "generate_seconds": generate_seconds,
        "seconds": start.elapsed().as_secs_f64(),
        "nonzeros": nonzeros,
        "bytes": sizes,
    }))
}

/// Counts at the density of tinytopics' article.
fn generate_article(folder: &Path, sizes: [usize; 4]) -> Result<Value> {
    let start = Instant::now();
    let counts = drawn_u8(&folder.join("X_article_u8.npy"), sizes)?;
    let dense = counts.write_npy_as(folder.join("X_article_f32.npy"), Dtype::F32)?;
    Ok(json!({
        "seconds": start.elapsed().as_secs_f64(),
        "bytes": [counts.bytes_stored(), dense.bytes_stored()],
    }))
}

/// Counts in one file of `u8`.
fn generate_u8(path: &str, sizes: [usize; 4]) -> Result<Value> {
    let start = Instant::now();
    let counts = drawn_u8(Path::new(path), sizes)?;
    Ok(json!({ "seconds": start.elapsed().as_secs_f64(), "bytes": counts.bytes_stored() }))
}

/// Draws counts into a file, whose dtype has to be `u8`.
fn drawn_u8(path: &Path, [n, m, k, length]: [usize; 4]) -> Result<Counts> {
    let recipe = Synthetic::new(n, m, k).avg_doc_length(length).seed(1);
    let counts = recipe.write_npy(path)?.counts();
    assert_eq!(counts.dtype(), Dtype::U8);
    Ok(counts)
}

/// Reads a file sequentially, with one thread and one buffer.
fn read(path: &str, bytes: usize) -> Value {
    use std::io::Read;
    let mut file = File::open(path).unwrap();
    rows::advise(&file, libc::POSIX_FADV_SEQUENTIAL);
    let mut buffer = vec![0; bytes];
    let start = Instant::now();
    let mut total = 0;
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => break,
            read => total += read,
        }
    }
    json!({ "seconds": start.elapsed().as_secs_f64(), "bytes": total })
}

fn fit(model: &TopicModel, counts: &Counts) -> Result<Value> {
    let sampler = Samples::start();
    // Planning checks counts that will be streamed in a first pass over them.
    let start = Instant::now();
    let plan = model.clone().seed(1).quiet().plan(counts)?;
    let check_seconds = start.elapsed().as_secs_f64();
    let predicted = plan.peak_ram();
    let start = Instant::now();
    let fit = plan.fit()?;
    let fit_seconds = start.elapsed().as_secs_f64();
    let mut record = json!({
        "nonzero_share": counts.summary()?.density(),
        "check_seconds": check_seconds,
        "fit_seconds": fit_seconds,
        "epoch_seconds": fit.history().numbers("seconds")?,
        "loss": fit.loss().unwrap(),
        "log_likelihood_per_token": fit.log_likelihood_per_token().unwrap(),
        "predicted_anonymous": predicted,
        "reading": format!("{:?}", fit.settings().reading),
    });
    sampler.finish().add_to(&mut record);
    Ok(record)
}

/// One epoch of row-wise AdamW with L's logits and their moments in a mapped file. Streamed counts are read in
/// blocks of documents, so that a batch's rows of L are in blocks as well.
fn mapped_l(documents: usize, k: usize, folder: &Path, reading: Reading) -> Result<Value> {
    let mut counts = few_terms(documents, 200)?;
    if reading != Reading::InPlace {
        counts = counts.write_npz(folder.join("X_table.npz"))?;
    }
    let in_file = Solver::mini_batch()
        .batch_size(BATCH_SIZE)
        .optimizer(Optimizer::RowwiseAdamW)
        .table_storage(TableStorage::File(folder.into()));
    let model = TopicModel::new(k)
        .epochs(1)
        .solver(in_file)
        .reading(reading);
    let mut record = fit(&model, &counts)?;
    let steps = documents.div_ceil(BATCH_SIZE) as f64;
    let seconds = record["epoch_seconds"][0].as_f64().unwrap_or(f64::NAN);
    record["iterations_per_second"] = json!(steps / seconds);
    record["table_bytes"] = json!(8 * documents * k);
    Ok(record)
}

/// Anonymous memory of the process at the end of epochs: its growth per epoch and per fit, by linear regression.
fn growth(path: &str, fits: usize, epochs: usize) -> Result<Value> {
    let counts = Counts::open(path)?;
    let model = TopicModel::new(10)
        .epochs(epochs)
        .batch_size(64)
        .reading(reading_of("20x25"))
        .quiet();
    let start = Instant::now();
    let (mut within_fits, mut between_fits) = (Vec::new(), Vec::new());
    for fit in 0..fits {
        let memory = model.fit(&counts)?.history().numbers("memory")?;
        // Left out: the first epoch, which fills buffers, and the first fit, which starts threads and fills caches.
        let memory = &memory[1..];
        let mean = memory.iter().sum::<f64>() / memory.len() as f64;
        let middle = memory.len() as f64 / 2.0 - 0.5;
        let epochs = memory.iter().enumerate();
        within_fits.extend(epochs.map(|(epoch, bytes)| (epoch as f64 - middle, bytes - mean)));
        if fit > 0 {
            between_fits.push((fit as f64, mean));
        }
    }
    let (per_epoch, epoch_error) = slope(&within_fits, within_fits.len().saturating_sub(fits + 1));
    let (per_fit, fit_error) = slope(&between_fits, between_fits.len().saturating_sub(2));
    Ok(json!({
        "fits": fits,
        "epochs": epochs,
        "seconds": start.elapsed().as_secs_f64(),
        "bytes_an_epoch": per_epoch,
        "bytes_an_epoch_standard_error": epoch_error,
        "bytes_a_fit": per_fit,
        "bytes_a_fit_standard_error": fit_error,
        "anonymous": between_fits.last().map(|last| last.1),
    }))
}

/// Slope of the least-squares line through points, and its standard error.
fn slope(points: &[(f64, f64)], degrees_of_freedom: usize) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum_of_squares: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum::<f64>()
        / sum_of_squares;
    let residuals: f64 = points
        .iter()
        .map(|point| (point.1 - y - slope * (point.0 - x)).powi(2))
        .sum();
    (
        slope,
        (residuals / degrees_of_freedom as f64 / sum_of_squares).sqrt(),
    )
}
