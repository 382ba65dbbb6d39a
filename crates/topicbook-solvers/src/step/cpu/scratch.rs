//! A thread's buffers for a term shard with few nonzero counts. They hold a row of exponentials for each term with counts in the
//! batch, computed for [`COLLECTED`] documents at a time before their counts are read.

use std::cell::RefCell;
use std::ops::Range;

use crate::counts::View;
use crate::counts::rows::{NonzeroBuffer, nonzeros_after, prefetch_nonzeros};
use crate::kernels::DocumentNonzeros;
use crate::system::{Aligned, LANES, exp, per_lane, prefetch_lines, simd_dispatch};

use super::lane_sums::LaneSums;
use super::row_gradient::RowGradient;

/// Prefetch distance, in logits.
const AHEAD: usize = 600;

/// Documents of a batch whose nonzero counts in a shard are collected before the rows of their terms are computed: enough rows to
/// prefetch some of them.
pub(super) const COLLECTED: usize = 16;

/// Rows of one shard at a time, which stay in the thread's caches.
pub(super) struct ExpRows {
    /// Rows of whole registers. The first one belongs to no term.
    rows: Aligned<f32>,
    /// Each term's row, or zero.
    slots: Vec<u32>,
    /// The terms of the rows.
    terms: Vec<u32>,
    /// Scratch: the rows of some documents' nonzero counts.
    nonzeros: Vec<u32>,
}

/// Collects the nonzero counts of documents in one shard after the other.
#[derive(Default)]
pub(super) struct Nonzeros {
    buffer: NonzeroBuffer,
    /// Where each document of a batch ended in the previous shard.
    ends: Vec<usize>,
    collected: DocumentNonzeros,
}

impl Nonzeros {
    /// Collects the nonzero counts of some documents of a batch, whose rows are `rows`, in a range of terms. Prefetches the
    /// counts of the next document.
    pub(super) fn collect(
        &mut self,
        view: &View<'_>,
        all_terms: usize,
        rows: &[usize],
        documents: Range<usize>,
        terms: &Range<usize>,
    ) -> &DocumentNonzeros {
        if self.ends.len() < rows.len() {
            self.ends.resize(rows.len(), 0);
        }
        self.collected.restart(documents.start);
        for document in documents {
            if let Some(&next) = rows.get(document + 1) {
                prefetch_nonzeros(view, next, self.ends[document + 1]);
            }
            let end = &mut self.ends[document];
            let (columns, counts) = nonzeros_after(
                view,
                all_terms,
                rows[document],
                terms,
                end,
                &mut self.buffer,
            );
            self.collected.extend(columns.iter().copied(), counts);
            self.collected.end_document();
        }
        &self.collected
    }
}

/// The scratch buffers of a thread.
pub(super) struct StepScratch {
    pub(super) exps: ExpRows,
    pub(super) nonzeros: Nonzeros,
    /// The ratios of one document.
    pub(super) ratios: Vec<f32>,
    /// F's gradient of one shard at a time, while its update runs.
    pub(super) gradient: RowGradient,
    /// The sums of one shard at a time, while its update runs.
    pub(super) lanes: LaneSums,
}

thread_local! {
    pub(super) static SCRATCH: RefCell<StepScratch> = RefCell::new(StepScratch {
        exps: ExpRows {
            rows: Aligned::new(0),
            slots: Vec::new(),
            terms: vec![0],
            nonzeros: Vec::new(),
        },
        nonzeros: Nonzeros::default(),
        ratios: Vec::new(),
        gradient: RowGradient::new(0, 0),
        lanes: LaneSums::default(),
    });
}

/// The logits (terms x topics, then one register of padding) and the offsets (padded to whole registers) of a shard.
#[derive(Clone, Copy)]
pub(super) struct Logits<'a> {
    pub(super) values: &'a [f32],
    pub(super) offsets: &'a [f32],
    pub(super) topics: usize,
}

