//! Loss and gradients of one document in a shard, for sparse counts: the vector lanes are topics.

use crate::config::SMALLEST_RATE;
use crate::system::{LANES, ln, simd_dispatch};

/// Topics in a block: four registers.
pub(crate) const WIDEST: usize = 4 * LANES;
/// Nonzero counts in a chunk.
const CHUNK: usize = 4 * LANES;

/// The term of a nonzero count.
#[derive(Clone, Copy, Default)]
pub(crate) struct Nonzero {
    /// The term's row of the exponentials, counted from the shard's first term.
    pub(crate) term: u32,
    /// The term's row of the accumulated gradients.
    pub(crate) slot: u32,
}

/// What a document's nonzero counts read and add to.
pub(crate) struct Tables<'a> {
    /// The document's weights, padded with zeros to whole registers.
    pub(crate) weights: &'a [f32],
    /// Receives x / rate times the term's row of `exps`.
    pub(crate) weight_gradients: &'a mut [f32],
    pub(crate) topics: usize,
    /// The shard's terms x topics.
    pub(crate) exps: &'a [f32],
    /// Receives x / rate times `weights` in the term's slot.
    pub(crate) term_gradients: &'a mut [f32],
    /// Receives x log rate.
    pub(crate) likelihood: &'a mut f64,
}

simd_dispatch! {
    /// Adds the part of each nonzero count x of a document to the loss and the gradients.
    pub(crate) fn accumulate_document(tables: Tables<'_>, nonzeros: &[Nonzero], counts: &[f32]) {
        // A shard often has only a few of a document's counts. Zeros that fill a register cost as much as counts.
        let mut tables = tables;
        let mut total = [0.0f64; LANES];
        for (nonzeros, counts) in nonzeros.chunks(CHUNK).zip(counts.chunks(CHUNK)) {
            match counts.len().div_ceil(LANES) {
                1 => accumulate_chunk::<LANES>(&mut tables, nonzeros, counts, &mut total),
                2 => accumulate_chunk::<{ 2 * LANES }>(&mut tables, nonzeros, counts, &mut total),
                _ => accumulate_chunk::<CHUNK>(&mut tables, nonzeros, counts, &mut total),
            }
        }
        *tables.likelihood += total.iter().sum::<f64>();
    }
}

/// The part of at most `N` nonzero counts.
#[inline(always)]
fn accumulate_chunk<const N: usize>(
    tables: &mut Tables<'_>,
    nonzeros: &[Nonzero],
    counts: &[f32],
    total: &mut [f64; LANES],
) {
    let (weights, topics) = (tables.weights, tables.topics);
    let strides = (topics, weights.len());
    let mut products = [[0.0f32; LANES]; N];
    for (block, weights) in weights.chunks(WIDEST).enumerate() {
        let exps = &tables.exps[block * WIDEST..];
        match weights.len() / LANES {
            1 => add_products::<1, N>(weights, exps, nonzeros, topics, &mut products),
            2 => add_products::<2, N>(weights, exps, nonzeros, topics, &mut products),
            3 => add_products::<3, N>(weights, exps, nonzeros, topics, &mut products),
            _ => add_products::<4, N>(weights, exps, nonzeros, topics, &mut products),
        }
    }
    let rates = sums(&products);
    // The rest of the chunk is padded with counts of 0, which have no effect.
    let mut ratios = [0.0f32; N];
    ratios[..counts.len()].copy_from_slice(counts);
    let mut logarithms = [0.0f32; N];
    for lane in 0..N {
        let (rate, count) = (rates[lane], ratios[lane]);
        // Below the smallest rate the clamped logarithm is constant: its gradient is zero.
        let smallest = SMALLEST_RATE as f32;
        let clamped = if rate > smallest { rate } else { smallest };
        logarithms[lane] = count * ln(clamped);
        let ratio = count / clamped;
        ratios[lane] = if rate < smallest { 0.0 } else { ratio };
    }
    for logarithms in logarithms.chunks_exact(LANES) {
        for (total, logarithm) in total.iter_mut().zip(logarithms) {
            *total += f64::from(*logarithm);
        }
    }
    let blocks = weights
        .chunks(WIDEST)
        .zip(tables.weight_gradients.chunks_mut(WIDEST));
    for (block, (weights, gradients)) in blocks.enumerate() {
        let at = block * WIDEST;
        let (exps, out) = (&tables.exps[at..], &mut tables.term_gradients[at..]);
        match weights.len() / LANES {
            1 => scatter::<1>(weights, gradients, exps, out, nonzeros, strides, &ratios),
            2 => scatter::<2>(weights, gradients, exps, out, nonzeros, strides, &ratios),
            3 => scatter::<3>(weights, gradients, exps, out, nonzeros, strides, &ratios),
            _ => scatter::<4>(weights, gradients, exps, out, nonzeros, strides, &ratios),
        }
    }
}

