//! The training loop. Gradient steps, solvers of full passes and the ranks of a cluster run in it, and observers see all
//! of them alike.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::config::Settings;
use crate::counts::Counts;
use crate::data::{Epoch, Matrix};
use crate::error::Result;
use crate::step::WarmRestarts;
use crate::system::memory::process_memory;

use super::divergence;
use super::observer::{FitStart, Observer, Stages, StepContext};
use super::position::Position;
use super::state::RunningState;

/// What a training loop drives.
pub(crate) trait Learner {
    /// Trains on the next batch and counts it, or waits for the ranks. Returns whether an epoch has ended.
    fn advance(&mut self, training: &mut Loop) -> Result<bool>;

    /// The report of the epoch that has ended, whose losses are [settled](Self::settle).
    fn report(&self, training: &Loop) -> Epoch;

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

    /// L as it is, documents x topics. Its rows sum to one.
    fn proportions(&self) -> Result<Matrix>;
}

/// A training loop: what is fitted to what, how far it is, and who observes it.
pub(crate) struct Loop<'a, 'o> {
    pub(super) settings: &'a Settings,
    pub(super) counts: &'a Counts,
    pub(super) tokens: f64,
    schedule: WarmRestarts,
    /// Batches of an epoch. Losses are means over batches, as in tinytopics, with every solver.
    pub(super) batches: usize,
    pub(super) position: Position,
    /// The epochs that are finished.
    pub(crate) history: Vec<Epoch>,
    /// When this process began the current epoch.
    pub(super) epoch_began: Instant,
    observers: &'a mut [&'o mut dyn Observer],
}

impl<'a, 'o> Loop<'a, 'o> {
    /// A loop before its first epoch.
    pub(crate) fn new(
        settings: &'a Settings,
        counts: &'a Counts,
        observers: &'a mut [&'o mut dyn Observer],
    ) -> Result<Self> {
        Ok(Self {
            settings,
            counts,
            tokens: counts.summary()?.total(),
            schedule: WarmRestarts::new(&settings.mini_batch()),
            batches: counts.documents().div_ceil(settings.batch_size()),
            position: Position::default(),
            history: Vec::new(),
            epoch_began: Instant::now(),
            observers,
        })
    }

    /// Tells the observers that the first epoch begins, on a device or a cluster.
    pub(super) fn start(&mut self, device: String, stages: Stages) {
        let documents = self.counts.documents();
        let start = FitStart {
            epochs: self.settings.epochs,
            documents,
            l_values: documents * self.settings.topics,
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
        while !learner.is_done(self.position.epoch < self.settings.epochs) {
            let epoch_ended = learner.advance(self)?;
            if !epoch_ended && !learner.is_flushed() {
                continue;
            }
            // Checked before observers see, and write, what was computed from a file that was cut meanwhile.
            self.counts.check_unchanged()?;
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
        let report = learner.report(self);
        divergence::check(&report, self.settings)?;
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

    /// Sends a one-line message for the user to every observer.
    pub(super) fn note(&mut self, line: &str) {
        for observer in self.observers.iter_mut() {
            observer.noted(line);
        }
    }

    /// The learning rate of a batch of the current epoch.
    pub(super) fn learning_rate(&self, batch: usize) -> f64 {
        let at = (self.position.epoch, batch);
        self.schedule.of_step(at, self.batches)
    }

    /// The report of the current epoch as a pass over all documents with this score.
    pub(super) fn pass(&self, score: f64, duration: Duration) -> Epoch {
        Epoch {
            epoch: self.position.epoch + 1,
            loss: (self.counts.documents() as f64 - score) / self.batches as f64,
            log_likelihood_per_token: score / self.tokens,
            learning_rate: match self.settings.solver.is_full_pass() {
                true => 0.0,
                false => self.learning_rate(self.batches - 1),
            },
            grad_norm: None,
            duration,
            memory_bytes: process_memory().anonymous,
        }
    }
}
