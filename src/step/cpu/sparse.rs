//! Loss and gradients of one document in a shard, for sparse counts: the vector lanes are topics.

use crate::config::SMALLEST_RATE;
use crate::kernels::{Floor, WIDEST, add_row, divide, rates, registers, store, with_registers};
use crate::system::{LANES, Vector, exp, per_lane, simd_dispatch};

use super::row_gradient::DocumentTerms;

/// A document in a shard.
pub(crate) struct Document<'a> {
    /// Its nonzero counts.
    pub(crate) counts: &'a [f32],
    /// Its weights, padded with zeros to whole registers.
    pub(crate) weights: &'a [f32],
    /// Receives x / rate times the term's row of exponentials.
    pub(crate) weight_gradients: &'a mut [f32],
}

simd_dispatch! {
    /// Adds the part of each nonzero count x of a document to the loss and the gradients; a term's gradient receives x / rate
    /// times the weights. The shard's logits (terms x topics) and the offsets, padded to whole registers, give the
    /// exponentials of the terms that are new in this batch. `ratios` is scratch; `likelihood` receives x log rate.
    pub(crate) fn accumulate_document<V: Vector>(
        document: Document<'_>,
        terms: DocumentTerms<'_>,
        softmax: (&[f32], &[f32]),
        topics: usize,
        ratios: &mut Vec<f32>,
        likelihood: &mut f64,
    ) {
        // Below the smallest rate the clamped logarithm is constant: its gradient is zero.
        const FLOOR: Floor = Floor {
            rate: SMALLEST_RATE as f32,
            zero_below: true,
        };
        let Document { counts, weights, weight_gradients } = document;
        let DocumentTerms { slots, new, new_exps, exps, gradients } = terms;
        let width = weights.len();
        let rows = exps[new_exps * width..].chunks_exact_mut(width);
        for (&term, row) in new.iter().zip(rows) {
            exponentials(&softmax.0[term as usize * topics..], softmax.1, row);
        }
        ratios.resize(counts.len().next_multiple_of(LANES), 0.0);
        rates::<V>(weights, exps, slots.len(), |i| slots[i] as usize * width, ratios);
        *likelihood += divide(counts, ratios, FLOOR, true);
        let blocks = weights.chunks(WIDEST).zip(weight_gradients.chunks_mut(WIDEST));
        for (block, (weights, sums)) in blocks.enumerate() {
            let (exps, gradients) = (&exps[block * WIDEST..], &mut gradients[block * WIDEST..]);
            with_registers!(weights, R => {
                scatter::<V, R>(weights, sums, exps, gradients, (slots, width), ratios);
            });
        }
    }
}

/// Computes the exponentials of a row, in whole registers: those behind its last topic are of other logits, and the weights
/// that they meet are zero.
#[inline(always)]
fn exponentials(logits: &[f32], offsets: &[f32], exps: &mut [f32]) {
    let (logits, offsets) = (logits.as_chunks().0, offsets.as_chunks().0);
    let registers = exps.as_chunks_mut::<LANES>().0.iter_mut();
    for ((exps, logits), offsets) in registers.zip(logits).zip(offsets) {
        let (logits, offsets): (&[f32; LANES], &[f32; LANES]) = (logits, offsets);
        *exps = per_lane(|lane| exp(logits[lane] - offsets[lane]));
    }
}

/// Adds each ratio times its term's row to the gradients of the weights, and each ratio times the weights to its term's
/// gradient.
#[inline(always)]
fn scatter<V: Vector, const R: usize>(
    weights: &[f32],
    weight_gradients: &mut [f32],
    exps: &[f32],
    gradients: &mut [f32],
    (slots, width): (&[u32], usize),
    ratios: &[f32],
) {
    let weights = registers::<V, R>(weights);
    let mut totals = registers::<V, R>(weight_gradients);
    for (&slot, &ratio) in slots.iter().zip(ratios) {
        let (row, ratio) = (slot as usize * width, V::splat(ratio));
        add_row(&mut totals, ratio, &exps[row..]);
        let out = gradients[row..][..R * LANES].as_chunks_mut().0;
        for (weights, out) in weights.iter().zip(out) {
            weights.mul_add(ratio, V::load(out)).store(out);
        }
    }
    store(&totals, weight_gradients);
}
