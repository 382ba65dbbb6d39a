//! Rows of counts, some at a time and in bounded memory, for what passes over them or picks from them.

use rand::RngExt;
use rayon::prelude::*;

use super::dense::{DenseStore, Held, as_bytes_mut};
use super::dtype::{Element, with_values};
use super::{Counts, Store, View};
use crate::error::Result;
use crate::random::{Purpose, stream};

/// Values in memory at a time, of up to 8 bytes each.
const BLOCK_VALUES: usize = 1 << 22;

/// Which rows of counts: all of them in their order, or rows drawn at random.
#[derive(Clone, Copy)]
pub(super) enum Pick {
    All,
    /// So many, with replacement.
    Drawn {
        documents: usize,
        seed: u64,
    },
}

/// Rows that were picked and are in memory now.
pub(super) struct PickedRows<'a> {
    pub(super) view: View<'a>,
    /// For each picked row, in order, its row in `view`.
    pub(super) rows: &'a [usize],
    /// For each picked row, its row in the counts.
    pub(super) documents: &'a [usize],
}

impl Pick {
    pub(super) fn documents(self, counts: &Counts) -> usize {
        match self {
            Pick::All => counts.documents(),
            Pick::Drawn { documents, .. } => documents,
        }
    }

    /// Shows all picked rows, some at a time. Those of a file are read where they lie, in the order of the file, into
    /// memory: not through the map, so that a file which is cut meanwhile is an error and not the end of the
    /// process, and so that nothing has to fit into memory.
    pub(super) fn each_block(
        self,
        counts: &Counts,
        visit: &mut dyn FnMut(PickedRows<'_>) -> Result<()>,
    ) -> Result<()> {
        let documents = self.documents(counts);
        let block = (BLOCK_VALUES / counts.terms()).max(1);
        for first in (0..documents).step_by(block) {
            let picked = self.rows(counts, first, documents.min(first + block));
            let mut rows = picked.clone();
            let read;
            let view = match &counts.inner.store {
                Store::Dense(store) if store.is_mapped() => {
                    let mut distinct = picked.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    for row in &mut rows {
                        *row = distinct.partition_point(|other| other < row);
                    }
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

    /// The rows of `counts` that the picked rows `first..last` are. They depend on seed and number alone.
    fn rows(self, counts: &Counts, first: usize, last: usize) -> Vec<usize> {
        /// Rows drawn from one random stream.
        const GROUP: usize = 1024;
        let Pick::Drawn { seed, .. } = self else {
            return (first..last).collect();
        };
        let source = counts.documents() as u64;
        let mut rows = Vec::with_capacity(last - first);
        for group in first / GROUP..last.div_ceil(GROUP) {
            let mut rng = stream(seed, Purpose::Resample, group as u64);
            for number in group * GROUP..last.min((group + 1) * GROUP) {
                let row = rng.random_range(0..source) as usize;
                if number >= first {
                    rows.push(row);
                }
            }
        }
        rows
    }
}

impl DenseStore {
    fn is_mapped(&self) -> bool {
        with_values!(DenseStore, self, held => matches!(held, Held::Mapped { .. }))
    }

    /// Some rows of a file (rising numbers), read into memory.
    fn read_rows(&self, terms: usize, rows: &[usize]) -> Result<Self> {
        with_values!(DenseStore, self, held => read(held, terms, rows))
    }
}

fn read<T: Element>(held: &Held<T>, terms: usize, rows: &[usize]) -> Result<DenseStore> {
    let mut values = vec![T::default(); rows.len() * terms];
    match held {
        Held::Memory(all) => {
            for (&row, values) in rows.iter().zip(values.chunks_exact_mut(terms)) {
                values.copy_from_slice(&all[row * terms..(row + 1) * terms]);
            }
        }
        Held::Mapped { map, start, .. } => {
            map.kept().check_unchanged()?;
            // Rows that follow each other in the file are one read; several reads keep a disk busy.
            let mut reads = Vec::new();
            let mut rest = values.as_mut_slice();
            for run in rows.chunk_by(|one, next| one + 1 == *next) {
                let (values, others) = rest.split_at_mut(run.len() * terms);
                rest = others;
                reads.push((start + run[0] * terms * size_of::<T>(), values));
            }
            reads.into_par_iter().try_for_each(|(offset, values)| {
                map.kept()
                    .read_exact_at(offset as u64, as_bytes_mut(values))
            })?;
        }
    }
    Ok(T::hold(Held::Memory(values)))
}
