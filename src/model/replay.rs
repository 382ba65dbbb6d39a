//! One run of the loop from a given start and in a given order, for tests and benchmarks that replay another program's
//! run. Not part of the API.

mod card;

use std::time::Instant;

use burn::backend::flex::FlexDevice;
use burn::backend::{Autodiff, Flex};
use rand::RngExt;

use super::fused::FusedStep;
use super::history::Recorder;
use super::loss::{Fused, Loss, Parts};
use super::position::Position;
use super::settings::Settings;
use super::start::{initial_tables, orders};
use super::step::{State, Step, TensorStep};
use super::train;
use crate::counts::Counts;
use crate::device::Resolved;
use crate::error::Result;
use crate::loader;
use crate::matrix::Matrix;
use crate::plan::Placement;
use crate::random::{Purpose, stream};

pub use card::{
    On, card_memory_now, iterations as iterations_beside, plain_copy, send_all, transfers,
};

/// What a replayed run did.
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
    /// AdamW's first moments of the tables behind L and F after the last step.
    pub moments: [Matrix; 2],
}

/// Records what passes through a step.
struct Tape {
    step: Box<dyn Step>,
    losses: Vec<f64>,
    learning_rates: Vec<f64>,
}

impl Step for Tape {
    fn step(&mut self, batch: &loader::Batch<'_>, learning_rate: f64) -> Result<()> {
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
    fn at_rest(&self) -> bool {
        self.step.at_rest()
    }
}

/// Which implementation of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Burn's tensors, automatic differentiation and AdamW: the reference.
    Tensor,
    /// The same with the loss as one operation, which has a backward of its own.
    Operation,
    /// The fused passes.
    Fused,
}

/// The free tables L and F where a fit with these settings starts, and the order of the documents in every epoch.
pub fn beginning(
    settings: &Settings,
    documents: usize,
    terms: usize,
) -> Result<(Matrix, Matrix, Vec<Vec<usize>>)> {
    let (l, f) = initial_tables(settings, documents, terms)?;
    let mut orders = orders(settings, documents, terms);
    let orders = (0..settings.epochs).map(|epoch| orders.of(epoch)).collect();
    Ok((l, f, orders))
}

fn begin(
    path: Path,
    settings: &Settings,
    placement: Placement,
    counts: &Counts,
    start: State,
) -> Result<Box<dyn Step>> {
    Ok(match path {
        Path::Tensor => tensors::<Parts<_>>(settings, placement, counts, start)?,
        Path::Operation => tensors::<Fused<_>>(settings, placement, counts, start)?,
        Path::Fused => Box::new(FusedStep::new(settings, placement, start)?),
    })
}

fn tensors<L: Loss<Autodiff<Flex>> + 'static>(
    settings: &Settings,
    placement: Placement,
    counts: &Counts,
    start: State,
) -> Result<Box<dyn Step>> {
    keep_freed_memory();
    let mut step = TensorStep::<Autodiff<Flex>, L>::new(settings, placement, start, FlexDevice);
    if placement.resident {
        step.hold(counts)?;
    }
    Ok(Box::new(step))
}

/// Trains on the CPU from the free tables `l` and `f`, with the documents of each epoch in the given order.
pub fn run(
    path: Path,
    settings: &Settings,
    counts: &Counts,
    l: &Matrix,
    f: &Matrix,
    orders: &[Vec<usize>],
) -> Result<Replayed> {
    let whole = (settings.batch_size, false);
    run_placed(path, settings, whole, counts, l, f, orders)
}

/// The same with gradients added up over parts of so many documents, and with all counts on the device if `resident`
/// (only the tensors know the difference).
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
    let start = State::new(l.clone(), f.clone(), &settings.table_place)?;
    let placement = Placement {
        micro_batch,
        resident,
        l_on_host: false,
    };
    let step = begin(path, settings, placement, counts, start)?;
    let mut tape = Tape {
        step,
        losses: Vec::new(),
        learning_rates: Vec::new(),
    };
    let mut recorder = Recorder::default();
    train::train(
        settings,
        counts,
        Resolved::Cpu.to_string(),
        &mut tape,
        Position::default(),
        &mut loader::InPlace::new(
            counts,
            settings.batch_size,
            Box::new(|epoch| orders[epoch].clone()),
        ),
        &mut [&mut recorder],
    )?;
    let (l, f) = tape.topics()?;
    let State {
        l_moments: [l_moment, _],
        f_moments: [f_moment, _],
        ..
    } = tape.state()?;
    Ok(Replayed {
        moments: [l_moment, f_moment],
        epoch_losses: recorder.epochs.iter().map(|epoch| epoch.loss).collect(),
        step_losses: tape.losses,
        learning_rates: tape.learning_rates,
        l,
        f,
    })
}

/// Every operation on tensors takes its result's memory and frees its arguments'. From a size on, glibc gives freed memory
/// back to the system each time, and a quarter of a step went into pages that came back empty.
fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets two numbers of the allocator, which both accept any value.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 30);
    }
}

/// The loss of a batch and its gradients with respect to the free tables.
pub fn gradient(
    counts: &Counts,
    l: &Matrix,
    f: &Matrix,
    documents: &[usize],
) -> Result<(f64, Matrix, Matrix)> {
    let settings = Settings::new(f.rows());
    let start = State::new(l.clone(), f.clone(), &settings.table_place)?;
    let whole = Placement::whole(&settings);
    TensorStep::<_, Parts<Autodiff<Flex>>>::new(&settings, whole, start, FlexDevice).gradient(
        &loader::Batch {
            view: counts.view()?,
            rows: documents,
            documents,
        },
    )
}

/// Iterations a second over random batches, from random tables.
pub fn iterations(path: Path, settings: &Settings, counts: &Counts, steps: usize) -> Result<f64> {
    let (documents, terms) = counts.shape();
    let (l, f) = initial_tables(settings, documents, terms)?;
    let start = State::new(l, f, &settings.table_place)?;
    let mut step = begin(path, settings, Placement::whole(settings), counts, start)?;
    iterations_of(&mut *step, settings, counts, steps, &|| Ok(()))
}

/// `wait` returns when all steps are done.
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
            let documents: Vec<usize> = (0..settings.batch_size)
                .map(|_| random.random_range(0..documents))
                .collect();
            let batch = loader::Batch {
                view,
                rows: &documents,
                documents: &documents,
            };
            step.step(&batch, settings.max_lr)?;
        }
        wait()?;
        Ok(steps as f64 / began.elapsed().as_secs_f64())
    };
    run(steps.div_ceil(10))?;
    run(steps)
}
