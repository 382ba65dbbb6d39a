//! Plans, and the memory that fits use.
#![cfg(all(feature = "cuda", feature = "notebook"))]

mod cgroup;
mod estimate;
mod measured;
mod memory_now;
mod plan;
mod tensors;
mod vram;
