//! Minibatches of documents in a new random order every epoch, from memory, a memory map or a stream of a file.

mod reading;
#[cfg(any(test, feature = "cluster-worker"))]
mod shares;
mod shuffle;
mod source;

pub use reading::Reading;
pub(crate) use reading::{DEFAULT_BUFFER_BYTES, Shuffle};
#[cfg(any(test, feature = "cluster-worker"))]
pub(crate) use shares::Shares;
pub(crate) use source::{InPlace, Source, Streamed};

use crate::counts::View;

/// Documents in a block of the shares that ranks read, at most: large enough for fast reads.
pub(crate) const SHARE_BLOCK: usize = 64;

/// A batch of documents: references to rows of counts in memory or in a memory map. Copies nothing.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    /// The counts that `rows` refers to: the whole matrix, or the buffer that was read.
    pub(crate) view: View<'a>,
    /// For each document of the batch, its row in `view`.
    pub(crate) rows: &'a [usize],
    /// For each document of the batch, its row of L.
    pub(crate) documents: &'a [usize],
    /// No count of `view` is larger; infinite where the largest count is not known.
    pub(crate) largest: f64,
}

impl<'a> Batch<'a> {
    /// Splits the batch into parts of at most `documents` documents.
    pub(crate) fn parts(&self, documents: usize) -> impl Iterator<Item = Batch<'a>> + use<'a> {
        let (view, largest) = (self.view, self.largest);
        let parts = self
            .rows
            .chunks(documents)
            .zip(self.documents.chunks(documents));
        parts.map(move |(rows, documents)| Batch {
            view,
            rows,
            documents,
            largest,
        })
    }

    /// Copies the counts to dense rows of `terms` columns, one row per document.
    #[cfg(any(test, feature = "cuda", feature = "bench-hooks"))]
    pub(crate) fn dense(&self, terms: usize) -> Vec<f32> {
        let mut rows = vec![0.0; self.rows.len() * terms];
        self.view.fill(terms, self.rows, &mut rows);
        rows
    }
}
