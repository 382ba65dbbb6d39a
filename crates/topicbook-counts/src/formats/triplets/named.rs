//! Triplets whose documents and terms have been numbered.

use std::path::Path;

use polars::prelude::{Column, DataFrame};

use crate::error::Result;
use crate::{Counts, Location};

use super::COLUMNS;
use super::lists::RowNumbers;
use super::runs::Runs;

/// Triplets of a table with names, in any order.
pub struct NamedTriplets<'a> {
    path: &'a Path,
    runs: Runs<'a>,
}

impl<'a> NamedTriplets<'a> {
    /// Sorts `limit` bytes at once, and holds up to `limit` in memory.
    pub fn new(path: &'a Path, limit: u64) -> Self {
        Self {
            path,
            runs: Runs::new(path, limit, limit),
        }
    }

    /// Adds rows of the table from the row `first` on.
    pub fn add(
        &mut self,
        documents: &[u32],
        terms: &[u32],
        counts: &Column,
        first: usize,
    ) -> Result<()> {
        let counts = counts.clone().with_name(COLUMNS[2].into());
        let counts = DataFrame::new_infer_height(vec![counts]).unwrap_or_default();
        let rows = RowNumbers::from(first);
        let counts = super::counts(self.path, &counts, documents, terms, &rows)?;
        self.runs.add(documents, terms, &counts.into_f32())
    }

    /// The counts, of this shape, which were read from there.
    pub fn finish(self, shape: (usize, usize), from: Location) -> Result<Counts> {
        self.runs.finish(Some(shape), from)
    }
}
