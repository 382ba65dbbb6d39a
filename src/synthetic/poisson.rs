//! Poisson counts for a whole row at once.
//!
//! A document whose length is Poisson(a) and whose counts are multinomial over the probabilities p has independent
//! counts Poisson(a p_j), one per term: the two laws are the same (Kingman, Poisson Processes, 1993, section 1.4).
//! That turns a multinomial draw, sequential over terms, into draws that fit vector registers.

use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::simd::simd_dispatch;

/// Up to this mean a count is found by walking up the distribution function, 64 terms side by side.
const WALK_UP_TO: f64 = 16.0;
/// Steps of that walk: P(X > 96) is below 1e-40 at a mean of 16.
const STEPS: usize = 96;
const LANES: usize = 64;

/// 1, 1/2, 1/3, ...: the walk multiplies instead of dividing.
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
    /// Draws the counts of one document for the terms from `first` on, as many as `counts` holds.
    ///
    /// `weights[t]` is the expected number of tokens of topic t, `f` (topics x `terms`) the probabilities of the terms.
    /// A row may be drawn in pieces, from left to right, if each but the last is a multiple of 64 long.
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

/// Inversion: the count is the number of steps of the distribution function that lie below a uniform number.
#[inline(always)]
fn draw_lanes(means: &[f64; LANES], drawn: &mut [u32], rng: &mut Xoshiro256PlusPlus) {
    let mut uniform = [0.0f64; LANES];
    for value in &mut uniform {
        *value = rng.random();
    }
    let mut mean = [0.0f64; LANES];
    let mut probability = [0.0f64; LANES];
    for lane in 0..LANES {
        // Larger means are drawn below; here they must only not keep the others waiting.
        mean[lane] = if means[lane] <= WALK_UP_TO {
            means[lane]
        } else {
            0.0
        };
        probability[lane] = exp_minus(mean[lane]);
    }
    let mut below = probability;
    let mut counts = [0u64; LANES];
    for reciprocals in RECIPROCALS.chunks_exact(2) {
        let mut any = 0u64;
        for lane in 0..LANES {
            let (mut p, mut b) = (probability[lane], below[lane]);
            let more = u64::from(uniform[lane] >= b);
            p *= mean[lane] * reciprocals[0];
            b += p;
            let again = u64::from(uniform[lane] >= b);
            p *= mean[lane] * reciprocals[1];
            b += p;
            counts[lane] += more + again;
            any |= again;
            probability[lane] = p;
            below[lane] = b;
        }
        if any == 0 {
            break;
        }
    }
    for (lane, drawn) in drawn.iter_mut().enumerate() {
        *drawn = if means[lane] <= WALK_UP_TO {
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
        Ok(poisson) => poisson.sample(rng) as u32,
        // Means are sums of products of probabilities and a checked document length: finite and positive.
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn exp_minus_agrees_with_exp() {
        for step in 0..=1600 {
            let x = f64::from(step) / 100.0;
            let relative = (exp_minus(x) / (-x).exp() - 1.0).abs();
            assert!(relative < 1e-13, "exp(-{x}): relative error {relative}");
        }
    }

    /// Chi-square of the drawn counts against the Poisson probabilities, for small, middle and large means.
    #[test]
    fn counts_follow_the_poisson_law() {
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
            // Mean cells - 1, variance 2 (cells - 1): five standard deviations.
            let freedom: f64 = cells - 1.0;
            assert!(
                chi_square < freedom + 5.0 * (2.0 * freedom).sqrt() + 5.0,
                "mean {mean}: chi-square {chi_square} with {freedom} degrees of freedom"
            );
        }
    }
}
