//! A parallel pass that checks and sums all counts. Its result does not depend on the number of threads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::formats::invalid_value;
use crate::rows::Block;
use crate::text::{count, listed};

use super::dense::DenseRows;
use super::dtype::{Element, with_values};
use super::fingerprint::{digest, weighted_dense, weighted_sparse};
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
    contents: u64,
    // Vectors, because `Arc<[T]>` is made by a copy: these may be a large part of the memory.
    document_lengths: Arc<Vec<f64>>,
    empty_documents: Arc<Vec<usize>>,
    empty_terms: Arc<Vec<usize>>,
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

    /// A number that depends on every count and its place, for [`Fingerprint`](super::Fingerprint).
    pub(super) fn contents(&self) -> u64 {
        self.contents
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

/// A summary without what is known of each document, as a run of a cluster stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    terms: usize,
    nonzeros: u64,
    largest: f64,
    contents: u64,
    empty_terms: Vec<usize>,
}

impl Summary {
    #[doc(hidden)]
    pub fn totals(&self) -> Totals {
        Totals {
            terms: self.terms,
            nonzeros: self.nonzeros,
            largest: self.largest,
            contents: self.contents,
            empty_terms: self.empty_terms.to_vec(),
        }
    }

    /// The summary of documents of these lengths.
    pub(super) fn restored(totals: &Totals, lengths: Vec<f64>) -> Self {
        let no_tokens = lengths.iter().filter(|&&length| length == 0.0).count();
        Self {
            terms: totals.terms,
            total: lengths.iter().sum(),
            nonzeros: totals.nonzeros,
            largest: totals.largest,
            contents: totals.contents,
            empty_documents: empty(lengths.len(), no_tokens, |row| lengths[row] == 0.0),
            empty_terms: Arc::new(totals.empty_terms.clone()),
            document_lengths: Arc::new(lengths),
        }
    }
}

/// Values in a parallel task. Fixed, so that results do not depend on the number of threads.
const BLOCK_VALUES: usize = 1 << 18;

/// The terms with a nonzero count: one bit for each, shared by all tasks.
pub(super) struct UsedTerms(Vec<AtomicU64>);

impl UsedTerms {
    pub(super) fn new(terms: usize) -> Self {
        let mut words = Vec::new();
        words.resize_with(terms.div_ceil(u64::BITS as usize), AtomicU64::default);
        Self(words)
    }

    /// Adds the terms of the bits `found`: bit `i` is the term `64 * word + i`. Writes only bits that are not set, since a
    /// write takes the cache line from all other threads.
    fn add(&self, word: usize, found: u64) {
        let word = &self.0[word];
        if word.load(Ordering::Relaxed) & found != found {
            word.fetch_or(found, Ordering::Relaxed);
        }
    }

    fn contains(&self, term: usize) -> bool {
        let word = self.0[term / u64::BITS as usize].load(Ordering::Relaxed);
        word >> (term % u64::BITS as usize) & 1 != 0
    }

    fn number(&self) -> usize {
        let ones = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones() as usize;
        self.0.iter().map(ones).sum()
    }
}

/// Partial result over some rows. [`join`](Self::join) is commutative and associative, so the order of the tasks does
/// not matter.
#[derive(Default)]
pub(super) struct Tally {
    nonzeros: u64,
    largest: f64,
    /// The sum of the documents' digests, modulo 2^64.
    pub(super) contents: u64,
    /// Row, column and value of the first value that is not a count.
    pub(super) bad: Option<(usize, usize, f64)>,
}

impl Tally {
    fn join(mut self, other: Self) -> Self {
        self.nonzeros += other.nonzeros;
        self.largest = self.largest.max(other.largest);
        self.contents = self.contents.wrapping_add(other.contents);
        self.bad = match (self.bad, other.bad) {
            (Some(a), Some(b)) => Some(if (a.0, a.1) <= (b.0, b.1) { a } else { b }),
            (a, b) => a.or(b),
        };
        self
    }

    /// Adds a dense row and returns its sum; `None` if a value is not a count.
    fn add_dense<T: Element>(&mut self, row: usize, values: &[T], used: &UsedTerms) -> Option<f64> {
        if !values
            .iter()
            .fold(true, |all, value| all & value.is_count())
        {
            let column = values.iter().position(|value| !value.is_count());
            self.bad = column.map(|column| (row, column, values[column].to_f64()));
            return None;
        }
        for (word, values) in values.chunks(u64::BITS as usize).enumerate() {
            // The compiler vectorises this loop.
            let mut nonzero = [0u8; u64::BITS as usize];
            for (nonzero, value) in nonzero.iter_mut().zip(values) {
                *nonzero = u8::from(*value != T::default());
            }
            let found = bits_of(&nonzero);
            self.nonzeros += u64::from(found.count_ones());
            used.add(word, found);
        }
        let sum = self.add_values(values);
        self.add_digest(row, sum, weighted_dense(values));
        Some(sum)
    }

    /// Adds a sparse row and returns its sum; `None` if a value is not a count.
    fn add_sparse(
        &mut self,
        row: usize,
        columns: &[u32],
        values: &[f32],
        used: &UsedTerms,
    ) -> Option<f64> {
        if let Some(entry) = values.iter().position(|value| !value.is_count()) {
            self.bad = Some((row, columns[entry] as usize, f64::from(values[entry])));
            return None;
        }
        for (&column, &value) in columns.iter().zip(values) {
            let nonzero = u64::from(value != 0.0);
            used.add(
                (column / u64::BITS) as usize,
                nonzero << (column % u64::BITS),
            );
            self.nonzeros += nonzero;
        }
        let sum = self.add_values(values);
        self.add_digest(row, sum, weighted_sparse(columns, values));
        Some(sum)
    }

