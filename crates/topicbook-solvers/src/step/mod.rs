//! One gradient step: a small trait, and its implementations for each device and placement of L.

pub mod cpu;
pub mod divergence;
mod schedule;
mod start;
mod threads;
pub mod update;

pub use schedule::WarmRestarts;
pub use start::{initial_tables, orders, source};
pub use threads::{team, threads};

use crate::batches::Batch;
use crate::config::{Solver, TableStorage};
use crate::data::Matrix;
use crate::error::Result;

/// A phase of a step on tensors. Its allocations are freed when it ends, or in the next phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepPart {
    /// The loss of a micro-batch, with the activations that its backward pass needs.
    Forward,
    /// The gradients of a micro-batch.
    Backward,
    /// The optimizer.
    Update,
}

impl StepPart {
    /// The name of the phase in a log of memory.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Update => "update",
        }
    }

    /// Whether this is the name of a phase.
    pub fn is_name(name: &str) -> bool {
        [Self::Forward, Self::Backward, Self::Update]
            .iter()
            .any(|part| part.name() == name)
    }
}

/// Called with the phase of a step that begins, and with `None` when the step has ended.
pub type Watch = Box<dyn FnMut(Option<StepPart>) + Send>;

/// Loss, gradient and optimizer update of a batch, as the training loop needs them.
pub trait Step: Send {
    /// Updates L and F with the gradient of one batch.
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()>;

    /// The loss of every step since the last call. Waits for the device: call it once an epoch, not once a step.
    fn take_losses(&mut self) -> Result<Vec<f64>>;

    /// The norm of every step's gradient with respect to all logits, before it was clipped, since the last call. Empty
    /// where gradients are not clipped. Waits for the device.
    fn take_grad_norms(&mut self) -> Result<Vec<f64>> {
        Ok(Vec::new())
    }

    /// L (documents x topics) and F (topics x terms), whose rows sum to one.
    fn topics(&self) -> Result<(Matrix, Matrix)>;

    /// Whether [`state`](Self::state) is exact: no row of L is stale, and a step made from the state continues with the
    /// same bits. True at the end of an epoch, after [`take_losses`](Self::take_losses), and sometimes within one.
    fn is_flushed(&self) -> bool;

    /// Calls `watch` where the phases of each later step begin and end, if their memory differs.
    fn watch(&mut self, _watch: Watch) {}

    /// A copy of everything that later steps depend on, except their batches and learning rates. Call it only if
    /// [`is_flushed`](Self::is_flushed).
    fn state(&self) -> Result<State>;
}

/// Logits, optimizer state and number of steps. A [`Step`] made from it continues a fit bit for bit.
#[derive(Debug, Clone)]
pub struct State {
    /// The logits of L (documents x topics); L is their softmax by rows.
    pub l: Matrix,
    /// The logits of F: topics x terms.
    pub f: Matrix,
    /// The optimizer's state for `l`, such as AdamW's two moments: tables of the same shape, none to two.
    pub l_state: Vec<Matrix>,
    /// The optimizer's state for `f`, likewise.
    pub f_state: Vec<Matrix>,
    /// Steps taken.
    pub steps: u64,
}

impl State {
    /// The state before the first step of `solver`, from the initial logits.
    pub fn new(l: Matrix, f: Matrix, solver: &Solver) -> Result<Self> {
        let zeros = |table: &Matrix, storage: &TableStorage, values| -> Result<Vec<Matrix>> {
            let (rows, columns) = table.shape();
            // All tables of state share one table of zeros.
            let zeros = Matrix::of(rows, columns, storage.zeros(rows * columns)?);
            Ok(vec![zeros; values])
        };
        let values = solver.state_values();
        Ok(Self {
            l_state: zeros(&l, &solver.table_storage(), values.l)?,
            f_state: zeros(&f, &TableStorage::Memory, values.f)?,
            l,
            f,
            steps: 0,
        })
    }
}
