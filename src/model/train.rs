//! The training loop: epochs, batches, learning rates. It knows neither the tensor library nor the observers.

use std::time::Instant;

use super::observer::{EpochReport, Observer, Start};
use super::schedule::WarmRestarts;
use super::settings::Settings;
use super::step::Step;
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::Batch;

/// Runs `settings.epochs` epochs; `order` gives the documents of an epoch (counted from 0) in the order they are met.
pub(crate) fn train(
    settings: &Settings,
    counts: &Counts,
    step: &mut dyn Step,
    order: &mut dyn FnMut(usize) -> Vec<usize>,
    start: &Start,
    observers: &mut [&mut dyn Observer],
) -> Result<()> {
    let schedule = WarmRestarts {
        base_lr: settings.base_lr,
        max_lr: settings.max_lr,
        t_0: settings.t_0,
        t_mult: settings.t_mult,
    };
    let tokens = counts.summary()?.total();
    let documents = counts.documents();
    let batches = documents.div_ceil(settings.batch_size);
    let began = Instant::now();
    // tinytopics sets the rate after a step, from that step's own time: a step runs at the time of the one before.
    let mut time = 0.0;
    observers
        .iter_mut()
        .for_each(|observer| observer.started(start));
    for epoch in 0..settings.epochs {
        let epoch_began = Instant::now();
        let mut learning_rate = settings.max_lr;
        for (index, batch) in order(epoch).chunks(settings.batch_size).enumerate() {
            learning_rate = schedule.at(time);
            let batch = Batch {
                counts,
                documents: batch,
            };
            step.step(&batch, learning_rate)?;
            time = epoch as f64 + index as f64 / batches as f64;
        }
        let total: f64 = step.take_losses()?.iter().sum();
        let report = EpochReport {
            epoch: epoch + 1,
            loss: total / batches as f64,
            // The rates of a document sum to one, so the rest of the loss is the log-likelihood.
            log_likelihood_per_token: (documents as f64 - total) / tokens,
            learning_rate,
            seconds: epoch_began.elapsed().as_secs_f64(),
            elapsed: began.elapsed().as_secs_f64(),
        };
        observers
            .iter_mut()
            .for_each(|observer| observer.epoch_finished(&report));
    }
    Ok(())
}
