//! Newton's method for rows of L where counts are dense. Coordinate descent (`row_update.rs`) needs many sweeps over gathered rows
//! of F where topics share terms; Newton's method needs few steps and gathers nothing.
//!
//! With F (topics x terms), p the sums of its rows and x a document's counts, a step for the row w of L (topics, in tokens) is:
//!
//! ```text
//! objective(w) = sum of x log r - w . p,  r = w F                  // concave in w
//! G = F (x / r);  H = F diag(x / r^2) F'                           // gradient G - p, Hessian -H
//! d = argmax of (G - p) . d - d . H d / 2 over w + d >= floor      // by coordinate descent, to 1e-9 of the tokens
//! new = max(w + length d, floor) for the first of LENGTHS that does not lower the objective by more than 1e-6 per token
//! if there is none: new = max(w G / p, floor)                      // expectation-maximisation, which never lowers it
//! w = new * tokens / (new . p)                                     // the exact maximum along the ray through new
//! ```
//!
//! Eight documents share the products of a tile (`kernels/products.rs`), whose vector lanes are terms. H is the product of each
//! block of four topics with the topics up to it, and its mirror image. G and H are added up in lanes of `f32`, the likelihoods
//! of tiles in `f64`, and the model's step is computed in `f64`.

use std::ops::Range;

use crate::counts::View;
use crate::kernels::{TermLayout, add_to_l, quotients, unpack};
use crate::solvers::statistics::FLOOR;
use crate::system::{Aligned, LANES, aligned_zeros, max_of_numbers, per_lane, simd_dispatch, sum};

use super::Parts;
use super::group::{Buffers, pad};

/// Documents that a task improves together.
pub(crate) const DOCUMENTS: usize = 8;
/// Maximum number of topics: the second derivatives cost O(topics^2) for each count, a sweep over the coordinates O(topics).
const MOST_TOPICS: u64 = 64;
/// Topics that a product takes at once.
const BLOCK: usize = 4;
/// The lengths of the steps that are tried.
const LENGTHS: [f64; 3] = [1.0, 0.25, 0.0625];
/// Maximum sweeps over the coordinates of the model, which end when a sweep changes less than this share of the tokens.
const MODEL_SWEEPS: usize = 200;
const MODEL_TOLERANCE: f64 = 1e-9;

/// Documents whose rows of L are improved together.
pub(crate) struct NewtonRows<'a> {
    pub(crate) view: &'a View<'a>,
    /// The documents' rows in the view, at most [`DOCUMENTS`].
    pub(crate) rows: Range<usize>,
    /// Each document's number of tokens.
    pub(crate) tokens: &'a [f64],
    /// One for each topic.
    pub(crate) column_sums: &'a [f32],
    /// The smallest weight, as a share of the tokens.
    pub(crate) smallest_share: f32,
}

/// Scratch buffers of a thread.
pub(super) struct NewtonScratch {
    counts: Aligned<f32>,
    quotients: Aligned<f32>,
    /// F times x / r^2 of a document and a tile: topics x width.
    scaled: Aligned<f32>,
    /// Documents x topics, lane by lane.
    gradients: Aligned<[f32; LANES]>,
    /// Documents x pairs of topics, lane by lane.
    hessians: Aligned<[f32; LANES]>,
}

impl NewtonScratch {
    pub(super) fn new() -> Self {
        Self {
            counts: Aligned::new(0),
            quotients: Aligned::new(0),
            scaled: Aligned::new(0),
            gradients: Aligned::new(0),
            hessians: Aligned::new(0),
        }
    }
}

/// The derivatives of the documents' sums of x log rate.
struct Derivatives {
    /// The sums, and zeros up to [`DOCUMENTS`].
    likelihoods: Vec<f64>,
    /// Documents x topics.
    gradients: Vec<f64>,
    /// H: documents x topics x topics. Empty if it was not requested.
    hessians: Vec<f64>,
}

