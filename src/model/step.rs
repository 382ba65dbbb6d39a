//! One optimiser step: the small interface behind which loss, gradient and update can be replaced.

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

use super::loss::Loss;
use super::network::{NeuralPoissonNmf, to_tensor};
use super::settings::Settings;
use crate::counts::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::loader::Batch;
use crate::matrix::Matrix;
use crate::place::TablePlace;
use crate::plan::Placement;

/// What the training loop asks of an implementation.
pub(crate) trait Step: Send {
    /// One step on one batch at one learning rate.
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()>;

    /// The loss of every step since the last call. Reading waits for the device: once an epoch, not once a step.
    fn take_losses(&mut self) -> Result<Vec<f64>>;

    /// L (documents x topics) and F (topics x terms) with rows that sum to one.
    fn topics(&self) -> Result<(Matrix, Matrix)>;

    /// Whether [`state`](Self::state) holds all bits of what the next step starts from: always at the end of an epoch,
    /// and now and then within one.
    fn at_rest(&self) -> bool;

    /// Everything that later steps depend on, besides their batches and learning rates. Copies six tables. Called at
    /// rest.
    fn state(&self) -> Result<State>;
}

/// What the steps so far have left behind; a step made from it goes on as if nothing had been between.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// The free table whose softmax is L: documents x topics.
    pub(crate) l: Matrix,
    /// The free table whose softmax is F: topics x terms.
    pub(crate) f: Matrix,
    /// AdamW's first and second moments of `l`.
    pub(crate) l_moments: [Matrix; 2],
    /// AdamW's first and second moments of `f`.
    pub(crate) f_moments: [Matrix; 2],
    /// Steps taken.
    pub(crate) steps: u64,
}

impl State {
    /// The state before the first step.
    pub(crate) fn new(l: Matrix, f: Matrix, place_of_l: &TablePlace) -> Result<Self> {
        let zeros = |table: &Matrix, place: &TablePlace| -> Result<[Matrix; 2]> {
            let (rows, columns) = table.shape();
            // One table of zeros, shared by both moments.
            let zeros = Matrix::of(rows, columns, place.zeros(rows * columns)?);
            Ok([zeros.clone(), zeros])
        };
        Ok(Self {
            l_moments: zeros(&l, place_of_l)?,
            f_moments: zeros(&f, &TablePlace::Memory)?,
            l,
            f,
            steps: 0,
        })
    }
}

/// Burn's tensors, automatic differentiation and AdamW, on any backend. With [`Parts`](super::loss::Parts) as its loss,
/// the reference.
pub(crate) struct TensorStep<B: AutodiffBackend, L> {
    /// Taken only while the optimiser, which consumes it, makes the next one.
    model: Option<NeuralPoissonNmf<B>>,
    optimizer: OptimizerAdaptor<AdamW, NeuralPoissonNmf<B>, B>,
    losses: Losses<B::InnerBackend>,
    device: B::Device,
    micro_batch: usize,
    loss: L,
}

impl<B: AutodiffBackend, L: Loss<B>> TensorStep<B, L> {
    /// Goes on from a state.
    pub(crate) fn new(
        settings: &Settings,
        placement: Placement,
        state: State,
        device: B::Device,
    ) -> Self {
        let optimizer: OptimizerAdaptor<AdamW, NeuralPoissonNmf<B>, B> = adamw(settings).init();
        let model = NeuralPoissonNmf::new(&state.l, &state.f, &device);
        let mut record = optimizer.to_record();
        // Before the first step Burn has no moments, not moments of zero.
        if state.steps > 0 {
            for (table, [first, second]) in
                [(&model.l, &state.l_moments), (&model.f, &state.f_moments)]
            {
                let moments = AdaptiveMomentumState::new(
                    state.steps as usize,
                    to_tensor(first, &device),
                    to_tensor(second, &device),
                );
                record.insert(
                    table.id,
                    AdaptorRecord::from_state::<2>(AdamWState::new(moments)),
                );
            }
        }
        Self {
            model: Some(model),
            optimizer: optimizer.load_record(record),
            losses: Losses::new(),
            device,
            micro_batch: placement.micro_batch.max(1),
            loss: L::new(settings),
        }
    }

