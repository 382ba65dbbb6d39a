//! The terms that a page must hold, so that its slider shows the most relevant terms of a topic exactly.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Positions of the slider are 0, 1/100, ..., 1.
pub(super) const STEPS: usize = 100;

/// A term of a topic. Its relevance (Sievert and Shirley 2014) is linear in lambda:
/// log(probability in the topic) - (1 - lambda) log(probability in all documents).
struct Line {
    term: usize,
    probability: f32,
    log_probability: f64,
    log_marginal: f64,
}

impl Line {
    /// The script of the page computes it in the same order.
    fn relevance(&self, lambda: f64) -> f64 {
        self.log_probability - (1.0 - lambda) * self.log_marginal
    }
}

/// The terms, in increasing order, that are among the `n` most relevant ones of a topic at any position of the slider.
///
/// `probabilities` is the topic's row of F; `frequencies` sum to about `total` over all terms. Terms without a probability or a
/// frequency are never relevant. Among terms of equal relevance the more probable comes first, then the first.
pub(super) fn relevant_terms(
    probabilities: &[f32],
    frequencies: &[f64],
    total: f64,
    n: usize,
) -> Vec<usize> {
    let mut lines = candidates(probabilities, frequencies, total, n);
    let mut is_shown = vec![false; lines.len()];
    let mut order: Vec<usize> = (0..lines.len()).collect();
    for step in 0..=STEPS {
        let lambda = step as f64 / STEPS as f64;
        let relevance: Vec<f64> = lines.iter().map(|line| line.relevance(lambda)).collect();
        let before = |&a: &usize, &b: &usize| {
            relevance[b]
                .total_cmp(&relevance[a])
                .then_with(|| by_probability(&lines[a], &lines[b]))
        };
        if n < order.len() {
            order.select_nth_unstable_by(n, before);
        }
        order.iter().take(n).for_each(|&at| is_shown[at] = true);
    }
    let mut shown = is_shown.into_iter();
    lines.retain(|_| shown.next().unwrap_or(false));
    let mut terms: Vec<usize> = lines.into_iter().map(|line| line.term).collect();
    terms.sort_unstable();
    terms
}

/// The terms of which fewer than `n` others are more probable and have at least the same lift. All others have `n` terms
/// before them at both ends of the slider and, because relevance is linear, everywhere: a few hundred of 50,000 terms remain.
fn candidates(probabilities: &[f32], frequencies: &[f64], total: f64, n: usize) -> Vec<Line> {
    let terms = probabilities.iter().zip(frequencies).enumerate();
    let mut lines: Vec<Line> = terms
        .filter(|(_, (probability, frequency))| **probability > 0.0 && **frequency > 0.0)
        .map(|(term, (&probability, &frequency))| Line {
            term,
            probability,
            log_probability: f64::from(probability).ln(),
            log_marginal: (frequency / total).ln(),
        })
        .collect();
    lines.sort_unstable_by(|a, b| {
        let lifts = b.relevance(0.0).total_cmp(&a.relevance(0.0));
        lifts.then_with(|| by_probability(a, b))
    });
    // The `n` largest probabilities so far. Bits of positive numbers are ordered as the numbers are.
    let mut largest = BinaryHeap::with_capacity(n + 1);
    lines.retain(|line| {
        let bits = line.probability.to_bits();
        let least = largest.peek().map(|&Reverse(least)| least);
        let is_candidate = largest.len() < n || least.is_some_and(|least: u32| bits >= least);
        largest.push(Reverse(bits));
        if largest.len() > n {
            largest.pop();
        }
        is_candidate
    });
    lines
}

/// The more probable first, then the first.
fn by_probability(a: &Line, b: &Line) -> Ordering {
    let probabilities = b.probability.total_cmp(&a.probability);
    probabilities.then(a.term.cmp(&b.term))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All terms sorted at every position.
    fn brute_force(probabilities: &[f32], frequencies: &[f64], total: f64, n: usize) -> Vec<usize> {
        let mut shown = vec![false; probabilities.len()];
        for step in 0..=STEPS {
            let lambda = step as f64 / STEPS as f64;
            let relevance = |term: usize| {
                f64::from(probabilities[term]).ln()
                    - (1.0 - lambda) * (frequencies[term] / total).ln()
            };
            let mut order: Vec<usize> = (0..probabilities.len())
                .filter(|&term| probabilities[term] > 0.0 && frequencies[term] > 0.0)
                .collect();
            order.sort_by(|&a, &b| {
                relevance(b)
                    .total_cmp(&relevance(a))
                    .then(probabilities[b].total_cmp(&probabilities[a]))
                    .then(a.cmp(&b))
            });
            order.iter().take(n).for_each(|&term| shown[term] = true);
        }
        (0..shown.len()).filter(|&term| shown[term]).collect()
    }

    proptest! {
        /// Few distinct values, so that many terms have the same probability, the same lift, or both.
        #[test]
        fn the_terms_are_those_of_all_positions(
            pairs in prop::collection::vec((0u32..20, 0u32..20), 1..120),
            n in 1usize..12,
        ) {
            let probabilities: Vec<f32> = pairs.iter().map(|pair| pair.0 as f32 / 1000.0).collect();
            let frequencies: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.1)).collect();
            let total = frequencies.iter().sum::<f64>().max(1.0);
            prop_assert_eq!(
                relevant_terms(&probabilities, &frequencies, total, n),
                brute_force(&probabilities, &frequencies, total, n)
            );
        }

        #[test]
        fn the_terms_of_real_numbers_are_those_of_all_positions(
            pairs in prop::collection::vec((1e-9f32..1.0, 1e-9f64..1.0), 1..300),
            n in 1usize..30,
        ) {
            let probabilities: Vec<f32> = pairs.iter().map(|pair| pair.0.powi(3)).collect();
            let frequencies: Vec<f64> = pairs.iter().map(|pair| pair.1.powi(3)).collect();
            let total = frequencies.iter().sum();
            prop_assert_eq!(
                relevant_terms(&probabilities, &frequencies, total, n),
                brute_force(&probabilities, &frequencies, total, n)
            );
        }
    }

    #[test]
    fn few_of_many_terms_remain() {
        let probabilities: Vec<f32> = (0..50_000).map(|i| 1.0 / (1.0 + i as f32)).collect();
        let frequencies: Vec<f64> = (0..50_000)
            .map(|i| f64::from(1 + (i * 7919) % 50_000))
            .collect();
        let lines = candidates(&probabilities, &frequencies, frequencies.iter().sum(), 30);
        assert!(lines.len() < 1_000, "{}", lines.len());
    }
}
