//! Gradient steps on tensors and on a GPU, and the choice among all steps.

mod device;
mod flex;
pub mod footprint;
mod fused_loss;
mod loss;
#[cfg(test)]
mod narrow_tables;
mod offload;
#[cfg(test)]
mod optimizers;
mod tensor;
#[cfg(test)]
mod tests;
mod unfused_loss;

pub use topicbook_solvers::step::*;

pub use device::with_step;
pub use loss::{Fused, Loss};
pub use offload::OffloadedStep;
pub use tensor::TensorStep;
pub use unfused_loss::Unfused;
