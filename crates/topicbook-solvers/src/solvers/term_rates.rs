//! The rates of one term in the topics, given L: a Poisson regression, and the curvature of its likelihood.
//!
//! The counts x of a term in the documents are Poisson with means `s_i l_i . f`. Here s is the length of a document, l its row of
//! L, and f the term's rate in each topic, in occurrences per token. With p the sums of `s_i l_i`, the likelihood is
//! `sum of x_i log(l_i . f) - p . f`, because lengths in the logarithm are constants. For each topic, a pseudo-document of one
//! token with a small count of the term is added (Carbonetto et al. 2023, Genome Biology 24:236; `de_analysis` of fastTopics).
//! So no rate is zero, and the maximum is unique.
//!
//! With z_ik = l_ik f_k / (l_i . f), the derivatives with respect to log f are `A - f p` with `A = sum of x_i z_i`. The curvature
//! at the maximum is `H = sum of x_i z_i z_i'` with the pseudo-count added on the diagonal: the observed information.
//! Newton's step on f, divided by f, solves a system with the same matrix. Its inverse is the covariance of log f in Laplace's
//! approximation.

use crate::cholesky;
use crate::system::simd_dispatch;

/// Maximum number of Newton steps; from the rates of a fit it takes about six.
const MAX_STEPS: usize = 200;
/// The squared Newton decrement at which the search ends: the rates are then within 1e-8 of a standard error of the maximum.
const TOLERANCE: f64 = 1e-16;
/// Fraction of the way to a rate of zero that a step may go.
const TO_BOUNDARY: f64 = 0.95;
/// Fraction of its predicted increase that a step has to reach (Armijo's condition).
const ARMIJO: f64 = 1e-4;

/// The inputs that the regressions of all terms share.
pub struct TermRates<'a> {
    /// L (documents x topics), row by row.
    pub l: &'a [f32],
    /// Tokens of each topic in all documents, the sums of `s_i l_i`, and one token of the pseudo-documents.
    pub tokens: Vec<f64>,
    pub pseudocount: f64,
}

/// Buffers of one thread, and the result of the last regression.
#[derive(Default)]
pub struct TermFit {
    /// The rate in each topic, above zero.
    pub rates: Vec<f64>,
    /// The covariance of the logarithms of the rates: topics x topics.
    pub covariance: Vec<f64>,
    /// Newton's steps that were taken.
    pub steps: usize,
    /// Expected counts of the topics, A.
    counts: Vec<f64>,
    /// H, and then its Cholesky factor, in the lower triangle.
    curvature: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    shares: Vec<f64>,
}

impl TermRates<'_> {
    /// Finds the rates of a term from its documents and counts, starting from the term's column of F.
    pub fn fit(
        &self,
        (documents, counts): (&[u32], &[f32]),
        start: impl Iterator<Item = f32>,
        fit: &mut TermFit,
    ) {
        let k = self.tokens.len();
        // A step of expectation-maximisation: no rate is then below its pseudo-count per token.
        fit.rates.clear();
        fit.rates
            .extend(start.map(|rate| f64::from(rate).max(1e-12)));
        fit.resize(k);
        self.curve(documents, counts, fit);
        for topic in 0..k {
            fit.rates[topic] = (fit.counts[topic] + self.pseudocount) / self.tokens[topic];
        }
        let mut objective = self.objective(documents, counts, &fit.rates);
        fit.steps = 0;
        loop {
            self.curve(documents, counts, fit);
            // The gradient with respect to log f. H is positive definite by at least the pseudo-count.
            for topic in 0..k {
                fit.step[topic] =
                    fit.counts[topic] + self.pseudocount - fit.rates[topic] * self.tokens[topic];
            }
            let gradient = fit.step.clone();
            cholesky::factor(&mut fit.curvature, k);
            cholesky::solve(&fit.curvature, k, &mut fit.step);
            let decrement: f64 = gradient.iter().zip(&fit.step).map(|(g, s)| g * s).sum();
            let goes_on = decrement > TOLERANCE && fit.steps < MAX_STEPS;
            if !goes_on {
                break;
            }
            let least = fit.step.iter().copied().fold(0.0, f64::min);
            let mut length = match least < -TO_BOUNDARY {
                true => -TO_BOUNDARY / least,
                false => 1.0,
            };
            loop {
                for topic in 0..k {
                    fit.trial[topic] = fit.rates[topic] * (1.0 + length * fit.step[topic]);
                }
                let reached = self.objective(documents, counts, &fit.trial);
                // Close to the maximum, rounding hides the increase; there the step is right.
                let rounding = 1e-14 * objective.abs();
                if reached >= objective + ARMIJO * length * decrement - rounding || length < 1e-9 {
                    objective = reached;
                    break;
                }
                length /= 2.0;
            }
            std::mem::swap(&mut fit.rates, &mut fit.trial);
            fit.steps += 1;
        }
        invert(fit, k);
    }

    fn curve(&self, documents: &[u32], counts: &[f32], fit: &mut TermFit) {
        let k = self.tokens.len();
        fit.counts.fill(0.0);
        fit.curvature.fill(0.0);
        let TermFit {
            rates,
            counts: expected,
            curvature,
            shares,
            ..
        } = fit;
        curve(
            self.l,
            (documents, counts),
            rates,
            shares,
            expected,
            curvature,
        );
        for topic in 0..k {
            fit.curvature[topic * k + topic] += self.pseudocount;
        }
    }

    /// The log-likelihood, without its constants.
    fn objective(&self, documents: &[u32], counts: &[f32], rates: &[f64]) -> f64 {
        let k = self.tokens.len();
        let likelihood: f64 = documents
            .iter()
            .zip(counts)
            .map(|(&document, &count)| {
                let row = &self.l[document as usize * k..][..k];
                let mean: f64 = row.iter().zip(rates).map(|(&l, f)| f64::from(l) * f).sum();
                f64::from(count) * mean.max(f64::MIN_POSITIVE).ln()
            })
            .sum();
        let rest: f64 = rates
            .iter()
            .zip(&self.tokens)
            .map(|(f, p)| self.pseudocount * f.ln() - f * p)
            .sum();
        likelihood + rest
    }
}

