//! Updates one row of a factor given the other factor: a concave problem, solved by cyclic coordinate descent.
//!
//! With x the row's nonzero counts, f their rows of the other factor and p the column sums of the other factor, the row
//! w maximises `sum over j of x_j log(w . f_j) - w . p`. Along one coordinate the derivative is `G(w) - p` with
//! `G = sum x_j f_j / rate_j`, a sum of terms a / (b + w), so 1 / G is concave. Newton's step on `1 / G = 1 / p`, which is
//! Newton's step on `G = p` times G / p, lands left of the maximum, and from the left it never overshoots.
//! (Newton's step on `G = p`, as in Lin and Boutros 2018, only doubles a coordinate that starts near zero.) From the right
//! it can overshoot. So a row whose objective has fallen is restored and updated by one step of
//! expectation-maximisation, which never lowers the objective.

use crate::system::{LANES, ln, max_of_numbers, per_lane, simd_dispatch, sum};

use super::RATE_FLOOR;
use super::gather::gather;

/// The inputs that all rows of a factor share.
pub struct RowProblem<'a> {
    /// The other factor: rows x topics.
    pub factor: &'a [f32],
    /// Column sums of the other factor, one per topic.
    pub column_sums: &'a [f32],
    /// Sweeps over the coordinates.
    pub sweeps: usize,
}

/// Scratch buffers of one thread. They grow to 4 bytes x (topics + 2) x the largest number of nonzero counts in a row.
#[derive(Default)]
pub struct DescentScratch {
    /// The rows of the other factor at the nonzero counts, transposed: topics x padded nonzeros.
    gathered: Vec<f32>,
    rates: Vec<f32>,
    counts: Vec<f32>,
    initial: Vec<f32>,
}

/// Result of updating a row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outcome {
    /// The sum of x log rate after the update.
    pub likelihood: f64,
    /// The L1 residual of the KKT conditions, the sum over topics of w |G - p|, as the first sweep evaluates it. This is
    /// the number of tokens that a step of expectation-maximisation would have moved.
    pub kkt_residual: f64,
}

/// Improves `weights`, the row that belongs to these counts. A row without counts becomes zero; no coordinate of
/// another row falls below `floor`.
pub fn improve(
    indices: &[u32],
    counts: &[f32],
    problem: &RowProblem<'_>,
    floor: f32,
    weights: &mut [f32],
    scratch: &mut DescentScratch,
) -> Outcome {
    let mut outcome = Outcome::default();
    if counts.iter().all(|count| *count == 0.0) {
        weights.fill(0.0);
    } else {
        let stride = counts.len().next_multiple_of(LANES);
        let gathered = stride * weights.len();
        if scratch.gathered.len() < gathered {
            scratch.gathered.resize(gathered, 0.0);
        }
        let gathered = &mut scratch.gathered[..gathered];
        gather(indices, problem.factor, stride, gathered);
        improve_row(counts, problem, floor, weights, scratch, &mut outcome);
    }
    outcome
}

