//! Minibatches of documents in a new random order every epoch, from memory, a memory map or a stream of a file.

mod count_batch;
mod own_loop;
mod own_rows;
mod reading;
mod shares;
mod shuffle;
mod source;

pub use count_batch::CountBatch;
pub use own_loop::Batches;
pub use reading::Reading;
pub use reading::{DEFAULT_BUFFER_BYTES, Shuffle};
pub use shares::Shares;
pub use source::{InPlace, Order, Source, open_source};

use crate::View;

/// Maximum number of documents in a block of a rank's share: large enough for fast reads.
pub const SHARE_BLOCK: usize = 64;

/// A batch of documents: references to rows of counts in memory or in a memory map. Copies nothing.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The counts that `rows` refers to: the whole matrix, or the buffer that was read.
    pub view: View<'a>,
    /// For each document of the batch, its row in `view`.
    pub rows: &'a [usize],
    /// For each document of the batch, its row of L.
    pub documents: &'a [usize],
    /// No count of `view` is larger; infinite where the largest count is not known.
    pub largest: f64,
}

impl<'a> Batch<'a> {
    /// Splits the batch into micro-batches of at most `documents` documents.
    pub fn parts(&self, documents: usize) -> impl Iterator<Item = Batch<'a>> + use<'a> {
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
    pub fn dense(&self, terms: usize) -> Vec<f32> {
        let mut rows = vec![0.0; self.rows.len() * terms];
        self.view.fill(terms, self.rows, &mut rows);
        rows
    }
}
