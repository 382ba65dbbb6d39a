//! What a fit is told: plain values with their defaults and rules.

mod cluster;
mod device;
mod gradient_step;
mod mini_batch;
mod optimizer;
mod precision;
mod recipe;
mod settings;
mod solver;
mod storage;

pub use crate::data::{Budget, ByteSize};
pub use cluster::Cluster;
pub use cluster::Host;
pub use device::Device;
pub use device::Resolved;
#[cfg(not(feature = "cuda"))]
pub use device::{WITHOUT_CUDA, no_cuda};
pub use gradient_step::GradientStep;
pub use mini_batch::MiniBatch;
pub use optimizer::Optimizer;
pub use optimizer::StateValues;
pub use precision::Precision;
pub use recipe::{OnEpoch, Recipe};
pub use settings::Settings;
pub use solver::{FullPass, Solver};
pub use storage::TableStorage;

/// The model's rates are clamped to this before the logarithm, as in tinytopics.
pub const SMALLEST_RATE: f64 = 1e-10;
