//! topicbook's side of `cargo xtask bench peers`: does one piece of work and prints one JSON line, as `peers.py` does
//! for the peers.
//!
//! ```text
//! peers generate N M K LENGTH             counts into memory
//! peers synthetic X.npy K EPOCHS PATH     a fit to counts that a peer generated
//! peers counts FILE.npz K EPOCHS SEED PATH
//! peers solver FILE.npz K SEED SOLVER SECONDS TARGET   the time to a score, and the best score within a time
//! peers text N M LENGTH FILE.npz          text-like counts, into a file
//! peers ceiling                           peaks of the machine
//! ```
//! PATH is `fused` (as in a fit on the CPU) or `tensor` (Burn's tensors and automatic differentiation).

mod need;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::reference;
use topicbook::{Counts, Matrix, Result, Solver, Synthetic, TopicModel, bench_hooks};

use crate::support::{arguments, ceiling, described, text};

use arguments::number;
use described::described;
use need::{Need, Size};

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match arguments.as_slice() {
        ["generate", n, m, k, length] => generate(number(n), number(m), number(k), number(length))?,
        ["synthetic", path, k, epochs, step_path] => fit(
            &Counts::open(path)?,
            number(k),
            number(epochs),
            42,
            step_path,
        )?,
        ["counts", path, k, epochs, seed, step_path] => fit(
            &Counts::open(path)?,
            number(k),
            number(epochs),
            number(seed) as u64,
            step_path,
        )?,
        ["solver", path, k, seed, name, seconds, target] => solver(
            &Counts::open(path)?,
            number(k),
            number(seed) as u64,
            name,
            number(seconds) as f64,
            target.parse().unwrap_or(f64::NAN),
        )?,
        ["text", n, m, length, path] => {
            text::text(number(n), number(m), number(length))?.write_npz(path)?;
            json!({})
        }
        ["ceiling"] => ceiling::ceiling().record(),
        // `cargo test` and `cargo bench` run benchmarks without arguments.
        _ => return Ok(()),
    };
    println!("{line}");
    Ok(())
}

fn generate(documents: usize, terms: usize, topics: usize, length: usize) -> Result<Value> {
    let start = Instant::now();
    let corpus = Synthetic::new(documents, terms, topics)
        .avg_doc_length(length)
        .seed(42)
        .generate()?;
    let seconds = start.elapsed().as_secs_f64();
    let mean = corpus.counts().summary()?.total() / documents as f64;
    assert!(
        (mean / length as f64 - 1.0).abs() < 0.01,
        "mean length {mean}"
    );
    let mut line = json!({ "generate_seconds": seconds, "counts": described(&corpus.counts())? });
    Need::of_generating(documents, terms, topics).add_to(&mut line);
    Ok(line)
}

fn fit(counts: &Counts, topics: usize, epochs: usize, seed: u64, step_path: &str) -> Result<Value> {
    counts.summary()?;
    let model = TopicModel::new(topics).epochs(epochs).seed(seed).quiet();
    let start = Instant::now();
    let (last_loss, l, f) = match step_path {
        "fused" => {
            let fit = model.fit(counts)?;
            (fit.loss().unwrap(), fit.l(), fit.f())
        }
        "tensor" => tensor(&model, counts)?,
        other => panic!("unknown path: {other}"),
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut line = json!({
        "seconds": seconds,
        "seconds_per_epoch": seconds / epochs as f64,
        "last_loss": last_loss,
        "score": score(counts, &l, &f)?,
    });
    // The work of one epoch; times `epochs`, it is the work of the whole fit.
    Need::of_adamw(&Size::of(counts, topics)?).add_to(&mut line);
    line["epochs"] = json!(epochs);
    line["counts"] = described(counts)?.into();
    Ok(line)
}

/// A fit by a solver, stopped after `seconds`. Times start with the fit, when the counts are in memory.
fn solver(
    counts: &Counts,
    topics: usize,
    seed: u64,
    name: &str,
    seconds: f64,
    target: f64,
) -> Result<Value> {
    let tokens = counts.summary()?.total();
    let solver = match name {
        "em" => Solver::em(),
        "descent" => Solver::coordinate_descent(),
        "auto" => Solver::auto(),
        other => panic!("unknown solver: {other}"),
    };
    let model = TopicModel::new(topics)
        .solver(solver)
        .epochs(1_000_000)
        .seed(seed);
    let start = Instant::now();
    let training = model.spawn(counts)?;
    while !training.is_finished() && start.elapsed().as_secs_f64() < seconds {
        std::thread::sleep(Duration::from_millis(5));
    }
    training.stop();
    let fit = training.join()?;
    let history = fit.history();
    let mut elapsed = 0.0;
    let mut reached = None;
    let per_token = history.numbers("log_likelihood_per_token")?;
    for (value, seconds) in per_token.iter().zip(history.numbers("seconds")?) {
        elapsed += seconds;
        if reached.is_none() && value * tokens >= target {
            reached = Some(elapsed);
        }
    }
    let mut line = json!({
        "seconds_to_target": reached,
        "seconds": elapsed,
        "iterations": per_token.len(),
        "score": score(counts, &fit.l(), &fit.f())?,
        "counts": described(counts)?,
    });
    Need::of_descent(&Size::of(counts, topics)?).add_to(&mut line);
    Ok(line)
}

/// The same fit through Burn's tensors: the last loss, L and F.
fn tensor(model: &TopicModel, counts: &Counts) -> Result<(f64, Matrix, Matrix)> {
    let settings = model.settings();
    let (documents, terms) = counts.shape();
    let (l, f, orders) = bench_hooks::start(&settings, documents, terms)?;
    let run = bench_hooks::run(
        bench_hooks::Path::Tensor,
        &settings,
        counts,
        &l,
        &f,
        &orders,
    )?;
    let last_loss = run.epoch_losses.last().copied().unwrap_or(f64::NAN);
    Ok((last_loss, run.l, run.f))
}

/// The score: the sum over all counts of x log rate, in double precision.
fn score(counts: &Counts, l: &Matrix, f: &Matrix) -> Result<f64> {
    let f: Vec<&[f32]> = (0..f.rows()).map(|topic| f.row(topic)).collect();
    let mut row = vec![0.0; counts.terms()];
    let mut score = 0.0;
    for document in 0..counts.documents() {
        counts.fill_rows(&[document], &mut row)?;
        score += reference::score(&row, &reference::rates(l.row(document), &f));
    }
    Ok(score)
}
