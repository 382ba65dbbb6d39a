//! A parallel pass that checks and sums all counts. Its result does not depend on the number of threads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::counts::formats::invalid_value;
use crate::counts::rows::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::text::{count, listed};

use super::dense::DenseRows;
use super::dtype::{Element, with_values};
use super::pass::for_each_stored_block_within;
use super::{Counts, View};

/// Totals of counts, made by [`Counts::summary`]. Cheap to clone.
///
/// ```
/// use topicbook::Counts;
/// let summary = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?.summary()?;
/// assert_eq!(summary.total(), 3.0);
/// assert_eq!(summary.empty_documents(), [1]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Summary {
    terms: usize,
    total: f64,
    nonzeros: u64,
    largest: f64,
    document_lengths: Arc<[f64]>,
    empty_documents: Arc<[usize]>,
    empty_terms: Arc<[usize]>,
}

impl Summary {
    /// Sum of all counts, in tokens.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?;
    /// assert_eq!(counts.summary()?.total(), 3.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "num_tokens")]
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Number of counts that are not zero.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?;
    /// assert_eq!(counts.summary()?.nonzeros(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "nnz")]
    pub fn nonzeros(&self) -> u64 {
        self.nonzeros
    }

    /// Fraction of the counts that are not zero, from 0 to 1.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?;
    /// assert_eq!(counts.summary()?.density(), 2.0 / 6.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "sparsity")]
    pub fn density(&self) -> f64 {
        self.nonzeros as f64 / (self.document_lengths.len() as f64 * self.terms as f64)
    }

    /// The largest count; 0 if all counts are zero.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?;
    /// assert_eq!(counts.summary()?.largest(), 2.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Sum of the counts of each document, in tokens; one value per document.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?;
    /// assert_eq!(counts.summary()?.document_lengths(), [3.0, 0.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn document_lengths(&self) -> &[f64] {
        &self.document_lengths
    }

    /// Rows of the documents without counts, in increasing order.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?;
    /// assert_eq!(counts.summary()?.empty_documents(), [1]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn empty_documents(&self) -> &[usize] {
        &self.empty_documents
    }

    /// Columns of the terms that occur in no document, in increasing order.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 0, 0])?;
    /// assert_eq!(counts.summary()?.empty_terms(), [1]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn empty_terms(&self) -> &[usize] {
        &self.empty_terms
    }
}

impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "total {}, {} nonzeros ({:.2}%), largest {}, empty documents: {}, empty terms: {}",
            count(self.total as u64),
            count(self.nonzeros),
            100.0 * self.density(),
            count(self.largest as u64),
            listed(&self.empty_documents),
            listed(&self.empty_terms)
        )
    }
}

/// Values in a parallel task. Fixed, so that results do not depend on the number of threads.
const BLOCK_VALUES: usize = 1 << 18;

/// Partial result over some rows. [`join`](Self::join) is commutative and associative, so the order of the tasks does
/// not matter.
struct Tally {
    nonzeros: u64,
    largest: f64,
    /// 1 for each term with a nonzero count.
    used: Vec<u8>,
    /// Row, column and value of the first value that is not a count.
    bad: Option<(usize, usize, f64)>,
}

impl Tally {
    fn new(terms: usize) -> Self {
        Self {
            nonzeros: 0,
            largest: 0.0,
            used: vec![0; terms],
            bad: None,
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.nonzeros += other.nonzeros;
        self.largest = self.largest.max(other.largest);
        for (used, other) in self.used.iter_mut().zip(&other.used) {
            *used |= other;
        }
        self.bad = match (self.bad, other.bad) {
            (Some(a), Some(b)) => Some(if (a.0, a.1) <= (b.0, b.1) { a } else { b }),
            (a, b) => a.or(b),
        };
        self
    }

    /// Adds a dense row and returns its sum; `None` if a value is not a count.
    fn add_dense<T: Element>(&mut self, row: usize, values: &[T]) -> Option<f64> {
        if !values
            .iter()
            .fold(true, |all, value| all & value.is_count())
        {
            let column = values.iter().position(|value| !value.is_count());
            self.bad = column.map(|column| (row, column, values[column].to_f64()));
            return None;
        }
        let mut nonzeros = 0u32;
        for (used, value) in self.used.iter_mut().zip(values) {
            let nonzero = u8::from(*value != T::default());
            *used |= nonzero;
            nonzeros += u32::from(nonzero);
        }
        self.nonzeros += u64::from(nonzeros);
        self.add_values(values)
    }

    /// Adds a sparse row and returns its sum; `None` if a value is not a count.
    fn add_sparse(&mut self, row: usize, columns: &[u32], values: &[f32]) -> Option<f64> {
        if let Some(entry) = values.iter().position(|value| !value.is_count()) {
            self.bad = Some((row, columns[entry] as usize, f64::from(values[entry])));
            return None;
        }
        for (&column, &value) in columns.iter().zip(values) {
            let nonzero = u8::from(value != 0.0);
            self.used[column as usize] |= nonzero;
            self.nonzeros += u64::from(nonzero);
        }
        self.add_values(values)
    }

    /// Updates the largest value and returns the sum, in eight lanes. Sums of whole numbers are exact in `f64` (below
    /// 2^53), so their order does not matter.
    fn add_values<T: Element>(&mut self, values: &[T]) -> Option<f64> {
        const LANES: usize = 8;
        let mut sums = [0.0; LANES];
        let mut largest = [0.0; LANES];
        let (chunks, remainder) = values.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                let value = chunk[lane].to_f64();
                sums[lane] += value;
                largest[lane] = if value > largest[lane] {
                    value
                } else {
                    largest[lane]
                };
            }
        }
        for (lane, value) in remainder.iter().enumerate() {
            sums[lane] += value.to_f64();
            largest[lane] = largest[lane].max(value.to_f64());
        }
        self.largest = largest.into_iter().fold(self.largest, f64::max);
        Some(sums.iter().sum())
    }
}

