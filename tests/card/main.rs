//! The path of a CUDA card from end to end, on a driver without a card: all but the arithmetic of the kernels, which the
//! tests beside them check on another runtime.

mod bus;
mod failures;
mod fits;
mod kernels;
mod machine;
mod memory;
#[path = "../../benches/support/record.rs"]
mod record;
