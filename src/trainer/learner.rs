//! Gradient steps of a module in the training loop.

use std::collections::HashMap;
use std::time::Instant;

use crate::CountBatch;
use crate::batches::Batches;
use crate::burn::backend::Flex;
use crate::burn::module::ParamId;
use crate::burn::tensor::Tensor;
use crate::data::{Epoch, Matrix};
use crate::error::{Error, ErrorKind, Result};
use crate::module::{Measure, ModuleMemory, Network, Plain, StepMemory, Stepper, of_batch};
use crate::system::memory::process_memory;
use crate::text::{bytes, counted};
use crate::training::{Learner, Loop, RunningState};

use super::record::{Times, add};
use super::resume::Saved;
use super::settings::TrainerSettings;

/// The values of all parameters after the epoch with the lowest validation loss.
pub(super) struct Best {
    pub(super) epoch: usize,
    pub(super) loss: f64,
    pub(super) values: HashMap<ParamId, Plain>,
}

/// A module that learns.
pub(super) struct ModuleSteps<'a> {
    pub(super) settings: &'a TrainerSettings,
    pub(super) network: &'a mut dyn Network,
    pub(super) stepper: Stepper,
    pub(super) batches: Batches,
    pub(super) validation: Option<&'a Batches>,
    pub(super) rates: Box<dyn FnMut() -> f64 + Send>,
    /// The learning rate of the last step.
    pub(super) rate: f64,
    pub(super) epochs_done: usize,
    /// Kept with patience alone.
    pub(super) best: Option<Best>,
    pub(super) memory: Vec<StepMemory>,
    pub(super) times: Times,
    pub(super) calls: Vec<ModuleMemory>,
    pub(super) skipped: usize,
    /// Memory of the process before the first step, and its bound, in bytes.
    pub(super) room: Option<(u64, u64)>,
}

impl ModuleSteps<'_> {
    /// Halves the micro-batches where a step came above the budget.
    fn keep_within_budget(&mut self, rows: usize, peak: u64, training: &mut Loop) -> Result<()> {
        let Some((used, budget)) = self.room else {
            return Ok(());
        };
        let peak = peak + self.memory.first().map_or(0, |step| step.state);
        if used + peak <= budget {
            return Ok(());
        }
        let now = self.stepper.micro_rows.min(rows);
        if now == 1 {
            let what = format!(
                "a step of one row came to {}, above the budget of {}",
                bytes(used + peak),
                bytes(budget)
            );
            return Err(Error::new(ErrorKind::Space, what)
                .fix("use a larger budget, or checkpointing(Checkpointing::All)"));
        }
        self.stepper.micro_rows = now.div_ceil(2);
        training.note(&format!(
            "a step came to {}, above the budget of {}: micro-batches of {} from now on",
            bytes(used + peak),
            bytes(budget),
            self.stepper.micro_rows
        ));
        Ok(())
    }

    /// The mean over rows of what the validation measures.
    fn validate(&mut self) -> Result<Option<f64>> {
        let (Some(batches), Some(measure)) = (self.validation, self.network.validator()) else {
            return Ok(None);
        };
        let began = Instant::now();
        let mean = mean_over_rows(batches, &measure)?;
        self.times.validation += began.elapsed().as_secs_f64();
        Ok(Some(mean))
    }

    /// Remembers the module if it is the best so far.
    fn remember(&mut self, epoch: usize, validation: Option<f64>) {
        let (Some(_), Some(loss)) = (self.settings.patience, validation) else {
            return;
        };
        let loss = if loss.is_nan() { f64::INFINITY } else { loss };
        if self.best.as_ref().is_none_or(|best| loss < best.loss) {
            let parameters = self.network.parameters();
            let values = parameters
                .iter()
                .map(|parameter| (parameter.id, parameter.plain()));
            self.best = Some(Best {
                epoch,
                loss,
                values: values.collect(),
            });
        }
    }

    /// Goes back to the best module. Returns its epoch, if it is not the last.
    pub(super) fn restore_best(&mut self, last: usize) -> Option<usize> {
        let mut best = self.best.take().filter(|best| best.epoch < last)?;
        let parameters = self.network.parameters();
        let values = parameters.iter().filter_map(|parameter| {
            let value = best.values.remove(&parameter.id)?;
            Some((parameter.id, parameter.with(value)))
        });
        self.network.replace(values.collect());
        Some(best.epoch)
    }

    fn is_out_of_patience(&self) -> bool {
        match (self.settings.patience, &self.best) {
            (Some(patience), Some(best)) => self.epochs_done >= best.epoch + patience,
            _ => false,
        }
    }
}