/// Sums the rows of a block on all threads, and writes their sums to `lengths`. `row_values` is the mean number of
/// stored values in a row.
fn tally_rows(block: &Block<'_>, terms: usize, row_values: usize, lengths: &mut [f64]) -> Tally {
    let task_rows = (BLOCK_VALUES / row_values.max(1)).max(1);
    let first_bad = AtomicUsize::new(usize::MAX);
    lengths
        .par_chunks_mut(task_rows)
        .enumerate()
        .fold(
            || Tally::new(terms),
            |mut tally, (index, lengths)| {
                let first = index * task_rows;
                // Rows after a row with a bad value cannot have the first bad value.
                if first > first_bad.load(Ordering::Relaxed) || tally.bad.is_some() {
                    return tally;
                }
                for (offset, length) in lengths.iter_mut().enumerate() {
                    let row = block.rows.start + first + offset;
                    let document = block.first + first + offset;
                    let sum = match &block.view {
                        View::Dense(rows) => with_values!(DenseRows, rows, values => {
                            tally.add_dense(document, &values[row * terms..(row + 1) * terms])
                        }),
                        View::Csr(csr) => {
                            let (columns, values) = csr.row(row);
                            tally.add_sparse(document, columns, values)
                        }
                    };
                    match sum {
                        Some(sum) => *length = sum,
                        None => {
                            first_bad.fetch_min(first + offset, Ordering::Relaxed);
                            return tally;
                        }
                    }
                }
                tally
            },
        )
        .reduce(|| Tally::new(terms), Tally::join)
}

/// Bytes of memory of the summary while it is computed, besides the buffers of the pass and the documents' lengths: a
/// tally for each thread and for their sum, and the copy of the lengths into the shared slice.
pub(crate) fn scratch_bytes(counts: &Counts) -> u64 {
    let tallies = 2 + rayon::current_num_threads() as u64;
    tallies * counts.terms() as u64 + size_of::<f64>() as u64 * counts.documents() as u64
}

/// Computes the summary. See [`Counts::summary_by`].
pub(super) fn summarise(counts: &Counts, streamed: bool, read_bytes: u64) -> Result<Summary> {
    let (documents, terms) = counts.shape();
    let mut lengths = vec![0.0; documents];
    let mut tally = Tally::new(terms);
    let mut visit = |block: Block<'_>| {
        let lengths = &mut lengths[block.first..block.first + block.rows.len()];
        let row_values = match &block.view {
            View::Dense(_) => terms,
            View::Csr(csr) => csr.values.len() / (csr.indptr.len() - 1),
        };
        let block_tally = tally_rows(&block, terms, row_values, lengths);
        // Blocks come in order, so the first block with a bad value has the first bad value and ends the pass.
        let bad = block_tally.bad.is_some();
        tally = std::mem::replace(&mut tally, Tally::new(0)).join(block_tally);
        match bad {
            true => Err(Error::new(ErrorKind::Value, "a value is not a count")),
            false => Ok(()),
        }
    };
    let result = for_each_stored_block_within(counts, streamed, read_bytes, &mut visit);
    if tally.bad.is_none() {
        result?;
    }
    if let Some((row, column, value)) = tally.bad {
        return Err(invalid_value::not_a_count(
            value,
            row,
            column,
            counts.path(),
        ));
    }
    let empty_documents = (0..documents).filter(|&row| lengths[row] == 0.0).collect();
    let empty_terms = (0..terms).filter(|&term| tally.used[term] == 0).collect();
    Ok(Summary {
        terms,
        total: lengths.iter().sum(),
        nonzeros: tally.nonzeros,
        largest: tally.largest,
        document_lengths: lengths.into(),
        empty_documents,
        empty_terms,
    })
}
