//! Nonzero counts of several blocks that have not been added to the statistics yet.
//!
//! Statistics are added term by term, for a number of documents whose rows of L stay in the cache. Document by document, each
//! count would read and write a row of a table in double precision that is larger than the cache.

use std::ops::Range;

use rayon::prelude::*;

use crate::counts::View;
use crate::counts::rows::{Block, nonzeros_between};
use crate::kernels::{DocumentNonzeros, TermLayout};
use crate::solvers::statistics::accumulate_statistics;

use super::Parts;
use super::group::{BUFFERS, Buffers};

/// Nonzero counts that are added together.
const NONZEROS: usize = 1 << 18;
/// Tasks of an addition: enough to balance threads. The bits of results depend on it.
const TASKS: usize = 16;
/// Minimum number of documents that a task cuts.
const DOCUMENTS_AT_ONCE: usize = 64;

/// The nonzero counts of consecutive documents, in the term shards that are in rows.
#[derive(Default)]
pub(crate) struct Pending {
    pub(super) nonzeros: DocumentNonzeros,
    /// Whether they are divided by their rates.
    pub(super) are_ratios: bool,
    /// Scratch: the position of each term's first count, and the documents and counts, sorted by term.
    starts: Vec<usize>,
    sorted: (Vec<u32>, Vec<f32>),
    /// Scratch: for each document the end of its counts in each task's range of terms, counted from the document's first.
    cuts: Vec<u32>,
    /// Scratch: rows of L.
    l: Vec<f32>,
}

/// The nonzero counts of some terms, sorted by term.
pub struct PendingByTerm<'a> {
    /// The position of each term's first count, and the end, counted from the first term's.
    starts: &'a [usize],
    documents: &'a mut [u32],
    counts: &'a mut [f32],
}

impl Pending {
    /// Maximum bytes, with documents of `nonzeros` counts and `width` values of L: the counts, unsorted and sorted, the cuts,
    /// and rows of L.
    pub(crate) fn bytes(nonzeros: u64, terms: u64, documents: u64, width: u64) -> u64 {
        let counts = (NONZEROS as u64 + nonzeros).min(documents * nonzeros);
        let documents = documents.min(counts / nonzeros.max(1) + 1);
        16 * counts + (8 + 4 * TASKS as u64 + 4 * width) * documents + 8 * terms
    }

    fn clear(&mut self) {
        self.nonzeros.restart(0);
        self.are_ratios = false;
    }

    /// Counts the terms and makes space for the sorted counts. Returns ranges of terms with similar numbers of counts.
    fn prepare(&mut self, terms: usize) -> Vec<Range<usize>> {
        self.starts.clear();
        self.starts.resize(terms + 1, 0);
        let columns = &self.nonzeros.columns;
        for &column in columns {
            self.starts[column as usize + 1] += 1;
        }
        let enough = columns.len().div_ceil(TASKS);
        let (mut ranges, mut first) = (Vec::new(), 0);
        for term in 0..terms {
            self.starts[term + 1] += self.starts[term];
            let counts = self.starts[term + 1] - self.starts[first];
            if counts >= enough || term + 1 == terms {
                ranges.push(first..term + 1);
                first = term + 1;
            }
        }
        self.sorted.0.resize(columns.len(), 0);
        self.sorted.1.resize(columns.len(), 0.0);
        self.cut(&ranges);
        ranges
    }

    /// Finds where ranges of terms end in each document, in one pass through its columns: a binary search for each range and
    /// document would take longer than the rest of the sort.
    fn cut(&mut self, ranges: &[Range<usize>]) {
        let DocumentNonzeros { ends, columns, .. } = &self.nonzeros;
        self.cuts.resize(ends.len() * ranges.len(), 0);
        let documents = self.cuts.par_chunks_mut(ranges.len());
        let documents = documents.enumerate().with_min_len(DOCUMENTS_AT_ONCE);
        documents.for_each(|(document, cuts)| {
            let first = document.checked_sub(1).map_or(0, |before| ends[before]);
            let columns = &columns[first..ends[document]];
            let mut position = 0;
            for (cut, terms) in cuts.iter_mut().zip(ranges) {
                while (columns.get(position)).is_some_and(|&column| (column as usize) < terms.end) {
                    position += 1;
                }
                *cut = position as u32;
            }
        });
    }
}