/// Adds the products of the weights with each term's row, lane by lane. Rows are read in whole registers, past their
/// end into the next row, where the weights are zero.
#[inline(always)]
fn add_products<const REGISTERS: usize, const N: usize>(
    weights: &[f32],
    exps: &[f32],
    nonzeros: &[Nonzero],
    topics: usize,
    products: &mut [[f32; LANES]; N],
) {
    let weights: [[f32; LANES]; REGISTERS] =
        std::array::from_fn(|r| std::array::from_fn(|lane| weights[r * LANES + lane]));
    for (products, nonzero) in products.iter_mut().zip(nonzeros) {
        let (row, _) =
            exps[nonzero.term as usize * topics..][..REGISTERS * LANES].as_chunks::<LANES>();
        for (weights, values) in weights.iter().zip(row) {
            for lane in 0..LANES {
                products[lane] = weights[lane].mul_add(values[lane], products[lane]);
            }
        }
    }
}

/// The sum of the lanes of each product, in an order that can be vectorised: four partial sums of each product first,
/// then their total.
#[inline(always)]
fn sums<const N: usize>(products: &[[f32; LANES]; N]) -> [f32; N] {
    let mut quarters = [[0.0f32; LANES / 4]; N];
    for (quarter, product) in quarters.iter_mut().zip(products) {
        for lane in 0..LANES / 4 {
            quarter[lane] = (product[lane] + product[lane + LANES / 2])
                + (product[lane + LANES / 4] + product[lane + 3 * LANES / 4]);
        }
    }
    let mut sums = [0.0; N];
    for (sum, [a, b, c, d]) in sums.iter_mut().zip(&quarters) {
        *sum = (a + b) + (c + d);
    }
    sums
}

/// Adds each ratio times its term's row to the gradients of the weights, and each ratio times the weights to its term's
/// gradient.
#[inline(always)]
fn scatter<const REGISTERS: usize>(
    weights: &[f32],
    gradients: &mut [f32],
    exps: &[f32],
    term_gradients: &mut [f32],
    nonzeros: &[Nonzero],
    (topics, width): (usize, usize),
    ratios: &[f32],
) {
    let weights: [[f32; LANES]; REGISTERS] =
        std::array::from_fn(|r| std::array::from_fn(|lane| weights[r * LANES + lane]));
    let mut totals = [[0.0f32; LANES]; REGISTERS];
    for (nonzero, &ratio) in nonzeros.iter().zip(ratios) {
        let out = &mut term_gradients[nonzero.slot as usize * width..][..REGISTERS * LANES];
        let row = &exps[nonzero.term as usize * topics..][..REGISTERS * LANES];
        for r in 0..REGISTERS {
            for lane in 0..LANES {
                let at = r * LANES + lane;
                totals[r][lane] = row[at].mul_add(ratio, totals[r][lane]);
                out[at] = weights[r][lane].mul_add(ratio, out[at]);
            }
        }
    }
    for (gradient, total) in gradients.iter_mut().zip(totals.as_flattened()) {
        *gradient += total;
    }
}
