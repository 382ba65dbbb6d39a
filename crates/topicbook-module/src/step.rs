//! A gradient step of a module.
//!
//! Plainly, it is
//!
//! ```text
//! for part in batch.parts(rows):                  # micro-batches
//!     loss = network.loss(part)
//!     gradients += loss.backward() * part.rows / batch.rows
//! clip(gradients)
//! for p in parameters: p = optimizer.step(p, gradients[p])
//! ```
//!
//! What is different: the loss is multiplied by a scale and the gradients are divided by it ([`LossScale`]); blocks may be
//! computed again ([`Tape`]); each part's memory and time are measured.

use std::collections::HashMap;
use std::time::Instant;

use burn::backend::Flex;
use burn::module::ParamId;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::ops::FloatTensorOps;
use burn::tensor::{Tensor, TensorMetadata};

use crate::checkpointed::{Checkpointing, ModuleMemory, Tape};
use crate::error::{Error, ErrorKind, Result};
use crate::loss_scale::LossScale;
use crate::network::{Network, of_batch};
use crate::optimizer::Update;
use crate::parameters::{Parameter, flat, leaf};
use crate::system::memory::allocated;
use crate::{CountBatch, Cpu, Plain, StepPart, Watch};

/// Bounds of gradients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Clipping {
    /// The largest norm of all gradients together.
    pub norm: Option<f64>,
    /// The largest absolute value of each.
    pub value: Option<f64>,
}

/// The number by which losses are multiplied, as it is now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaler {
    /// The number.
    pub scale: f64,
    /// Steps since it was changed.
    pub steps: usize,
}

impl Scaler {
    /// The scale before the first step.
    pub fn new(scale: LossScale) -> Self {
        Self {
            scale: match scale {
                LossScale::None => 1.0,
                LossScale::Static(scale) => scale,
                LossScale::Dynamic { start, .. } => start,
            },
            steps: 0,
        }
    }

    /// Takes note of a step.
    fn update(&mut self, rule: LossScale, skipped: bool) {
        let LossScale::Dynamic {
            growth_interval, ..
        } = rule
        else {
            return;
        };
        self.steps += 1;
        if skipped {
            *self = Self {
                scale: self.scale / 2.0,
                steps: 0,
            };
        } else if self.steps >= growth_interval.max(1) {
            *self = Self {
                scale: self.scale * 2.0,
                steps: 0,
            };
        }
    }
}

/// Bytes of a training step, as malloc counts them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepMemory {
    /// Kept between the forward and the backward pass of a micro-batch.
    pub activations: u64,
    /// Of all gradients.
    pub gradients: u64,
    /// By which the step's memory grew above its start at most, where it was measured: after forward passes and after blocks that
    /// were computed again.
    pub peak: u64,
    /// By which the optimizer's state grew: all of it in the first step.
    pub state: u64,
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepReport {
    /// The mean loss of the batch's rows, before the step.
    pub loss: f64,
    /// The norm of all gradients before they were clipped; NaN in a step that was skipped.
    pub grad_norm: f64,
    /// Whether gradients were not finite under a loss scale, so that nothing was updated.
    pub skipped: bool,
    /// Of forward pass, backward pass and update.
    pub seconds: [f64; 3],
    /// Bytes of the step.
    pub memory: StepMemory,
    /// What each checkpointed call of the last micro-batch kept.
    pub modules: Vec<ModuleMemory>,
}

/// Takes gradient steps.
pub struct Stepper {
    /// The optimizer with its state.
    pub optimizer: Box<dyn Update>,
    /// How losses are scaled.
    pub loss_scale: LossScale,
    /// By what losses are scaled now.
    pub scaler: Scaler,
    /// Bounds of gradients.
    pub clipping: Clipping,
    /// Which activations are kept.
    pub checkpointing: Checkpointing,
    /// Rows of a micro-batch at most.
    pub micro_rows: usize,
    /// Called where a part of a step begins.
    pub watch: Watch,
}

/// The sums of gradients by the parameter's number.
type Sums = HashMap<ParamId, Plain>;

