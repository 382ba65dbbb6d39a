//! Counts by term.

use crate::counts::{Csr, View};

/// The transposed counts, one row per term: 8 bytes per nonzero count.
pub struct TransposedCounts(Csr);

impl TransposedCounts {
    /// Transposes by a counting sort, which reads the counts twice.
    pub fn new(view: &View<'_>, documents: usize, terms: usize) -> Self {
        Self(Csr::transposed(view, documents, terms))
    }

    /// The documents that have a term, and how often.
    pub fn term(&self, term: usize) -> (&[u32], &[f32]) {
        self.0.row(term)
    }
}