/// The mean over the rows of all batches of what is the mean over the rows of one.
pub(super) fn mean_over_rows(batches: &Batches, measure: &Measure) -> Result<f64> {
    let (mut sum, mut rows) = (0.0, 0);
    for batch in batches.epochs(1).start_at(0, 0) {
        let batch = batch?;
        let values = of_batch(&batch, || measure(&batch))?;
        let [length] = values.dims();
        if length != 1 {
            let what = format!("what is measured has {length} numbers for a batch, and needs one");
            return Err(Error::new(ErrorKind::Value, what).fix("end it with .mean()"));
        }
        sum += f64::from(values.into_scalar()) * batch.documents().len() as f64;
        rows += batch.documents().len();
    }
    Ok(sum / rows.max(1) as f64)
}

/// What a function computes of each row, in the order of the rows.
pub(super) fn predict_rows(
    batches: &Batches,
    outputs: &mut dyn FnMut(&CountBatch) -> Tensor<Flex, 2>,
) -> Result<Matrix> {
    let (mut values, mut columns) = (Vec::new(), 0);
    for batch in batches.in_order().epochs(1).start_at(0, 0) {
        let batch = batch?;
        let rows = Matrix::from_tensor(of_batch(&batch, || outputs(&batch))?)?;
        let expected = batch.documents().len();
        if rows.rows() != expected {
            let what = format!(
                "{} rows of a batch of {}",
                rows.rows(),
                counted(expected, "row")
            );
            return Err(
                Error::new(ErrorKind::Shape, what).fix("return one row for each row of the batch")
            );
        }
        columns = rows.columns();
        values.extend_from_slice(rows.values());
    }
    Matrix::new(batches.rows(), columns, values)
}

impl Learner for ModuleSteps<'_> {
    fn advance(&mut self, training: &mut Loop) -> Result<bool> {
        let began = Instant::now();
        let batch = match self.batches.next() {
            Some(batch) => batch?,
            None => return Err(Error::setting("the batches ended before the epochs")),
        };
        self.times.reading += began.elapsed().as_secs_f64();
        let (epoch, step) = (training.position.epoch, training.position.batches);
        let seed = self.settings.seed
            ^ ((epoch * training.batches + step) as u64).wrapping_mul(0x9e37_79b9);
        self.rate = (self.rates)();
        let rows = batch.documents().len();
        let report = self
            .stepper
            .step(self.network, &batch, self.rate, seed)
            .map_err(|error| error.at(format!("in batch {} of epoch {}", step + 1, epoch + 1)))?;
        add(&mut self.memory, &mut self.times, &report);
        self.skipped += usize::from(report.skipped);
        if !report.modules.is_empty() {
            self.calls.clone_from(&report.modules);
        }
        let norm = if report.skipped {
            0.0
        } else {
            report.grad_norm
        };
        training.position.add(&[report.loss * rows as f64], &[norm]);
        training.position.batches += 1;
        self.keep_within_budget(rows, report.memory.peak, training)?;
        Ok(training.position.batches == training.batches)
    }

    fn report(&mut self, training: &Loop) -> Result<Epoch> {
        let position = &training.position;
        let validation_loss = self.validate()?;
        let epoch = position.epoch + 1;
        self.epochs_done = epoch;
        self.remember(epoch, validation_loss);
        Ok(Epoch {
            epoch,
            loss: position.loss / self.batches.rows() as f64,
            log_likelihood_per_token: f64::NAN,
            learning_rate: self.rate,
            grad_norm: Some(position.grad_norms / training.batches as f64),
            validation_loss,
            duration: training.epoch_duration(),
            memory_bytes: process_memory().anonymous,
        })
    }

    fn is_done(&self, epochs_left: bool) -> bool {
        !epochs_left || self.is_out_of_patience()
    }

    fn state(&self) -> Result<RunningState<'_>> {
        let saved = Saved::of(self)?;
        Ok(RunningState::Module(Box::new(saved.into_state()?)))
    }

    fn topics(&self) -> Result<Option<(Matrix, Matrix)>> {
        Ok(None)
    }
}
