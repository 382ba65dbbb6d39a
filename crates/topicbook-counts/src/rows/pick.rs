//! Passes over all rows, or over randomly drawn rows, in blocks of bounded memory.

use rayon::prelude::*;

use crate::data::drawn_rows;
use crate::dense::{DenseStore, ValueStorage, as_bytes_mut};
use crate::dtype::{Element, map_values, with_values};
use crate::error::Result;
use crate::{Counts, Store, View};

use super::row_file::{RowBuffer, Stage};
use super::row_files::RowFiles;

/// Values in a block, of up to 8 bytes each.
const BLOCK_VALUES: usize = 1 << 22;

/// A selection of rows: all of them in order, or a random sample.
#[derive(Clone, Copy)]
pub enum Pick {
    All,
    /// `documents` rows drawn with replacement.
    Drawn {
        documents: usize,
        seed: u64,
    },
}

/// A block of picked rows, in memory.
pub struct PickedRows<'a> {
    pub view: View<'a>,
    /// For each picked row, in order, its row in `view`.
    pub rows: &'a [usize],
    /// For each picked row, its row in the counts.
    pub documents: &'a [usize],
}

impl Pick {
    /// Number of picked rows.
    pub fn documents(self, counts: &Counts) -> usize {
        match self {
            Pick::All => counts.documents(),
            Pick::Drawn { documents, .. } => documents,
        }
    }

    /// Calls `visit` with all picked rows in order, a block at a time.
    ///
    /// Dense rows of a file are read with positioned reads in file order, not through the memory map, whose pages would stay
    /// resident.
    pub fn each_block(
        self,
        counts: &Counts,
        visit: &mut dyn FnMut(PickedRows<'_>) -> Result<()>,
    ) -> Result<()> {
        let documents = self.documents(counts);
        let block = (BLOCK_VALUES / counts.terms()).max(1);
        let mut files = match counts.reads_rows() {
            true => counts.row_file(false)?.map(|files| (files, Stage::new())),
            false => None,
        };
        for first in (0..documents).step_by(block) {
            let picked = self.rows(counts, first, documents.min(first + block));
            let mut rows = picked.clone();
            let (read, buffered);
            let view = match (&counts.inner.store, &mut files) {
                (_, Some((files, stage))) => {
                    buffered = read_rows(files, &mut rows, stage)?;
                    buffered.view()?
                }
                (Store::Dense(store), None) if store.is_mapped() => {
                    let distinct = number_distinct(&mut rows);
                    read = store.read_rows(counts.terms(), &distinct)?;
                    View::Dense(read.rows()?)
                }
                _ => counts.view()?,
            };
            visit(PickedRows {
                view,
                rows: &rows,
                documents: &picked,
            })?;
        }
        Ok(())
    }

    /// The rows of `counts` for the picked rows `first..last`. They depend only on the seed and their position, not on
    /// the block size.
    fn rows(self, counts: &Counts, first: usize, last: usize) -> Vec<usize> {
        match self {
            Pick::All => (first..last).collect(),
            Pick::Drawn { seed, .. } => drawn_rows(counts.documents(), first..last, seed),
        }
    }
}

/// Reads rows of files. Replaces each row by its position in the buffer.
fn read_rows(files: &mut RowFiles, rows: &mut [usize], stage: &mut Stage) -> Result<RowBuffer> {
    let distinct = number_distinct(rows);
    let mut buffer = files.buffer();
    for range in distinct.chunk_by(|one, next| one + 1 == *next) {
        files.append(range[0]..range[0] + range.len(), &mut buffer, stage)?;
    }
    files.check_unchanged()?;
    Ok(buffer)
}

/// The rows in increasing order, each once. Replaces each row by its position in them.
fn number_distinct(rows: &mut [usize]) -> Vec<usize> {
    let mut distinct = rows.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    for row in rows {
        *row = distinct.partition_point(|other| other < row);
    }
    distinct
}

impl Counts {
    /// Whether picked rows are read one by one, so that the others need no memory.
    fn reads_rows(&self) -> bool {
        self.is_unread()
            && (matches!(&self.inner.store, Store::Files(_)) || self.piece_documents().is_some())
    }

    /// Copies rows from a file of packed counts that has not been read; `None` for other counts.
    pub(crate) fn select_packed(&self, rows: &[usize]) -> Result<Option<Self>> {
        if !self.is_unread() || self.piece_documents().is_none() {
            return Ok(None);
        }
        let Some(mut files) = self.row_file(false)? else {
            return Ok(None);
        };
        let mut rows = rows.to_vec();
        let buffer = read_rows(&mut files, &mut rows, &mut Stage::new())?;
        self.select_in(buffer.view()?, &rows).map(Some)
    }
}

impl DenseStore {
    fn is_mapped(&self) -> bool {
        with_values!(DenseStore, self, storage => matches!(storage, ValueStorage::Mapped { .. }))
    }

    /// Reads rows into memory. Row numbers must be strictly increasing.
    fn read_rows(&self, terms: usize, rows: &[usize]) -> Result<Self> {
        Ok(map_values!(DenseStore => DenseStore, self, storage => read(storage, terms, rows)?))
    }
}

fn read<T: Element>(
    storage: &ValueStorage<T>,
    terms: usize,
    rows: &[usize],
) -> Result<ValueStorage<T>> {
    let mut values = vec![T::default(); rows.len() * terms];
    match storage {
        ValueStorage::Memory(all) => {
            for (&row, values) in rows.iter().zip(values.chunks_exact_mut(terms)) {
                values.copy_from_slice(&all[row * terms..(row + 1) * terms]);
            }
        }
        ValueStorage::Mapped { map, start, .. } => {
            map.file().check_unchanged()?;
            // One read for each range of consecutive rows; parallel reads keep the disk's queue filled.
            let mut reads = Vec::new();
            let mut rest = values.as_mut_slice();
            for range in rows.chunk_by(|one, next| one + 1 == *next) {
                let (values, others) = rest.split_at_mut(range.len() * terms);
                rest = others;
                reads.push((start + range[0] * terms * size_of::<T>(), values));
            }
            reads.into_par_iter().try_for_each(|(offset, values)| {
                map.file()
                    .read_exact_at(offset as u64, as_bytes_mut(values))
            })?;
        }
    }
    Ok(ValueStorage::Memory(values))
}
