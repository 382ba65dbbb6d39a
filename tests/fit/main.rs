//! Fits on the CPU: results against the reference, tinytopics and real text; checkpoints and resuming.

mod bounds;
mod continued;
#[cfg(feature = "polars")]
mod explain;
#[cfg(feature = "charts")]
mod explorer;
mod extremes;
#[cfg(feature = "polars")]
mod fit;
// Compares with the implementation through Burn's tensors.
#[cfg(feature = "cuda")]
mod golden;
#[cfg(all(feature = "cuda", feature = "polars"))]
mod gradient_steps;
mod judging;
mod many;
mod narrow_tables;
mod nips;
#[cfg(all(feature = "charts", feature = "polars"))]
mod paths;
#[cfg(feature = "polars")]
mod questions;
mod resume;
mod solvers;
#[cfg(feature = "cuda")]
mod steps;
mod sweep;
