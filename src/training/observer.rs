//! The observer interface: the training loops notify observers of their progress and do not depend on them otherwise.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::data::Epoch;
use crate::error::Result;

use super::epochs::Learner;
use super::position::Position;
use super::state::RunningState;

/// Facts about a run before its first batch.
#[derive(Debug, Clone)]
pub(crate) struct FitStart {
    pub(crate) epochs: usize,
    pub(crate) documents: usize,
    /// Documents times topics.
    pub(crate) l_values: usize,
    pub(crate) device: String,
    /// Epochs done before this run, including the finished part of the current one; more than 0 for a resumed fit.
    pub(crate) done: f64,
    pub(crate) stages: Stages,
}

/// What [`Observer::stage`] is called with after each epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stages {
    None,
    /// What a search tries next.
    Search,
    /// How fast the ranks of a cluster are.
    Ranks,
    /// Nothing, of a module of one's own, whose loss is no log-likelihood.
    Module,
    /// What the validation of a module of one's own measured.
    Validation,
}

/// What an observer can see and do between two batches.
pub(crate) struct StepContext<'a> {
    /// Epochs done, including the finished part of the current one.
    pub(crate) done: f64,
    pub(crate) learner: &'a mut dyn Learner,
    pub(crate) position: &'a mut Position,
    /// The epochs that are finished.
    pub(crate) history: &'a [Epoch],
    /// When this process started the current epoch.
    pub(crate) epoch_began: Instant,
    pub(crate) notes: Vec<String>,
}

impl StepContext<'_> {
    /// Finished epochs, and finished batches of the current one.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.position.epoch, self.position.batches)
    }

    /// The position and state from which the fit can be resumed. Waits for the device; gradient steps copy their tables:
    /// L, F and the optimizer's state.
    pub(crate) fn snapshot(&mut self) -> Result<(Position, RunningState<'_>)> {
        self.learner.settle(self.position)?;
        let mut position = *self.position;
        if position.batches > 0 {
            position.seconds += self.epoch_began.elapsed().as_secs_f64();
        }
        Ok((position, self.learner.state()?))
    }

    /// Sends a one-line message for the user to every observer.
    pub(crate) fn note(&mut self, line: String) {
        self.notes.push(line);
    }
}

/// Receives notifications from a training loop.
pub(crate) trait Observer: Send {
    /// Called before the first batch.
    fn started(&mut self, _start: &FitStart) {}
    /// Called before [`epoch_finished`](Self::epoch_finished) with what the next epoch tries; empty for solvers without stages.
    fn stage(&mut self, _stage: &str) {}
    fn epoch_finished(&mut self, _report: &Epoch) {}
    /// Called between two batches when the step has no pending row updates, and after every epoch, then after
    /// `epoch_finished`. `Break` ends the fit here; its result is L and F as they are.
    fn batch_finished(&mut self, _context: &mut StepContext) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// Called after the last batch.
    fn finished(&mut self, _context: &mut StepContext) {}
    /// Called with a one-line message for the user.
    fn noted(&mut self, _line: &str) {}
}
