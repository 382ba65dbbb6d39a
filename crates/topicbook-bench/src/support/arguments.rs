//! Command line arguments of the benchmarks.

use topicbook::Error;

/// The arguments after the benchmark's name.
pub fn arguments() -> Vec<String> {
    std::env::args().skip(2).collect()
}

/// The error of a benchmark with unknown arguments.
pub fn unknown() -> Error {
    Error::setting("the benchmark does not know these arguments")
        .fix("call it by cargo xtask bench")
}

/// # Panics
/// When the argument is not a number: the benchmark was called wrongly.
pub fn number(argument: &str) -> usize {
    argument
        .parse()
        .unwrap_or_else(|_| panic!("{argument} is not a number"))
}