    /// Brings all counts to the device, so that batches need not be sent.
    pub(crate) fn hold(&mut self, counts: &Counts) -> Result<()> {
        self.loss.hold(counts, self.micro_batch, &self.device)
    }

    fn model(&self) -> Result<&NeuralPoissonNmf<B>> {
        self.model
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::Device, "an earlier step failed"))
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

    /// The loss of a batch and its gradients with respect to the free tables, without a step.
    pub(crate) fn gradient(&self, batch: &Batch<'_>) -> Result<(f64, Matrix, Matrix)> {
        let model = self.model()?;
        let loss = self.loss(batch)?;
        let gradients = loss.backward();
        let table = |parameter: &Tensor<B, 2>| match parameter.grad(&gradients) {
            Some(gradient) => to_matrix(gradient),
            None => Err(Error::new(ErrorKind::Device, "a table got no gradient")),
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
        // The loss is a sum over documents, and so are its gradients.
        for part in batch.parts(self.micro_batch) {
            let loss = self.loss(&part)?;
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
        let Some(model) = self.model.take() else {
            return Err(Error::new(ErrorKind::Device, "an earlier step failed"));
        };
        self.model = Some(self.optimizer.step(learning_rate, model, sum.grads()));
        Ok(())
    }

    fn take_losses(&mut self) -> Result<Vec<f64>> {
        self.losses.take()
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        // Outside of automatic differentiation, which would keep both tables until it is used again.
        let model = self.model()?;
        let table =
            |parameter: &Param<Tensor<B, 2>>| to_matrix(softmax(parameter.val().inner(), 1));
        Ok((table(&model.l)?, table(&model.f)?))
    }

    fn at_rest(&self) -> bool {
        true
    }

    fn state(&self) -> Result<State> {
        let model = self.model()?;
        let table = |parameter: &Param<Tensor<B, 2>>| to_matrix(parameter.val().inner());
        let (l, f) = (table(&model.l)?, table(&model.f)?);
        let record = self.optimizer.to_record();
        let (Some(of_l), Some(of_f)) = (record.get(&model.l.id), record.get(&model.f.id)) else {
            return State::new(l, f, &TablePlace::Memory);
        };
        let of_l = of_l.clone().into_state::<2>().momentum;
        let of_f = of_f.clone().into_state::<2>().momentum;
        Ok(State {
            l,
            f,
            steps: of_l.time as u64,
            l_moments: [to_matrix(of_l.moment_1)?, to_matrix(of_l.moment_2)?],
            f_moments: [to_matrix(of_f.moment_1)?, to_matrix(of_f.moment_2)?],
        })
    }
}

/// Single numbers, such as the losses of steps, which stay on the device until they are asked for. Put together now and
/// then: many tensors of one number make the device's allocator slow.
pub(crate) struct Losses<B: Backend> {
    single: Vec<Tensor<B, 1>>,
    together: Vec<Tensor<B, 1>>,
}

impl<B: Backend> Losses<B> {
    const AT_MOST: usize = 256;

    pub(crate) fn new() -> Self {
        Self {
            single: Vec::new(),
            together: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, loss: Tensor<B, 1>) {
        self.single.push(loss);
        if self.single.len() == Self::AT_MOST {
            self.put_together();
        }
    }

    fn put_together(&mut self) {
        if !self.single.is_empty() {
            let single = std::mem::take(&mut self.single);
            self.together.push(Tensor::cat(single, 0));
        }
    }

    /// All of them, in their order. Waits for the device.
    pub(crate) fn take(&mut self) -> Result<Vec<f64>> {
        self.put_together();
        let mut losses = Vec::new();
        for some in self.together.drain(..) {
            losses.extend(read(some)?);
        }
        Ok(losses)
    }
}

/// Burn's AdamW with tinytopics' numbers.
pub(super) fn adamw(settings: &Settings) -> AdamWConfig {
    AdamWConfig::new()
        .with_weight_decay(settings.weight_decay as f32)
        // PyTorch's epsilon, which tinytopics uses; Burn's own default is 1e-5.
        .with_epsilon(1e-8)
}

fn read<B: Backend>(tensor: Tensor<B, 1>) -> Result<Vec<f64>> {
    Ok(values(tensor.try_into_data().map_err(device_error)?)?
        .into_iter()
        .map(f64::from)
        .collect())
}

/// Numbers that come back at once. A card's runtime takes pinned memory for them in pages, of up to a quarter of the card's
/// own memory, and keeps it.
pub(super) const AT_ONCE: usize = 1 << 20;

pub(crate) fn to_matrix<B: Backend>(tensor: Tensor<B, 2>) -> Result<Matrix> {
    let [rows, columns] = tensor.dims();
    let some = (AT_ONCE / columns.max(1)).max(1);
    if rows <= some {
        let all = values(tensor.try_into_data().map_err(device_error)?)?;
        return Matrix::new(rows, columns, all);
    }
    let mut all = Vec::with_capacity(rows * columns);
    for first in (0..rows).step_by(some) {
        let part = tensor.clone().slice(first..rows.min(first + some));
        all.extend(values(part.try_into_data().map_err(device_error)?)?);
    }
    Matrix::new(rows, columns, all)
}

fn values(data: TensorData) -> Result<Vec<f32>> {
    data.into_vec()
        .map_err(|error| Error::new(ErrorKind::Device, format!("unexpected tensor: {error:?}")))
}

fn device_error(error: impl std::fmt::Debug) -> Error {
    Error::new(
        ErrorKind::Device,
        format!("the device did not return its result: {error:?}"),
    )
    .fix("use a smaller batch size, or Device::Cpu")
}

#[cfg(test)]
mod tests {
    use burn::backend::flex::FlexDevice;
    use burn::backend::{Autodiff, Flex};

    use super::super::fused::FusedStep;
    use super::super::loss::Parts;
    use super::*;
    use crate::counts::Counts;

    #[test]
    fn a_step_from_a_state_goes_on_with_the_same_bits() {
        let settings = Settings::new(2);
        let counts = Counts::dense(3, 4, vec![1u8, 0, 2, 3, 0, 5, 0, 1, 7, 1, 1, 0]).unwrap();
        let table = |rows, columns| {
            let values = (0..rows * columns).map(|i| 0.01 * (i * i % 17) as f32);
            Matrix::from_parts(rows, columns, values.collect())
        };
        let start = State::new(table(3, 2), table(2, 4), &TablePlace::Memory).unwrap();
        let whole = Placement::whole(&settings);
        let fused =
            |state| Box::new(FusedStep::new(&settings, whole, state).unwrap()) as Box<dyn Step>;
        let tensor = |state| {
            let step =
                TensorStep::<_, Parts<Autodiff<Flex>>>::new(&settings, whole, state, FlexDevice);
            Box::new(step) as Box<dyn Step>
        };
        let run = |step: &mut Box<dyn Step>, batches: &[&[usize]]| {
            for documents in batches {
                let batch = Batch {
                    view: counts.view().unwrap(),
                    rows: documents,
                    documents,
                };
                step.step(&batch, 0.05).unwrap();
            }
            step.take_losses().unwrap();
        };
        let makes: [&dyn Fn(State) -> Box<dyn Step>; 2] = [&fused, &tensor];
        let histories: [&[&[usize]]; 3] = [&[], &[&[0, 1], &[2]], &[&[1], &[1, 2], &[0], &[2, 0]]];
        for make in makes {
            for history in histories {
                let mut step = make(start.clone());
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
