//! One row of a table, given the other table: a concave problem, solved by sequential coordinate descent.
//!
//! With x the row's nonzero counts, f their rows of the other table and p the other table's column sums, the row w
//! maximises `sum over j of x_j log(w . f_j) - w . p`. Along one coordinate the slope is `G(w) - p` with
//! `G = sum x_j f_j / rate_j`, a sum of terms a / (b + w), and 1 / G is concave: Newton's step on `1 / G = 1 / p`, which
//! is Newton's step on `G = p` times G / p, lands left of the maximum, and from the left it never overshoots.
//! (Newton's own step, that of Lin and Boutros 2018, only doubles a coordinate that starts near zero.) From the right
//! it may, so a row that has lost is taken back and moved by a step of expectation-maximisation, which cannot lose.

use crate::model::vector::{LANES, each, larger, ln};
use crate::simd::simd_dispatch;

/// The smallest rate: keeps quotients finite.
const TINY: f32 = 1e-30;

/// What the rows of one table are solved against.
pub(super) struct Against<'a> {
    /// The other table, row by row.
    pub(super) table: &'a [f32],
    /// Its column sums; one per topic.
    pub(super) pulls: &'a [f32],
    /// Rounds over the coordinates.
    pub(super) sweeps: usize,
}

/// A thread's room for one row; grows to 4 bytes x (topics + 2) x the largest number of nonzero counts in a row.
#[derive(Default)]
pub(super) struct Scratch {
    /// The rows of the other table that belong to the counts, topic by topic.
    gathered: Vec<f32>,
    rates: Vec<f32>,
    counts: Vec<f32>,
    before: Vec<f32>,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Outcome {
    /// The sum of x log rate afterwards.
    pub(super) likelihood: f64,
    /// Tokens that a step of expectation-maximisation would have moved at the beginning.
    pub(super) moved: f64,
}

/// Improves `weights`, the row of these counts; a row without counts becomes zero. No coordinate falls below `floor`.
pub(super) fn improve(
    indices: &[u32],
    counts: &[f32],
    against: &Against<'_>,
    floor: f32,
    weights: &mut [f32],
    scratch: &mut Scratch,
) -> Outcome {
    let mut outcome = Outcome::default();
    if counts.iter().all(|count| *count == 0.0) {
        weights.fill(0.0);
    } else {
        improve_row(
            indices,
            counts,
            against,
            floor,
            weights,
            scratch,
            &mut outcome,
        );
    }
    outcome
}

simd_dispatch! {
    fn improve_row(
        indices: &[u32],
        counts: &[f32],
        against: &Against<'_>,
        floor: f32,
        weights: &mut [f32],
        scratch: &mut Scratch,
        outcome: &mut Outcome,
    ) {
        let topics = weights.len();
        let stride = counts.len().next_multiple_of(LANES);
        if scratch.rates.len() < stride {
            scratch.rates.resize(stride, 0.0);
            scratch.counts.resize(stride, 0.0);
        }
        if scratch.gathered.len() < stride * topics {
            scratch.gathered.resize(stride * topics, 0.0);
        }
        let gathered = &mut scratch.gathered[..stride * topics];
        let rates = &mut scratch.rates[..stride];
        // Counts of zero fill the last register up: they change nothing.
        let padded = &mut scratch.counts[..stride];
        padded[..counts.len()].copy_from_slice(counts);
        padded[counts.len()..].fill(0.0);
        let counts = &*padded;
        // Side by side, and each exact as long as counts are whole numbers: their order does not show.
        let mut totals = [0.0f64; LANES];
        for counts in registers(counts) {
            for lane in 0..LANES {
                totals[lane] += f64::from(counts[lane]);
            }
        }
        let total: f64 = totals.iter().sum();
        gather(indices, against.table, stride, gathered);

        scratch.before.clear();
        scratch.before.extend_from_slice(weights);
        let start = objective(weights, against.pulls, gathered, counts, rates);
        outcome.moved = 0.0;
        // A coordinate's step reaches the rates while the next coordinate's slope is summed: one pass for both.
        let mut step = Step { column: &gathered[..stride], change: 0.0, weight: 0.0 };
        for sweep in 0..against.sweeps {
            for (topic, column) in gathered.chunks_exact(stride).enumerate() {
                let (slope, bend) = derivatives(column, rates, counts, &step);
                step = Step { column, change: 0.0, weight: 0.0 };
                let (old, pull) = (weights[topic], against.pulls[topic]);
                if sweep == 0 {
                    outcome.moved += f64::from(old) * f64::from((slope - pull).abs());
                }
                let new = (old + (slope - pull) * slope / (bend * pull)).max(floor);
                let change = new - old;
                // A topic that has nothing here, or nothing at all, stays.
                if bend > 0.0 && pull > 0.0 && change != 0.0 && change.is_finite() {
                    weights[topic] = new;
                    step = Step { column, change, weight: new };
                }
            }
        }
        // From the weights: what the steps have added to the rates and taken away leaves rounding behind.
        let mut end = objective(weights, against.pulls, gathered, counts, rates);
        // Lost more than rounding explains.
        if end.is_nan() || end < start - 1e-6 * total {
            weights.copy_from_slice(&scratch.before);
            objective(weights, against.pulls, gathered, counts, rates);
            let still = Step { column: &gathered[..stride], change: 0.0, weight: 0.0 };
            for (topic, column) in gathered.chunks_exact(stride).enumerate() {
                let (slope, _) = derivatives(column, rates, counts, &still);
                let moved = weights[topic] * slope / against.pulls[topic];
                if moved.is_finite() {
                    weights[topic] = moved.max(floor);
                }
            }
            end = objective(weights, against.pulls, gathered, counts, rates);
        }
        // The best point on the ray through the row: as many tokens are explained as there are.
        let pulled = pulled(weights, against.pulls);
        let ray = (total / pulled) as f32;
        weights.iter_mut().for_each(|weight| *weight *= ray);
        outcome.likelihood = end + pulled + total * f64::from(ray).ln();
    }
}

/// The rows of `table` at `indices`, as columns of length `stride`, padded with zeros.
#[inline(always)]
fn gather(indices: &[u32], table: &[f32], stride: usize, gathered: &mut [f32]) {
    let topics = gathered.len() / stride;
    for (block, indices) in indices.chunks(LANES).enumerate() {
        let first = block * LANES;
        let mut rows: [&[f32]; LANES] = [&[]; LANES];
        for (row, &index) in rows.iter_mut().zip(indices) {
            *row = &table[index as usize * topics..][..topics];
        }
        for topic in 0..topics {
            let column = &mut gathered[topic * stride + first..][..LANES];
            if indices.len() == LANES {
                for lane in 0..LANES {
                    column[lane] = rows[lane][topic];
                }
            } else {
                column.fill(0.0);
                for (value, row) in column.iter_mut().zip(&rows[..indices.len()]) {
                    *value = row[topic];
                }
            }
        }
    }
}

/// Fills in the rates; the value of the problem.
#[inline(always)]
fn objective(
    weights: &[f32],
    pulls: &[f32],
    gathered: &[f32],
    counts: &[f32],
    rates: &mut [f32],
) -> f64 {
    let stride = rates.len();
    let blocks = rates.as_chunks_mut::<LANES>().0.iter_mut();
    let mut total = 0.0;
    for (block, (rates, counts)) in blocks.zip(registers(counts)).enumerate() {
        let mut sums = [0.0f32; LANES];
        for (column, &weight) in gathered.chunks_exact(stride).zip(weights) {
            let values = &registers(column)[block];
            sums = each(|lane| weight.mul_add(values[lane], sums[lane]));
        }
        *rates = each(|lane| larger(sums[lane], TINY));
        total += f64::from(sum(each(|lane| counts[lane] * ln(rates[lane]))));
    }
    total - pulled(weights, pulls)
}

#[inline(always)]
fn pulled(weights: &[f32], pulls: &[f32]) -> f64 {
    let products = weights.iter().zip(pulls);
    products
        .map(|(weight, pull)| f64::from(*weight) * f64::from(*pull))
        .sum()
}

/// A coordinate on its way to a new value.
struct Step<'a> {
    column: &'a [f32],
    change: f32,
    weight: f32,
}

