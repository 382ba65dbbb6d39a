//! The training loop: epochs, batches, learning rates. It knows neither the tensor library nor the observers.

use std::ops::ControlFlow;
use std::time::Instant;

use super::observer::{EpochReport, Moment, Observer, Snapshot, Start};
use super::position::Position;
use super::schedule::WarmRestarts;
use super::settings::Settings;
use super::step::Step;
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::Batch;
use crate::memory::process_memory;

/// Runs from `position` to the end of `settings.epochs` epochs, or until an observer stops it; `order` gives the
/// documents of an epoch (counted from 0) in the order they are met.
pub(crate) fn train(
    settings: &Settings,
    counts: &Counts,
    device: String,
    mut step: &mut dyn Step,
    mut position: Position,
    order: &mut (dyn FnMut(usize) -> Vec<usize> + Send),
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
    let mut epoch_began = began;
    // tinytopics sets the rate after a step, from that step's own time: a step runs at the time of the one before.
    let mut time = position.last_step(batches);
    let start = Start {
        epochs: settings.epochs,
        documents,
        device,
        done: position.done(batches),
    };
    for observer in observers.iter_mut() {
        observer.started(&start);
    }
    'fit: while position.epoch < settings.epochs {
        epoch_began = Instant::now();
        let documents_in_order = order(position.epoch);
        let left = documents_in_order.chunks(settings.batch_size);
        for batch in left.skip(position.batches) {
            let learning_rate = schedule.at(time);
            // Asked for anew, which checks that a file is still whole.
            let batch = Batch {
                view: counts.view()?,
                rows: batch,
                documents: batch,
            };
            step.step(&batch, learning_rate)?;
            position.batches += 1;
            time = position.last_step(batches);
            if position.batches == batches {
                position.add(&step.take_losses()?);
                let report = EpochReport {
                    epoch: position.epoch + 1,
                    loss: position.loss / batches as f64,
                    // The rates of a document sum to one, so the rest of the loss is the log-likelihood.
                    log_likelihood_per_token: (documents as f64 - position.loss) / tokens,
                    learning_rate,
                    seconds: position.seconds + epoch_began.elapsed().as_secs_f64(),
                    elapsed: began.elapsed().as_secs_f64(),
                    memory: process_memory().anonymous,
                };
                for observer in observers.iter_mut() {
                    observer.epoch_finished(&report);
                }
                position = Position::start_of(position.epoch + 1);
            }
            if !step.at_rest() {
                continue;
            }
            let mut stop = false;
            tell(
                observers,
                &mut step,
                (&mut position, batches),
                epoch_began,
                &mut |observer, moment| {
                    stop |= observer.batch_finished(moment) == ControlFlow::Break(());
                },
            );
            if stop {
                break 'fit;
            }
        }
    }
    tell(
        observers,
        &mut step,
        (&mut position, batches),
        epoch_began,
        &mut |observer, moment| observer.finished(moment),
    );
    Ok(())
}

/// Tells every observer about a moment, then all of them what one of them has to say.
pub(super) fn tell(
    observers: &mut [&mut dyn Observer],
    step: &mut dyn Snapshot,
    (position, batches): (&mut Position, usize),
    epoch_began: Instant,
    what: &mut dyn FnMut(&mut dyn Observer, &mut Moment),
) {
    let mut notes = Vec::new();
    let mut moment = Moment {
        done: position.done(batches),
        step,
        position,
        epoch_began,
        notes: &mut notes,
    };
    for observer in observers.iter_mut() {
        what(*observer, &mut moment);
    }
    for note in notes {
        for observer in observers.iter_mut() {
            observer.noted(&note);
        }
    }
}
