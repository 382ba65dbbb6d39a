//! The loop of solvers that pass over all documents in each iteration: expectation-maximisation and coordinate descent.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::config::{Resolved, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::data::Epoch;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::solvers;
use crate::solvers::{Iterate, Start};
use crate::system::memory::{Handle, process_memory};

use super::divergence;
use super::minibatch::notify;
use super::observer::{FitStart, Observer, Snapshot, Stages};
use super::position::Position;
use super::state::{Convergence, RunningState, StartState};

/// A solver between two iterations, and whether it continues.
struct Running {
    solver: Box<dyn Iterate>,
    convergence: Convergence,
}

impl Snapshot for Running {
    fn take_losses(&mut self) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    fn state(&self) -> Result<RunningState<'_>> {
        let state = self.solver.state()?;
        Ok(RunningState::Iterations(state, self.convergence))
    }

    fn proportions(&self) -> Result<Matrix> {
        Ok(self.solver.topics()?.0)
    }
}

/// Runs from `position` to the end of `settings.epochs` iterations, or until the solver converges or an observer stops
/// it; returns L and F.
pub(crate) fn iterate(
    settings: &Settings,
    counts: &Counts,
    (device, placement): (Resolved, Placement),
    state: StartState,
    mut position: Position,
    observers: &mut [&mut dyn Observer],
    monitor: &Handle,
) -> Result<(Matrix, Matrix)> {
    let tolerance = settings.solver.as_full_pass();
    let tolerance = tolerance.map_or(0.0, |parameters| parameters.tolerance);
    let totals = Totals::of(settings, counts)?;
    let documents = counts.documents();
    let mut epoch_began = Instant::now();
    let start = FitStart {
        epochs: settings.epochs,
        documents,
        l_values: documents * settings.topics,
        device: device.to_string(),
        done: position.done(1),
        stages: match solvers::has_stages(settings) {
            true => Stages::Search,
            false => Stages::None,
        },
    };
    for observer in observers.iter_mut() {
        observer.started(&start);
    }
    let create = |start| solvers::create(settings, counts, (device, placement), start);
    let mut running = match state {
        StartState::Logits(state) => Running {
            solver: create(Start::New(&state.l, &state.f))?,
            convergence: Convergence {
                score: f64::NEG_INFINITY,
                converged: false,
            },
        },
        StartState::Iterations(state, convergence) => Running {
            solver: create(Start::Saved(state))?,
            convergence,
        },
        StartState::Run(_) => return Err(Error::setting("a run of a cluster continues there")),
    };
    while position.epoch < settings.epochs && !running.convergence.converged {
        let iteration = running.solver.iterate(counts)?;
        // Checked before observers see, and write, what was computed from a file that was cut meanwhile.
        counts.check_unchanged()?;
        let report = epoch(
            iteration.score,
            position.epoch + 1,
            &totals,
            (epoch_began.elapsed(), process_memory().anonymous),
        );
        divergence::check(&report, settings)?;
        epoch_began = Instant::now();
        let stage = running.solver.stage().unwrap_or_default();
        for observer in observers.iter_mut() {
            observer.stage(&stage);
            observer.epoch_finished(&report);
        }
        position = Position::start_of(position.epoch + 1);
        running.convergence = Convergence {
            score: iteration.score,
            converged: iteration.converged(running.convergence.score, tolerance),
        };
        let mut stop = false;
        notify(
            observers,
            &mut running,
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
        &mut running,
        (&mut position, 1),
        epoch_began,
        &mut |observer, context| observer.finished(context),
    );
    let topics = running.solver.topics()?;
    monitor.sample();
    Ok(topics)
}

/// What the numbers of an epoch are divided by.
pub(super) struct Totals {
    documents: f64,
    tokens: f64,
    /// Losses are means over batches, as in tinytopics.
    batches: usize,
}

impl Totals {
    pub(super) fn of(settings: &Settings, counts: &Counts) -> Result<Self> {
        let documents = counts.documents();
        Ok(Self {
            documents: documents as f64,
            tokens: counts.summary()?.total(),
            batches: documents.div_ceil(settings.batch_size()),
        })
    }

    pub(super) fn batches(&self) -> usize {
        self.batches
    }
}

/// The report of a pass with this score.
pub(super) fn epoch(
    score: f64,
    epoch: usize,
    totals: &Totals,
    (duration, memory_bytes): (Duration, u64),
) -> Epoch {
    Epoch {
        epoch,
        loss: (totals.documents - score) / totals.batches as f64,
        log_likelihood_per_token: score / totals.tokens,
        learning_rate: 0.0,
        grad_norm: None,
        duration,
        memory_bytes,
    }
}
