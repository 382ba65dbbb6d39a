//! Counts of the terms that documents consist of.

use topicbook::{Counts, Result};

/// Counts the terms of each document, which are in any order.
pub fn count_tokens(terms: usize, documents: impl Iterator<Item = Vec<u32>>) -> Result<Counts> {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for mut document in documents {
        document.sort_unstable();
        for same in document.chunk_by(|a, b| a == b) {
            columns.push(same[0]);
            values.push(same.len() as f32);
        }
        starts.push(columns.len() as u64);
    }
    Counts::csr(starts.len() - 1, terms, starts, columns, values)
}