    fn add_digest(&mut self, document: usize, length: f64, weighted: u32) {
        let digest = digest(document, length, weighted);
        self.contents = self.contents.wrapping_add(digest);
    }

    /// Updates the largest value and returns the sum, in eight lanes. Sums of whole numbers are exact in `f64` (below
    /// 2^53), so their order does not matter.
    fn add_values<T: Element>(&mut self, values: &[T]) -> f64 {
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
        sums.iter().sum()
    }
}

/// Packs 64 bytes of 0 or 1 into bits. A product puts the lowest bits of 8 bytes into its highest byte, in their order.
fn bits_of(flags: &[u8; u64::BITS as usize]) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (bytes, _) = flags.as_chunks::<8>();
    bytes.iter().rev().fold(0, |bits, eight| {
        bits << 8 | u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56
    })
}

/// Sums the rows of a block on all threads, and writes their sums to `lengths`. `row_values` is the mean number of
/// stored values in a row.
pub(super) fn tally_rows(
    block: &Block<'_>,
    terms: usize,
    row_values: usize,
    lengths: &mut [f64],
    used: &UsedTerms,
) -> Tally {
    let task_rows = (BLOCK_VALUES / row_values.max(1)).max(1);
    let first_bad = AtomicUsize::new(usize::MAX);
    lengths
        .par_chunks_mut(task_rows)
        .enumerate()
        .fold(Tally::default, |mut tally, (index, lengths)| {
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
                        tally.add_dense(document, &values[row * terms..(row + 1) * terms], used)
                    }),
                    View::Csr(csr) => {
                        let (columns, values) = csr.row(row);
                        tally.add_sparse(document, columns, values, used)
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
        })
        .reduce(Tally::default, Tally::join)
}

/// The rows or columns that `is_empty` says are empty, `number` of them, in a vector of exactly their size.
fn empty(size: usize, number: usize, is_empty: impl Fn(usize) -> bool) -> Arc<Vec<usize>> {
    let mut empty = Vec::with_capacity(number);
    empty.extend((0..size).filter(|&index| is_empty(index)));
    Arc::new(empty)
}

/// Least bytes of the summary: the lengths, a bit for each term, and the numbers of the rows and columns that must be empty,
/// since there are fewer stored counts.
fn least_bytes(counts: &Counts) -> u64 {
    let (documents, terms) = (counts.documents() as u64, counts.terms() as u64);
    let stored = counts.stored_counts().unwrap_or(u64::MAX);
    let empty = documents.saturating_sub(stored) + terms.saturating_sub(stored);
    documents
        .saturating_add(empty)
        .saturating_mul(size_of::<u64>() as u64)
        .saturating_add(terms / 8)
}

/// Bytes of memory of the summary while it is computed, besides the buffers of the pass and the documents' lengths: a bit
/// for each term.
pub fn scratch_bytes(counts: &Counts) -> u64 {
    counts.terms().div_ceil(8) as u64
}

/// Computes the summary. See [`Counts::summary_by`].
pub(super) fn summarise(counts: &Counts, streamed: bool, read_bytes: u64) -> Result<Summary> {
    let (documents, terms) = counts.shape();
    counts.claim().check_memory(least_bytes(counts))?;
    let mut lengths = vec![0.0; documents];
    let used = UsedTerms::new(terms);
    let mut tally = Tally::default();
    let mut visit = |block: Block<'_>| {
        let lengths = &mut lengths[block.first..block.first + block.rows.len()];
        let row_values = match &block.view {
            View::Dense(_) => terms,
            View::Csr(csr) => csr.values.len() / (csr.indptr.len() - 1),
        };
        let block_tally = tally_rows(&block, terms, row_values, lengths, &used);
        // Blocks come in order, so the first block with a bad value has the first bad value and ends the pass.
        let bad = block_tally.bad.is_some();
        tally = std::mem::take(&mut tally).join(block_tally);
        match bad {
            true => Err(Error::value("a value is not a count")),
            false => Ok(()),
        }
    };
    let result = for_each_stored_block_within(counts, streamed, read_bytes, &mut visit);
    if tally.bad.is_none() {
        result?;
    }
    if let Some((row, column, value)) = tally.bad {
        let (path, row) = counts.origin(row);
        return Err(invalid_value::not_a_count(value, row, column, path));
    }
    let no_tokens = lengths.iter().filter(|&&length| length == 0.0).count();
    let no_documents = terms - used.number();
    let bytes = (no_tokens as u64 + no_documents as u64) * size_of::<usize>() as u64;
    counts.claim().check_memory(bytes)?;
    Ok(Summary {
        terms,
        total: lengths.iter().sum(),
        nonzeros: tally.nonzeros,
        largest: tally.largest,
        contents: tally.contents,
        empty_documents: empty(documents, no_tokens, |row| lengths[row] == 0.0),
        empty_terms: empty(terms, no_documents, |term| !used.contains(term)),
        document_lengths: Arc::new(lengths),
    })
}
