//! Functions for tests and benchmarks: training from given tables in a given order of documents, to replay the run of
//! another program. Not part of the API.

mod gpu;

use std::time::Instant;

use crate::burn::backend::flex::FlexDevice;
use crate::burn::backend::{Autodiff, Flex};
use crate::burn::tensor::backend::AutodiffBackend;
use rand::RngExt;
use topicbook_gpu::burn_cuda::{Cuda, CudaDevice};

pub use gpu::{
    On, gathered, gpu_memory_now, iterations as iterations_offloaded, plain_copy, transfers,
    upload_all,
};

use crate::batches::{self, Batch};
use crate::config::{Resolved, Settings};
use crate::cost::Placement;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::Result;
use crate::fit::Fit;
use crate::model::TopicModel;
use crate::step::cpu::FusedStep;
use crate::step::{Fused, Loss, State, Step, TensorStep, Unfused};
use crate::step::{initial_tables, orders};
use crate::system::{Purpose, SelfCheck, stream};
use crate::training::{Loop, Steps, Target, catch_device_errors};

/// Makes fits of this process use a GPU as if it had passed its self-check: tests run on a driver whose kernels do nothing.
pub fn trust_gpu(gpu: usize) {
    let passed = SelfCheck {
        difference: None,
        file: None,
    };
    passed.remember(gpu);
}

/// A fit with the topics of another program (topics x terms), to judge them as our own. Its L has one document.
///
/// # Errors
/// As [`Matrix::new`].
pub fn fit_of(f: Matrix) -> Result<Fit> {
    let topics = f.rows();
    let settings = TopicModel::new(topics).settings();
    let l = Matrix::new(1, topics, vec![1.0 / topics as f32; topics])?;
    Ok(Fit::new(
        settings,
        l,
        f,
        None,
        Vec::new(),
        String::new(),
        None,
    ))
}

/// Losses and results of a replayed run.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The loss of every epoch, as tinytopics reports it.
    pub epoch_losses: Vec<f64>,
    /// The loss of every step.
    pub step_losses: Vec<f64>,
    /// The learning rate of every step.
    pub learning_rates: Vec<f64>,
    /// Learned L, rows summing to one.
    pub l: Matrix,
    /// Learned F, rows summing to one.
    pub f: Matrix,
    /// AdamW's first moments of the logits of L and F after the last step.
    pub moments: [Matrix; 2],
}

/// A step that records learning rates and losses.
struct Recording {
    step: Box<dyn Step>,
    losses: Vec<f64>,
    learning_rates: Vec<f64>,
}

impl Step for Recording {
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()> {
        self.learning_rates.push(learning_rate);
        self.step.step(batch, learning_rate)
    }
    fn take_losses(&mut self) -> Result<Vec<f64>> {
        let losses = self.step.take_losses()?;
        self.losses.extend(&losses);
        Ok(losses)
    }
    fn topics(&self) -> Result<(Matrix, Matrix)> {
        self.step.topics()
    }
    fn state(&self) -> Result<State> {
        self.step.state()
    }
    fn is_flushed(&self) -> bool {
        self.step.is_flushed()
    }
}

/// Implementation of the gradient step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Burn's tensors, automatic differentiation and AdamW: the reference.
    Tensor,
    /// As [`Tensor`](Self::Tensor), with the loss as one operation that has its own backward pass.
    Operation,
    /// The fused step of the CPU.
    Fused,
    /// [`Operation`](Self::Operation) by the kernels, on the first GPU.
    Gpu,
}

/// The initial logits of L and F of a fit with these settings, and the order of the documents in every epoch.
pub fn start(
    settings: &Settings,
    documents: usize,
    terms: usize,
) -> Result<(Matrix, Matrix, Vec<Vec<usize>>)> {
    let (l, f) = initial_tables(settings, documents, terms)?;
    let mut orders = orders(settings, documents, terms);
    let orders = (0..settings.epochs).map(|epoch| orders.of(epoch)).collect();
    Ok((l, f, orders))
}

fn new_step(
    path: Path,
    settings: &Settings,
    placement: Placement,
    counts: &Counts,
    start: State,
) -> Result<Box<dyn Step>> {
    Ok(match path {
        Path::Tensor => {
            let step = tensor_step::<_, Unfused<Autodiff<Flex>>>;
            step(settings, placement, counts, (start, FlexDevice))?
        }
        Path::Operation => {
            let step = tensor_step::<_, Fused<Autodiff<Flex>>>;
            step(settings, placement, counts, (start, FlexDevice))?
        }
        Path::Fused => Box::new(FusedStep::new(settings, placement, start)?),
        Path::Gpu => {
            let step = tensor_step::<_, Fused<Autodiff<Cuda>>>;
            step(settings, placement, counts, (start, CudaDevice::new(0)))?
        }
    })
}

