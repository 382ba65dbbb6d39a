//! The sums of expectation-maximisation over one document's nonzero counts: the multipliers of its row of L and its
//! contribution to the statistics of F.

use crate::system::{LANES, ln, simd_dispatch};

use super::RATE_FLOOR;
use super::row_update::sum;

/// Nonzero counts processed at once.
const BLOCK: usize = 4 * LANES;

simd_dispatch! {
    /// Adds x log rate to `likelihood` and x / rate times the term's row of `f` to `multipliers`. `weights` and the
    /// rows of `f` are padded with zeros to `multipliers.len()`, a multiple of `LANES`.
    pub(crate) fn accumulate_multipliers(
        columns: &[u32],
        counts: &[f32],
        f: &[f32],
        weights: &[f32],
        multipliers: &mut [f32],
        likelihood: &mut f64,
    ) {
        let width = weights.len();
        for (columns, counts) in columns.chunks(BLOCK).zip(counts.chunks(BLOCK)) {
            let mut ratios = [0.0f32; BLOCK];
            *likelihood += compute_ratios(columns, counts, f, weights, &mut ratios);
            for (&column, ratio) in columns.iter().zip(ratios) {
                let row = &f[column as usize * width..][..width];
                for (multiplier, value) in multipliers.iter_mut().zip(row) {
                    *multiplier += ratio * value;
                }
            }
        }
    }
}

simd_dispatch! {
    /// Adds x log rate to `likelihood` and x / rate times `weights` to the terms' rows of `statistics`, whose first row
    /// is that of term `first`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn accumulate_statistics(
        columns: &[u32],
        counts: &[f32],
        f: &[f32],
        weights: &[f32],
        statistics: &mut [f64],
        first: usize,
        likelihood: &mut f64,
    ) {
        let width = weights.len();
        for (columns, counts) in columns.chunks(BLOCK).zip(counts.chunks(BLOCK)) {
            let mut ratios = [0.0f32; BLOCK];
            *likelihood += compute_ratios(columns, counts, f, weights, &mut ratios);
            for (&column, ratio) in columns.iter().zip(ratios) {
                let row = &mut statistics[(column as usize - first) * width..][..width];
                for (value, weight) in row.iter_mut().zip(weights) {
                    *value += f64::from(ratio * weight);
                }
            }
        }
    }
}

/// Computes x / rate for each count and returns the sum of x log rate.
#[inline(always)]
fn compute_ratios(
    columns: &[u32],
    counts: &[f32],
    f: &[f32],
    weights: &[f32],
    ratios: &mut [f32; BLOCK],
) -> f64 {
    let width = weights.len();
    let mut rates = [1.0f32; BLOCK];
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
    let mut padded = [0.0f32; BLOCK];
    padded[..counts.len()].copy_from_slice(counts);
    let mut logarithms = [0.0f32; BLOCK];
    for lane in 0..BLOCK {
        let rate = rates[lane].max(RATE_FLOOR);
        ratios[lane] = padded[lane] / rate;
        logarithms[lane] = padded[lane] * ln(rate);
    }
    let mut total = 0.0;
    for logarithms in logarithms.as_chunks::<LANES>().0 {
        total += f64::from(sum(*logarithms));
    }
    total
}
