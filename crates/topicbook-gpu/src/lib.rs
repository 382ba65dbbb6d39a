//! What topicbook computes on an NVIDIA GPU, and on tensors of Burn: kernels, gradient steps, expectation-maximisation.
//!
//! For the crates of this repository alone.

#[doc(hidden)]
pub mod backend;
#[doc(hidden)]
pub mod em;
#[doc(hidden)]
pub mod self_check;
#[doc(hidden)]
pub mod solvers;
#[doc(hidden)]
pub mod step;

#[doc(hidden)]
pub use burn_cuda;

pub(crate) use topicbook_base::{error, system};
pub(crate) use topicbook_counts as counts;
pub(crate) use topicbook_counts::batches;
#[cfg(test)]
pub(crate) use topicbook_counts::synthetic;
pub(crate) use topicbook_data as data;
pub(crate) use topicbook_module as module;
pub(crate) use topicbook_solvers::{config, cost};
