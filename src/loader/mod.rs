//! From counts to a step: batches of documents in a new order every epoch, and blocks of them one after the other.

mod block;
mod order;
mod reader;
mod reading;
mod source;

pub(crate) use block::{Block, for_each_block, for_each_stored};
pub use reading::Reading;
pub(crate) use reading::{DEFAULT_BYTES, Shuffle};
pub(crate) use source::{InPlace, Source, Streamed};

use crate::counts::View;

/// A batch: some rows of counts that lie in memory or in a mapped file. Nothing is copied until a step asks for it.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    /// Where the counts lie: all of them, or the part that is in memory now.
    pub(crate) view: View<'a>,
    /// For each document of the batch, its row in `view`.
    pub(crate) rows: &'a [usize],
    /// For each document of the batch, its row of L.
    pub(crate) documents: &'a [usize],
}

impl<'a> Batch<'a> {
    /// The batch in parts of at most so many documents.
    pub(crate) fn parts(&self, documents: usize) -> impl Iterator<Item = Batch<'a>> + use<'a> {
        let view = self.view;
        let parts = self
            .rows
            .chunks(documents)
            .zip(self.documents.chunks(documents));
        parts.map(move |(rows, documents)| Batch {
            view,
            rows,
            documents,
        })
    }

    /// The counts as dense rows of `terms` columns, one per document.
    pub(crate) fn dense(&self, terms: usize) -> Vec<f32> {
        let mut rows = vec![0.0; self.rows.len() * terms];
        self.view.fill(terms, self.rows, &mut rows);
        rows
    }
}
