//! Rows that arrive one after the other, in bounded memory: rows beyond it go into temporary files.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::system::temporary_in;

use super::file_set::FileSet;
use super::formats::npz;
use super::rows::{NONZERO_BYTES, Pick};
use super::{Counts, Csr, Location};

/// Sparse rows, appended in order.
pub(super) struct Spool {
    folder: PathBuf,
    terms: usize,
    /// Bytes of rows that are kept in memory.
    limit: u64,
    /// Rows that are in no file yet.
    rows: Csr,
    /// Unlinked files: the system frees their space when they are dropped, also after a crash.
    files: Vec<Counts>,
    documents: usize,
}

impl Spool {
    pub(super) fn new(folder: &Path, limit: u64) -> Self {
        Self {
            folder: folder.to_path_buf(),
            terms: 0,
            limit,
            rows: Csr::empty(),
            files: Vec::new(),
            documents: 0,
        }
    }

    /// Number of rows so far.
    pub(super) fn documents(&self) -> usize {
        self.documents
    }

    /// Appends a row of counts by strictly increasing column.
    pub(super) fn push(&mut self, row: impl Iterator<Item = (u32, f32)>) -> Result<()> {
        self.rows
            .push_row(row.map(|(column, count)| (column, f64::from(count))));
        self.pushed()
    }

    /// [`push`](Self::push) of columns and counts that are in slices.
    #[cfg(feature = "polars")]
    pub(super) fn push_slices(&mut self, columns: &[u32], counts: &[f32]) -> Result<()> {
        if counts.contains(&0.0) {
            return self.push(columns.iter().copied().zip(counts.iter().copied()));
        }
        self.rows.indices.extend_from_slice(columns);
        self.rows.values.extend_from_slice(counts);
        self.rows.indptr.push(self.rows.indices.len() as u64);
        self.pushed()
    }

    fn pushed(&mut self) -> Result<()> {
        self.documents += 1;
        if let Some(last) = self.rows.indices.last() {
            self.terms = self.terms.max(*last as usize + 1);
        }
        let bytes =
            self.rows.values.len() as u64 * NONZERO_BYTES + self.rows.indptr.len() as u64 * 8;
        match bytes > self.limit {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Moves the rows in memory into a file.
    fn write(&mut self) -> Result<()> {
        let rows = std::mem::replace(&mut self.rows, Csr::empty());
        let documents = rows.indptr.len() - 1;
        if documents == 0 {
            return Ok(());
        }
        let rows = Counts::from_csr(documents, self.terms.max(1), rows, Location::Memory)?;
        let path = temporary_in(&self.folder);
        npz::write_file(&rows, Pick::All, &path)?;
        self.files.push(npz::open_unlinked(&path)?);
        Ok(())
    }

    /// The rows as counts of `terms` terms, or of the terms up to the largest column: in memory, or in the temporary files if
    /// there are any.
    pub(super) fn finish(mut self, terms: Option<usize>, location: Location) -> Result<Counts> {
        let terms = terms.unwrap_or(self.terms);
        if self.files.is_empty() {
            let mut rows = self.rows;
            rows.indices.shrink_to_fit();
            rows.values.shrink_to_fit();
            return Counts::from_csr(self.documents, terms, rows, location);
        }
        self.write()?;
        FileSet::counts(self.files, terms, location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_above_the_limit_go_through_files_without_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let row = |document: usize| [(document as u32 % 5, 2.0), (7, 1.0 + document as f32)];
        let counts = [u64::MAX, 500].map(|limit| {
            let mut spool = Spool::new(folder.path(), limit);
            for document in 0..100 {
                match document % 10 {
                    3 => spool.push(std::iter::empty()).unwrap(),
                    _ => spool.push(row(document).into_iter()).unwrap(),
                }
            }
            assert_eq!(spool.files.is_empty(), limit == u64::MAX);
            spool.finish(None, Location::Memory).unwrap()
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(counts[0].shape(), (100, 8));
        assert_eq!(counts[0].summary().unwrap(), counts[1].summary().unwrap());
        assert!(counts[1].has_row_file());
        let rows = |counts: &Counts, order: &[usize]| {
            let mut rows = vec![0.0; order.len() * 8];
            counts.fill_rows(order, &mut rows).unwrap();
            rows
        };
        let order: Vec<usize> = (0..100).rev().collect();
        // Written from the files, and then read into memory from them.
        let path = folder.path().join("X.npz");
        let written = npz::write(&counts[1], Pick::All, &path).unwrap();
        for other in [&counts[1], &written] {
            assert_eq!(rows(other, &order), rows(&counts[0], &order));
        }
    }
}
