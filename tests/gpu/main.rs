//! Fits through the CUDA backend on a fake driver (crates/fake-cuda): plans, memory, transfers and failures. Kernels do
//! nothing there; unit tests in `src/backend/cube` check their arithmetic on another runtime.
#![cfg(all(feature = "cuda", feature = "notebook"))]

mod bench;
mod bus;
#[path = "../../benches/gpu/counts.rs"]
mod counts;
#[path = "../../benches/gpu/equal.rs"]
mod equal;
mod failures;
#[path = "../../benches/support/few_terms.rs"]
mod few_terms;
#[path = "../../benches/gpu/fit.rs"]
mod fit;
mod fits;
#[path = "../../benches/gpu/goals.rs"]
mod goals;
#[path = "../../benches/techniques/gpu_runs.rs"]
mod gpu_runs;
#[path = "../../benches/gpu/host.rs"]
mod host;
mod kernels;
mod machine;
#[path = "../../benches/techniques/measure.rs"]
mod measure;
#[path = "../plan/measured.rs"]
mod measured;
mod memory;
#[path = "../../benches/gpu/page.rs"]
mod page;
#[path = "../../benches/support/rate_rule.rs"]
mod rate_rule;
#[path = "../../benches/support/record.rs"]
mod record;
#[path = "../../benches/gpu/rows.rs"]
mod rows;
#[path = "../../benches/gpu/run.rs"]
mod run;
#[path = "../../benches/support/sampler.rs"]
mod sampler;
#[path = "../../benches/gpu/schedule.rs"]
mod schedule;
mod schedule_of_rows;
mod self_check;
#[path = "../../benches/gpu/sizes.rs"]
mod sizes;
#[path = "../../benches/techniques/table.rs"]
mod table;
#[path = "../../benches/techniques/techniques.rs"]
mod techniques;
#[path = "../../benches/gpu/work.rs"]
mod work;
