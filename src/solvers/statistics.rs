//! The sums of expectation-maximisation over one document's nonzero counts: the multipliers of its row of L and its
//! contribution to the statistics of F.

use crate::system::{LANES, ln, simd_dispatch, sum};

use super::RATE_FLOOR;

/// Nonzero counts processed at once.
const BLOCK: usize = 4 * LANES;

simd_dispatch! {
    /// Adds x / rate times the term's row of `f` to `multipliers`. The first row of `f` is that of term `first`; `weights` and
    /// the rows are padded with zeros to `multipliers.len()`, a multiple of `LANES`.
    pub(crate) fn accumulate_multipliers(
        columns: &[u32],
        counts: &[f32],
        f: &[f32],
        first: usize,
        weights: &[f32],
        multipliers: &mut [f32],
    ) {
        let width = weights.len();
        for (columns, counts) in columns.chunks(BLOCK).zip(counts.chunks(BLOCK)) {
            let rates = compute_rates(columns, f, first, weights);
            let ratios = divide(counts, &rates);
            for (&column, ratio) in columns.iter().zip(ratios) {
                let row = &f[(column as usize - first) * width..][..width];
                for (multiplier, value) in multipliers.iter_mut().zip(row) {
                    *multiplier += ratio * value;
                }
            }
        }
    }
}

simd_dispatch! {
    /// Adds x log rate to `likelihood` and x / rate times `weights` to the terms' rows of `statistics`. The first row of `f`
    /// and of `statistics` is that of term `first`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn accumulate_statistics(
        columns: &[u32],
        counts: &[f32],
        f: &[f32],
        first: usize,
        weights: &[f32],
        statistics: &mut [f64],
        likelihood: &mut f64,
    ) {
        let width = weights.len();
        for (columns, counts) in columns.chunks(BLOCK).zip(counts.chunks(BLOCK)) {
            let rates = compute_rates(columns, f, first, weights);
            *likelihood += sum_of_logarithms(counts, &rates);
            let ratios = divide(counts, &rates);
            for (&column, ratio) in columns.iter().zip(ratios) {
                let row = &mut statistics[(column as usize - first) * width..][..width];
                for (value, weight) in row.iter_mut().zip(weights) {
                    *value += f64::from(ratio * weight);
                }
            }
        }
    }
}

/// The rates, at least [`RATE_FLOOR`], and 1 behind the last.
#[inline(always)]
fn compute_rates(columns: &[u32], f: &[f32], first: usize, weights: &[f32]) -> [f32; BLOCK] {
    let width = weights.len();
    let mut rates = [1.0f32; BLOCK];
    for (rate, &column) in rates.iter_mut().zip(columns) {
        let row = &f[(column as usize - first) * width..][..width];
        let mut products = [0.0f32; LANES];
        let parts = row.as_chunks::<LANES>().0.iter();
        for (values, weights) in parts.zip(weights.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                products[lane] += values[lane] * weights[lane];
            }
        }
        *rate = sum(products).max(RATE_FLOOR);
    }
    rates
}

/// Each x / rate, and 0 behind the last.
#[inline(always)]
fn divide(counts: &[f32], rates: &[f32; BLOCK]) -> [f32; BLOCK] {
    let mut ratios = [0.0f32; BLOCK];
    ratios[..counts.len()].copy_from_slice(counts);
    for lane in 0..BLOCK {
        ratios[lane] /= rates[lane];
    }
    ratios
}

/// The sum of x log rate.
#[inline(always)]
fn sum_of_logarithms(counts: &[f32], rates: &[f32; BLOCK]) -> f64 {
    let mut logarithms = [0.0f32; BLOCK];
    logarithms[..counts.len()].copy_from_slice(counts);
    for lane in 0..BLOCK {
        logarithms[lane] *= ln(rates[lane]);
    }
    let registers = logarithms.as_chunks::<LANES>().0.iter();
    registers.map(|lanes| f64::from(sum(*lanes))).sum()
}
