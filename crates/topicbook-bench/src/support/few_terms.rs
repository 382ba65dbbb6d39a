//! Small counts of many documents, so that a benchmark measures the work on L.

use topicbook::{Counts, Result};

/// CSR counts with five terms in each document, of `terms`, a multiple of five.
pub fn few_terms(documents: usize, terms: usize) -> Result<Counts> {
    let fifth = terms / 5;
    let columns =
        (0..documents).flat_map(|row| (0..5).map(move |i| (row * 7 % fifth + i * fifth) as u32));
    Counts::csr(
        documents,
        terms,
        (0..=documents as u64).map(|row| row * 5).collect(),
        columns.collect(),
        vec![3.0; documents * 5],
    )
}
