//! Batches of documents, in a new random order every epoch.

use rand::seq::SliceRandom;

use crate::counts::Counts;
use crate::error::Result;
use crate::random::{Purpose, stream};

/// A batch: which documents, and their counts as dense rows.
pub(crate) struct Batch {
    pub(crate) documents: Vec<usize>,
    /// `documents.len()` rows of as many counts as there are terms.
    pub(crate) counts: Vec<f32>,
}

/// The documents of one epoch in a random order that depends on the seed and the epoch alone, so that a continued fit
/// meets the same batches as an uninterrupted one.
pub(crate) fn shuffled(documents: usize, seed: u64, epoch: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..documents).collect();
    order.shuffle(&mut stream(seed, Purpose::BatchOrder, epoch as u64));
    order
}

/// Reads the rows of one batch.
pub(crate) fn load(counts: &Counts, documents: &[usize]) -> Result<Batch> {
    let mut rows = vec![0.0; documents.len() * counts.terms()];
    counts.fill_rows(documents, &mut rows)?;
    Ok(Batch {
        documents: documents.to_vec(),
        counts: rows,
    })
}
