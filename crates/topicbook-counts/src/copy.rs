//! Copies of some rows and columns of counts into memory, in their layout and dtype.

use crate::error::{Error, Result};
use crate::system::memory::check_free;

use super::dense::DenseStore;
use super::formats::LazyCsr;
use super::{Counts, Csr, Layout, Location, Store, View};

/// Which columns are copied, and in which order.
pub(super) enum Columns {
    All,
    /// These columns of the source, in this order.
    Picked {
        order: Vec<usize>,
        /// For each column of the source its column in the copy, or [`LEFT_OUT`].
        position: Vec<u32>,
    },
}

const LEFT_OUT: u32 = u32::MAX;

impl Columns {
    /// # Errors
    /// When `order` is empty, or a column does not exist or comes twice.
    pub(super) fn picked(counts: &Counts, order: Vec<usize>) -> Result<Self> {
        counts
            .claim()
            .check_memory(counts.terms() as u64 * size_of::<u32>() as u64)?;
        let mut position = vec![LEFT_OUT; counts.terms()];
        for (new, &column) in order.iter().enumerate() {
            let problem = match position.get_mut(column) {
                None => format!("column {column} of counts with {} terms", counts.terms()),
                Some(old) if *old != LEFT_OUT => format!("column {column} twice"),
                Some(old) => {
                    *old = new as u32;
                    continue;
                }
            };
            return Err(Error::shape(problem).fix("pass every column at most once, counted from 0"));
        }
        match order.is_empty() {
            true => {
                Err(Error::shape("no term is left").fix("keep at least one term of the counts"))
            }
            false => Ok(Self::Picked { order, position }),
        }
    }

    fn number(&self, terms: usize) -> usize {
        match self {
            Columns::All => terms,
            Columns::Picked { order, .. } => order.len(),
        }
    }
}

/// A copy that grows row by row.
pub(super) struct Copy {
    columns_from: usize,
    documents: usize,
    rows: CopiedRows,
}

enum CopiedRows {
    Dense(DenseStore),
    Csr(Csr),
}

impl Copy {
    /// An empty copy of the layout and dtype of `counts`.
    pub(super) fn of(counts: &Counts) -> Self {
        Self {
            columns_from: counts.terms(),
            documents: 0,
            rows: match counts.layout() {
                Layout::Dense => CopiedRows::Dense(DenseStore::empty(counts.dtype())),
                Layout::Csr => CopiedRows::Csr(Csr::empty()),
            },
        }
    }

    /// Appends a row of the counts.
    pub(super) fn append(&mut self, view: &View<'_>, row: usize, columns: &Columns) {
        let terms = self.columns_from;
        self.documents += 1;
        match (&mut self.rows, view) {
            (CopiedRows::Dense(store), View::Dense(values)) => {
                let order = match columns {
                    Columns::All => None,
                    Columns::Picked { order, .. } => Some(order.as_slice()),
                };
                store.append_row(values, row * terms..(row + 1) * terms, order);
            }
            (CopiedRows::Csr(copy), View::Csr(csr)) => append_sparse(copy, csr.row(row), columns),
            // A buffer of a file has the layout of its counts.
            _ => debug_assert!(false, "rows of two layouts"),
        }
    }

    /// Appends a row of counts by increasing column; the others are zero. The dtype represents all of them.
    pub(super) fn append_counts(&mut self, columns: &[u32], counts: &[f64]) {
        self.documents += 1;
        match &mut self.rows {
            CopiedRows::Dense(store) => store.append_counts(self.columns_from, columns, counts),
            CopiedRows::Csr(copy) => {
                copy.push_row(columns.iter().copied().zip(counts.iter().copied()))
            }
        }
    }

    pub(super) fn finish(self, columns: &Columns) -> Result<Counts> {
        let store = match self.rows {
            CopiedRows::Dense(store) => Store::Dense(store),
            CopiedRows::Csr(mut csr) => {
                csr.indices.shrink_to_fit();
                csr.values.shrink_to_fit();
                Store::Csr(LazyCsr::ready(csr))
            }
        };
        let terms = columns.number(self.columns_from);
        Counts::new(self.documents, terms, store, Location::Memory)
    }
}

/// Appends the nonzeros of a row, in the order of their new columns.
fn append_sparse(copy: &mut Csr, (columns, values): (&[u32], &[f32]), picked: &Columns) {
    let first = copy.indices.len();
    match picked {
        Columns::All => {
            copy.indices.extend_from_slice(columns);
            copy.values.extend_from_slice(values);
        }
        Columns::Picked { position, .. } => {
            for (&column, &value) in columns.iter().zip(values) {
                let new = position[column as usize];
                if new != LEFT_OUT {
                    copy.indices.push(new);
                    copy.values.push(value);
                }
            }
            if !copy.indices[first..].is_sorted() {
                let mut pairs: Vec<(u32, f32)> = copy.indices[first..]
                    .iter()
                    .copied()
                    .zip(copy.values[first..].iter().copied())
                    .collect();
                pairs.sort_unstable_by_key(|pair| pair.0);
                copy.indices.truncate(first);
                copy.values.truncate(first);
                copy.indices.extend(pairs.iter().map(|pair| pair.0));
                copy.values.extend(pairs.iter().map(|pair| pair.1));
            }
        }
    }
    copy.indptr.push(copy.indices.len() as u64);
}

/// Refuses a copy of `columns` that does not fit into the free memory, before it is allocated. `nonzeros` counts the copy's
/// nonzeros; it is called only if a copy of all stored counts would not fit.
pub(super) fn check_copy(
    counts: &Counts,
    columns: &Columns,
    what: &str,
    nonzeros: impl FnOnce() -> Result<u64>,
) -> Result<()> {
    let (documents, terms) = (
        counts.documents() as u64,
        columns.number(counts.terms()) as u64,
    );
    let reading = counts.in_memory().to_read;
    let copy = match counts.layout() {
        Layout::Dense => documents * terms * counts.dtype().bytes() as u64,
        Layout::Csr => counts.bytes_stored(),
    };
    let bound = check_free(copy + reading, what);
    match counts.layout() {
        Layout::Csr if bound.is_err() => {
            check_free(nonzeros()? * 8 + (documents + 1) * 8 + reading, what)
        }
        _ => bound,
    }
}
