//! The exponentials of F's logits minus the offsets of their topics, and their sums over a term shard.

use crate::kernels::tiles;
use crate::system::{exp, simd_dispatch};

simd_dispatch! {
    /// Writes each topic's sum of the exponentials of logits (terms x topics).
    pub(super) fn sum_of_rows(logits: &[f32], offsets: &[f32], sums: &mut [f64]) {
        sums.fill(0.0);
        for row in logits.chunks_exact(offsets.len()) {
            for ((sum, value), offset) in sums.iter_mut().zip(row).zip(offsets) {
                *sum += f64::from(exp(value - offset));
            }
        }
    }
}

simd_dispatch! {
    /// Writes the exponentials of the logits of `terms` terms in tiles. Padding past the last term is left unchanged.
    pub(super) fn exponentials_of_tiles(logits: &[f32], offsets: &[f32], terms: usize, exps: &mut [f32]) {
        for tile in tiles(0..terms) {
            let start = tile.terms.start * offsets.len();
            let (logits, exps) = (&logits[start..], &mut exps[start..]);
            let rows = logits.chunks_exact(tile.width).zip(exps.chunks_exact_mut(tile.width));
            for ((logits, exps), offset) in rows.zip(offsets) {
                for (power, value) in exps[..tile.terms.len()].iter_mut().zip(logits) {
                    *power = exp(value - offset);
                }
            }
        }
    }
}

/// Writes each topic's sum of the exponentials of `terms` terms in tiles.
pub(super) fn sum_of_tiles(exps: &[f32], terms: usize, sums: &mut [f64]) {
    let topics = sums.len();
    sums.fill(0.0);
    for tile in tiles(0..terms) {
        let rows = exps[tile.terms.start * topics..].chunks_exact(tile.width);
        for (sum, row) in sums.iter_mut().zip(rows) {
            for value in &row[..tile.terms.len()] {
                *sum += f64::from(*value);
            }
        }
    }
}
