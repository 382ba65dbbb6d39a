//! Pairs of similar topics of two fits; a candidate takes one topic of each pair.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::solvers::factor::Factor;

/// Topics whose affinities are summed by one parallel task.
const TOPICS_IN_TASK: usize = 4;

/// Pairs each topic of `a` with one of `b`, the most similar ones first, and takes one of each pair at random.
pub(super) fn topics_of_two(a: &Factor, b: &Factor, random: &mut Xoshiro256PlusPlus) -> Factor {
    let topics = a.topics;
    let mut of_b = vec![None; topics];
    for (a, b) in pairs(a, b) {
        of_b[a] = random.random::<bool>().then_some(b);
    }
    let rows = a.values.chunks(topics).zip(b.values.chunks(topics));
    let values = rows.flat_map(|(a, b)| {
        let chosen = a.iter().zip(&of_b);
        chosen.map(|(a, of_b)| of_b.map_or(*a, |topic| b[topic]))
    });
    Factor {
        topics,
        values: values.collect(),
    }
}

/// Pairs of topics of `a` and of `b`, greedily: repeatedly the two most similar topics that have no partner yet.
fn pairs(a: &Factor, b: &Factor) -> Vec<(usize, usize)> {
    let topics = a.topics;
    let affinities = affinities(a, b);
    let mut order: Vec<usize> = (0..topics * topics).collect();
    order.sort_by(|x, y| affinities[*y].total_cmp(&affinities[*x]));
    let (mut has_a, mut has_b) = (vec![false; topics], vec![false; topics]);
    let mut pairs = Vec::with_capacity(topics);
    for pair in order {
        let (a, b) = (pair / topics, pair % topics);
        if !has_a[a] && !has_b[b] {
            (has_a[a], has_b[b]) = (true, true);
            pairs.push((a, b));
        }
    }
    pairs
}

/// How similar each topic of `a` is to each of `b`, row-major: Bhattacharyya's coefficient, the sum over terms of the
/// square root of both probabilities.
fn affinities(a: &Factor, b: &Factor) -> Vec<f32> {
    let topics = a.topics;
    let roots: Vec<f32> = b.values.par_iter().map(|value| value.sqrt()).collect();
    let mut affinities = vec![0.0; topics * topics];
    affinities
        .par_chunks_mut(TOPICS_IN_TASK * topics)
        .enumerate()
        .for_each(|(task, sums)| {
            let first = task * TOPICS_IN_TASK;
            for (a, roots) in a.values.chunks(topics).zip(roots.chunks(topics)) {
                for (sums, a) in sums.chunks_mut(topics).zip(&a[first..]) {
                    let root = a.sqrt();
                    for (sum, other) in sums.iter_mut().zip(roots) {
                        *sum += root * other;
                    }
                }
            }
        });
    affinities
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Purpose, stream};

    /// Topics that have these terms of 12 alone, equally often.
    fn factor(topics: &[&[usize]]) -> Factor {
        let value = |at: usize| {
            let (term, topic) = (at / topics.len(), at % topics.len());
            match topics[topic].contains(&term) {
                true => 1.0 / topics[topic].len() as f32,
                false => 0.0,
            }
        };
        Factor {
            topics: topics.len(),
            values: (0..12 * topics.len()).map(value).collect(),
        }
    }

    fn terms_of(factor: &Factor, topic: usize) -> Vec<usize> {
        let has = |term: &usize| factor.row(*term)[topic] > 0.0;
        (0..12).filter(has).collect()
    }

    #[test]
    fn one_of_each_pair_is_taken() {
        let a = factor(&[&[0, 1], &[2, 3], &[4, 5], &[6, 7]]);
        // The topics of `a` in another order, each with a term that is not in `a`.
        let b = factor(&[&[6, 7, 8], &[2, 3, 9], &[0, 1, 10], &[4, 5, 11]]);
        assert_eq!(pairs(&a, &b), [(0, 2), (1, 1), (2, 3), (3, 0)]);
        let mut from_b = [0; 4];
        for number in 0..64 {
            let mut random = stream(3, Purpose::Candidate, number);
            let both = topics_of_two(&a, &b, &mut random);
            for (topic, from_b) in from_b.iter_mut().enumerate() {
                let terms = terms_of(&both, topic);
                assert_eq!(terms[..2], [2 * topic, 2 * topic + 1]);
                *from_b += terms.len() - 2;
            }
        }
        assert!(
            from_b.iter().all(|from_b| (16..=48).contains(from_b)),
            "{from_b:?}"
        );
    }

    #[test]
    fn a_topic_that_two_resemble_is_given_once() {
        let a = factor(&[&[0, 1, 2], &[0, 1, 3]]);
        let b = factor(&[&[0, 1, 2], &[8, 9]]);
        assert_eq!(pairs(&a, &b), [(0, 0), (1, 1)]);
    }
}
