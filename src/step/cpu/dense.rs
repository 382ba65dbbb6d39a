//! Loss and gradients of a group of documents in a shard, for dense counts: the vector lanes are sixteen documents.
//!
//! Three small matrix products over a few terms at a time. No sum runs across the lanes of a register: the lanes of the
//! rates and of the weights' gradients are documents, those of the terms' gradients are topics.

use crate::config::SMALLEST_RATE;
use crate::system::{LANES, ln, simd_dispatch};

/// Terms in a tile.
pub(crate) const TILE: usize = 64;
/// Terms in a chunk: as many accumulator registers as hide the latency of a multiply-add.
pub(crate) const TERMS: usize = 8;

/// Inputs for one tile of counts.
pub(crate) struct Tile<'a> {
    pub(crate) topics: usize,
    /// Weights: topics x [`LANES`] documents.
    pub(crate) by_topic: &'a [f32],
    /// The same weights: [`LANES`] documents x width (topics in whole registers).
    pub(crate) by_document: &'a [f32],
    /// Exponentials: terms x topics. Up to [`TERMS`] - 1 terms past the tile's last one are read.
    pub(crate) exps: &'a [f32],
    /// Terms in the tile, at most [`TILE`].
    pub(crate) terms: usize,
}

simd_dispatch! {
    /// Replaces the tile's counts ([`TILE`] x [`LANES`]) by count / rate. Adds x log rate to `likelihood`, the
    /// gradients with respect to the weights to `gradients` (topics x documents), and those with respect to the terms
    /// to `term_gradients` (terms x width).
    pub(crate) fn accumulate_tile(
        tile: &Tile<'_>,
        counts: &mut [[f32; LANES]; TILE],
        gradients: &mut [f32],
        term_gradients: &mut [f32],
        likelihood: &mut f64,
    ) {
        let topics = tile.topics;
        let mut total = [0.0f64; LANES];
        let rows_of = |first: usize| -> [&[f32]; TERMS] {
            std::array::from_fn(|term| &tile.exps[(first + term) * topics..][..topics])
        };
        let used = tile.terms.next_multiple_of(TERMS);
        for (chunk, counts) in counts[..used].as_chunks_mut::<TERMS>().0.iter_mut().enumerate() {
            let rows = rows_of(chunk * TERMS);
            let mut rates = [[0.0f32; LANES]; TERMS];
            for (topic, weights) in tile.by_topic.as_chunks::<LANES>().0[..topics].iter().enumerate() {
                for term in 0..TERMS {
                    rates[term] = add(rates[term], weights, rows[term][topic]);
                }
            }
            let mut logarithms = [0.0f32; LANES];
            for (rates, counts) in rates.iter().zip(counts) {
                *counts = to_ratios(rates, counts, &mut logarithms);
            }
            for lane in 0..LANES {
                total[lane] += f64::from(logarithms[lane]);
            }
        }
        *likelihood += total.iter().sum::<f64>();
        let ratios = &*counts;
        for (chunk, ratios) in ratios[..used].as_chunks::<TERMS>().0.iter().enumerate() {
            let rows = rows_of(chunk * TERMS);
            for (topic, gradients) in gradients.as_chunks_mut::<LANES>().0[..topics].iter_mut().enumerate() {
                let mut sums = *gradients;
                for term in 0..TERMS {
                    sums = add(sums, &ratios[term], rows[term][topic]);
                }
                *gradients = sums;
            }
        }
        let width = topics.next_multiple_of(LANES);
        for (chunk, ratios) in ratios[..used].as_chunks::<TERMS>().0.iter().enumerate() {
            let rows = &mut term_gradients[chunk * TERMS * width..][..TERMS * width];
            for block in (0..width).step_by(LANES) {
                let mut sums = [[0.0f32; LANES]; TERMS];
                for (document, weights) in tile.by_document.chunks_exact(width).enumerate().take(LANES) {
                    let weights = &weights[block..].as_chunks::<LANES>().0[0];
                    // Unrolled by hand: the compiler vectorises a loop over the terms, and scatters its results.
                    sums = [
                        add(sums[0], weights, ratios[0][document]),
                        add(sums[1], weights, ratios[1][document]),
                        add(sums[2], weights, ratios[2][document]),
                        add(sums[3], weights, ratios[3][document]),
                        add(sums[4], weights, ratios[4][document]),
                        add(sums[5], weights, ratios[5][document]),
                        add(sums[6], weights, ratios[6][document]),
                        add(sums[7], weights, ratios[7][document]),
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

/// `sums + values * factor`, lane by lane.
#[inline(always)]
fn add(mut sums: [f32; LANES], values: &[f32; LANES], factor: f32) -> [f32; LANES] {
    for lane in 0..LANES {
        sums[lane] = values[lane].mul_add(factor, sums[lane]);
    }
    sums
}

/// Returns count / rate and adds count x log rate to `logarithms`. Below the smallest rate the clamped logarithm is
/// constant, and the ratio zero.
#[inline(always)]
fn to_ratios(
    rates: &[f32; LANES],
    counts: &[f32; LANES],
    logarithms: &mut [f32; LANES],
) -> [f32; LANES] {
    const SMALLEST: f32 = SMALLEST_RATE as f32;
    let mut ratios = [0.0; LANES];
    for lane in 0..LANES {
        let (rate, count) = (rates[lane], counts[lane]);
        let clamped = if rate > SMALLEST { rate } else { SMALLEST };
        logarithms[lane] = count.mul_add(ln(clamped), logarithms[lane]);
        let ratio = count / clamped;
        ratios[lane] = if rate < SMALLEST { 0.0 } else { ratio };
    }
    ratios
}
