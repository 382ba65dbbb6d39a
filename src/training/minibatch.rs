//! The minibatch training loop: epochs, batches and learning rates, independent of tensor library and observers.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::batches::Source;
use crate::config::Settings;
use crate::counts::Counts;
use crate::data::Epoch;
use crate::error::Result;
use crate::step::{Step, WarmRestarts};
use crate::system::memory::process_memory;

use super::divergence;
use super::observer::{FitStart, Observer, Snapshot, Stages, StepContext};
use super::position::Position;

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
    let schedule = WarmRestarts::new(&settings.mini_batch());
    let tokens = counts.summary()?.total();
    let documents = counts.documents();
    let batches = documents.div_ceil(settings.batch_size());
    let mut epoch_began = Instant::now();
    let start = FitStart {
        epochs: settings.epochs,
        documents,
        l_values: documents * settings.topics,
        device,
        done: position.done(batches),
        stages: Stages::None,
    };
    for observer in observers.iter_mut() {
        observer.started(&start);
    }
    while position.epoch < settings.epochs {
        let learning_rate = schedule.of_step((position.epoch, position.batches), batches);
        let batch = source.batch(position.epoch, position.batches)?;
        step.step(&batch, learning_rate)?;
        position.batches += 1;
        if position.batches == batches || step.is_flushed() {
            // Checked before observers see, and write, what was computed from a file that was cut meanwhile.
            counts.check_unchanged()?;
        }
        if position.batches == batches {
            position.add(&step.take_losses()?, &step.take_grad_norms()?);
            let report = Epoch {
                epoch: position.epoch + 1,
                loss: position.loss / batches as f64,
                // The rates of a document sum to one, so the rest of the loss is the log-likelihood.
                log_likelihood_per_token: (documents as f64 - position.loss) / tokens,
                learning_rate,
                grad_norm: settings
                    .mini_batch()
                    .clips()
                    .then(|| position.grad_norms / batches as f64),
                duration: Duration::try_from_secs_f64(position.seconds).unwrap_or_default()
                    + epoch_began.elapsed(),
                memory_bytes: process_memory().anonymous,
            };
            divergence::check(&report, settings)?;
            for observer in observers.iter_mut() {
                observer.epoch_finished(&report);
            }
            position = Position::start_of(position.epoch + 1);
            epoch_began = Instant::now();
        }
        if !step.is_flushed() {
            continue;
        }
        let mut stop = false;
        notify(
            observers,
            &mut step,
            (&mut position, batches),
            epoch_began,
            &mut |observer, context| {
                stop |= observer.batch_finished(context) == ControlFlow::Break(());
            },
        );
        if stop {
            break;
        }
    }
    notify(
        observers,
        &mut step,
        (&mut position, batches),
        epoch_began,
        &mut |observer, context| observer.finished(context),
    );
    Ok(())
}

/// Runs `call` on every observer with a shared context, then sends the notes that observers added to all of them.
pub(crate) fn notify(
    observers: &mut [&mut dyn Observer],
    step: &mut dyn Snapshot,
    (position, batches): (&mut Position, usize),
    epoch_began: Instant,
    call: &mut dyn FnMut(&mut dyn Observer, &mut StepContext),
) {
    let mut notes = Vec::new();
    let mut context = StepContext {
        done: position.done(batches),
        step,
        position,
        epoch_began,
        notes: &mut notes,
    };
    for observer in observers.iter_mut() {
        call(*observer, &mut context);
    }
    for note in notes {
        for observer in observers.iter_mut() {
            observer.noted(&note);
        }
    }
}