impl TermFit {
    fn resize(&mut self, k: usize) {
        for buffer in [
            &mut self.counts,
            &mut self.step,
            &mut self.trial,
            &mut self.shares,
        ] {
            buffer.resize(k, 0.0);
        }
        self.curvature.resize(k * k, 0.0);
        self.covariance.resize(k * k, 0.0);
    }
}

simd_dispatch! {
    /// Adds A and the lower triangle of H.
    fn curve(
        l: &[f32],
        nonzeros: (&[u32], &[f32]),
        rates: &[f64],
        shares: &mut [f64],
        expected: &mut [f64],
        curvature: &mut [f64],
    ) {
        let k = rates.len();
        for (&document, &count) in nonzeros.0.iter().zip(nonzeros.1) {
            let row = &l[document as usize * k..][..k];
            for ((share, &l), rate) in shares.iter_mut().zip(row).zip(rates) {
                *share = f64::from(l) * rate;
            }
            let mean: f64 = shares.iter().sum();
            let scale = 1.0 / mean.max(f64::MIN_POSITIVE);
            let count = f64::from(count);
            for (share, expected) in shares.iter_mut().zip(expected.iter_mut()) {
                *share *= scale;
                *expected += count * *share;
            }
            for (topic, line) in curvature.chunks_exact_mut(k).enumerate() {
                let weight = count * shares[topic];
                for (value, share) in line[..=topic].iter_mut().zip(&*shares) {
                    *value += weight * share;
                }
            }
        }
    }
}

