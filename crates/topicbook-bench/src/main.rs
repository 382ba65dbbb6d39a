//! The benchmarks: `topicbook-bench NAME ARGUMENTS...`. `cargo xtask bench` calls them, and says what they need.

#[cfg(test)]
#[allow(dead_code)] // the tests of the library use the rest of it
#[path = "../../../tests/gpu/machine.rs"]
mod machine;
#[path = "../../../tests/plan/measured.rs"]
mod measured;
mod support;

mod gpu;
mod held_out;
mod kernels;
mod peers;
mod plans;
mod search;
mod techniques;
mod text;

use topicbook::{Error, Result};

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("gpu") => gpu::main(),
        Some("held_out") => held_out::main(),
        Some("kernels") => kernels::main(),
        Some("peers") => peers::main(),
        Some("plans") => plans::main(),
        Some("search") => search::main(),
        Some("text") => text::main(),
        _ => Err(Error::setting(
            "the first argument is no name of a benchmark",
        )),
    }
}
