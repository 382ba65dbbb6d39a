//! What a benchmark was asked to do.

/// The words of the command line.
pub fn words() -> Vec<String> {
    std::env::args()
        .skip(1)
        // Cargo's own.
        .filter(|word| word != "--bench")
        .collect()
}

#[allow(dead_code)] // not every benchmark is asked for numbers
/// # Panics
/// When the word is no number: the benchmark was called wrongly.
pub fn number(word: &str) -> usize {
    word.parse()
        .unwrap_or_else(|_| panic!("{word} is not a number"))
}
