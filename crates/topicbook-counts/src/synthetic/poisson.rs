//! Poisson counts of a document, 64 terms at a time.
//!
//! A document whose length is Poisson(a) and whose counts are multinomial over the probabilities p has independent
//! counts Poisson(a p_j), one per term: the two distributions are the same (Kingman, Poisson Processes, 1993, section
//! 1.4). A multinomial draw, which is sequential over terms, becomes independent draws that can be vectorised.
//!
//! A count is drawn by inversion: it is the number of values of the distribution function that are at most a uniform
//! random number. Lanes of `f32` count the values up to that number minus, and plus, a bound of the rounding errors. If
//! both counts agree, as they nearly always do, the count is exact; otherwise the lane is drawn again in `f64`.

use std::ops::Range;

use rand::RngExt;
use rand_distr::{Distribution, Poisson};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::system::{exp, lanes, simd_dispatch};

use super::Topics;

/// Largest mean for inversion.
const MAX_INVERSION_MEAN: f64 = 16.0;
/// Maximum number of steps: P(X > 96) is below 1e-40 at a mean of 16.
const STEPS: usize = 96;
/// Terms with consecutive random numbers.
const BLOCK: usize = 64;
/// Terms whose counts are found in one loop, which runs until the largest of them is found.
const LANES: usize = 32;
/// Half the distance from 1 to the next `f32`: the relative error of a rounded result.
const ROUNDING: f32 = f32::EPSILON / 2.0;
/// Marks a count that has to be drawn in `f64`.
const DOUBTFUL: u32 = u32::MAX;

/// 16^c / c! for c = 1, 2, ...: the probability of a count c is this times (mean / 16)^c, which does not overflow, times exp(-mean).
const COEFFICIENTS: [f32; STEPS] = {
    let mut table = [0.0; STEPS];
    let (mut coefficient, mut step) = (1.0, 0);
    while step < STEPS {
        coefficient *= MAX_INVERSION_MEAN / (step + 1) as f64;
        table[step] = coefficient as f32;
        step += 1;
    }
    table
};

simd_dispatch! {
    /// Draws the counts of one document for consecutive terms from `first` on, and fills `counts` with them.
    ///
    /// `weights[t]` is the expected number of tokens of topic t. A row may be drawn in several calls, from left to right,
    /// if the length of each but the last is a multiple of 64. `u32::MAX` stands for itself and all larger counts.
    pub(super) fn draw_terms(
        weights: &[f64],
        f: &Topics,
        first: usize,
        counts: &mut [u32],
        rng: &mut Xoshiro256PlusPlus,
    ) {
        let mut first = first;
        for counts in counts.chunks_mut(BLOCK) {
            let mut bits = [0u64; BLOCK];
            for value in &mut bits {
                *value = rng.random();
            }
            let means = match counts.len() {
                BLOCK => means(weights, f, first),
                terms => means_of_some(weights, f, first..first + terms),
            };
            let mut drawn = [0; BLOCK];
            let doubtful = draw_block(&means, &bits, weights.len(), &mut drawn);
            counts.copy_from_slice(&drawn[..counts.len()]);
            if doubtful {
                draw_doubtful(weights, (f, first), counts, &bits, rng);
            }
            first += counts.len();
        }
    }
}

/// The mean counts of a block of terms.
#[inline(always)]
fn means(weights: &[f64], f: &Topics, first: usize) -> [f32; BLOCK] {
    let mut means = [0.0; BLOCK];
    for (row, weight) in f.rounded.chunks_exact(f.terms).zip(weights) {
        let weight = *weight as f32;
        // With a length known at compile time, the means stay in registers.
        if let Some(row) = row[first..].first_chunk::<BLOCK>() {
            means = lanes(|lane| row[lane].mul_add(weight, means[lane]));
        }
    }
    means
}

/// [`means`] of fewer terms, followed by zeros.
#[inline(always)]
fn means_of_some(weights: &[f64], f: &Topics, terms: Range<usize>) -> [f32; BLOCK] {
    let mut means = [0.0; BLOCK];
    for (row, weight) in f.rounded.chunks_exact(f.terms).zip(weights) {
        for (mean, probability) in means.iter_mut().zip(&row[terms.clone()]) {
            *mean = probability.mul_add(*weight as f32, *mean);
        }
    }
    means
}

/// The uniform random number that `rng.random::<f64>()` makes from these bits.
#[inline(always)]
fn uniform(bits: u64) -> f64 {
    (bits >> 11) as f64 * (0.5 * f64::EPSILON)
}

/// Draws a count for each mean and the bits of a uniform random number, or [`DOUBTFUL`]. Returns whether one is doubtful.
///
/// The error bound counts roundings. A mean sums one product of two rounded factors per topic, and the distribution function
/// changes by at most as much as its mean. The probability of a count c has 5 roundings from exp, 1 from its coefficient and
/// 1 for each of c steps, and c is the mean on average. The sum has up to 96 additions. The first 24 bits of the random
/// number are below the whole number by up to one rounding.
#[inline(always)]
fn draw_block(
    means: &[f32; BLOCK],
    bits: &[u64; BLOCK],
    topics: usize,
    drawn: &mut [u32; BLOCK],
) -> bool {
    // A separate loop: the lanes of eight bytes would make the next loop use half of each register.
    let uniform: [f32; BLOCK] = lanes(|lane| (bits[lane] >> 40) as i32 as f32 * ROUNDING);
    let mut ratio = [0.0; BLOCK];
    let mut least = [0.0; BLOCK];
    let mut most = [0.0; BLOCK];
    let mut probability = [0.0; BLOCK];
    let of_mean = ROUNDING * (topics + 4) as f32;
    for lane in 0..BLOCK {
        let bound = means[lane].mul_add(of_mean, ROUNDING * (STEPS + 10) as f32);
        let inverted = means[lane] + bound < MAX_INVERSION_MEAN as f32;
        let mean = if inverted { means[lane] } else { 0.0 };
        ratio[lane] = mean * (1.0 / MAX_INVERSION_MEAN as f32);
        // A bound below 0 adds no steps to the loop.
        least[lane] = if inverted {
            uniform[lane] - bound
        } else {
            -1.0
        };
        most[lane] = if inverted {
            uniform[lane] + bound
        } else {
            -1.0
        };
        probability[lane] = exp(-mean);
    }
    let mut doubtful = false;
    let chunks = drawn.as_chunks_mut::<LANES>().0.iter_mut();
    for (chunk, drawn) in chunks.enumerate() {
        let of = |values: &[f32; BLOCK]| values.as_chunks::<LANES>().0[chunk];
        doubtful |= invert(of(&ratio), of(&least), of(&most), of(&probability), drawn);
    }
    doubtful
}