/// The inverse of H from its Cholesky factor.
fn invert(fit: &mut TermFit, k: usize) {
    for topic in 0..k {
        let column = &mut fit.covariance[topic * k..][..k];
        column.fill(0.0);
        column[topic] = 1.0;
        cholesky::solve(&fit.curvature, k, column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Purpose, stream};
    use rand::RngExt;

    /// Documents, their counts of a term and their lengths, with L row by row.
    struct Case {
        l: Vec<f32>,
        lengths: Vec<f64>,
        counts: Vec<f32>,
    }

    fn case(documents: usize, k: usize, seed: u64) -> Case {
        let mut random = stream(seed, Purpose::Split, 0);
        let mut l = Vec::new();
        for _ in 0..documents {
            let row: Vec<f64> = (0..k)
                .map(|_| random.random_range(0.0f64..1.0).powi(6) + 1e-9)
                .collect();
            let sum: f64 = row.iter().sum();
            l.extend(row.iter().map(|value| (value / sum) as f32));
        }
        let lengths: Vec<f64> = (0..documents)
            .map(|_| f64::from(random.random_range(50..400u32)))
            .collect();
        // The term belongs to the first two topics, and the third does not have it at all.
        let counts = (0..documents)
            .map(|document| {
                let row = &l[document * k..];
                let mean = lengths[document] * f64::from(0.03 * row[0] + 0.01 * row[1]);
                (mean * random.random_range(0.2..1.8f64)).round() as f32
            })
            .collect();
        Case { l, lengths, counts }
    }

    fn solved(case: &Case, k: usize, pseudocount: f64) -> TermFit {
        let mut tokens = vec![1.0; k];
        for (row, length) in case.l.chunks(k).zip(&case.lengths) {
            for (sum, &l) in tokens.iter_mut().zip(row) {
                *sum += length * f64::from(l);
            }
        }
        let rates = TermRates {
            l: &case.l,
            tokens,
            pseudocount,
        };
        let present = (0..case.counts.len()).filter(|&at| case.counts[at] > 0.0);
        let documents: Vec<u32> = present.map(|at| at as u32).collect();
        let counts: Vec<f32> = documents
            .iter()
            .map(|&at| case.counts[at as usize])
            .collect();
        let mut fit = TermFit::default();
        rates.fit((&documents, &counts), (0..k).map(|_| 0.001), &mut fit);
        fit
    }

    /// The negative log-likelihood as it is written down, with every document, zero counts included, and pseudo-documents.
    fn slow_objective(case: &Case, log_rates: &[f64], pseudocount: f64) -> f64 {
        let k = log_rates.len();
        let rates: Vec<f64> = log_rates.iter().map(|t| t.exp()).collect();
        let mut sum = 0.0;
        for ((row, length), &count) in case.l.chunks(k).zip(&case.lengths).zip(&case.counts) {
            let mean: f64 = (0..k).map(|j| length * f64::from(row[j]) * rates[j]).sum();
            sum += mean - f64::from(count) * mean.ln();
        }
        sum + rates.iter().map(|f| f - pseudocount * f.ln()).sum::<f64>()
    }

    /// The rates by many steps of expectation-maximisation, the covariance by central differences of the likelihood.
    #[test]
    fn rates_and_their_covariance_are_those_of_a_slow_reference() {
        for (k, pseudocount) in [(2, 1.0), (3, 1.0), (5, 1.0), (3, 0.01)] {
            let case = case(120, k, k as u64);
            let found = solved(&case, k, pseudocount);
            let mut tokens = vec![1.0; k];
            for (row, length) in case.l.chunks(k).zip(&case.lengths) {
                (0..k).for_each(|j| tokens[j] += length * f64::from(row[j]));
            }
            let mut rates = vec![0.01; k];
            for _ in 0..20_000 {
                let mut expected = vec![pseudocount; k];
                for (row, &count) in case.l.chunks(k).zip(&case.counts) {
                    let mean: f64 = (0..k).map(|j| f64::from(row[j]) * rates[j]).sum();
                    for ((sum, &l), rate) in expected.iter_mut().zip(row).zip(&rates) {
                        *sum += f64::from(count) * f64::from(l) * rate / mean;
                    }
                }
                rates = expected.iter().zip(&tokens).map(|(e, p)| e / p).collect();
            }
            for (rate, expected) in found.rates.iter().zip(&rates) {
                let error = (rate / expected - 1.0).abs();
                assert!(error < 1e-7, "k {k}: {rate} {expected}");
            }
            let at: Vec<f64> = found.rates.iter().map(|rate| rate.ln()).collect();
            let shifted = |moves: &[(usize, f64)]| {
                let mut point = at.clone();
                moves.iter().for_each(|&(j, by)| point[j] += by);
                slow_objective(&case, &point, pseudocount)
            };
            let h = 1e-3;
            for a in 0..k {
                let product: Vec<f64> = (0..k)
                    .map(|b| {
                        (0..k)
                            .map(|j| {
                                let second = (shifted(&[(a, h), (j, h)])
                                    - shifted(&[(a, h), (j, -h)])
                                    - shifted(&[(a, -h), (j, h)])
                                    + shifted(&[(a, -h), (j, -h)]))
                                    / (4.0 * h * h);
                                second * found.covariance[j * k + b]
                            })
                            .sum()
                    })
                    .collect();
                for (b, value) in product.iter().enumerate() {
                    let expected = f64::from(u8::from(a == b));
                    assert!((value - expected).abs() < 2e-3, "k {k}: {product:?}");
                }
            }
            assert!(found.steps < 30, "{} steps", found.steps);
        }
    }

    #[test]
    fn a_term_without_counts_has_the_pseudo_counts() {
        let mut case = case(40, 3, 9);
        case.counts.fill(0.0);
        let found = solved(&case, 3, 1.0);
        for topic in 0..3 {
            // The standard error of one count.
            assert!((found.covariance[topic * 4] - 1.0).abs() < 1e-9);
            assert!(found.rates[topic] > 0.0);
        }
    }
}
