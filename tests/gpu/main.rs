//! Fits through the CUDA backend on a fake driver (crates/fake-cuda): plans, memory, transfers and failures. Kernels do
//! nothing there; unit tests in `src/backend/cube` check their arithmetic on another runtime.
#![cfg(all(feature = "cuda", feature = "notebook"))]

mod bench;
mod bus;
mod failures;
#[path = "../../benches/support/few_terms.rs"]
mod few_terms;
mod fits;
mod kernels;
mod machine;
mod memory;
#[path = "../../benches/gpu/page.rs"]
mod page;
#[path = "../../benches/support/record.rs"]
mod record;
mod self_check;
#[path = "../../benches/gpu/work.rs"]
mod work;