/// Counts the values of the distribution functions with means 16 `ratio` that are at most `least`, and at most `most`. Their
/// first value is `probability`. Returns whether the two numbers differ in a lane.
#[inline(always)]
fn invert(
    ratio: [f32; LANES],
    least: [f32; LANES],
    most: [f32; LANES],
    probability: [f32; LANES],
    drawn: &mut [u32; LANES],
) -> bool {
    let mut power = probability;
    let mut sum = probability;
    let mut counts = [0u32; LANES];
    let mut more = [0u32; LANES];
    // A sequence of short loops keeps its lanes in registers.
    for [first, second] in COEFFICIENTS.as_chunks::<2>().0 {
        for lane in 0..LANES {
            counts[lane] += u32::from(least[lane] >= sum[lane]);
        }
        for lane in 0..LANES {
            more[lane] += u32::from(most[lane] >= sum[lane]);
        }
        power = lanes(|lane| power[lane] * ratio[lane]);
        sum = lanes(|lane| power[lane].mul_add(*first, sum[lane]));
        let mut above = [0u32; LANES];
        for lane in 0..LANES {
            above[lane] = u32::from(most[lane] >= sum[lane]);
        }
        for lane in 0..LANES {
            counts[lane] += u32::from(least[lane] >= sum[lane]);
        }
        let mut unfinished = 0;
        for lane in 0..LANES {
            more[lane] += above[lane];
            unfinished |= above[lane];
        }
        if unfinished == 0 {
            break;
        }
        power = lanes(|lane| power[lane] * ratio[lane]);
        sum = lanes(|lane| power[lane].mul_add(*second, sum[lane]));
    }
    let mut doubtful = 0u32;
    for lane in 0..LANES {
        let known = counts[lane] == more[lane] && most[lane] >= 0.0;
        drawn[lane] = if known { counts[lane] } else { DOUBTFUL };
        doubtful |= u32::from(!known);
    }
    doubtful != 0
}

/// Draws the doubtful counts of a block in `f64`.
#[cold]
#[inline(never)]
fn draw_doubtful(
    weights: &[f64],
    (f, first): (&Topics, usize),
    counts: &mut [u32],
    bits: &[u64; BLOCK],
    rng: &mut Xoshiro256PlusPlus,
) {
    for (lane, count) in counts.iter_mut().enumerate() {
        if *count == DOUBTFUL {
            *count = draw(f.mean(weights, first + lane), uniform(bits[lane]), rng);
        }
    }
}

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

/// Draws a count in `f64`: the reference for the lanes, which agree with it.
fn draw(mean: f64, uniform: f64, rng: &mut Xoshiro256PlusPlus) -> u32 {
    if mean > MAX_INVERSION_MEAN {
        return draw_large(mean, rng);
    }
    let mut probability = exp_minus(mean);
    let mut cumulative = probability;
    let mut count = 0;
    for reciprocal in RECIPROCALS {
        if uniform < cumulative {
            break;
        }
        count += 1;
        probability *= mean * reciprocal;
        cumulative += probability;
    }
    count
}

/// exp(-x) for 0 <= x <= 16: a Taylor polynomial of exp(-x / 64), squared six times. Relative error below 1e-13.
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
            let topics = Topics::new(vec![1.0; draws], draws);
            draw_terms(&[mean], &topics, 0, &mut counts, &mut rng);
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

    /// Means from 0 to above the largest for inversion, and numbers of topics with small and large rounding errors.
    #[test]
    fn lanes_draw_the_counts_of_the_reference() {
        for (topics, largest) in [(1, 0.01), (3, 2.0), (10, 18.0), (400, 5.0), (3_000, 16.0)] {
            let terms = 20_011;
            let mut rng = stream(3, Purpose::TrueF, topics as u64);
            let f: Vec<f64> = (0..topics * terms).map(|_| rng.random()).collect();
            let f = Topics::new(f, terms);
            // Uniform numbers have the mean 1/2.
            let weights: Vec<f64> = (0..topics)
                .map(|_| 2.0 * largest * rng.random::<f64>() / topics as f64)
                .collect();
            let mut counts = vec![0; terms];
            let mut expected = vec![0; terms];
            draw_terms(
                &weights,
                &f,
                0,
                &mut counts,
                &mut stream(5, Purpose::Counts, 1),
            );
            let mut rng = stream(5, Purpose::Counts, 1);
            for (block, counts) in expected.chunks_mut(BLOCK).enumerate() {
                let uniform: [f64; BLOCK] = std::array::from_fn(|_| rng.random());
                for (lane, count) in counts.iter_mut().enumerate() {
                    let mean = f.mean(&weights, block * BLOCK + lane);
                    *count = draw(mean, uniform[lane], &mut rng);
                }
            }
            assert!(counts == expected, "{topics} topics");
        }
    }
}
