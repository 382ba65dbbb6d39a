//! The gradient step on Burn's tensors, automatic differentiation and AdamW.

use burn::module::Param;
use burn::optim::adaptor::OptimizerAdaptor;
use burn::optim::record::AdaptorRecord;
use burn::optim::{
    AdamW, AdamWConfig, AdamWState, AdaptiveMomentumState, GradientsAccumulator, GradientsParams,
    Optimizer,
};
use burn::tensor::activation::softmax;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Int, Tensor, TensorData};

use crate::backend::Losses;
use crate::backend::errors::earlier_step_failed;
use crate::backend::read;
use crate::batches::Batch;
use crate::config::{Settings, Solver};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::data::unexpected_data;
use crate::error::Result;
use crate::module::NeuralPoissonNmf;

use super::loss::Loss;
use super::{State, Step, StepPart, Watch};

/// A step on any backend of Burn. With [`Unfused`](crate::step::Unfused) as its loss it is the reference for all other
/// steps.
pub struct TensorStep<B: AutodiffBackend, L> {
    /// `None` only during a step of the optimizer, which consumes the module, and after a step that failed.
    model: Option<NeuralPoissonNmf<B>>,
    optimizer: OptimizerAdaptor<AdamW, NeuralPoissonNmf<B>, B>,
    losses: Losses<B::InnerBackend>,
    /// Norms of gradients that were clipped.
    norms: Losses<B::InnerBackend>,
    clip_grad_norm: f64,
    device: B::Device,
    micro_batch: usize,
    loss: L,
    watch: Option<Watch>,
}

impl<B: AutodiffBackend, L: Loss<B>> TensorStep<B, L> {
    /// Continues from a state.
    pub fn new(settings: &Settings, placement: Placement, state: State, device: B::Device) -> Self {
        let optimizer: OptimizerAdaptor<AdamW, NeuralPoissonNmf<B>, B> = adamw(settings).init();
        let model = NeuralPoissonNmf::new(&state.l, &state.f, &device);
        let mut record = optimizer.to_record();
        // Before the first step Burn's optimizer has no record of moments at all, rather than moments of zero.
        if state.steps > 0 {
            let tables = [(&model.l, &state.l_state), (&model.f, &state.f_state)];
            for (table, moments) in tables {
                let moments = adamw_state(moments, state.steps, &device);
                record
                    .extend(moments.map(|moments| (table.id, AdaptorRecord::from_state(moments))));
            }
        }
        Self {
            model: Some(model),
            optimizer: optimizer.load_record(record),
            losses: Losses::new(),
            norms: Losses::new(),
            clip_grad_norm: settings.mini_batch().clip_grad_norm,
            device,
            micro_batch: placement.micro_batch.max(1),
            loss: L::new(settings),
            watch: None,
        }
    }

    /// Uploads all counts once, so that batches need not be uploaded.
    pub fn make_resident(&mut self, counts: &Counts) -> Result<()> {
        self.loss
            .make_resident(counts, self.micro_batch, &self.device)
    }

    /// Tells the watch which part of a step begins.
    fn begin(&mut self, part: Option<StepPart>) {
        if let Some(watch) = &mut self.watch {
            watch(part);
        }
    }

    fn model(&self) -> Result<&NeuralPoissonNmf<B>> {
        self.model.as_ref().ok_or_else(earlier_step_failed)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Tensor<B, 1>> {
        let model = self.model()?;
        let rows = batch.documents.len();
        let documents: Vec<i32> = batch
            .documents
            .iter()
            .map(|&document| document as i32)
            .collect();
        let documents =
            Tensor::<B, 1, Int>::from_data(TensorData::new(documents, [rows]), &self.device);
        self.loss.loss(model, batch, documents)
    }

    /// Scales the gradients of both tables to the largest norm that they may have together. The norm stays on the device:
    /// no step waits for it.
    fn clip(&mut self, gradients: &mut GradientsParams) -> Result<()> {
        let model = self.model()?;
        let ids = [model.l.id, model.f.id];
        let tables = ids.map(|id| gradients.remove::<B::InnerBackend, 2>(id));
        let [Some(l), Some(f)] = tables else {
            return Err(unexpected_data("no gradient of a table"));
        };
        let squares = |table: &Tensor<B::InnerBackend, 2>| (table.clone() * table.clone()).sum();
        let norm = (squares(&l) + squares(&f)).sqrt();
        let factor = norm.clone().recip().mul_scalar(self.clip_grad_norm);
        let factor = factor.clamp_max(1.0).reshape([1, 1]);
        for (id, table) in ids.into_iter().zip([l, f]) {
            gradients.register(id, table * factor.clone());
        }
        self.norms.push(norm);
        Ok(())
    }

    /// The loss of a batch and its gradients with respect to the logits, without an update.
    pub fn gradient(&self, batch: &Batch<'_>) -> Result<(f64, Matrix, Matrix)> {
        let model = self.model()?;
        let loss = self.loss(batch)?;
        let gradients = loss.backward();
        let table = |parameter: &Tensor<B, 2>| match parameter.grad(&gradients) {
            Some(gradient) => Matrix::from_tensor(gradient),
            None => Err(unexpected_data("no gradient of a table")),
        };
        Ok((
            read(loss.inner())?[0],
            table(&model.l.val())?,
            table(&model.f.val())?,
        ))
    }
}

impl<B: AutodiffBackend, L: Loss<B>> Step for TensorStep<B, L> {
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()> {
        let mut sum = GradientsAccumulator::new();
        let mut total: Option<Tensor<B::InnerBackend, 1>> = None;
        // Gradient accumulation: the loss is a sum over documents, and so are its gradients.
        for part in batch.parts(self.micro_batch) {
            self.begin(Some(StepPart::Forward));
            let loss = self.loss(&part)?;
            self.begin(Some(StepPart::Backward));
            let model = self.model()?;
            sum.accumulate(model, GradientsParams::from_grads(loss.backward(), model));
            let loss = loss.inner();
            total = Some(match total {
                Some(total) => total + loss,
                None => loss,
            });
        }
        if let Some(total) = total {
            self.losses.push(total);
        }
        self.begin(Some(StepPart::Update));
        let mut gradients = sum.grads();
        if self.clip_grad_norm.is_finite() {
            self.clip(&mut gradients)?;
        }
        let model = self.model.take().ok_or_else(earlier_step_failed)?;
        self.model = Some(self.optimizer.step(learning_rate, model, gradients));
        self.begin(None);
        Ok(())
    }

    fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    fn take_grad_norms(&mut self) -> Result<Vec<f64>> {
        self.norms.take()
    }

    fn take_losses(&mut self) -> Result<Vec<f64>> {
        self.losses.take()
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        // On the inner backend: the autodiff graph would keep both tables until the next backward.
        let model = self.model()?;
        let table = |parameter: &Param<Tensor<B, 2>>| {
            Matrix::from_tensor(softmax(parameter.val().inner(), 1))
        };
        Ok((table(&model.l)?, table(&model.f)?))
    }

    fn is_flushed(&self) -> bool {
        true
    }

    fn state(&self) -> Result<State> {
        let model = self.model()?;
        let table = |parameter: &Param<Tensor<B, 2>>| Matrix::from_tensor(parameter.val().inner());
        let (l, f) = (table(&model.l)?, table(&model.f)?);
        let record = self.optimizer.to_record();
        let (Some(l_record), Some(f_record)) = (record.get(&model.l.id), record.get(&model.f.id))
        else {
            return State::new(l, f, &Solver::default());
        };
        let l_moments = l_record.clone().into_state();
        Ok(State {
            l,
            f,
            steps: l_moments.momentum.time as u64,
            l_state: adamw_moments(&l_moments)?,
            f_state: adamw_moments(&f_record.clone().into_state())?,
        })
    }
}

/// Burn's AdamW with tinytopics' parameters.
pub fn adamw(settings: &Settings) -> AdamWConfig {
    AdamWConfig::new()
        .with_weight_decay(settings.mini_batch().weight_decay as f32)
        // PyTorch's default, which tinytopics uses; Burn's is 1e-5.
        .with_epsilon(1e-8)
}

/// The state of Burn's AdamW for one table from its two moments; `None` before the first step, where Burn has none either.
pub fn adamw_state<B: Backend>(
    moments: &[Matrix],
    steps: u64,
    device: &B::Device,
) -> Option<AdamWState<B, 2>> {
    match (steps, moments) {
        (1.., [first, second]) => Some(AdamWState::new(AdaptiveMomentumState::new(
            steps as usize,
            first.to_tensor(device),
            second.to_tensor(device),
        ))),
        _ => None,
    }
}

/// The two moments of a table.
pub fn adamw_moments<B: Backend>(state: &AdamWState<B, 2>) -> Result<Vec<Matrix>> {
    let moments = [&state.momentum.moment_1, &state.momentum.moment_2];
    moments
        .into_iter()
        .map(|moment| Matrix::from_tensor(moment.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use burn::backend::flex::FlexDevice;
    use burn::backend::{Autodiff, Flex};

    use super::*;
    use crate::counts::Counts;
    use crate::step::Unfused;
    use crate::step::cpu::FusedStep;

    #[test]
    fn a_step_from_a_state_continues_with_the_same_bits() {
        let settings = Settings::new(2);
        let counts = Counts::dense(3, 4, vec![1u8, 0, 2, 3, 0, 5, 0, 1, 7, 1, 1, 0]).unwrap();
        let table = |rows, columns| {
            let values = (0..rows * columns).map(|i| 0.01 * (i * i % 17) as f32);
            Matrix::from_parts(rows, columns, values.collect())
        };
        let initial = State::new(table(3, 2), table(2, 4), &settings.solver).unwrap();
        let whole = Placement::whole(&settings);
        let fused =
            |state| Box::new(FusedStep::new(&settings, whole, state).unwrap()) as Box<dyn Step>;
        let tensor = |state| {
            let step =
                TensorStep::<_, Unfused<Autodiff<Flex>>>::new(&settings, whole, state, FlexDevice);
            Box::new(step) as Box<dyn Step>
        };
        let run = |step: &mut Box<dyn Step>, batches: &[&[usize]]| {
            for documents in batches {
                let batch = Batch {
                    view: counts.view().unwrap(),
                    rows: documents,
                    documents,
                    largest: f64::INFINITY,
                };
                step.step(&batch, 0.05).unwrap();
            }
            step.take_losses().unwrap();
        };
        let makes: [&dyn Fn(State) -> Box<dyn Step>; 2] = [&fused, &tensor];
        let histories: [&[&[usize]]; 3] = [&[], &[&[0, 1], &[2]], &[&[1], &[1, 2], &[0], &[2, 0]]];
        for make in makes {
            for history in histories {
                let mut step = make(initial.clone());
                run(&mut step, history);
                let state = step.state().unwrap();
                assert_eq!(state.steps as usize, history.len());
                let mut other = make(state);
                run(&mut step, &[&[2, 1], &[0]]);
                run(&mut other, &[&[2, 1], &[0]]);
                assert!(step.topics().unwrap() == other.topics().unwrap());
            }
        }
    }
}
