//! Fits by a solver whose iterations see all documents: expectation-maximisation and coordinate descent.

use std::ops::ControlFlow;
use std::time::Instant;

use super::TopicModel;
use super::observer::{EpochReport, Observer, Snapshot, Start};
use super::position::Position;
use super::settings::Settings;
use super::step::State;
use super::train::tell;
use crate::counts::Counts;
use crate::device::Resolved;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::memory::{Handle, process_memory};
use crate::place::TablePlace;
use crate::plan::Placement;
use crate::solver::{self, Gain, Iterate, Solver};

impl TopicModel {
    /// How the model is fitted; [`Solver::AdamW`] by default, as in tinytopics. [`Solver::Auto`] reaches better fits
    /// much sooner.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.settings.solver = solver;
        self
    }

    /// When a solver other than AdamW ends before its last epoch: when an iteration has changed the log-likelihood by
    /// less than this part of it, and a step of expectation-maximisation would move no more than the root of it of all
    /// tokens (1e-4, by default) to other topics. 1e-8 by default; 0 never ends early.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.settings.tolerance = tolerance;
        self
    }
}

/// The tables as a checkpoint keeps them. A continued fit starts from them as a new one does from random tables, so that
/// extrapolation begins anew.
impl Snapshot for Box<dyn Iterate> {
    fn take_losses(&mut self) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn state(&self) -> Result<State> {
        let (l, f) = self.topics()?;
        State::new(l, f, &TablePlace::Memory)
    }
}

/// Runs from `position` to the end of `settings.epochs` iterations, until nothing is gained any more, or until an observer
/// stops it; gives L and F.
pub(super) fn iterate(
    settings: &Settings,
    counts: &Counts,
    (device, placement): (Resolved, Placement),
    state: State,
    mut position: Position,
    observers: &mut [&mut dyn Observer],
    monitor: &Handle,
) -> Result<(Matrix, Matrix)> {
    let tokens = counts.summary()?.total();
    let documents = counts.documents();
    // Losses are a mean over batches, as tinytopics'.
    let batches = documents.div_ceil(settings.batch_size) as f64;
    let mut epoch_began = Instant::now();
    let start = Start {
        epochs: settings.epochs,
        documents,
        device: device.to_string(),
        done: position.done(1),
    };
    for observer in observers.iter_mut() {
        observer.started(&start);
    }
    let mut work = solver::begin(settings, counts, (device, placement), &state.l, &state.f)?;
    drop(state);
    let mut before = f64::NEG_INFINITY;
    while position.epoch < settings.epochs {
        let gain = work.iterate(counts)?;
        let report = report(
            &gain,
            position.epoch + 1,
            (documents, tokens, batches),
            epoch_began,
        );
        epoch_began = Instant::now();
        for observer in observers.iter_mut() {
            observer.epoch_finished(&report);
        }
        position = Position::start_of(position.epoch + 1);
        let mut stop = gain.converged(before, settings.tolerance);
        before = gain.score;
        tell(
            observers,
            &mut work,
            (&mut position, 1),
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
        &mut work,
        (&mut position, 1),
        epoch_began,
        &mut |observer, moment| observer.finished(moment),
    );
    let topics = work.topics()?;
    monitor.look();
    Ok(topics)
}

fn report(
    gain: &Gain,
    epoch: usize,
    (documents, tokens, batches): (usize, f64, f64),
    epoch_began: Instant,
) -> EpochReport {
    EpochReport {
        epoch,
        loss: (documents as f64 - gain.score) / batches,
        log_likelihood_per_token: gain.score / tokens,
        learning_rate: 0.0,
        seconds: epoch_began.elapsed().as_secs_f64(),
        memory: process_memory().anonymous,
    }
}
