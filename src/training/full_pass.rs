//! The loop of solvers that pass over all documents in each iteration: expectation-maximisation and coordinate descent.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::config::{Resolved, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::data::Epoch;
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers;
use crate::solvers::{Iterate, Iteration};
use crate::step::State;
use crate::system::memory::{Handle, process_memory};

use super::divergence;
use super::minibatch::notify;
use super::observer::{FitStart, Observer, Snapshot};
use super::position::Position;

/// A checkpoint contains L and F. A resumed fit starts from them as a new fit starts from random values, so the
/// extrapolation restarts too.
impl Snapshot for Box<dyn Iterate> {
    fn take_losses(&mut self) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn state(&self) -> Result<State> {
        let (l, f) = self.topics()?;
        Ok(State {
            l,
            f,
            l_state: Vec::new(),
            f_state: Vec::new(),
            steps: 0,
        })
    }
}

/// Runs from `position` to the end of `settings.epochs` iterations, or until the solver converges or an observer stops
/// it; returns L and F.
pub(crate) fn iterate(
    settings: &Settings,
    counts: &Counts,
    (device, placement): (Resolved, Placement),
    state: State,
    mut position: Position,
    observers: &mut [&mut dyn Observer],
    monitor: &Handle,
) -> Result<(Matrix, Matrix)> {
    let tolerance = settings.solver.as_full_pass();
    let tolerance = tolerance.map_or(0.0, |parameters| parameters.tolerance);
    let tokens = counts.summary()?.total();
    let documents = counts.documents();
    // Losses are means over batches, as in tinytopics.
    let batches = documents.div_ceil(settings.batch_size()) as f64;
    let mut epoch_began = Instant::now();
    let start = FitStart {
        epochs: settings.epochs,
        documents,
        l_values: documents * settings.topics,
        device: device.to_string(),
        done: position.done(1),
    };
    for observer in observers.iter_mut() {
        observer.started(&start);
    }
    let mut solver = solvers::create(settings, counts, (device, placement), &state.l, &state.f)?;
    drop(state);
    let mut previous_score = f64::NEG_INFINITY;
    while position.epoch < settings.epochs {
        let iteration = solver.iterate(counts)?;
        let report = report(
            &iteration,
            position.epoch + 1,
            (documents, tokens, batches),
            epoch_began,
        );
        divergence::check(&report, settings)?;
        epoch_began = Instant::now();
        for observer in observers.iter_mut() {
            observer.epoch_finished(&report);
        }
        position = Position::start_of(position.epoch + 1);
        let mut stop = iteration.converged(previous_score, tolerance);
        previous_score = iteration.score;
        notify(
            observers,
            &mut solver,
            (&mut position, 1),
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
        &mut solver,
        (&mut position, 1),
        epoch_began,
        &mut |observer, context| observer.finished(context),
    );
    let topics = solver.topics()?;
    monitor.sample();
    Ok(topics)
}

fn report(
    iteration: &Iteration,
    epoch: usize,
    (documents, tokens, batches): (usize, f64, f64),
    epoch_began: Instant,
) -> Epoch {
    Epoch {
        epoch,
        loss: (documents as f64 - iteration.score) / batches,
        log_likelihood_per_token: iteration.score / tokens,
        learning_rate: 0.0,
        duration: epoch_began.elapsed(),
        memory_bytes: process_memory().anonymous,
    }
}
