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
use crate::loader::Source;
use crate::memory::process_memory;

/// Runs from `position` to the end of `settings.epochs` epochs, or until an observer stops it.
pub(crate) fn train(
    settings: &Settings,
    counts: &Counts,
    device: String,
    mut step: &mut dyn Step,
    mut position: Position,
    source: &mut dyn Source,
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
    let mut epoch_began = Instant::now();
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
    while position.epoch < settings.epochs {
        let learning_rate = schedule.at(time);
        let batch = source.batch(position.epoch, position.batches)?;
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
                memory: process_memory().anonymous,
            };
            for observer in observers.iter_mut() {
                observer.epoch_finished(&report);
            }
            position = Position::start_of(position.epoch + 1);
            epoch_began = Instant::now();
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
            break;
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
