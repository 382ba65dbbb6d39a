//! Poisson counts of a document, 64 terms at a time.
//!
//! A document whose length is Poisson(a) and whose counts are multinomial over the probabilities p has independent
//! counts Poisson(a p_j), one per term: the two distributions are the same (Kingman, Poisson Processes, 1993, section
//! 1.4). A multinomial draw, which is sequential over terms, becomes independent draws that can be vectorised.

use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::system::simd_dispatch;

/// Largest mean for inversion, which steps through the distribution function, 64 terms in parallel lanes.
const MAX_INVERSION_MEAN: f64 = 16.0;
/// Maximum number of steps: P(X > 96) is below 1e-40 at a mean of 16.
const STEPS: usize = 96;
const LANES: usize = 64;

/// 1, 1/2, 1/3, ...: inversion multiplies by them instead of dividing.
const RECIPROCALS: [f64; STEPS] = {
    let mut table = [0.0; STEPS];
    let mut step = 0;
    while step < STEPS {
        table[step] = 1.0 / (step + 1) as f64;
        step += 1;
    }
    table
};

simd_dispatch! {
    /// Draws the counts of one document for consecutive terms from `first` on, and fills `counts` with them.
    ///
    /// `weights[t]` is the expected number of tokens of topic t, and `f` (topics x `terms`) has the probabilities of
    /// the terms. A row may be drawn in several calls, from left to right, if the length of each but the last is a
    /// multiple of 64. `u32::MAX` stands for all counts from there on.
    pub(super) fn draw_terms(
        weights: &[f64],
        f: &[f64],
        terms: usize,
        first: usize,
        counts: &mut [u32],
        rng: &mut Xoshiro256PlusPlus,
    ) {
        let mut first = first;
        for counts in counts.chunks_mut(LANES) {
            let mut means = [0.0; LANES];
            for (topic, weight) in weights.iter().enumerate() {
                let start = topic * terms + first;
                for (mean, probability) in means.iter_mut().zip(&f[start..start + counts.len()]) {
                    *mean += weight * probability;
                }
            }
            draw_lanes(&means, counts, rng);
            first += counts.len();
        }
    }
}

/// Draws by inversion: the count is the number of values of the distribution function that are at most a uniform random
/// number.
#[inline(always)]
fn draw_lanes(means: &[f64; LANES], drawn: &mut [u32], rng: &mut Xoshiro256PlusPlus) {
    let mut uniform = [0.0f64; LANES];
    for value in &mut uniform {
        *value = rng.random();
    }
    let mut mean = [0.0f64; LANES];
    let mut probability = [0.0f64; LANES];
    for lane in 0..LANES {
        // Larger means are drawn by `draw_large`. A mean of 0 ends at the first step and does not prolong the loop.
        mean[lane] = if means[lane] <= MAX_INVERSION_MEAN {
            means[lane]
        } else {
            0.0
        };
        probability[lane] = exp_minus(mean[lane]);
    }
    let mut cumulative = probability;
    let mut counts = [0u64; LANES];
    for reciprocals in RECIPROCALS.chunks_exact(2) {
        let mut unfinished = 0u64;
        for lane in 0..LANES {
            let (mut p, mut sum) = (probability[lane], cumulative[lane]);
            let first = u64::from(uniform[lane] >= sum);
            p *= mean[lane] * reciprocals[0];
            sum += p;
            let second = u64::from(uniform[lane] >= sum);
            p *= mean[lane] * reciprocals[1];
            sum += p;
            counts[lane] += first + second;
            unfinished |= second;
            probability[lane] = p;
            cumulative[lane] = sum;
        }
        if unfinished == 0 {
            break;
        }
    }
    for (lane, drawn) in drawn.iter_mut().enumerate() {
        *drawn = if means[lane] <= MAX_INVERSION_MEAN {
            counts[lane] as u32
        } else {
            draw_large(means[lane], rng)
        };
    }
}

/// exp(-x) for 0 <= x <= 16: a Taylor polynomial of exp(-x / 64), squared six times. Relative error below 1e-13.
#[inline(always)]
fn exp_minus(x: f64) -> f64 {
    let y = x * (-1.0 / 64.0);
    let mut sum = TAYLOR[0];
    for coefficient in &TAYLOR[1..] {
        sum = sum * y + coefficient;
    }
    for _ in 0..6 {
        sum *= sum;
    }
    sum
}

/// 1/11!, 1/10!, ..., 1/1!, 1.
const TAYLOR: [f64; 12] = {
    let mut table = [1.0; 12];
    let mut n = 1;
    while n < 12 {
        table[11 - n] = table[12 - n] / n as f64;
        n += 1;
    }
    table
};

#[cold]
#[inline(never)]
fn draw_large(mean: f64, rng: &mut Xoshiro256PlusPlus) -> u32 {
    match Poisson::new(mean) {
        // Larger counts become `u32::MAX`.
        Ok(poisson) => poisson.sample(rng) as u32,
        // Means are sums of products of probabilities and a checked document length: this one is too large.
        Err(_) => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Purpose, stream};

    #[test]
    fn exp_minus_agrees_with_exp() {
        for step in 0..=1600 {
            let x = f64::from(step) / 100.0;
            let relative = (exp_minus(x) / (-x).exp() - 1.0).abs();
            assert!(relative < 1e-13, "exp(-{x}): relative error {relative}");
        }
    }

    /// Chi-square test of the drawn counts against the Poisson probabilities, for small, medium and large means.
    #[test]
    fn counts_follow_the_poisson_distribution() {
        for mean in [0.05, 0.7, 3.3, 9.0, 15.9, 16.1, 65.0] {
            let draws = 200_000;
            let mut counts = vec![0; draws];
            let mut rng = stream(7, Purpose::Counts, 3);
            draw_terms(&[mean], &vec![1.0; draws], draws, 0, &mut counts, &mut rng);
            let largest = 4 + *counts.iter().max().unwrap() as usize;
            let mut observed = vec![0.0; largest + 1];
            for count in counts {
                observed[count as usize] += 1.0;
            }
            let mut probability = f64::exp(-mean);
            let (mut chi_square, mut cells) = (0.0, 0.0);
            let (mut rest_observed, mut rest_expected) = (draws as f64, draws as f64);
            for (count, observed) in observed.iter().enumerate() {
                let expected = probability * draws as f64;
                if expected >= 8.0 {
                    chi_square += (observed - expected).powi(2) / expected;
                    cells += 1.0;
                    rest_observed -= observed;
                    rest_expected -= expected;
                }
                probability *= mean / (count + 1) as f64;
            }
            if rest_expected >= 1.0 {
                chi_square += (rest_observed - rest_expected).powi(2) / rest_expected;
                cells += 1.0;
            }
            // The statistic has mean `cells - 1` and variance `2 (cells - 1)`; allow five standard deviations.
            let freedom: f64 = cells - 1.0;
            assert!(
                chi_square < freedom + 5.0 * (2.0 * freedom).sqrt() + 5.0,
                "mean {mean}: chi-square {chi_square} with {freedom} degrees of freedom"
            );
        }
    }
}
