//! What one document gives to the statistics of F and to its own row of L: plain sums over its nonzero counts.

use super::kernel::sum;
use crate::model::vector::{LANES, ln};
use crate::simd::simd_dispatch;

/// Counts worked on at once.
const CHUNK: usize = 4 * LANES;

/// The smallest rate, as in the loss.
const SMALLEST: f32 = 1e-30;

simd_dispatch! {
    /// Adds x log rate to `likelihood` and x / rate times the term's row of `f` to `shares`. Rows of `f` and `weights`
    /// are padded with zeros to `shares.len()`, a multiple of the lanes.
    pub(super) fn explain(
        columns: &[u32],
        counts: &[f32],
        f: &[f32],
        weights: &[f32],
        shares: &mut [f32],
        likelihood: &mut f64,
    ) {
        let width = weights.len();
        for (columns, counts) in columns.chunks(CHUNK).zip(counts.chunks(CHUNK)) {
            let mut ratios = [0.0f32; CHUNK];
            *likelihood += ratios_of(columns, counts, f, weights, &mut ratios);
            for (&column, ratio) in columns.iter().zip(ratios) {
                let row = &f[column as usize * width..][..width];
                for (share, value) in shares.iter_mut().zip(row) {
                    *share += ratio * value;
                }
            }
        }
    }
}

simd_dispatch! {
    /// Adds x log rate to `likelihood` and x / rate times the weights to the terms' rows of `statistics`, which begins
    /// with term `first`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn gather(
        columns: &[u32],
        counts: &[f32],
        f: &[f32],
        weights: &[f32],
        statistics: &mut [f64],
        first: usize,
        likelihood: &mut f64,
    ) {
        let width = weights.len();
        for (columns, counts) in columns.chunks(CHUNK).zip(counts.chunks(CHUNK)) {
            let mut ratios = [0.0f32; CHUNK];
            *likelihood += ratios_of(columns, counts, f, weights, &mut ratios);
            for (&column, ratio) in columns.iter().zip(ratios) {
                let row = &mut statistics[(column as usize - first) * width..][..width];
                for (value, weight) in row.iter_mut().zip(weights) {
                    *value += f64::from(ratio * weight);
                }
            }
        }
    }
}

/// x / rate of each count; gives the sum of x log rate.
#[inline(always)]
fn ratios_of(
    columns: &[u32],
    counts: &[f32],
    f: &[f32],
    weights: &[f32],
    ratios: &mut [f32; CHUNK],
) -> f64 {
    let width = weights.len();
    let mut rates = [1.0f32; CHUNK];
    for (rate, &column) in rates.iter_mut().zip(columns) {
        let row = &f[column as usize * width..][..width];
        let mut products = [0.0f32; LANES];
        let parts = row.as_chunks::<LANES>().0.iter();
        for (values, weights) in parts.zip(weights.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                products[lane] += values[lane] * weights[lane];
            }
        }
        *rate = sum(products);
    }
    let mut padded = [0.0f32; CHUNK];
    padded[..counts.len()].copy_from_slice(counts);
    let mut logarithms = [0.0f32; CHUNK];
    for lane in 0..CHUNK {
        let rate = rates[lane].max(SMALLEST);
        ratios[lane] = padded[lane] / rate;
        logarithms[lane] = padded[lane] * ln(rate);
    }
    let mut total = 0.0;
    for logarithms in logarithms.as_chunks::<LANES>().0 {
        total += f64::from(sum(*logarithms));
    }
    total
}
