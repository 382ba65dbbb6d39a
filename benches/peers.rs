//! Our side of `cargo xtask bench peers`: runs one piece of work and prints one JSON line, as `peers.py` does for the
//! peers.
//!
//! ```text
//! peers generate N M K LENGTH             counts into memory
//! peers synthetic X.npy K EPOCHS PATH     a fit to counts that a peer generated
//! peers counts FILE.npz K EPOCHS SEED PATH
//! ```
//! PATH is `fused` (what a fit on the CPU does) or `tensor` (Burn's tensors and automatic differentiation).

use std::time::Instant;

use serde_json::{Value, json};
use topicbook::{Counts, Matrix, Result, Synthetic, TopicModel, replay};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |word: &str| -> usize {
        word.parse()
            .unwrap_or_else(|_| panic!("{word} is not a number"))
    };
    let line = match words.as_slice() {
        ["generate", n, m, k, length] => generate(number(n), number(m), number(k), number(length))?,
        ["synthetic", path, k, epochs, step] => {
            fit(&Counts::open(path)?, number(k), number(epochs), 42, step)?
        }
        ["counts", path, k, epochs, seed, step] => fit(
            &Counts::open(path)?,
            number(k),
            number(epochs),
            number(seed) as u64,
            step,
        )?,
        // `cargo test` and `cargo bench` without arguments have nothing to compare.
        _ => return Ok(()),
    };
    println!("{line}");
    Ok(())
}

fn generate(documents: usize, terms: usize, topics: usize, length: usize) -> Result<Value> {
    let began = Instant::now();
    let corpus = Synthetic::new(documents, terms, topics)
        .avg_doc_length(length)
        .seed(42)
        .generate()?;
    let seconds = began.elapsed().as_secs_f64();
    let mean = corpus.counts().summary()?.total() / documents as f64;
    assert!(
        (mean / length as f64 - 1.0).abs() < 0.01,
        "mean length {mean}"
    );
    Ok(json!({ "generate_seconds": seconds }))
}

fn fit(counts: &Counts, topics: usize, epochs: usize, seed: u64, step: &str) -> Result<Value> {
    counts.summary()?;
    let model = TopicModel::new(topics).epochs(epochs).seed(seed).quiet();
    let began = Instant::now();
    let (last_loss, l, f) = match step {
        "fused" => {
            let fit = model.fit(counts)?;
            (fit.loss(), fit.l(), fit.f())
        }
        "tensor" => tensor(&model, counts)?,
        other => panic!("no such path: {other}"),
    };
    let seconds = began.elapsed().as_secs_f64();
    Ok(json!({
        "seconds": seconds,
        "seconds_per_epoch": seconds / epochs as f64,
        "last_loss": last_loss,
        "score": score(counts, &l, &f)?,
    }))
}

/// The same fit through Burn's tensors.
fn tensor(model: &TopicModel, counts: &Counts) -> Result<(f64, Matrix, Matrix)> {
    let settings = model.settings();
    let (documents, terms) = counts.shape();
    let (l, f, orders) = replay::beginning(&settings, documents, terms)?;
    let run = replay::run(replay::Path::Tensor, &settings, counts, &l, &f, &orders)?;
    let last_loss = run.epoch_losses.last().copied().unwrap_or(f64::NAN);
    Ok((last_loss, run.l, run.f))
}

/// The sum over all counts of x log rate, in double precision, one count after the other.
fn score(counts: &Counts, l: &Matrix, f: &Matrix) -> Result<f64> {
    let mut row = vec![0.0; counts.terms()];
    let mut score = 0.0;
    for document in 0..counts.documents() {
        counts.fill_rows(&[document], &mut row)?;
        for (term, count) in row.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let rate: f64 = (0..f.rows())
                .map(|topic| f64::from(l.row(document)[topic]) * f64::from(f.row(topic)[term]))
                .sum();
            score += f64::from(*count) * rate.max(1e-10).ln();
        }
    }
    Ok(score)
}
