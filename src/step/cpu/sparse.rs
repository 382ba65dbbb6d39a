//! Loss and gradients of one document in a shard, for sparse counts: the vector lanes are topics.

use crate::config::SMALLEST_RATE;
use crate::kernels::{Floor, WIDEST, add_row, divide, rates, registers, store, with_registers};
use crate::system::{LANES, Vector, simd_dispatch};

/// The term of a nonzero count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Nonzero {
    /// The term's row of the exponentials, counted from the shard's first term.
    pub(crate) term: u32,
    /// The term's row of the accumulated gradients.
    pub(crate) slot: u32,
}

/// What a document's nonzero counts read and add to.
pub(crate) struct Tables<'a> {
    /// The document's weights, padded with zeros to whole registers.
    pub(crate) weights: &'a [f32],
    /// Receives x / rate times the term's row of `exps`.
    pub(crate) weight_gradients: &'a mut [f32],
    pub(crate) topics: usize,
    /// The shard's terms x topics.
    pub(crate) exps: &'a [f32],
    /// Receives x / rate times `weights` in the term's slot.
    pub(crate) term_gradients: &'a mut [f32],
    /// Scratch: x / rate.
    pub(crate) ratios: &'a mut Vec<f32>,
    /// Receives x log rate.
    pub(crate) likelihood: &'a mut f64,
}

simd_dispatch! {
    /// Adds the part of each nonzero count x of a document to the loss and the gradients.
    pub(crate) fn accumulate_document<V: Vector>(tables: Tables<'_>, nonzeros: &[Nonzero], counts: &[f32]) {
        // Below the smallest rate the clamped logarithm is constant: its gradient is zero.
        const FLOOR: Floor = Floor {
            rate: SMALLEST_RATE as f32,
            zero_below: true,
        };
        let Tables { weights, weight_gradients, topics, exps, term_gradients, ratios, likelihood } = tables;
        ratios.resize(counts.len().next_multiple_of(LANES), 0.0);
        let start = |i: usize| nonzeros[i].term as usize * topics;
        rates::<V>(weights, exps, nonzeros.len(), start, ratios);
        *likelihood += divide(counts, ratios, FLOOR, true);
        let strides = (topics, weights.len());
        let blocks = weights.chunks(WIDEST).zip(weight_gradients.chunks_mut(WIDEST));
        for (block, (weights, gradients)) in blocks.enumerate() {
            let (exps, out) = (&exps[block * WIDEST..], &mut term_gradients[block * WIDEST..]);
            with_registers!(weights, R => {
                scatter::<V, R>(weights, gradients, exps, out, nonzeros, strides, ratios);
            });
        }
    }
}

/// Adds each ratio times its term's row to the gradients of the weights, and each ratio times the weights to its term's
/// gradient.
#[inline(always)]
fn scatter<V: Vector, const R: usize>(
    weights: &[f32],
    gradients: &mut [f32],
    exps: &[f32],
    term_gradients: &mut [f32],
    nonzeros: &[Nonzero],
    (topics, width): (usize, usize),
    ratios: &[f32],
) {
    let weights = registers::<V, R>(weights);
    let mut totals = registers::<V, R>(gradients);
    for (nonzero, &ratio) in nonzeros.iter().zip(ratios) {
        let ratio = V::splat(ratio);
        add_row(&mut totals, ratio, &exps[nonzero.term as usize * topics..]);
        let out = &mut term_gradients[nonzero.slot as usize * width..][..R * LANES];
        for (weights, out) in weights.iter().zip(out.as_chunks_mut().0) {
            weights.mul_add(ratio, V::load(out)).store(out);
        }
    }
    store(&totals, gradients);
}
