//! The time until a fit scores as well as another program's.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use topicbook::bench_hooks::On;
use topicbook::{Result, Solver, TopicModel};

use crate::gpu::counts::Form;
use crate::gpu::fit::device;
use crate::support::rate_rule::rule;

/// Epochs that a fit may take, and seconds after which it takes no other one.
const EPOCHS: usize = 200;
const SECONDS: u64 = 45;

/// What a fit is measured against: the first documents of the counts, and the score of L and F on them, as the mean over tokens
/// of log rate.
pub struct Target {
    pub documents: usize,
    pub score: f64,
}

/// Fits `f32` counts from memory in batches of `batch`, until an epoch scores as high as the target. An epoch's score is taken
/// while it runs, before the updates of its own batches, so that L and F score higher at its end: both are given.
pub fn equal(on: On, folder: &Path, [topics, batch]: [usize; 2], target: &Target) -> Result<Value> {
    let counts = Form::F32.counts(folder, target.documents)?;
    let density = counts.summary()?.density();
    let factor = rule(target.documents.div_ceil(batch));
    let steps = Solver::mini_batch()
        .max_lr(0.05 * factor)
        .base_lr(0.01 * factor);
    let model = TopicModel::new(topics)
        .solver(steps)
        .batch_size(batch)
        .seed(1)
        .device(device(on))
        .quiet();
    // Loads libraries and compiles kernels.
    model.epochs(1).fit(&counts)?;
    let scores: Arc<Mutex<Vec<f64>>> = Arc::default();
    let seen = Arc::clone(&scores);
    let (began, score) = (Instant::now(), target.score);
    let model = model.epochs(EPOCHS).on_epoch(move |epoch| {
        let reached = epoch.log_likelihood_per_token;
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(reached);
        match reached >= score || began.elapsed() > Duration::from_secs(SECONDS) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let fit = model.fit(&counts)?;
    let seconds = began.elapsed().as_secs_f64();
    let scores = scores
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let has_reached = scores.last().is_some_and(|last| *last >= score);
    Ok(json!({
        "documents": target.documents,
        "density": density,
        "batch": batch,
        "factor": factor,
        "target": score,
        "reached": has_reached,
        "seconds": seconds,
        "epochs": scores.len(),
        "epoch_scores": scores,
        "score": fit.score_per_token(&counts)?,
    }))
}