/// Registers of a document's sums of second derivatives: for each block of topics, its products with the topics up to it.
fn pairs(topics: usize) -> usize {
    (0..topics)
        .step_by(BLOCK)
        .map(|first| BLOCK * topics.min(first + BLOCK))
        .sum()
}

impl Parts {
    /// Whether [`improve_rows`](Self::improve_rows) is faster than coordinate descent.
    pub(crate) fn prefers_newton(&self) -> bool {
        self.topics as u64 <= MOST_TOPICS && !self.has(TermLayout::Rows)
    }

    /// Bytes of a thread's scratch buffers.
    pub(crate) fn newton_bytes(topics: u64) -> u64 {
        match topics <= MOST_TOPICS {
            true => (DOCUMENTS * size_of::<[f32; LANES]>() * pairs(topics as usize)) as u64,
            false => 0,
        }
    }

    /// Improves `weights` (documents x topics) by one step. Returns each document's L1 residual of the KKT conditions before it.
    /// A document without counts gets weights of zero.
    pub(crate) fn improve_rows(&self, rows: &NewtonRows<'_>, weights: &mut [f32]) -> Vec<f64> {
        super::group::BUFFERS.with_borrow_mut(|buffers| self.improve(rows, weights, buffers))
    }

    fn improve(
        &self,
        rows: &NewtonRows<'_>,
        weights: &mut [f32],
        buffers: &mut Buffers,
    ) -> Vec<f64> {
        let topics = self.topics;
        let column_sums: Vec<f64> = rows.column_sums.iter().copied().map(f64::from).collect();
        let penalty = |weights: &[f32]| -> f64 {
            let products = weights.iter().zip(&column_sums);
            products.map(|(weight, sum)| f64::from(*weight) * sum).sum()
        };
        let old = weights.to_vec();
        let at = self.derivatives(rows, weights, true, buffers);
        let objective = |derivatives: &Derivatives, weights: &[f32], document: usize| {
            let weights = &weights[document * topics..][..topics];
            derivatives.likelihoods[document] - penalty(weights)
        };
        let mut residuals = Vec::new();
        let mut steps = Vec::new();
        for (document, &tokens) in rows.tokens.iter().enumerate() {
            let weights = &old[document * topics..][..topics];
            let gradient = at.gradients[document * topics..][..topics]
                .iter()
                .zip(&column_sums);
            let gradient: Vec<f64> = gradient.map(|(value, sum)| value - sum).collect();
            let moves = weights.iter().zip(&gradient);
            residuals.push(moves.map(|(w, g)| f64::from(*w) * g.abs()).sum());
            let hessian = &at.hessians[document * topics * topics..][..topics * topics];
            let floor = f64::from(rows.smallest_share) * tokens;
            steps.extend(model_step(weights, &gradient, hessian, floor, tokens));
        }
        let mut unfinished: Vec<usize> = (0..rows.tokens.len()).collect();
        for length in LENGTHS {
            for &document in &unfinished {
                let range = document * topics..(document + 1) * topics;
                let floor = (f64::from(rows.smallest_share) * rows.tokens[document]) as f32;
                let parts = weights[range.clone()].iter_mut().zip(&old[range.clone()]);
                for ((weight, old), step) in parts.zip(&steps[range]) {
                    *weight = ((f64::from(*old) + length * step) as f32).max(floor);
                }
            }
            let now = self.derivatives(rows, weights, false, buffers);
            unfinished.retain(|&document| {
                let (before, after) = (
                    objective(&at, &old, document),
                    objective(&now, weights, document),
                );
                after.is_nan() || after < before - 1e-6 * rows.tokens[document]
            });
            if unfinished.is_empty() {
                break;
            }
        }
        for document in unfinished {
            let range = document * topics..(document + 1) * topics;
            let floor = (f64::from(rows.smallest_share) * rows.tokens[document]) as f32;
            let gradient = at.gradients[range.clone()].iter().zip(&column_sums);
            let parts = weights[range.clone()].iter_mut().zip(&old[range]);
            for ((weight, old), (gradient, sum)) in parts.zip(gradient) {
                *weight = ((f64::from(*old) * gradient / sum) as f32).max(floor);
            }
        }
        // The maximum along the ray through the row.
        for (weights, tokens) in weights.chunks_mut(topics).zip(rows.tokens) {
            let scale = match *tokens > 0.0 {
                true => (tokens / penalty(weights)) as f32,
                false => 0.0,
            };
            weights.iter_mut().for_each(|weight| *weight *= scale);
        }
        residuals
    }

