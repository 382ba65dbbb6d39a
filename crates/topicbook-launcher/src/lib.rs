//! Starts kernels, and installs them: what a checkout and a wheel of topicbook have in common.
//!
//! `cargo xtask` calls these functions for a checkout; the program `topicbook` (`main.rs`) is what Jupyter starts as the
//! kernel, in both, and the command of an installed wheel. Only the standard library is used, and linked statically: the
//! program starts even after the toolchain has changed.

pub mod corpus;
pub mod crates;
pub mod doctor;
pub mod jupyter;
pub mod kernel_spec;
pub mod linker;
pub mod places;
pub mod programs;
pub mod session;
pub mod task;
pub mod toolchain;
pub mod warm;
