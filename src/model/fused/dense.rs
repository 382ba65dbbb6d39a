//! A batch's counts in a shard where many are nonzero: sixteen documents side by side.
//!
//! Three small matrix products over a few terms at a time. No sum runs across a register: the rates and the gradients
//! of the weights have documents in their lanes, the gradients of the terms have topics.

use super::vector::{LANES, ln};
use crate::model::SMALLEST_RATE;
use crate::simd::simd_dispatch;

/// Terms whose counts are laid out at a time.
pub(super) const TILE: usize = 64;
/// Terms worked on at once: as many registers as hide an addition's latency.
pub(super) const TERMS: usize = 8;

/// What the kernel reads: the weights of sixteen documents, and the exponentials of the tile's terms.
pub(super) struct Tile<'a> {
    pub(super) topics: usize,
    /// Topics x [`LANES`] documents.
    pub(super) by_topic: &'a [f32],
    /// [`LANES`] documents x width.
    pub(super) by_document: &'a [f32],
    /// Terms x topics; [`TERMS`] - 1 terms more than the tile may have are read.
    pub(super) exps: &'a [f32],
    /// Terms in the tile.
    pub(super) terms: usize,
}

simd_dispatch! {
    /// Takes the tile's counts ([`TILE`] x [`LANES`]), and leaves count / rate in their place; adds x log rate to
    /// `likelihood`, the gradients of the weights to `gradients` (topics x documents), and those of the terms to
    /// `table_gradient` (terms x width).
    pub(super) fn gather_tile(
        tile: &Tile<'_>,
        counts: &mut [[f32; LANES]; TILE],
        gradients: &mut [f32],
        table_gradient: &mut [f32],
        likelihood: &mut f64,
    ) {
        let topics = tile.topics;
        let mut total = [0.0f64; LANES];
        let rows_of = |first: usize| -> [&[f32]; TERMS] {
            std::array::from_fn(|term| &tile.exps[(first + term) * topics..][..topics])
        };
        let used = tile.terms.next_multiple_of(TERMS);
        for (turn, counts) in counts[..used].as_chunks_mut::<TERMS>().0.iter_mut().enumerate() {
            let rows = rows_of(turn * TERMS);
            let mut rates = [[0.0f32; LANES]; TERMS];
            for (topic, weights) in tile.by_topic.as_chunks::<LANES>().0[..topics].iter().enumerate() {
                for term in 0..TERMS {
                    rates[term] = add(rates[term], weights, rows[term][topic]);
                }
            }
            let mut logarithms = [0.0f32; LANES];
            for (rates, counts) in rates.iter().zip(counts) {
                *counts = share(rates, counts, &mut logarithms);
            }
            for lane in 0..LANES {
                total[lane] += f64::from(logarithms[lane]);
            }
        }
        *likelihood += total.iter().sum::<f64>();
        let shares = &*counts;
        for (turn, shares) in shares[..used].as_chunks::<TERMS>().0.iter().enumerate() {
            let rows = rows_of(turn * TERMS);
            for (topic, gradients) in gradients.as_chunks_mut::<LANES>().0[..topics].iter_mut().enumerate() {
                let mut sums = *gradients;
                for term in 0..TERMS {
                    sums = add(sums, &shares[term], rows[term][topic]);
                }
                *gradients = sums;
            }
        }
        let width = topics.next_multiple_of(LANES);
        for (turn, shares) in shares[..used].as_chunks::<TERMS>().0.iter().enumerate() {
            let rows = &mut table_gradient[turn * TERMS * width..][..TERMS * width];
            for block in (0..width).step_by(LANES) {
                let mut sums = [[0.0f32; LANES]; TERMS];
                for (document, weights) in tile.by_document.chunks_exact(width).enumerate().take(LANES) {
                    let weights = &weights[block..].as_chunks::<LANES>().0[0];
                    // Written out: from a loop the compiler makes lanes of terms, and scatters them.
                    sums = [
                        add(sums[0], weights, shares[0][document]),
                        add(sums[1], weights, shares[1][document]),
                        add(sums[2], weights, shares[2][document]),
                        add(sums[3], weights, shares[3][document]),
                        add(sums[4], weights, shares[4][document]),
                        add(sums[5], weights, shares[5][document]),
                        add(sums[6], weights, shares[6][document]),
                        add(sums[7], weights, shares[7][document]),
                    ];
                }
                for (term, sums) in sums.iter().enumerate() {
                    let out = &mut rows[term * width + block..].as_chunks_mut::<LANES>().0[0];
                    for lane in 0..LANES {
                        out[lane] += sums[lane];
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn add(mut sums: [f32; LANES], values: &[f32; LANES], factor: f32) -> [f32; LANES] {
    for lane in 0..LANES {
        sums[lane] = values[lane].mul_add(factor, sums[lane]);
    }
    sums
}

/// count / rate, cut off with the logarithm of the rate, which is added to `logarithms` times the count.
#[inline(always)]
fn share(
    rates: &[f32; LANES],
    counts: &[f32; LANES],
    logarithms: &mut [f32; LANES],
) -> [f32; LANES] {
    const SMALLEST: f32 = SMALLEST_RATE as f32;
    let mut shares = [0.0; LANES];
    for lane in 0..LANES {
        let (rate, count) = (rates[lane], counts[lane]);
        let held = if rate > SMALLEST { rate } else { SMALLEST };
        logarithms[lane] = count.mul_add(ln(held), logarithms[lane]);
        let share = count / held;
        shares[lane] = if rate < SMALLEST { 0.0 } else { share };
    }
    shares
}
