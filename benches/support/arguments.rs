//! Command line arguments of the benchmarks.

/// All arguments but the `--bench` that Cargo adds.
pub fn arguments() -> Vec<String> {
    std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect()
}

#[allow(dead_code)] // not every benchmark has numbers among its arguments
/// # Panics
/// When the argument is not a number: the benchmark was called wrongly.
pub fn number(argument: &str) -> usize {
    argument
        .parse()
        .unwrap_or_else(|_| panic!("{argument} is not a number"))
}