impl PendingByTerm<'_> {
    /// Sorts the counts of a range of terms by a counting sort; `within` finds them in a document, and `next` is scratch.
    fn fill(
        &mut self,
        terms: &Range<usize>,
        nonzeros: &DocumentNonzeros,
        within: impl Fn(usize) -> Range<usize>,
        next: &mut Vec<usize>,
    ) {
        let before = self.starts[0];
        next.clear();
        next.extend(self.starts.iter().map(|start| start - before));
        for (document, at) in nonzeros.ranges().enumerate() {
            let (columns, counts) = (&nonzeros.columns[at.clone()], &nonzeros.values[at]);
            let within = within(document);
            for (&column, &count) in columns[within.clone()].iter().zip(&counts[within]) {
                let position = &mut next[column as usize - terms.start];
                self.documents[*position] = document as u32;
                self.counts[*position] = count;
                *position += 1;
            }
        }
    }

    /// The documents that have a term, in order, and how often. Terms are counted from the first of the range.
    pub fn of(&self, term: usize) -> (&[u32], &[f32]) {
        let before = self.starts[0];
        let at = self.starts[term] - before..self.starts[term + 1] - before;
        (&self.documents[at.clone()], &self.counts[at])
    }
}

impl Parts {
    /// Collects a block's counts in term shards of the layout [`TermLayout::Rows`]. Returns whether enough counts are pending to add
    /// them to the statistics.
    pub(crate) fn collect(&self, block: &Block<'_>, pending: &mut Pending) -> bool {
        let ranges = (self.shards().iter()).filter(|shard| shard.layout == TermLayout::Rows);
        let ranges: Vec<_> = ranges.map(|shard| &shard.terms).collect();
        let collected = &mut pending.nonzeros;
        if collected.ends.is_empty() {
            collected.restart(block.first);
        }
        let append = |row: usize, to: &mut DocumentNonzeros| {
            BUFFERS.with_borrow_mut(|Buffers { nonzeros, .. }| {
                for range in &ranges {
                    let (columns, counts) =
                        nonzeros_between(&block.view, self.terms, row, range, nonzeros);
                    to.extend(columns.iter().copied(), counts);
                }
            });
        };
        let rows = block.rows.clone();
        match block.view {
            View::Csr(_) => rows.for_each(|row| {
                append(row, collected);
                collected.end_document();
            }),
            View::Dense(_) => {
                let documents = rows.into_par_iter().map(|row| {
                    let mut document = DocumentNonzeros::default();
                    append(row, &mut document);
                    document
                });
                for document in documents.collect::<Vec<_>>() {
                    collected.extend(document.columns.into_iter(), &document.values);
                    collected.end_document();
                }
            }
        }
        collected.columns.len() >= NONZEROS
    }

    /// Adds the pending counts to the statistics of F, and returns their sum of x log rate, or 0 if they were divided by their
    /// rates before. `l` has the rows of all documents.
    pub(crate) fn add_pending(
        &self,
        pending: &mut Pending,
        l: &[f32],
        statistics: &mut [f64],
    ) -> f64 {
        if pending.nonzeros.columns.is_empty() {
            pending.clear();
            return 0.0;
        }
        let width = self.width;
        pending.l.clear();
        pending.l.resize(pending.nonzeros.ends.len() * width, 0.0);
        let rows = l[pending.nonzeros.first * self.topics..].chunks(self.topics);
        for (padded, row) in pending.l.chunks_mut(width).zip(rows) {
            padded[..self.topics].copy_from_slice(row);
        }
        let ranges = pending.prepare(self.terms);
        let Pending {
            nonzeros,
            starts,
            sorted,
            cuts,
            l,
            are_ratios,
            ..
        } = &mut *pending;
        let ranges_of = ranges.len();
        let (mut statistics, mut documents, mut sorted_counts) =
            (statistics, &mut sorted.0[..], &mut sorted.1[..]);
        let tasks = ranges.into_iter().map(|terms| {
            let starts = &starts[terms.start..=terms.end];
            let length = starts[terms.len()] - starts[0];
            let by_term = PendingByTerm {
                starts,
                documents: documents.split_off_mut(..length).unwrap_or_default(),
                counts: sorted_counts.split_off_mut(..length).unwrap_or_default(),
            };
            let statistics = statistics.split_off_mut(..terms.len() * width);
            (terms, by_term, statistics.unwrap_or_default())
        });
        let tasks: Vec<_> = tasks.collect();
        let likelihoods: Vec<f64> = tasks
            .into_par_iter()
            .enumerate()
            .with_max_len(1)
            .map(|(task, (terms, mut by_term, statistics))| {
                let within = |document: usize| {
                    let cuts = &cuts[document * ranges_of..][..ranges_of];
                    let before = task.checked_sub(1).map_or(0, |before| cuts[before]);
                    before as usize..cuts[task] as usize
                };
                let f = &self.f[terms.start * width..terms.end * width];
                let f = (!*are_ratios).then_some(f);
                BUFFERS.with_borrow_mut(|buffers| {
                    by_term.fill(&terms, nonzeros, within, &mut buffers.positions);
                    buffers.weights.resize(width, 0.0);
                    let mut likelihood = 0.0;
                    accumulate_statistics(
                        &by_term,
                        l,
                        f,
                        statistics,
                        &mut likelihood,
                        &mut buffers.weights,
                        &mut buffers.ratios,
                    );
                    likelihood
                })
            })
            .collect();
        pending.clear();
        likelihoods.into_iter().sum()
    }
}