    /// The likelihoods at `weights` (documents x topics) and, with `second`, the first and second derivatives.
    fn derivatives(
        &self,
        rows: &NewtonRows<'_>,
        weights: &[f32],
        second: bool,
        buffers: &mut Buffers,
    ) -> Derivatives {
        let (topics, documents) = (self.topics, rows.rows.len());
        let Buffers {
            weights: padded,
            newton,
            ..
        } = buffers;
        let NewtonScratch {
            counts,
            quotients: ratios,
            scaled,
            gradients,
            hessians,
        } = newton;
        pad(weights, DOCUMENTS * topics, padded);
        gradients.clear();
        gradients.resize(DOCUMENTS * topics, [0.0; LANES]);
        hessians.clear();
        hessians.resize(documents * pairs(topics), [0.0; LANES]);
        let mut likelihoods = vec![0.0; DOCUMENTS];
        for (tile, f) in self.shards.iter().flat_map(|shard| self.tiles(shard)) {
            let width = tile.width;
            let length = DOCUMENTS * width;
            for table in [&mut *counts, ratios] {
                if table.len() < length {
                    table.resize(length, 0.0);
                }
            }
            let (counts, ratios) = (&mut counts[..length], &mut ratios[..length]);
            unpack(rows.view, self.terms, rows.rows.clone(), &tile, counts);
            ratios.copy_from_slice(counts);
            quotients(padded, f, topics, FLOOR, ratios, Some(&mut likelihoods));
            if !second {
                continue;
            }
            add_to_l(ratios, f, topics, gradients);
            let tables = counts.chunks(width).zip(ratios.chunks_mut(width));
            let hessians = hessians.chunks_mut(pairs(topics));
            for ((counts, ratios), hessian) in tables.zip(hessians) {
                curvatures(counts, ratios);
                add_hessian(f, ratios, topics, scaled, hessian);
            }
        }
        let total = |lanes: &[f32; LANES]| f64::from(sum(*lanes));
        let mut derivatives = Derivatives {
            likelihoods,
            gradients: gradients.iter().map(total).collect(),
            hessians: Vec::new(),
        };
        if second {
            derivatives.hessians = vec![0.0; documents * topics * topics];
            let tables = derivatives.hessians.chunks_mut(topics * topics);
            for (hessian, sums) in tables.zip(hessians.chunks(pairs(topics))) {
                let mut sums = sums.iter();
                for first in (0..topics).step_by(BLOCK) {
                    let columns = topics.min(first + BLOCK);
                    for row in first..first + BLOCK {
                        for (column, lanes) in (0..columns).zip(&mut sums) {
                            if row < topics {
                                hessian[row * topics + column] = total(lanes);
                                hessian[column * topics + row] = total(lanes);
                            }
                        }
                    }
                }
            }
        }
        derivatives
    }
}

simd_dispatch! {
    /// Replaces the quotients x / r of a document by x / r^2.
    fn curvatures(counts: &[f32], quotients: &mut [f32]) {
        let quotients = quotients.as_chunks_mut::<LANES>().0.iter_mut();
        for (quotients, counts) in quotients.zip(counts.as_chunks::<LANES>().0) {
            // Where the count is zero, so is the quotient.
            let counts = per_lane(|lane| max_of_numbers(counts[lane], f32::MIN_POSITIVE));
            *quotients = per_lane(|lane| quotients[lane] * (quotients[lane] / counts[lane]));
        }
    }
}

