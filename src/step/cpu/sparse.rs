//! Loss and gradients of one document in a shard, for sparse counts: the vector lanes are topics.

use crate::config::SMALLEST_RATE;
use crate::kernels::{Floor, WIDEST, add_row, divide, rates, registers, store, with_registers};
use crate::system::{LANES, Vector, simd_dispatch};

/// A document in a shard.
pub(crate) struct Document<'a> {
    /// The columns of its nonzero counts, and the counts.
    pub(crate) nonzeros: (&'a [u32], &'a [f32]),
    /// Its weights, padded with zeros to whole registers.
    pub(crate) weights: &'a [f32],
    /// Receives x / rate times the term's row of exponentials.
    pub(crate) weight_gradients: &'a mut [f32],
}

/// The tables of a shard.
pub(crate) struct Tables<'a> {
    /// The column of the first term.
    pub(crate) first: usize,
    pub(crate) topics: usize,
    /// Rows of exponentials, in whole registers, and the row of each nonzero count.
    pub(crate) exps: (&'a [f32], &'a [u32]),
    /// Terms x topics, and a register more. Receives x / rate times the weights.
    pub(crate) gradients: &'a mut [f32],
    /// Scratch: x / rate.
    pub(crate) ratios: &'a mut Vec<f32>,
    /// Receives x log rate.
    pub(crate) likelihood: &'a mut f64,
}

simd_dispatch! {
    /// Adds the part of each nonzero count x of a document to the loss and the gradients.
    pub(crate) fn accumulate_document<V: Vector>(document: Document<'_>, tables: Tables<'_>) {
        // Below the smallest rate the clamped logarithm is constant: its gradient is zero.
        const FLOOR: Floor = Floor {
            rate: SMALLEST_RATE as f32,
            zero_below: true,
        };
        let Document { nonzeros: (columns, counts), weights, weight_gradients } = document;
        let Tables { first, topics, exps: (exps, rows), gradients, ratios, likelihood } = tables;
        let width = weights.len();
        ratios.resize(counts.len().next_multiple_of(LANES), 0.0);
        rates::<V>(weights, exps, rows.len(), |i| rows[i] as usize * width, ratios);
        *likelihood += divide(counts, ratios, FLOOR, true);
        let blocks = weights.chunks(WIDEST).zip(weight_gradients.chunks_mut(WIDEST));
        for (block, (weights, sums)) in blocks.enumerate() {
            let exps = (&exps[block * WIDEST..], rows, width);
            let gradients = (&mut gradients[block * WIDEST..], columns, first, topics);
            with_registers!(weights, R => scatter::<V, R>(weights, sums, exps, gradients, ratios));
        }
    }
}

/// Adds each ratio times its term's row to the gradients of the weights, and each ratio times the weights to its term's
/// gradient: in whole registers, of which the last reaches into the row of the next term and adds zeros there.
#[inline(always)]
fn scatter<V: Vector, const R: usize>(
    weights: &[f32],
    weight_gradients: &mut [f32],
    (exps, rows, width): (&[f32], &[u32], usize),
    (gradients, columns, first, topics): (&mut [f32], &[u32], usize, usize),
    ratios: &[f32],
) {
    let weights = registers::<V, R>(weights);
    let mut totals = registers::<V, R>(weight_gradients);
    for ((&row, &column), &ratio) in rows.iter().zip(columns).zip(ratios) {
        let ratio = V::splat(ratio);
        add_row(&mut totals, ratio, &exps[row as usize * width..]);
        let out = &mut gradients[(column as usize - first) * topics..][..R * LANES];
        for (weights, out) in weights.iter().zip(out.as_chunks_mut().0) {
            weights.mul_add(ratio, V::load(out)).store(out);
        }
    }
    store(&totals, weight_gradients);
}
