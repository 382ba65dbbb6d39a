//! What watches a fit: the loop tells observers what happened and knows nothing else about them.

use std::ops::ControlFlow;
use std::time::Instant;

use super::position::Position;
use super::step::{State, Step};
use crate::error::Result;

/// What a fit is about to do.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) epochs: usize,
    pub(crate) documents: usize,
    pub(crate) device: String,
    /// Epochs that are done already, with the part of one that was begun: more than 0 when a fit goes on.
    pub(crate) done: f64,
}

/// One finished epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EpochReport {
    /// Counted from 1.
    pub(crate) epoch: usize,
    /// The mean over the batches of the batches' summed losses: what tinytopics reports. Grows with the batch size.
    pub(crate) loss: f64,
    /// The mean over the tokens of log rate, in nats, as the epoch went by. Does not depend on the batch size.
    pub(crate) log_likelihood_per_token: f64,
    /// The learning rate of the epoch's last step.
    pub(crate) learning_rate: f64,
    /// Wall time of the epoch.
    pub(crate) seconds: f64,
    /// Anonymous memory of the process, in bytes.
    pub(crate) memory: u64,
}

/// What can be asked of the work between two batches.
pub(crate) trait Snapshot {
    fn take_losses(&mut self) -> Result<Vec<f64>>;
    fn state(&self) -> Result<State>;
}

impl<S: Step + ?Sized> Snapshot for &mut S {
    fn take_losses(&mut self) -> Result<Vec<f64>> {
        (**self).take_losses()
    }

    fn state(&self) -> Result<State> {
        (**self).state()
    }
}

/// The time between two batches.
pub(crate) struct Moment<'a> {
    /// Epochs done, with the part of the one at hand.
    pub(crate) done: f64,
    pub(super) step: &'a mut dyn Snapshot,
    pub(super) position: &'a mut Position,
    /// When this process took up the epoch at hand.
    pub(super) epoch_began: Instant,
    pub(super) notes: &'a mut Vec<String>,
}

impl Moment<'_> {
    /// Epochs finished, and batches of the next.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.position.epoch, self.position.batches)
    }

    /// All that a fit needs to go on from here. Waits for the device and copies six tables.
    pub(crate) fn snapshot(&mut self) -> Result<(Position, State)> {
        self.position.add(&self.step.take_losses()?);
        let mut position = *self.position;
        if position.batches > 0 {
            position.seconds += self.epoch_began.elapsed().as_secs_f64();
        }
        Ok((position, self.step.state()?))
    }

    /// Tells every observer something the person should know, in one line.
    pub(crate) fn note(&mut self, line: String) {
        self.notes.push(line);
    }
}

/// Watches a fit.
pub(crate) trait Observer: Send {
    /// Before the first batch.
    fn started(&mut self, _start: &Start) {}
    /// After every epoch.
    fn epoch_finished(&mut self, _report: &EpochReport) {}
    /// Between two batches where the step is at rest, and after every epoch (then after `epoch_finished`). `Break` ends
    /// the fit here, with what it has learned.
    fn batch_finished(&mut self, _at: &mut Moment) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    /// When no further batch follows.
    fn finished(&mut self, _at: &mut Moment) {}
    /// Something the person should know, in one line.
    fn noted(&mut self, _line: &str) {}
}
