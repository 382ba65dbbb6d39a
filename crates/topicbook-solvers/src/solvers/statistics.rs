//! The sums of expectation-maximisation over nonzero counts: for a document the multipliers of its row of L, for a term its row
//! of F's statistics.

use crate::kernels::{Floor, add_rows, divide, rates};
use crate::system::{LANES, simd_dispatch};

use super::RATE_FLOOR;
use super::parts::PendingByTerm;

/// Rates are raised to it.
pub(super) const FLOOR: Floor = Floor {
    rate: RATE_FLOOR,
    zero_below: false,
};

/// Documents whose contributions to a term's statistics are summed in single precision.
const IN_F32: usize = 256;

simd_dispatch! {
    /// Adds x / rate times the term's row of `f` to `multipliers`. `weights` and the rows are padded with zeros to
    /// `multipliers.len()`, a multiple of `LANES`. Leaves each x / rate in `ratios`, and adds x log rate to `likelihood` if it is given.
    pub fn accumulate_multipliers<V: Vector>(
        nonzeros: (&[u32], &[f32]),
        f: &[f32],
        weights: &[f32],
        multipliers: &mut [f32],
        ratios: &mut Vec<f32>,
        likelihood: Option<&mut f64>,
    ) {
        let (columns, counts) = nonzeros;
        let start = |i: usize| columns[i] as usize * weights.len();
        ratios.resize(counts.len().next_multiple_of(LANES), 0.0);
        rates::<V>(weights, f, columns.len(), start, ratios);
        let sum = divide(counts, ratios, FLOOR, likelihood.is_some());
        if let Some(likelihood) = likelihood {
            *likelihood += sum;
        }
        add_rows::<V>(&ratios[..columns.len()], f, start, multipliers);
    }
}

simd_dispatch! {
    /// Adds x / rate times the document's row of `l` to each term's row of `statistics`, and x log rate to `likelihood`. All
    /// rows are padded with zeros to `sums.len()`, a multiple of `LANES`. `sums` and `ratios` are scratch. With `f` of `None`
    /// the counts are x / rate already, and nothing is added to `likelihood`.
    pub fn accumulate_statistics<V: Vector>(
        counts: &PendingByTerm<'_>,
        l: &[f32],
        f: Option<&[f32]>,
        statistics: &mut [f64],
        likelihood: &mut f64,
        sums: &mut [f32],
        ratios: &mut Vec<f32>,
    ) {
        let width = sums.len();
        for (term, statistics) in statistics.chunks_exact_mut(width).enumerate() {
            let row_of_f = f.map(|f| &f[term * width..][..width]);
            let (documents, counts) = counts.of(term);
            for (documents, counts) in documents.chunks(IN_F32).zip(counts.chunks(IN_F32)) {
                let start = |i: usize| documents[i] as usize * width;
                let ratios = match row_of_f {
                    Some(row) => {
                        ratios.resize(counts.len().next_multiple_of(LANES), 0.0);
                        rates::<V>(row, l, documents.len(), start, ratios);
                        *likelihood += divide(counts, ratios, FLOOR, true);
                        &ratios[..documents.len()]
                    }
                    None => counts,
                };
                sums.fill(0.0);
                add_rows::<V>(ratios, l, start, sums);
                for (statistic, sum) in statistics.iter_mut().zip(&*sums) {
                    *statistic += f64::from(*sum);
                }
            }
        }
    }
}
