//! Targets that fail, so that a test can check that a round notices failures.

use std::hint::black_box;
use std::thread::sleep;

use crate::outcome::Outcome;
use crate::round::SLOWEST;
use crate::worker::MEMORY;
use crate::{Target, mutate};

/// One for each kind of failure.
#[rustfmt::skip] // one target a line
pub const PROBES: [Target; 4] = [
    Target { name: "probe-panic", has_peer: false, read: panics, structured: mutate::number },
    Target { name: "probe-abort", has_peer: false, read: aborts, structured: mutate::number },
    Target { name: "probe-memory", has_peer: false, read: allocates, structured: mutate::number },
    Target { name: "probe-hang", has_peer: false, read: hangs, structured: mutate::number },
];

fn panics(_: &str, data: &[u8]) -> Outcome {
    panic!("{} bytes\nare too many", data.len())
}

fn aborts(_: &str, _: &[u8]) -> Outcome {
    std::process::abort()
}

fn allocates(_: &str, _: &[u8]) -> Outcome {
    black_box(vec![0u8; MEMORY as usize]);
    Outcome::Accepted(None)
}

fn hangs(_: &str, _: &[u8]) -> Outcome {
    sleep(10 * SLOWEST);
    Outcome::Refused
}
