//! Batches of documents, in a new random order every epoch.

use rand::seq::SliceRandom;

use crate::counts::Counts;
use crate::error::Result;
use crate::random::{Purpose, stream};

/// A batch: which documents of which counts. Nothing is copied until a step asks for it.
pub(crate) struct Batch<'a> {
    pub(crate) counts: &'a Counts,
    pub(crate) documents: &'a [usize],
}

impl Batch<'_> {
    /// The counts as dense rows, one per document.
    pub(crate) fn dense(&self) -> Result<Vec<f32>> {
        let mut rows = vec![0.0; self.documents.len() * self.counts.terms()];
        self.counts.fill_rows(self.documents, &mut rows)?;
        Ok(rows)
    }
}

/// The documents of one epoch in a random order that depends on the seed and the epoch alone, so that a continued fit
/// meets the same batches as an uninterrupted one.
pub(crate) fn shuffled(documents: usize, seed: u64, epoch: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..documents).collect();
    order.shuffle(&mut stream(seed, Purpose::BatchOrder, epoch as u64));
    order
}
