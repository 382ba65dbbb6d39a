//! Our side of `cargo xtask bench peers`: runs one piece of work and prints one JSON line, as `peers.py` does for the
//! peers.
//!
//! ```text
//! peers generate N M K LENGTH             counts into memory
//! peers synthetic X.npy K EPOCHS PATH     a fit to counts that a peer generated
//! peers counts FILE.npz K EPOCHS SEED PATH
//! peers solver FILE.npz K SEED SOLVER SECONDS TARGET   the time to a score, and the best score within a time
//! peers growth                            what an iteration of each solver costs, against n, m, k and density
//! ```
//! PATH is `fused` (what a fit on the CPU does) or `tensor` (Burn's tensors and automatic differentiation).

#[path = "support/words.rs"]
mod words;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use topicbook::{Counts, Matrix, Result, Solver, Synthetic, TopicModel, replay};

use words::number;

fn main() -> Result<()> {
    let words = words::words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
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
        ["solver", path, k, seed, name, seconds, target] => solver(
            &Counts::open(path)?,
            number(k),
            number(seed) as u64,
            name,
            number(seconds) as f64,
            target.parse().unwrap_or(f64::NAN),
        )?,
        ["growth"] => growth()?,
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

/// A fit by a solver, ended after `seconds`; times begin with the fit, with the counts in memory.
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
        "em" => Solver::Em,
        "descent" => Solver::CoordinateDescent,
        "auto" => Solver::Auto,
        other => panic!("no such solver: {other}"),
    };
    let model = TopicModel::new(topics)
        .solver(solver)
        .epochs(1_000_000)
        .seed(seed);
    let began = Instant::now();
    let training = model.spawn(counts)?;
    while !training.is_finished() && began.elapsed().as_secs_f64() < seconds {
        std::thread::sleep(Duration::from_millis(5));
    }
    training.stop();
    let fit = training.join()?;
    let history = fit.history().into_inner();
    let column = |name: &str| -> Vec<f64> {
        let column = history.column(name).expect("a column of the history");
        let values = column.f64().expect("numbers");
        values.into_no_null_iter().collect()
    };
    let mut clock = 0.0;
    let mut reached = None;
    let per_token = column("log_likelihood_per_token");
    for (value, seconds) in per_token.iter().zip(column("seconds")) {
        clock += seconds;
        if reached.is_none() && value * tokens >= target {
            reached = Some(clock);
        }
    }
    Ok(json!({
        "seconds_to_target": reached,
        "seconds": clock,
        "iterations": per_token.len(),
        "score": score(counts, &fit.l(), &fit.f())?,
    }))
}

/// One size at a time is changed. Work grows with nonzeros x k, so nanoseconds by both should stay as they are.
fn growth() -> Result<Value> {
    let middle = (2_000, 5_000, 10, 200);
    let mut sizes = vec![("all", middle)];
    for factor in [2, 4, 8] {
        let (n, m, k, length) = middle;
        sizes.push(("n", (n * factor, m, k, length)));
        sizes.push(("m", (n, m * factor, k, length)));
        sizes.push(("k", (n, m, k * factor, length)));
        sizes.push(("density", (n, m, k, length * factor)));
    }
    let mut rows = Vec::new();
    for (grown, (documents, terms, topics, length)) in sizes {
        let corpus = Synthetic::new(documents, terms, 10)
            .avg_doc_length(length)
            .seed(42)
            .generate()?;
        let counts = sparse(&corpus.counts())?;
        let nonzeros = counts.summary()?.nonzeros() as f64;
        for (name, solver, flops, bytes) in [
            // Of each side: rates twice (2), and four rounds of slopes (5) and updates (2); its rows of the other table.
            (
                "descent",
                Solver::CoordinateDescent,
                2.0 * (2.0 * 2.0 + 4.0 * 7.0),
                2.0 * 4.0,
            ),
            // Rates twice (2), a document's shares and a term's statistics (2 each); F twice, statistics read and written.
            ("em", Solver::Em, 2.0 * 2.0 + 4.0, 2.0 * 4.0 + 16.0),
        ] {
            let fit = TopicModel::new(topics)
                .solver(solver)
                .epochs(7)
                .tolerance(0.0)
                .seed(1)
                .quiet()
                .fit(&counts)?;
            let history = fit.history().into_inner();
            let seconds = history
                .column("seconds")
                .expect("seconds")
                .f64()
                .expect("numbers");
            // The first has what has to be made once.
            let mut seconds: Vec<f64> = seconds.into_no_null_iter().skip(1).collect();
            seconds.sort_by(f64::total_cmp);
            let seconds = seconds[seconds.len() / 2];
            let work = nonzeros * topics as f64;
            rows.push(json!({
                "solver": name, "grown": grown, "documents": documents, "terms": terms, "topics": topics,
                "nonzeros": nonzeros, "density": nonzeros / documents as f64 / terms as f64,
                "seconds_an_iteration": seconds,
                "nanoseconds_a_nonzero_and_topic": 1e9 * seconds / work,
                "gigaflops": 1e-9 * flops * work / seconds,
                "gigabytes_a_second": 1e-9 * (bytes * work + 16.0 * nonzeros) / seconds,
            }));
        }
    }
    Ok(json!({ "growth": rows }))
}

/// The same counts, by rows of nonzero counts.
fn sparse(counts: &Counts) -> Result<Counts> {
    let (documents, terms) = counts.shape();
    let mut row = vec![0.0; terms];
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for document in 0..documents {
        counts.fill_rows(&[document], &mut row)?;
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            columns.push(column as u32);
            values.push(*value);
        }
        starts.push(values.len() as u64);
    }
    Counts::csr(documents, terms, starts, columns, values)
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
