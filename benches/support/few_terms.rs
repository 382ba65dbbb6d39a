//! Small counts of many documents, so that a benchmark measures the work on L.

use topicbook::{Counts, Result};

/// Terms of the counts.
pub const TERMS: usize = 200;

/// CSR counts with five terms in each document.
pub fn few_terms(documents: usize) -> Result<Counts> {
    let columns =
        (0..documents).flat_map(|row| (0..5).map(move |i| (row * 7 % 40 + i * 40) as u32));
    Counts::csr(
        documents,
        TERMS,
        (0..=documents as u64).map(|row| row * 5).collect(),
        columns.collect(),
        vec![3.0; documents * 5],
    )
}
