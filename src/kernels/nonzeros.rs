//! Sums over a few nonzero counts, whose rows in a table may be anywhere: the vector lanes are topics. Of a document, the rows
//! are those of F; of a term, those of L.

use crate::system::{LANES, ln, max_of_numbers, per_lane, sum};

use super::Floor;

/// Topics in a block: four registers.
pub(crate) const WIDEST: usize = 4 * LANES;

/// Evaluates an expression for a block of weights, with its number of registers as a constant.
macro_rules! with_registers {
    ($weights:expr, $R:ident => $body:expr) => {
        match $weights.len() / $crate::system::LANES {
            1 => {
                const $R: usize = 1;
                $body
            }
            2 => {
                const $R: usize = 2;
                $body
            }
            3 => {
                const $R: usize = 3;
                $body
            }
            _ => {
                const $R: usize = 4;
                $body
            }
        }
    };
}
pub(crate) use with_registers;

/// Writes the products of `weights` with the rows of a table that begin at `starts`. Rows are read in whole registers, past
/// their end into the next row: there the weights, which are padded to whole registers, are zero.
#[inline(always)]
pub(crate) fn rates(
    weights: &[f32],
    table: &[f32],
    starts: impl Iterator<Item = usize> + Clone,
    rates: &mut [f32],
) {
    for (block, weights) in weights.chunks(WIDEST).enumerate() {
        let rows = starts.clone().map(|start| &table[start + block * WIDEST..]);
        with_registers!(weights, R => {
            let weights = registers::<R>(weights);
            for (rate, row) in rates.iter_mut().zip(rows) {
                let product = dot(&weights, row);
                *rate = if block == 0 { product } else { *rate + product };
            }
        });
    }
}

#[inline(always)]
fn dot<const R: usize>(weights: &[[f32; LANES]; R], row: &[f32]) -> f32 {
    let (row, _) = row[..R * LANES].as_chunks::<LANES>();
    let mut products = [0.0f32; LANES];
    for (weights, values) in weights.iter().zip(row) {
        for lane in 0..LANES {
            products[lane] = weights[lane].mul_add(values[lane], products[lane]);
        }
    }
    // Without the barrier the compiler splits the products into the parts that are summed, or gathers these from memory.
    sum(std::hint::black_box(products))
}

/// Replaces rates by count / rate, and returns the sum of count times log rate if it `wants` it. The rates are in whole
/// registers; behind the last count any number will do.
#[inline(always)]
pub(crate) fn divide(counts: &[f32], rates: &mut [f32], floor: Floor, wants: bool) -> f64 {
    let mut total = 0.0;
    let (registers, _) = rates.as_chunks_mut::<LANES>();
    for (rates, counts) in registers.iter_mut().zip(counts.chunks(LANES)) {
        let mut padded = [0.0; LANES];
        padded[..counts.len()].copy_from_slice(counts);
        let at_least = per_lane(|lane| max_of_numbers(rates[lane], floor.rate));
        if wants {
            total += f64::from(sum(per_lane(|lane| padded[lane] * ln(at_least[lane]))));
        }
        let is_zero = |rate: f32| floor.zero_below && rate < floor.rate;
        *rates = per_lane(|lane| match is_zero(rates[lane]) {
            true => 0.0,
            false => padded[lane] / at_least[lane],
        });
    }
    total
}

/// Adds each ratio times its row to `sums`.
#[inline(always)]
pub(crate) fn add_rows(
    ratios: &[f32],
    table: &[f32],
    starts: impl Iterator<Item = usize> + Clone,
    sums: &mut [f32],
) {
    for (block, sums) in sums.chunks_mut(WIDEST).enumerate() {
        let rows = starts.clone().map(|start| &table[start + block * WIDEST..]);
        with_registers!(sums, R => {
            let mut totals = registers::<R>(sums);
            for (&ratio, row) in ratios.iter().zip(rows) {
                let (row, _) = row[..R * LANES].as_chunks::<LANES>();
                for (totals, values) in totals.iter_mut().zip(row) {
                    for lane in 0..LANES {
                        totals[lane] = values[lane].mul_add(ratio, totals[lane]);
                    }
                }
            }
            sums.copy_from_slice(totals.as_flattened());
        });
    }
}

/// The first values of a slice, as registers.
#[inline(always)]
pub(crate) fn registers<const R: usize>(values: &[f32]) -> [[f32; LANES]; R] {
    std::array::from_fn(|r| std::array::from_fn(|lane| values[r * LANES + lane]))
}
