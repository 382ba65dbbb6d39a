//! One pass over all counts: checked, added up, in parallel, with the same result on any machine.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::dense::DenseRows;
use super::dtype::{Element, with_values};
use super::{Counts, Layout, STAGE, Stored, View, values};
use crate::display::{Card, count};
use crate::error::{Error, ErrorKind, Result};
use crate::loader::{Block, for_each_stored};
use crate::memory::free_memory;

/// What one pass over the counts says about them. Cheap to clone.
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
    /// Sum of all counts (tokens).
    pub fn total(&self) -> f64 {
        self.total
    }

    /// How many counts are not zero.
    pub fn nonzeros(&self) -> u64 {
        self.nonzeros
    }

    /// Share of the counts that are not zero, from 0 to 1.
    pub fn density(&self) -> f64 {
        self.nonzeros as f64 / (self.document_lengths.len() as f64 * self.terms as f64)
    }

    /// The largest count.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Sum of the counts of each document (tokens).
    pub fn document_lengths(&self) -> &[f64] {
        &self.document_lengths
    }

    /// Documents without a single count: rows, rising.
    pub fn empty_documents(&self) -> &[usize] {
        &self.empty_documents
    }

    /// Terms that no document uses: columns, rising.
    pub fn empty_terms(&self) -> &[usize] {
        &self.empty_terms
    }

    /// Shows the summary in a notebook cell.
    pub fn evcxr_display(&self) {
        let shortest = self
            .document_lengths
            .iter()
            .copied()
            .fold(f64::MAX, f64::min);
        let longest = self.document_lengths.iter().copied().fold(0.0, f64::max);
        let mean = self.total / self.document_lengths.len() as f64;
        Card::new("Summary of counts")
            .row("total count", count(self.total as u64))
            .row(
                "nonzeros",
                format!("{} ({:.2}%)", count(self.nonzeros), 100.0 * self.density()),
            )
            .row("largest count", count(self.largest as u64))
            .row(
                "document lengths",
                format!(
                    "{} to {}, mean {mean:.1}",
                    count(shortest as u64),
                    count(longest as u64)
                ),
            )
            .row("empty documents", listed(&self.empty_documents))
            .row("empty terms", listed(&self.empty_terms))
            .show();
    }
}

/// "none", or how many and the first few.
fn listed(indices: &[usize]) -> String {
    const SHOWN: usize = 5;
    if indices.is_empty() {
        return "none".into();
    }
    let first: Vec<String> = indices.iter().take(SHOWN).map(usize::to_string).collect();
    let more = if indices.len() > SHOWN { ", …" } else { "" };
    format!(
        "{} ({}{more})",
        count(indices.len() as u64),
        first.join(", ")
    )
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

/// Bytes read from a file while those before them are added up.
const READ_BYTES: u64 = 16 << 20;

/// Bytes of memory that the pass takes on top of the counts.
pub(super) fn bytes(counts: &Counts) -> u64 {
    match counts.is_stored() && counts.layout() == Layout::Dense {
        true => 2 * READ_BYTES.min(counts.bytes_stored()) + STAGE as u64,
        false => 0,
    }
}

/// Values in one unit of work; fixed, so that results do not depend on the number of threads.
const BLOCK_VALUES: usize = 1 << 18;

/// What the rows seen so far add up to. Joining two is commutative, so the order of threads is no matter.
struct Tally {
    nonzeros: u64,
    largest: f64,
    used: Vec<u8>,
    /// Row, column and value of the first value that is no count.
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

    /// Takes in one dense row and returns its sum; `None` when it holds a value that is no count.
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

    /// Takes in one sparse row, as above.
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

    /// Sum and largest value in eight lanes: sums of counts are exact in `f64`, so any order will do.
    fn add_values<T: Element>(&mut self, values: &[T]) -> Option<f64> {
        const LANES: usize = 8;
        let mut sums = [0.0; LANES];
        let mut largest = [0.0; LANES];
        let (chunks, rest) = values.as_chunks::<LANES>();
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
        for (lane, value) in rest.iter().enumerate() {
            sums[lane] += value.to_f64();
            largest[lane] = largest[lane].max(value.to_f64());
        }
        self.largest = largest.into_iter().fold(self.largest, f64::max);
        Some(sums.iter().sum())
    }
}

/// The counts as rows of a file, where a pass through the map would not be as safe or through memory not as small.
fn stored(counts: &Counts, streamed: bool) -> Result<Option<Stored>> {
    let fits = || !streamed && counts.bytes_stored() <= free_memory() / 4;
    match counts.layout() {
        Layout::Csr if !counts.waits() || fits() => Ok(None),
        _ => counts.stored(false),
    }
}

/// Adds up some rows on all threads, and writes their lengths. `stored` is how many values a row holds, on average.
fn tally_rows(part: &Block<'_>, terms: usize, stored: usize, lengths: &mut [f64]) -> Tally {
    let block = (BLOCK_VALUES / stored.max(1)).max(1);
    let first_bad = AtomicUsize::new(usize::MAX);
    lengths
        .par_chunks_mut(block)
        .enumerate()
        .fold(
            || Tally::new(terms),
            |mut tally, (index, lengths)| {
                let first = index * block;
                // Rows after one that is known to be bad cannot hold the first bad value.
                if first > first_bad.load(Ordering::Relaxed) || tally.bad.is_some() {
                    return tally;
                }
                for (offset, length) in lengths.iter_mut().enumerate() {
                    let at = part.rows.start + first + offset;
                    let document = part.first + first + offset;
                    let sum = match &part.view {
                        View::Dense(rows) => with_values!(DenseRows, rows, values => {
                            tally.add_dense(document, &values[at * terms..(at + 1) * terms])
                        }),
                        View::Csr(csr) => {
                            let (columns, values) = csr.row(at);
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

pub(super) fn summarise(counts: &Counts, streamed: bool) -> Result<Summary> {
    let (documents, terms) = counts.shape();
    let mut lengths = vec![0.0; documents];
    let mut tally = Tally::new(terms);
    let mut take = |block: Block<'_>| {
        let lengths = &mut lengths[block.first..block.first + block.rows.len()];
        let stored = match &block.view {
            View::Dense(_) => terms,
            View::Csr(csr) => csr.values.len() / (csr.indptr.len() - 1),
        };
        let found = tally_rows(&block, terms, stored, lengths);
        // A bad value ends the pass: those before it were looked at already.
        let ended = found.bad.is_some();
        tally = std::mem::replace(&mut tally, Tally::new(0)).join(found);
        match ended {
            true => Err(Error::new(ErrorKind::Value, "a value that is no count")),
            false => Ok(()),
        }
    };
    let passed = match stored(counts, streamed)? {
        // Dense rows as they are: what f32 would round is added up as well.
        Some(stored) => {
            // As they will lie in memory: sparse rows may be narrower in the file.
            let row = (counts.bytes_stored() / documents as u64).max(1);
            let block = (READ_BYTES / row).max(1) as usize;
            for_each_stored(stored, block, &mut take)
        }
        None => take(Block {
            view: counts.view()?,
            rows: 0..documents,
            first: 0,
        }),
    };
    if tally.bad.is_none() {
        passed?;
    }
    if let Some((row, column, value)) = tally.bad {
        return Err(values::not_a_count(value, row, column, counts.path()));
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
