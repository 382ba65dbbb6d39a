//! Helpers that tests share. This crate does not depend on topicbook.

mod alone;
mod cgroup;
mod hosts;
mod one_test;
mod packed;
mod python;
mod random;
pub mod reference;
mod refused;
mod slow_link;
mod tmpfs;
mod wait;

pub use alone::alone;
pub use cgroup::Cgroup;
pub use hosts::{Hosts, cut_host, host_name, lose_host};
pub use one_test::{one_test, passed};
pub use packed::seal_packed;
pub use python::{python, run};
pub use random::Random;
pub use refused::assert_has;
pub use slow_link::{Link, SLOW_NETWORK, SlowLink};
pub use tmpfs::{Tmpfs, temp_path};
pub use wait::wait_for;
