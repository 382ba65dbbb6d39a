//! Fits through the CUDA backend on a fake driver (crates/fake-cuda): plans, memory, transfers and failures. Kernels do
//! nothing there; unit tests of `topicbook-gpu` check their arithmetic on another runtime.
#![cfg(all(feature = "cuda", feature = "notebook"))]

mod bus;
mod failures;
mod fits;
mod kernels;
mod machine;
mod memory;
mod self_check;
