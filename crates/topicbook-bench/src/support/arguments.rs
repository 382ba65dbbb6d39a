//! Command line arguments of the benchmarks.

/// The arguments after the benchmark's name.
pub fn arguments() -> Vec<String> {
    std::env::args().skip(2).collect()
}

/// # Panics
/// When the argument is not a number: the benchmark was called wrongly.
pub fn number(argument: &str) -> usize {
    argument
        .parse()
        .unwrap_or_else(|_| panic!("{argument} is not a number"))
}
