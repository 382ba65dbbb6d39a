//! A document's counts in a shard where few are nonzero: topics side by side.

use super::vector::{LANES, ln};
use crate::model::SMALLEST_RATE;
use crate::simd::simd_dispatch;

/// Topics worked on at once: four registers.
pub(super) const WIDEST: usize = 4 * LANES;
/// Nonzero counts worked on at once.
const CHUNK: usize = 4 * LANES;

/// Where a nonzero count's term lies.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// Its row of the exponentials, counted from the shard's first term.
    pub(super) term: u32,
    /// Its row of the gathered gradients.
    pub(super) slot: u32,
}

simd_dispatch! {
    /// One document's terms in a shard: adds x log rate to `likelihood`, x / rate times the term's row to `gradients`,
    /// and x / rate times the weights to the rows of `table_gradient`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn gather_document(
        weights: &[f32],
        gradients: &mut [f32],
        places: &[Place],
        counts: &[f32],
        topics: usize,
        exps: &[f32],
        table_gradient: &mut [f32],
        likelihood: &mut f64,
    ) {
        let mut total = [0.0f64; LANES];
        let strides = (topics, weights.len());
        for (places, counts) in places.chunks(CHUNK).zip(counts.chunks(CHUNK)) {
            let mut products = [[0.0f32; LANES]; CHUNK];
            for (block, weights) in weights.chunks(WIDEST).enumerate() {
                let exps = &exps[block * WIDEST..];
                match weights.len() / LANES {
                    1 => add_products::<1>(weights, exps, places, topics, &mut products),
                    2 => add_products::<2>(weights, exps, places, topics, &mut products),
                    3 => add_products::<3>(weights, exps, places, topics, &mut products),
                    _ => add_products::<4>(weights, exps, places, topics, &mut products),
                }
            }
            let rates = sums(&products);
            // Counts of 0 fill the chunk up: they change nothing.
            let mut shares = [0.0f32; CHUNK];
            shares[..counts.len()].copy_from_slice(counts);
            let mut logarithms = [0.0f32; CHUNK];
            for lane in 0..CHUNK {
                let (rate, count) = (rates[lane], shares[lane]);
                // The logarithm is cut off below, and its slope with it.
                let smallest = SMALLEST_RATE as f32;
                let held = if rate > smallest { rate } else { smallest };
                logarithms[lane] = count * ln(held);
                let share = count / held;
                shares[lane] = if rate < smallest { 0.0 } else { share };
            }
            for logarithms in logarithms.chunks_exact(LANES) {
                for (total, logarithm) in total.iter_mut().zip(logarithms) {
                    *total += f64::from(*logarithm);
                }
            }
            let blocks = weights.chunks(WIDEST).zip(gradients.chunks_mut(WIDEST));
            for (block, (weights, gradients)) in blocks.enumerate() {
                let at = block * WIDEST;
                let (exps, table) = (&exps[at..], &mut table_gradient[at..]);
                match weights.len() / LANES {
                    1 => spread::<1>(weights, gradients, exps, table, places, strides, &shares),
                    2 => spread::<2>(weights, gradients, exps, table, places, strides, &shares),
                    3 => spread::<3>(weights, gradients, exps, table, places, strides, &shares),
                    _ => spread::<4>(weights, gradients, exps, table, places, strides, &shares),
                }
            }
        }
        *likelihood += total.iter().sum::<f64>();
    }
}

/// Adds the product of the weights with each term's row. Rows are read past their end into the next one's; the weights
/// there are zero.
#[inline(always)]
fn add_products<const REGISTERS: usize>(
    weights: &[f32],
    exps: &[f32],
    places: &[Place],
    topics: usize,
    products: &mut [[f32; LANES]; CHUNK],
) {
    let weights: [[f32; LANES]; REGISTERS] =
        std::array::from_fn(|r| std::array::from_fn(|lane| weights[r * LANES + lane]));
    for (products, place) in products.iter_mut().zip(places) {
        let (row, _) =
            exps[place.term as usize * topics..][..REGISTERS * LANES].as_chunks::<LANES>();
        for (weights, values) in weights.iter().zip(row) {
            for lane in 0..LANES {
                products[lane] = weights[lane].mul_add(values[lane], products[lane]);
            }
        }
    }
}

/// The sum of each product's lanes, in an order that vectors can follow: quarters of each, then fours of all.
#[inline(always)]
fn sums(products: &[[f32; LANES]; CHUNK]) -> [f32; CHUNK] {
    let mut quarters = [[0.0f32; LANES / 4]; CHUNK];
    for (quarter, product) in quarters.iter_mut().zip(products) {
        for lane in 0..LANES / 4 {
            quarter[lane] = (product[lane] + product[lane + LANES / 2])
                + (product[lane + LANES / 4] + product[lane + 3 * LANES / 4]);
        }
    }
    let mut sums = [0.0; CHUNK];
    for (sum, [a, b, c, d]) in sums.iter_mut().zip(&quarters) {
        *sum = (a + b) + (c + d);
    }
    sums
}

/// Adds each share times its term's row to the gradients of the weights, and times the weights to the row's gradient.
#[inline(always)]
fn spread<const REGISTERS: usize>(
    weights: &[f32],
    gradients: &mut [f32],
    exps: &[f32],
    table_gradient: &mut [f32],
    places: &[Place],
    (topics, width): (usize, usize),
    shares: &[f32; CHUNK],
) {
    let weights: [[f32; LANES]; REGISTERS] =
        std::array::from_fn(|r| std::array::from_fn(|lane| weights[r * LANES + lane]));
    let mut totals = [[0.0f32; LANES]; REGISTERS];
    for (place, &share) in places.iter().zip(shares) {
        let out = &mut table_gradient[place.slot as usize * width..][..REGISTERS * LANES];
        let row = &exps[place.term as usize * topics..][..REGISTERS * LANES];
        for r in 0..REGISTERS {
            for lane in 0..LANES {
                let at = r * LANES + lane;
                totals[r][lane] = row[at].mul_add(share, totals[r][lane]);
                out[at] = weights[r][lane].mul_add(share, out[at]);
            }
        }
    }
    for (gradient, total) in gradients.iter_mut().zip(totals.as_flattened()) {
        *gradient += total;
    }
}