simd_dispatch! {
    /// Improves a row; the rows of the other factor have been gathered.
    fn improve_row(
        counts: &[f32],
        problem: &RowProblem<'_>,
        floor: f32,
        weights: &mut [f32],
        scratch: &mut DescentScratch,
        outcome: &mut Outcome,
    ) {
        let topics = weights.len();
        let stride = counts.len().next_multiple_of(LANES);
        if scratch.rates.len() < stride {
            scratch.rates.resize(stride, 0.0);
            scratch.counts.resize(stride, 0.0);
        }
        let gathered = &scratch.gathered[..stride * topics];
        let rates = &mut scratch.rates[..stride];
        // Zero counts pad the last register; they contribute nothing to any sum.
        let padded = &mut scratch.counts[..stride];
        padded[..counts.len()].copy_from_slice(counts);
        padded[counts.len()..].fill(0.0);
        let counts = &*padded;
        // One sum per lane. Sums of whole numbers are exact, so the order of the additions does not matter.
        let mut totals = [0.0f64; LANES];
        for counts in registers(counts) {
            for lane in 0..LANES {
                totals[lane] += f64::from(counts[lane]);
            }
        }
        let total: f64 = totals.iter().sum();
        scratch.initial.clear();
        scratch.initial.extend_from_slice(weights);
        let start = objective(weights, problem.column_sums, gathered, counts, rates);
        outcome.kkt_residual = 0.0;
        // `derivatives` applies the previous coordinate's step to the rates while it sums the derivatives of the next
        // coordinate, so that each coordinate needs one pass over the nonzeros.
        let mut pending = PendingStep { column: &gathered[..stride], change: 0.0, weight: 0.0 };
        for sweep in 0..problem.sweeps {
            for (topic, column) in gathered.chunks_exact(stride).enumerate() {
                let (gradient, curvature) = derivatives(column, rates, counts, &pending);
                pending = PendingStep { column, change: 0.0, weight: 0.0 };
                let (old, column_sum) = (weights[topic], problem.column_sums[topic]);
                if sweep == 0 {
                    let residual = (gradient - column_sum).abs();
                    outcome.kkt_residual += f64::from(old) * f64::from(residual);
                }
                let newton = (gradient - column_sum) * gradient / (curvature * column_sum);
                let new = (old + newton).max(floor);
                let change = new - old;
                // Skips topics that are zero at all nonzeros of the row, or everywhere.
                if curvature > 0.0 && column_sum > 0.0 && change != 0.0 && change.is_finite() {
                    weights[topic] = new;
                    pending = PendingStep { column, change, weight: new };
                }
            }
        }
        // Recomputes the rates from the weights, because the incremental updates accumulate rounding errors.
        let mut end = objective(weights, problem.column_sums, gathered, counts, rates);
        // The objective fell by more than rounding errors: restore the row and take one EM step.
        if end.is_nan() || end < start - 1e-6 * total {
            weights.copy_from_slice(&scratch.initial);
            objective(weights, problem.column_sums, gathered, counts, rates);
            let no_step = PendingStep { column: &gathered[..stride], change: 0.0, weight: 0.0 };
            for (topic, column) in gathered.chunks_exact(stride).enumerate() {
                let (gradient, _) = derivatives(column, rates, counts, &no_step);
                let new = weights[topic] * gradient / problem.column_sums[topic];
                if new.is_finite() {
                    weights[topic] = new.max(floor);
                }
            }
            end = objective(weights, problem.column_sums, gathered, counts, rates);
        }
        // Rescales the row so that its rates sum to its counts, which is the maximum along the ray through the row.
        let rate_sum = rate_sum(weights, problem.column_sums);
        let scale = (total / rate_sum) as f32;
        weights.iter_mut().for_each(|weight| *weight *= scale);
        outcome.likelihood = end + rate_sum + total * f64::from(scale).ln();
    }
}

/// Computes the rates and returns the objective, `sum of x log rate - w . p`.
#[inline(always)]
fn objective(
    weights: &[f32],
    column_sums: &[f32],
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
            sums = per_lane(|lane| weight.mul_add(values[lane], sums[lane]));
        }
        *rates = per_lane(|lane| max_of_numbers(sums[lane], RATE_FLOOR));
        total += f64::from(sum(per_lane(|lane| counts[lane] * ln(rates[lane]))));
    }
    total - rate_sum(weights, column_sums)
}

/// The sum of all rates of the row, w . p, including the rates of zero counts.
#[inline(always)]
fn rate_sum(weights: &[f32], column_sums: &[f32]) -> f64 {
    let products = weights.iter().zip(column_sums);
    products
        .map(|(weight, column_sum)| f64::from(*weight) * f64::from(*column_sum))
        .sum()
}

/// A coordinate's step that the rates do not contain yet.
struct PendingStep<'a> {
    column: &'a [f32],
    change: f32,
    weight: f32,
}

/// Applies `pending` to the rates, then returns the derivative G of the likelihood along `column`'s coordinate and the
/// negative of its second derivative. Cancellation cannot push a rate below the contribution of the updated coordinate.
#[inline(always)]
fn derivatives(
    column: &[f32],
    rates: &mut [f32],
    counts: &[f32],
    pending: &PendingStep<'_>,
) -> (f32, f32) {
    let (mut gradient, mut curvature) = ([0.0f32; LANES], [0.0f32; LANES]);
    let rates = rates.as_chunks_mut::<LANES>().0.iter_mut();
    let parts = rates.zip(registers(counts)).zip(registers(pending.column));
    for (((rates, counts), updated), column) in parts.zip(registers(column)) {
        let shifted = per_lane(|lane| pending.change.mul_add(updated[lane], rates[lane]));
        *rates = per_lane(|lane| {
            max_of_numbers(
                max_of_numbers(shifted[lane], pending.weight * updated[lane]),
                RATE_FLOOR,
            )
        });
        let ratio = per_lane(|lane| column[lane] / rates[lane]);
        let part = per_lane(|lane| counts[lane] * ratio[lane]);
        gradient = per_lane(|lane| gradient[lane] + part[lane]);
        curvature = per_lane(|lane| part[lane].mul_add(ratio[lane], curvature[lane]));
    }
    (sum(gradient), sum(curvature))
}

#[inline(always)]
fn registers(values: &[f32]) -> &[[f32; LANES]] {
    values.as_chunks::<LANES>().0
}