/// Takes the step that is due, then the slope G along a coordinate, and how fast it falls. A rate is never smaller than
/// what the moved coordinate gives, whatever cancels.
#[inline(always)]
fn derivatives(column: &[f32], rates: &mut [f32], counts: &[f32], step: &Step<'_>) -> (f32, f32) {
    let (mut slope, mut bend) = ([0.0f32; LANES], [0.0f32; LANES]);
    let rates = rates.as_chunks_mut::<LANES>().0.iter_mut();
    let parts = rates.zip(registers(counts)).zip(registers(step.column));
    for (((rates, counts), moved), column) in parts.zip(registers(column)) {
        let shifted = each(|lane| step.change.mul_add(moved[lane], rates[lane]));
        *rates = each(|lane| larger(larger(shifted[lane], step.weight * moved[lane]), TINY));
        let ratio = each(|lane| column[lane] / rates[lane]);
        let part = each(|lane| counts[lane] * ratio[lane]);
        slope = each(|lane| slope[lane] + part[lane]);
        bend = each(|lane| part[lane].mul_add(ratio[lane], bend[lane]));
    }
    (sum(slope), sum(bend))
}

#[inline(always)]
fn registers(values: &[f32]) -> &[[f32; LANES]] {
    values.as_chunks::<LANES>().0
}

/// The sum of an array, in halves: an order that vectors can follow.
#[inline(always)]
pub(super) fn sum(values: [f32; LANES]) -> f32 {
    let mut eight = [0.0; 8];
    for lane in 0..8 {
        eight[lane] = values[lane] + values[lane + 8];
    }
    let mut four = [0.0; 4];
    for lane in 0..4 {
        four[lane] = eight[lane] + eight[lane + 4];
    }
    (four[0] + four[2]) + (four[1] + four[3])
}
