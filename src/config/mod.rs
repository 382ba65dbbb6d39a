//! What a fit is told: plain values with their defaults and rules.

mod budget;
mod byte_size;
mod cluster;
mod device;
mod gradient_step;
mod optimizer;
mod precision;
mod recipe;
mod settings;
mod solver;
mod storage;

pub use budget::Budget;
pub use byte_size::ByteSize;
pub use cluster::Cluster;
pub(crate) use cluster::Host;
pub use device::Device;
pub(crate) use device::Resolved;
#[cfg(not(feature = "cuda"))]
pub(crate) use device::{WITHOUT_CUDA, no_cuda};
pub use gradient_step::GradientStep;
pub use optimizer::Optimizer;
pub(crate) use optimizer::StateValues;
pub use precision::Precision;
pub(crate) use recipe::{OnEpoch, Recipe};
pub use settings::Settings;
pub use solver::{FullPass, MiniBatch, Solver};
pub use storage::TableStorage;

/// The model's rates are clamped to this before the logarithm, as in tinytopics.
pub(crate) const SMALLEST_RATE: f64 = 1e-10;