impl ExpRows {
    /// Starts with no rows, for a shard of `terms` terms.
    pub(super) fn start(&mut self, terms: usize) {
        // Clears the slots of the previous shard, even if its task panicked.
        for &term in &self.terms {
            if let Some(slot) = self.slots.get_mut(term as usize) {
                *slot = 0;
            }
        }
        self.terms.truncate(1);
        if self.slots.len() < terms {
            self.slots.resize(terms, 0);
        }
    }

    /// All rows, and the index of the row of each of these nonzero counts, in the shard whose first term is `first`. Computes the
    /// rows that are missing.
    pub(super) fn of(
        &mut self,
        columns: &[u32],
        first: u32,
        logits: Logits<'_>,
    ) -> (&[f32], &[u32]) {
        self.nonzeros.resize(columns.len(), 0);
        let before = self.terms.len();
        self.terms.resize(before + columns.len(), 0);
        let mut last = before as u32 - 1;
        for (column, nonzero) in columns.iter().zip(&mut self.nonzeros) {
            let term = column - first;
            let slot = &mut self.slots[term as usize];
            // Without a branch, because the processor cannot predict whether a term is new.
            let is_new = *slot == 0;
            last += u32::from(is_new);
            *slot = if is_new { last } else { *slot };
            self.terms[*slot as usize] = term;
            *nonzero = *slot;
        }
        self.terms.truncate(last as usize + 1);
        let width = logits.offsets.len();
        let length = self.terms.len() * width;
        if self.rows.len() < length {
            self.rows.resize(length, 0.0);
        }
        let new = &mut self.rows[before * width..length];
        exponentials(&self.terms[before..], logits, new);
        (&self.rows, &self.nonzeros)
    }
}

simd_dispatch! {
    /// Computes a row of exponentials for each term, in whole registers. Past its last topic they belong to other logits, and the
    /// weights there are zero. Prefetches rows, because the hardware prefetcher does not follow scattered ones.
    fn exponentials(terms: &[u32], logits: Logits<'_>, rows: &mut [f32]) {
        let Logits { values, offsets, topics } = logits;
        let offsets = offsets.as_chunks::<LANES>().0;
        let ahead = AHEAD.div_ceil(topics);
        let rows = rows.chunks_exact_mut(offsets.len() * LANES);
        for (at, (&term, row)) in terms.iter().zip(rows).enumerate() {
            if let Some(&later) = terms.get(at + ahead) {
                prefetch_lines(&values[later as usize * topics..][..topics]);
            }
            let logits = values[term as usize * topics..].as_chunks::<LANES>().0;
            let registers = row.as_chunks_mut::<LANES>().0.iter_mut();
            for ((row, logits), offsets) in registers.zip(logits).zip(offsets) {
                *row = per_lane(|lane| exp(logits[lane] - offsets[lane]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_gets_the_row_of_its_exponentials() {
        let (terms, topics, width) = (40, 3, LANES);
        let values: Vec<f32> = (0..terms * topics + LANES)
            .map(|at| at as f32 / 50.0)
            .collect();
        let mut offsets = vec![1.0, 2.0, 0.5];
        offsets.resize(width, 0.0);
        let logits = Logits {
            values: &values,
            offsets: &offsets,
            topics,
        };
        SCRATCH.with_borrow_mut(|StepScratch { exps: rows, .. }| {
            // Another shard before it, which is larger.
            rows.start(90);
            let other = vec![0.0; 90 * topics + LANES];
            rows.of(
                &[10, 89],
                0,
                Logits {
                    values: &other,
                    ..logits
                },
            );
            rows.start(terms);
            for columns in [vec![100, 103, 139], vec![], vec![101, 103, 120, 139]] {
                let slots = rows.of(&columns, 100, logits).1.to_vec();
                assert_eq!(slots.len(), columns.len());
                for (slot, column) in slots.into_iter().zip(columns) {
                    for topic in 0..topics {
                        let logit = values[(column as usize - 100) * topics + topic];
                        let value = rows.rows[slot as usize * width + topic];
                        assert_eq!(value, exp(logit - offsets[topic]), "term {column}");
                    }
                }
            }
            assert_eq!(rows.terms.len(), 1 + 5);
        });
    }
}
