//! Plans, and the memory that fits use.
#![cfg(all(feature = "cuda", feature = "notebook"))]

mod cgroup;
mod measured;
mod plan;
mod vram;
