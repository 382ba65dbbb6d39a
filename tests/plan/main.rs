//! Plans, and the memory that fits use.
#![cfg(all(feature = "cuda", feature = "notebook"))]

mod cgroup;
mod estimate;
mod measured;
mod memory_now;
mod plan;
mod random;
#[path = "../../benches/plans/row.rs"]
mod row;
#[path = "../../benches/support/sampler.rs"]
mod sampler;
mod tensors;
mod vram;