/// Adds a tile's contribution to `F diag(curvatures) F'`.
fn add_hessian(
    f: &[f32],
    curvatures: &[f32],
    topics: usize,
    scaled: &mut Aligned<f32>,
    mut sums: &mut [[f32; LANES]],
) {
    let width = curvatures.len();
    let rows = topics.next_multiple_of(BLOCK);
    if scaled.len() != rows * width {
        *scaled = aligned_zeros(rows * width);
    }
    scale(f, curvatures, scaled);
    for first in (0..topics).step_by(BLOCK) {
        let columns = topics.min(first + BLOCK);
        let (of_block, rest) = sums.split_at_mut(BLOCK * columns);
        let scaled = &scaled[first * width..][..BLOCK * width];
        add_to_l(scaled, &f[..columns * width], columns, of_block);
        sums = rest;
    }
}

simd_dispatch! {
    /// Multiplies each row of `f` by `factors`.
    fn scale(f: &[f32], factors: &[f32], scaled: &mut [f32]) {
        let width = factors.len();
        for (scaled, f) in scaled.chunks_exact_mut(width).zip(f.chunks_exact(width)) {
            let f = &f[..width];
            for at in 0..width {
                scaled[at] = f[at] * factors[at];
            }
        }
    }
}

/// The step d to the maximum of `gradient . d - d . hessian d / 2` for which no weight falls below the floor.
fn model_step(
    weights: &[f32],
    gradient: &[f64],
    hessian: &[f64],
    floor: f64,
    tokens: f64,
) -> Vec<f64> {
    let topics = weights.len();
    let mut step = vec![0.0; topics];
    // The model's gradient at the step.
    let mut gradient = gradient.to_vec();
    for _ in 0..MODEL_SWEEPS {
        let mut moved = 0.0;
        for topic in 0..topics {
            let row = &hessian[topic * topics..][..topics];
            let newton = gradient[topic] / row[topic];
            let lowest = floor - f64::from(weights[topic]);
            let change = (step[topic] + newton).max(lowest) - step[topic];
            // A topic whose terms have no counts has no second derivative.
            if change == 0.0 || !change.is_finite() {
                continue;
            }
            step[topic] += change;
            moved += change.abs();
            for (gradient, second) in gradient.iter_mut().zip(row) {
                *gradient -= change * second;
            }
        }
        if moved <= MODEL_TOLERANCE * tokens {
            break;
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use testkit::Random;

    use crate::counts::Counts;
    use crate::counts::rows::{NonzeroBuffer, for_each_block, nonzeros_of_row};
    use crate::solvers::row_update::{DescentScratch, RowProblem, improve};

    use super::*;

    #[test]
    fn steps_reach_the_maximum_that_coordinate_descent_reaches_in_many_sweeps() {
        for (topics, terms) in [(1, 700), (3, 700), (4, 1_025), (21, 1_300)] {
            let documents = 11;
            let mut random = Random::new(topics as u64);
            // Topics share terms, and have terms of their own; the last topic has none with counts.
            let mut f: Vec<f32> = (0..terms * topics)
                .map(|at| match at % topics == (at / topics) % topics {
                    true => 1.0 + random.uniform() as f32,
                    false => 0.2 * random.uniform() as f32,
                })
                .collect();
            for topic in 0..topics {
                let sum: f32 = f.iter().skip(topic).step_by(topics).sum();
                f.iter_mut()
                    .skip(topic)
                    .step_by(topics)
                    .for_each(|value| *value /= sum);
            }
            // The third document is empty.
            let counts: Vec<u8> = (0..documents * terms)
                .map(|at| match at / terms == 2 {
                    true => 0,
                    false => (random.uniform() * (4 + at / terms) as f64) as u8,
                })
                .collect();
            let counts = Counts::dense(documents, terms, counts).unwrap();
            let tokens = counts.summary().unwrap().document_lengths().to_vec();
            let column_sums = vec![1.0; topics];
            let start: Vec<f32> = tokens
                .iter()
                .flat_map(|tokens| vec![(*tokens / topics as f64) as f32; topics])
                .collect();
            let mut parts = Parts::new(terms, topics);
            for_each_block(&counts, false, documents, &mut |block| {
                parts.start_pass(&f, &block);
                assert!(parts.prefers_newton(), "{topics} topics, {terms} terms");
                let mut newton = start.clone();
                for (task, weights) in newton.chunks_mut(DOCUMENTS * topics).enumerate() {
                    let first = task * DOCUMENTS;
                    let rows = first..first + weights.len() / topics;
                    let rows = NewtonRows {
                        view: &block.view,
                        rows: rows.clone(),
                        tokens: &tokens[rows],
                        column_sums: &column_sums,
                        smallest_share: 1e-9,
                    };
                    let steps = (0..20).position(|_| {
                        let residuals = parts.improve_rows(&rows, weights);
                        residuals
                            .iter()
                            .zip(rows.tokens)
                            .all(|(residual, tokens)| *residual <= 1e-6 * tokens)
                    });
                    assert!(steps.is_some(), "{topics} topics: no convergence");
                }
                let (mut buffer, mut scratch) =
                    (NonzeroBuffer::default(), DescentScratch::default());
                let problem = RowProblem {
                    factor: &f,
                    column_sums: &column_sums,
                    sweeps: 1_000,
                };
                for (document, newton) in newton.chunks(topics).enumerate() {
                    let (columns, counts) =
                        nonzeros_of_row(&block.view, terms, document, &mut buffer);
                    let mut weights = start[document * topics..][..topics].to_vec();
                    let floor = (1e-9 * tokens[document]) as f32;
                    improve(columns, counts, &problem, floor, &mut weights, &mut scratch);
                    for (a, b) in newton.iter().zip(&weights) {
                        let error = f64::from((a - b).abs());
                        assert!(
                            error <= 2e-4 * tokens[document],
                            "{topics} topics, document {document}: {a} against {b}"
                        );
                    }
                }
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn a_step_never_lowers_the_objective() {
        // A start far from the maximum: a full step would be too long.
        let (documents, terms, topics) = (3, 600, 5);
        let mut random = Random::new(3);
        let f: Vec<f32> = (0..terms * topics)
            .map(|_| random.uniform().powi(6) as f32 / 80.0 + 1e-9)
            .collect();
        let counts: Vec<u8> = (0..documents * terms)
            .map(|_| (random.uniform() * 9.0) as u8)
            .collect();
        let counts = Counts::dense(documents, terms, counts).unwrap();
        let tokens = counts.summary().unwrap().document_lengths().to_vec();
        let column_sums: Vec<f32> = (0..topics)
            .map(|topic| f.iter().skip(topic).step_by(topics).sum())
            .collect();
        let mut parts = Parts::new(terms, topics);
        for_each_block(&counts, false, documents, &mut |block| {
            parts.start_pass(&f, &block);
            let rows = NewtonRows {
                view: &block.view,
                rows: block.rows.clone(),
                tokens: &tokens,
                column_sums: &column_sums,
                smallest_share: 1e-9,
            };
            let mut weights: Vec<f32> = (0..documents * topics)
                .map(|at| if at % topics == 0 { 9e3 } else { 1e-4 })
                .collect();
            let mut before = f64::NEG_INFINITY;
            for _ in 0..12 {
                let likelihood = parts.log_likelihood(&block, &weights, 1e-30);
                let penalties = weights.iter().enumerate();
                let penalty: f64 = penalties
                    .map(|(at, weight)| f64::from(*weight) * f64::from(column_sums[at % topics]))
                    .sum();
                let objective = likelihood - penalty;
                assert!(
                    objective >= before - 1e-5 * tokens.iter().sum::<f64>(),
                    "{objective} after {before}"
                );
                before = objective;
                parts.improve_rows(&rows, &mut weights);
            }
            Ok(())
        })
        .unwrap();
    }
}
