//! The training loop. Gradient steps, solvers of full passes, the ranks of a cluster and modules of people's own run in it, and
//! observers see all of them alike.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::data::{Epoch, Matrix};
use crate::error::Result;

use super::observer::{FitStart, Observer, Stages, StepContext};
use super::position::Position;
use super::state::RunningState;

/// What a training loop drives.
pub(crate) trait Learner {
    /// Trains on the next batch and counts it, or waits for the ranks. Returns whether an epoch has ended.
    fn advance(&mut self, training: &mut Loop) -> Result<bool>;

    /// The report of the epoch that has ended, whose losses are [settled](Self::settle).
    ///
    /// # Errors
    /// When later epochs could not repair what it reports.
    fn report(&mut self, training: &Loop) -> Result<Epoch>;

    /// Fails if a file was changed from which batches were read.
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the training has ended. `epochs_left`: whether fewer epochs are done than the settings allow.
    fn is_done(&self, epochs_left: bool) -> bool {
        !epochs_left
    }

    /// Whether observers may see and write the state; it is always so at the end of an epoch.
    fn is_flushed(&self) -> bool {
        true
    }

    /// What [`Observer::stage`] is called with.
    fn stage(&self) -> String {
        String::new()
    }

    /// Called once when an observer requests the end. `Break` ends the loop at once.
    fn stop(&mut self) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Break(()))
    }

    /// Adds the losses of the batches since the last call, and the norms of their gradients. Waits for the device.
    fn settle(&mut self, _position: &mut Position) -> Result<()> {
        Ok(())
    }

    /// Everything that the rest of the fit depends on.
    fn state(&self) -> Result<RunningState<'_>>;

    /// L (documents x topics) and F (topics x terms) as they are, whose rows sum to one. `None` where nothing has topics.
    fn topics(&self) -> Result<Option<(Matrix, Matrix)>>;
}

/// A training loop: how long it is, how far it is, and who observes it.
pub(crate) struct Loop<'a, 'o> {
    /// Epochs at most.
    epochs: usize,
    /// Rows that an epoch passes over.
    documents: usize,
    /// Batches of an epoch.
    pub(crate) batches: usize,
    pub(crate) position: Position,
    /// The epochs that are finished.
    pub(crate) history: Vec<Epoch>,
    /// When this process began the current epoch.
    pub(crate) epoch_began: Instant,
    observers: &'a mut [&'o mut dyn Observer],
}

impl<'a, 'o> Loop<'a, 'o> {
    /// A loop before its first epoch, of `epochs` epochs over `documents` rows in `batches` batches.
    pub(crate) fn new(
        (epochs, documents, batches): (usize, usize, usize),
        observers: &'a mut [&'o mut dyn Observer],
    ) -> Self {
        Self {
            epochs,
            documents,
            batches,
            position: Position::default(),
            history: Vec::new(),
            epoch_began: Instant::now(),
            observers,
        }
    }

    /// Tells the observers that the first epoch begins, on a device or a cluster; `topics`: columns of L.
    pub(crate) fn start(&mut self, device: String, stages: Stages, topics: usize) {
        let start = FitStart {
            epochs: self.epochs,
            documents: self.documents,
            l_values: self.documents * topics,
            device,
            done: self.position.done(self.batches),
            stages,
        };
        self.epoch_began = Instant::now();
        for observer in self.observers.iter_mut() {
            observer.started(&start);
        }
    }

    /// Runs until the learner is done or an observer stops it.
    pub(crate) fn run(&mut self, learner: &mut dyn Learner) -> Result<()> {
        let mut stopping = false;
        while !learner.is_done(self.position.epoch < self.epochs) {
            let epoch_ended = learner.advance(self)?;
            if !epoch_ended && !learner.is_flushed() {
                continue;
            }
            // Checked before observers see, and write, what was computed from a file that was cut meanwhile.
            learner.check_unchanged()?;
            if epoch_ended {
                self.end_epoch(learner)?;
            }
            let mut stop = false;
            if !stopping {
                self.notify(learner, &mut |observer, context| {
                    stop |= observer.batch_finished(context).is_break();
                });
            }
            if stop {
                stopping = true;
                if learner.stop()?.is_break() {
                    break;
                }
            }
        }
        self.notify(learner, &mut |observer, context| observer.finished(context));
        Ok(())
    }

    fn end_epoch(&mut self, learner: &mut dyn Learner) -> Result<()> {
        learner.settle(&mut self.position)?;
        let report = learner.report(self)?;
        let stage = learner.stage();
        for observer in self.observers.iter_mut() {
            observer.stage(&stage);
            observer.epoch_finished(&report);
        }
        self.history.push(report);
        self.position = Position::start_of(report.epoch);
        self.epoch_began = Instant::now();
        Ok(())
    }

    /// Runs `call` on every observer with a shared context, then sends the notes that observers added to all of them.
    fn notify(
        &mut self,
        learner: &mut dyn Learner,
        call: &mut dyn FnMut(&mut dyn Observer, &mut StepContext),
    ) {
        let mut context = StepContext {
            done: self.position.done(self.batches),
            learner,
            position: &mut self.position,
            history: &self.history,
            epoch_began: self.epoch_began,
            notes: Vec::new(),
        };
        for observer in self.observers.iter_mut() {
            call(*observer, &mut context);
        }
        for note in context.notes {
            self.note(&note);
        }
    }

    /// Wall time of the current epoch, over all processes that have worked on it.
    pub(crate) fn epoch_duration(&self) -> Duration {
        let earlier = Duration::try_from_secs_f64(self.position.seconds).unwrap_or_default();
        earlier + self.epoch_began.elapsed()
    }

    /// Sends a one-line message for the user to every observer.
    pub(crate) fn note(&mut self, line: &str) {
        for observer in self.observers.iter_mut() {
            observer.noted(line);
        }
    }
}
