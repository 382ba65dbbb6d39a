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
                    let value = rows[term][topic];
                    for lane in 0..LANES {
                        rates[term][lane] = weights[lane].mul_add(value, rates[term][lane]);
                    }
                }
            }
            let mut logarithms = [0.0f32; LANES];
            for term in 0..TERMS {
                for lane in 0..LANES {
                    let (rate, count) = (rates[term][lane], counts[term][lane]);
                    // The logarithm is cut off below, and its slope with it.
                    let cut = rate < SMALLEST_RATE as f32;
                    let held = if cut { SMALLEST_RATE as f32 } else { rate };
                    logarithms[lane] = count.mul_add(ln(held), logarithms[lane]);
                    counts[term][lane] = if cut { 0.0 } else { count / held };
                }
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
                    let value = rows[term][topic];
                    for lane in 0..LANES {
                        sums[lane] = shares[term][lane].mul_add(value, sums[lane]);
                    }
                }
                *gradients = sums;
            }
        }
        let width = topics.next_multiple_of(LANES);
        for (turn, shares) in shares[..used].as_chunks::<TERMS>().0.iter().enumerate() {
            for block in (0..width).step_by(LANES) {
                let mut sums = [[0.0f32; LANES]; TERMS];
                for (document, weights) in tile.by_document.chunks_exact(width).enumerate().take(LANES) {
                    let (weights, _) = weights[block..].as_chunks::<LANES>();
                    for term in 0..TERMS {
                        let share = shares[term][document];
                        for lane in 0..LANES {
                            sums[term][lane] = weights[0][lane].mul_add(share, sums[term][lane]);
                        }
                    }
                }
                for term in 0..TERMS {
                    let at = (turn * TERMS + term) * width + block;
                    for (out, sum) in table_gradient[at..at + LANES].iter_mut().zip(&sums[term]) {
                        *out += sum;
                    }
                }
            }
        }
    }
}
