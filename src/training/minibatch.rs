//! Fits by gradient steps over mini-batches, independent of tensor library and observers.

use crate::batches::Source;
use crate::data::{Epoch, Matrix};
use crate::error::{Error, Result};
use crate::step::{self, Step};

use super::divergence;
use super::epochs::{Learner, Loop};
use super::memory_watch::watch_steps;
use super::observer::Stages;
use super::position::Position;
use super::run::Run;
use super::state::{RunningState, StartState};
use super::target::Target;

/// Gradient steps over the batches of a source.
pub(crate) struct Steps<'a> {
    pub(crate) target: &'a Target<'a>,
    pub(crate) step: &'a mut dyn Step,
    pub(crate) source: Box<dyn Source>,
}

impl Learner for Steps<'_> {
    fn advance(&mut self, training: &mut Loop) -> Result<bool> {
        let position = &mut training.position;
        let learning_rate = self.target.learning_rate(position.epoch, position.batches);
        let batch = self.source.batch(position.epoch, position.batches)?;
        self.step.step(&batch, learning_rate)?;
        position.batches += 1;
        Ok(position.batches == training.batches)
    }

    fn report(&mut self, training: &Loop) -> Result<Epoch> {
        let (position, batches) = (&training.position, training.batches as f64);
        let (settings, counts) = (self.target.settings, self.target.counts);
        let clips = settings.mini_batch().clips();
        // The rates of a document sum to one, so the rest of the loss is the log-likelihood.
        let score = counts.documents() as f64 - position.loss;
        let report = Epoch {
            loss: position.loss / batches,
            grad_norm: clips.then(|| position.grad_norms / batches),
            ..self
                .target
                .pass(position.epoch, score, training.epoch_duration())
        };
        divergence::check(&report, settings)?;
        Ok(report)
    }

    fn check_unchanged(&self) -> Result<()> {
        self.target.counts.check_unchanged()
    }

    fn is_flushed(&self) -> bool {
        self.step.is_flushed()
    }

    fn settle(&mut self, position: &mut Position) -> Result<()> {
        position.add(&self.step.take_losses()?, &self.step.take_grad_norms()?);
        Ok(())
    }

    fn state(&self) -> Result<RunningState<'_>> {
        Ok(RunningState::Logits(self.step.state()?))
    }

    fn topics(&self) -> Result<Option<(Matrix, Matrix)>> {
        self.step.topics().map(Some)
    }
}

/// Fits by gradient steps; returns L and F.
pub(super) fn fit(
    run: &Run,
    target: &Target,
    state: StartState,
    training: &mut Loop,
) -> Result<(Matrix, Matrix)> {
    let StartState::Logits(state) = state else {
        return Err(Error::setting("gradient steps resume from logits"));
    };
    let (settings, counts) = (target.settings, target.counts);
    let source = step::source(settings, counts)?;
    let train = |step: &mut dyn Step| {
        step.watch(watch_steps(run.monitor.handle(), run.device));
        training.start(run.device.to_string(), Stages::None, settings.topics);
        // Frees a stream's buffers before L and F are allocated.
        training.run(&mut Steps {
            target,
            step: &mut *step,
            source,
        })?;
        let topics = step.topics();
        run.monitor.handle().sample();
        topics
    };
    step::with_step(settings, counts, (run.device, run.placement), state, train)
}