fn tensor_step<B: AutodiffBackend + 'static, L: Loss<B> + 'static>(
    settings: &Settings,
    placement: Placement,
    counts: &Counts,
    (start, device): (State, B::Device),
) -> Result<Box<dyn Step>>
where
    TensorStep<B, L>: Step,
{
    keep_freed_memory();
    let mut step = TensorStep::<B, L>::new(settings, placement, start, device);
    if placement.resident {
        step.make_resident(counts)?;
    }
    Ok(Box::new(step))
}

/// Trains from the logits `l` and `f`, with the documents of each epoch in the given order.
pub fn run(
    path: Path,
    settings: &Settings,
    counts: &Counts,
    l: &Matrix,
    f: &Matrix,
    orders: &[Vec<usize>],
) -> Result<Replayed> {
    let whole = (settings.batch_size(), false);
    let device = match path {
        Path::Gpu => Resolved::Cuda(0),
        _ => Resolved::Cpu,
    };
    catch_device_errors(device, || {
        run_placed(path, settings, whole, counts, l, f, orders)
    })
}

/// [`run`] with gradients accumulated over micro-batches of `micro_batch` documents, and with the counts resident on
/// the device if `resident` (only the tensor paths distinguish that).
#[allow(clippy::too_many_arguments)]
pub fn run_placed(
    path: Path,
    settings: &Settings,
    (micro_batch, resident): (usize, bool),
    counts: &Counts,
    l: &Matrix,
    f: &Matrix,
    orders: &[Vec<usize>],
) -> Result<Replayed> {
    let start = State::new(l.clone(), f.clone(), &settings.solver)?;
    let placement = Placement {
        micro_batch,
        resident,
        l_on_host: false,
    };
    let step = new_step(path, settings, placement, counts, start)?;
    let mut recording = Recording {
        step,
        losses: Vec::new(),
        learning_rates: Vec::new(),
    };
    let orders = orders.to_vec();
    let order = Box::new(move |epoch: usize| orders[epoch].clone());
    let batches = batches::InPlace::new(counts, settings.batch_size(), order);
    let target = Target::new(settings, counts)?;
    let shape = (settings.epochs, counts.documents(), target.batches);
    let mut training = Loop::new(shape, &mut []);
    training.run(&mut Steps {
        target: &target,
        step: &mut recording,
        source: Box::new(batches),
    })?;
    let (l, f) = recording.topics()?;
    let State {
        mut l_state,
        mut f_state,
        ..
    } = recording.state()?;
    Ok(Replayed {
        moments: [l_state.swap_remove(0), f_state.swap_remove(0)],
        epoch_losses: training.history.iter().map(|epoch| epoch.loss).collect(),
        step_losses: recording.losses,
        learning_rates: recording.learning_rates,
        l,
        f,
    })
}

/// Makes glibc keep freed memory (`mallopt`: `M_MMAP_THRESHOLD`, `M_TRIM_THRESHOLD`).
///
/// Every tensor operation allocates its result and frees its arguments. By default glibc returns large freed blocks to
/// the system, and page faults on their reallocation took a quarter of a step.
fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets two parameters, each of which accepts any value.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 30);
    }
}

/// The loss of a batch, and its gradients with respect to the logits of L (all documents x topics) and F.
pub fn gradient(
    counts: &Counts,
    l: &Matrix,
    f: &Matrix,
    documents: &[usize],
) -> Result<(f64, Matrix, Matrix)> {
    let settings = Settings::new(f.rows());
    let start = State::new(l.clone(), f.clone(), &settings.solver)?;
    let whole = Placement::whole(&settings);
    TensorStep::<_, Unfused<Autodiff<Flex>>>::new(&settings, whole, start, FlexDevice).gradient(
        &Batch {
            view: counts.view()?,
            rows: documents,
            documents,
            largest: counts.largest_known(),
        },
    )
}

/// Steps per second over random batches, after a warm-up of a tenth of the steps. `wait` blocks until all steps are
/// done.
fn iterations_of(
    step: &mut dyn Step,
    settings: &Settings,
    counts: &Counts,
    steps: usize,
    wait: &dyn Fn() -> Result<()>,
) -> Result<f64> {
    let documents = counts.documents();
    let view = counts.view()?;
    let mut random = stream(settings.seed, Purpose::BlockOrder, 0);
    let mut run = |steps: usize| -> Result<f64> {
        let began = Instant::now();
        for _ in 0..steps {
            let documents: Vec<usize> = (0..settings.batch_size())
                .map(|_| random.random_range(0..documents))
                .collect();
            let batch = Batch {
                view,
                rows: &documents,
                documents: &documents,
                largest: counts.largest_known(),
            };
            step.step(&batch, settings.mini_batch().max_lr)?;
        }
        wait()?;
        Ok(steps as f64 / began.elapsed().as_secs_f64())
    };
    run(steps.div_ceil(10))?;
    run(steps)
}