impl Stepper {
    /// Trains on a batch. `seed` starts the random numbers of the step.
    ///
    /// # Errors
    /// When the loss is not one number, or is not finite; when gradients are not finite and losses are not scaled, with the
    /// parameters that have them.
    pub fn step(
        &mut self,
        network: &mut dyn Network,
        batch: &CountBatch,
        learning_rate: f64,
        seed: u64,
    ) -> Result<StepReport> {
        let began = allocated();
        let parameters = network.parameters();
        let (mut sums, mut report) = (Sums::new(), StepReport::default());
        let rows = batch.documents().len();
        for (part, first) in (0..rows).step_by(self.micro_rows.max(1)).enumerate() {
            let last = rows.min(first + self.micro_rows.max(1));
            let micro = batch.slice(first..last);
            let weight = (last - first) as f64 / rows as f64;
            let seed = seed.wrapping_add((part as u64) << 32);
            self.add_gradients(
                network,
                &parameters,
                (&micro, weight, seed),
                &mut sums,
                &mut report,
                began,
            )?;
        }
        let update = Instant::now();
        (self.watch)(Some(StepPart::Update));
        let gradients = sums.values().map(|sum| sum.shape().num_elements());
        report.memory.gradients = 4 * gradients.sum::<usize>() as u64;
        let norms = norms(&parameters, &sums);
        let norm = norms
            .iter()
            .map(|(_, norm)| norm * norm)
            .sum::<f64>()
            .sqrt();
        report.grad_norm = norm;
        if !norm.is_finite() {
            if self.loss_scale == LossScale::None {
                return Err(not_finite(&norms));
            }
            report.skipped = true;
        } else {
            let before = allocated();
            self.update(network, &parameters, sums, norm, learning_rate);
            // A new value has come for each gradient that has gone.
            report.memory.state = allocated().saturating_sub(before);
        }
        self.scaler.update(self.loss_scale, report.skipped);
        drop(parameters);
        (self.watch)(None);
        report.seconds[2] = update.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Computes loss and gradients of a batch at once, to measure what they take. Gradients are dropped block by block: their sums
    /// do not grow with the batch, so that what is measured does in proportion.
    ///
    /// # Errors
    /// When the loss is not one finite number.
    pub fn measure(
        &mut self,
        network: &dyn Network,
        batch: &CountBatch,
        seed: u64,
    ) -> Result<StepReport> {
        let (mut report, mut sums, began) = (StepReport::default(), Sums::new(), allocated());
        self.add_gradients(
            network,
            &[],
            (batch, 1.0, seed),
            &mut sums,
            &mut report,
            began,
        )?;
        (self.watch)(None);
        Ok(report)
    }

    /// Adds the gradients of a micro-batch, by the weight of its rows.
    fn add_gradients(
        &mut self,
        network: &dyn Network,
        parameters: &[Parameter],
        (batch, weight, seed): (&CountBatch, f64, u64),
        sums: &mut Sums,
        report: &mut StepReport,
        began: u64,
    ) -> Result<()> {
        let forward = Instant::now();
        (self.watch)(Some(StepPart::Forward));
        let before = allocated();
        Tape::start(&self.checkpointing, seed);
        let loss = of_batch(batch, || network.loss(batch));
        let tape = Tape::end();
        let loss = loss?;
        let value = scalar(&loss)?;
        report.loss += weight * value;
        report.memory.activations = report
            .memory
            .activations
            .max(allocated().saturating_sub(before));
        let mut peak = allocated();
        report.seconds[0] += forward.elapsed().as_secs_f64();

        let backward = Instant::now();
        (self.watch)(Some(StepPart::Backward));
        let factor = weight * self.scaler.scale;
        let loss = if factor == 1.0 {
            loss
        } else {
            loss.mul_scalar(factor)
        };
        let loss = loss.into_primitive().tensor();
        if loss.is_tracked() {
            let mut tape =
                tape.ok_or_else(|| Error::setting("a training step began within another"))?;
            report.modules = tape.memory();
            let add = |gradients: &mut <Cpu as AutodiffBackend>::Gradients| {
                for parameter in parameters.iter().filter(|parameter| parameter.is_trained) {
                    if let Some(more) = Cpu::grad_remove(&parameter.value, gradients) {
                        let sum = match sums.remove(&parameter.id) {
                            Some(sum) => Flex::float_add(sum, more),
                            None => more,
                        };
                        sums.insert(parameter.id, sum);
                    }
                }
            };
            tape.backward(Cpu::backward(loss), add, || peak = peak.max(allocated()))?;
        }
        report.memory.peak = report.memory.peak.max(peak.saturating_sub(began));
        report.seconds[1] += backward.elapsed().as_secs_f64();
        Ok(())
    }

    /// Clips the gradients and updates the parameters that have one.
    fn update(
        &mut self,
        network: &mut dyn Network,
        parameters: &[Parameter],
        mut sums: Sums,
        norm: f64,
        learning_rate: f64,
    ) {
        let scale = self.scaler.scale;
        let shrink = self
            .clipping
            .norm
            .map_or(1.0, |limit| (limit / norm.max(1e-12)).min(1.0));
        let factor = shrink / scale;
        let mut values = HashMap::new();
        for parameter in parameters {
            let Some(mut gradient) = sums.remove(&parameter.id) else {
                continue;
            };
            if factor != 1.0 {
                gradient = Flex::float_mul_scalar(gradient, factor.into());
            }
            if let Some(limit) = self.clipping.value {
                gradient = Flex::float_clamp(gradient, (-limit).into(), limit.into());
            }
            let value =
                self.optimizer
                    .step(parameter.id, learning_rate, parameter.plain(), gradient);
            values.insert(parameter.id, leaf(value));
        }
        network.replace(values);
    }
}

/// The value of a loss.
fn scalar(loss: &Tensor<Cpu, 1>) -> Result<f64> {
    let [length] = loss.dims();
    if length != 1 {
        let what = format!("the loss has {length} numbers, and a step needs one");
        return Err(Error::new(ErrorKind::Value, what).fix("end the loss with .mean()"));
    }
    let value = f64::from(loss.clone().inner().into_scalar());
    match value.is_finite() {
        true => Ok(value),
        false => Err(Error::new(ErrorKind::Value, format!("the loss is {value}"))
            .fix("lower learning_rate, or clip gradients with clip_grad_norm; look for logarithms of 0 in the loss")),
    }
}

/// The norm of each parameter's gradient, with the parameter's path.
fn norms<'a>(parameters: &'a [Parameter], sums: &Sums) -> Vec<(&'a str, f64)> {
    let norm = |parameter: &'a Parameter| {
        let gradient = flat(sums.get(&parameter.id)?.clone());
        let squares = f64::from(gradient.clone().mul(gradient).sum().into_scalar());
        Some((parameter.path.as_str(), squares.sqrt()))
    };
    parameters.iter().filter_map(norm).collect()
}

fn not_finite(norms: &[(&str, f64)]) -> Error {
    let bad = norms.iter().filter(|(_, norm)| !norm.is_finite());
    let paths: Vec<&str> = bad.map(|(path, _)| *path).take(5).collect();
    let what = format!("the gradients of {} are not finite", paths.join(", "));
    Error::new(ErrorKind::Value, what)
        .fix("lower learning_rate; look for divisions by 0, and for roots and logarithms at 0, in the loss")
}
