//! Loss and gradients of a batch from the nonzero counts of a term shard: the vector lanes are topics.

use std::ops::Range;

use crate::config::SMALLEST_RATE;
use crate::counts::View;
use crate::kernels::{DocumentNonzeros, Floor, add_rows, divide, prefetch_next, rates};
use crate::system::{LANES, simd_dispatch};

use super::kept::{KEPT_PER_TERM, add_kept};
use super::row_gradient::RowGradient;
use super::scratch::{COLLECTED, Logits, SCRATCH, StepScratch};
use super::weights::Weights;

/// The inputs and outputs of the sums over a shard.
pub(super) struct RowSums<'a> {
    pub(super) weights: &'a Weights<'a>,
    /// The logits of the shard's terms, with one register of padding.
    pub(super) logits: &'a [f32],
    /// Receives the nonzero counts, with their ratios.
    pub(super) kept: &'a mut DocumentNonzeros,
    /// Receives their gradients where there are too many to keep.
    pub(super) gradient: &'a mut RowGradient,
    /// Documents x width.
    pub(super) weight_gradients: &'a mut [f32],
    pub(super) likelihood: &'a mut f64,
}

impl RowSums<'_> {
    /// Adds the batch's sums over the shard's terms, [`COLLECTED`] documents at a time, so that the rows of exponentials that they
    /// need are computed together.
    pub(super) fn accumulate(self, view: &View<'_>, all_terms: usize, range: &Range<usize>) {
        let Weights {
            rows,
            padded,
            width,
            topics,
            offsets,
            ..
        } = self.weights;
        let (first, width) = (range.start as u32, *width);
        let logits = Logits {
            values: self.logits,
            offsets,
            topics: *topics,
        };
        self.kept.restart(0);
        let groups = padded.chunks(COLLECTED * width);
        let groups = groups.zip(self.weight_gradients.chunks_mut(COLLECTED * width));
        SCRATCH.with_borrow_mut(
            |StepScratch {
                 exps,
                 nonzeros,
                 ratios,
                 ..
             }| {
                exps.start(range.len());
                for (group, (weights, sums)) in groups.enumerate() {
                    let documents = group * COLLECTED..rows.len().min((group + 1) * COLLECTED);
                    let collected =
                        nonzeros.collect(view, all_terms, rows, documents.clone(), range);
                    prefetch_next(view, all_terms, &rows[documents], range);
                    let (exps, slots) = exps.of(&collected.columns, first, logits);
                    let tables = weights.chunks(width).zip(sums.chunks_mut(width));
                    for (at, tables) in collected.ranges().zip(tables) {
                        let (columns, counts) = (
                            &collected.columns[at.clone()],
                            &collected.values[at.clone()],
                        );
                        add_document(counts, tables, (exps, &slots[at]), ratios, self.likelihood);
                        let terms = columns.iter().map(|column| column - first);
                        self.kept.extend(terms, &ratios[..columns.len()]);
                        self.kept.end_document();
                    }
                    if self.kept.columns.len() > KEPT_PER_TERM * range.len() {
                        add_kept(self.kept, self.gradient, padded);
                    }
                }
            },
        );
    }
}

simd_dispatch! {
    /// Adds a document's nonzero counts x to the gradients of its weights and to the sum of x log rate, and writes x / rate in
    /// whole registers. `exps` are rows of exponentials, and the index of each nonzero count's row.
    fn add_document<V: Vector>(
        counts: &[f32],
        weights: (&[f32], &mut [f32]),
        exps: (&[f32], &[u32]),
        ratios: &mut Vec<f32>,
        likelihood: &mut f64,
    ) {
        // Below the smallest rate the clamped logarithm is constant: its gradient is zero.
        const FLOOR: Floor = Floor {
            rate: SMALLEST_RATE as f32,
            zero_below: true,
        };
        let ((weights, gradients), (exps, rows)) = (weights, exps);
        let start = |i: usize| rows[i] as usize * weights.len();
        ratios.resize(counts.len().next_multiple_of(LANES), 0.0);
        rates::<V>(weights, exps, rows.len(), start, ratios);
        *likelihood += divide(counts, ratios, FLOOR, true);
        add_rows::<V>(&ratios[..counts.len()], exps, start, gradients);
    }
}
