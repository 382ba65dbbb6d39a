//! Gradient steps of a module of one's own: its parameters, gradients, optimizers, and the activations that are computed again.
//!
//! For the crates of this repository alone. A module is generic code that a notebook's cell compiles; what is here takes its
//! parameters as tensors of any rank and is compiled once, with the library.

mod checkpointed;
mod compiled;
mod loss_scale;
mod network;
mod nmf;
mod optimizer;
mod parameters;
mod rank;
mod step;

pub(crate) use topicbook_base::{error, system};
pub(crate) use topicbook_counts::CountBatch;
pub(crate) use topicbook_solvers::step::{StepPart, Watch};

pub use checkpointed::{Checkpointing, ModuleMemory, checkpointed};
pub use compiled::compiled;
pub use loss_scale::LossScale;
pub use network::{Measure, Network, OwnNetwork, Validation, of_batch};
pub use nmf::{NeuralPoissonNmf, poisson_nmf_loss};
pub use optimizer::{ModuleOptimizer, OptimizerState, Update};
pub use parameters::{Parameter, initialize};
pub use step::{Clipping, Scaler, StepMemory, StepReport, Stepper};

/// Burn on the CPU, with gradients: the backend of modules that a `Trainer` trains.
///
/// ```
/// use topicbook::Cpu;
/// use topicbook::burn::tensor::Tensor;
/// let x = Tensor::<Cpu, 1>::from_floats([1.0, 2.0], &Default::default()).require_grad();
/// let gradients = x.clone().powf_scalar(2.0).sum().backward();
/// assert_eq!(x.grad(&gradients).unwrap().to_data().to_vec::<f32>().unwrap(), [2.0, 4.0]);
/// ```
pub type Cpu = burn::backend::Autodiff<burn::backend::Flex>;

/// A float tensor of any rank with its place in the graph of gradients.
pub type Tracked = burn::tensor::ops::FloatTensor<Cpu>;
/// A float tensor of any rank.
pub type Plain = burn::tensor::ops::FloatTensor<burn::backend::Flex>;

#[cfg(test)]
mod tests;
