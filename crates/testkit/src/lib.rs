//! Helpers that tests share. This crate does not depend on topicbook.

mod cgroup;
mod python;
mod random;
pub mod reference;
mod tmpfs;
mod wait;

pub use cgroup::Cgroup;
pub use python::{python, run};
pub use random::Random;
pub use tmpfs::Tmpfs;
pub use wait::wait_for;
