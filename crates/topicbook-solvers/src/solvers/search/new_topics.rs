//! The topics that candidates start from or add.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::counts::View;
use crate::counts::rows::{NonzeroBuffer, nonzeros_of_row};
use crate::data::Matrix;
use crate::solvers::coordinate_descent::{Data, Factors};
use crate::solvers::factor::{CHUNK, Factor, reciprocals};
use crate::system::{Purpose, dirichlet_rows};

/// The share of every document's tokens that the added topics start with, together.
const ADDED_SHARE: f64 = 0.2;

/// These topics, with equal shares of them in every document.
fn equal_shares(f: Factor, data: &Data) -> Factors {
    let topics = f.topics;
    let lengths = data.lengths.iter();
    let shares =
        lengths.flat_map(|length| std::iter::repeat_n((*length / topics as f64) as f32, topics));
    let l = Factor {
        topics,
        values: shares.collect(),
    };
    Factors { l, f }
}

/// A new start: topics that are noise, the same for frequent and for rare terms, with equal shares of them in every document.
/// With noise around the corpus's term frequencies, all topics would fit all documents nearly alike, and separate later. Topics
/// that each start from the terms of a document separate sooner, but often end at a lower maximum.
/// `number` counts the starts of a seed, from 0.
pub(super) fn start_from_noise(
    (topics, terms): (usize, usize),
    data: &Data,
    seed: u64,
    number: u64,
) -> Factors {
    let first = number * topics as u64;
    let noise = dirichlet_rows((topics, terms), seed, Purpose::FirstTopics, first);
    let noise = noise.into_iter().map(|value| value as f32).collect();
    let f = Factor::from_f(&Matrix::from_parts(topics, terms, noise));
    equal_shares(f, data)
}

/// Topics for documents that fit badly: equal mixtures of the corpus's fitted term frequencies and the terms of one document,
/// which is drawn without replacement, with a probability proportional to its deviance.
pub(super) fn topics_of_misfits(
    factors: &Factors,
    data: &Data,
    view: &View<'_>,
    added: usize,
    random: &mut Xoshiro256PlusPlus,
) -> Factor {
    let topics = factors.f.topics;
    let tokens = factors.l.column_sums();
    let rows = factors.f.values.chunks(topics);
    let frequencies: Vec<f64> = rows
        .map(|row| {
            let parts = row.iter().zip(&tokens);
            parts.map(|(f, tokens)| f64::from(*f) * tokens).sum::<f64>() / data.tokens
        })
        .collect();
    let halves = frequencies
        .iter()
        .flat_map(|frequency| std::iter::repeat_n((0.5 * frequency) as f32, added));
    let mut values: Vec<f32> = halves.collect();
    let mut weights = deviances(factors, data, view);
    let mut buffer = NonzeroBuffer::default();
    for topic in 0..added {
        let mut rest = random.random::<f64>() * weights.iter().sum::<f64>();
        let drawn = weights.iter().position(|weight| {
            rest -= weight;
            rest <= 0.0
        });
        let document = drawn.unwrap_or(0);
        weights[document] = 0.0;
        let (indices, counts) = nonzeros_of_row(view, frequencies.len(), document, &mut buffer);
        for (&term, &count) in indices.iter().zip(counts) {
            let frequency = f64::from(count) / data.lengths[document].max(1.0);
            values[term as usize * added + topic] += (0.5 * frequency) as f32;
        }
    }
    Factor {
        topics: added,
        values,
    }
}

pub(super) fn add_topics(factors: &Factors, data: &Data, more: &Factor) -> Factors {
    let (topics, added) = (factors.f.topics, more.topics);
    let width = topics + added;
    let mut f = Vec::with_capacity(factors.f.values.len() + more.values.len());
    let rows = factors.f.values.chunks(topics);
    for (row, more) in rows.zip(more.values.chunks(added)) {
        f.extend_from_slice(row);
        f.extend_from_slice(more);
    }
    let mut l = Vec::with_capacity(data.lengths.len() * width);
    for (row, length) in factors.l.values.chunks(topics).zip(&data.lengths) {
        l.extend(
            row.iter()
                .map(|weight| *weight * (1.0 - ADDED_SHARE) as f32),
        );
        l.extend((0..added).map(|_| (length * ADDED_SHARE / added as f64) as f32));
    }
    let factor = |values| Factor {
        topics: width,
        values,
    };
    let (l, mut f) = (factor(l), factor(f));
    f.scale_columns(&reciprocals(&f.column_sums()));
    Factors { l, f }
}

/// Half the deviance of each document: its log-likelihood under its own term frequencies minus its log-likelihood under the factors.
fn deviances(factors: &Factors, data: &Data, view: &View<'_>) -> Vec<f64> {
    let (topics, terms) = (factors.f.topics, factors.f.values.len() / factors.f.topics);
    let parts: Vec<Vec<f64>> = factors
        .l
        .values
        .par_chunks(CHUNK * topics)
        .enumerate()
        .map(|(chunk, rows)| {
            let mut buffer = NonzeroBuffer::default();
            let rows = rows.chunks(topics).enumerate();
            rows.map(|(row, weights)| {
                let document = chunk * CHUNK + row;
                let (indices, counts) = nonzeros_of_row(view, terms, document, &mut buffer);
                let parts = indices
                    .iter()
                    .zip(counts)
                    .filter(|(_, count)| **count > 0.0);
                let deviance: f64 = parts
                    .map(|(&term, &count)| {
                        let f = factors.f.row(term as usize);
                        let rate: f64 = weights
                            .iter()
                            .zip(f)
                            .map(|(w, f)| f64::from(*w) * f64::from(*f))
                            .sum();
                        // The floor is `RATE_FLOOR` in double precision.
                        f64::from(count) * (f64::from(count) / rate.max(1e-30)).ln()
                    })
                    .sum();
                // The rates of an extrapolated row of L need not sum to the document's length, so bound the result.
                deviance.clamp(0.0, 100.0 * data.lengths[document])
            })
            .collect()
        })
        .collect();
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Counts;
    use crate::system::stream;

    const DOCUMENTS: [[u8; 4]; 4] = [[3, 1, 0, 0], [0, 2, 2, 0], [1, 0, 5, 0], [0, 0, 0, 0]];

    fn counts() -> Counts {
        // The last document has no tokens, and the last term no counts.
        Counts::dense(4, 4, DOCUMENTS.concat()).unwrap()
    }

    #[test]
    fn topics_to_start_from_are_probabilities_and_differ() {
        let data = Data::new(&counts()).unwrap();
        let Factors { l, f } = start_from_noise((3, 4), &data, 3, 0);
        let sums = f.column_sums();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{sums:?}");
        assert!(f.values.iter().all(|value| *value > 0.0));
        assert_ne!(f.row(0)[0], f.row(0)[1]);
        let next = start_from_noise((3, 4), &data, 3, 1).f;
        assert_ne!(
            f.row(0)[2],
            next.row(0)[0],
            "starts have no topics in common"
        );
        let shares = [4.0 / 3.0, 4.0 / 3.0, 2.0, 0.0];
        for (document, share) in shares.into_iter().enumerate() {
            assert!(l.row(document).iter().all(|weight| *weight == share as f32));
        }
    }

    #[test]
    fn topics_to_add_are_half_the_corpus_and_half_a_document() {
        let counts = counts();
        let data = Data::new(&counts).unwrap();
        let view = counts.view().unwrap();
        // One topic, which has the corpus's frequencies.
        let corpus = [4.0 / 14.0, 3.0 / 14.0, 0.5, 0.0];
        let one = Factor {
            topics: 1,
            values: corpus.iter().map(|value| *value as f32).collect(),
        };
        let factors = equal_shares(one, &data);
        let mut random = stream(3, Purpose::Candidate, 0);
        let added = topics_of_misfits(&factors, &data, &view, 3, &mut random);
        let lengths = [4.0, 4.0, 6.0];
        let mut seen: Vec<usize> = (0..3)
            .map(|topic| {
                let is = |document: &usize| {
                    (0..4).all(|term| {
                        let own = f64::from(DOCUMENTS[*document][term]) / lengths[*document];
                        let expected = 0.5 * (corpus[term] + own);
                        (f64::from(added.row(term)[topic]) - expected).abs() < 1e-6
                    })
                };
                (0..3).find(is).expect("the topic of a document")
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(
            seen,
            [0, 1, 2],
            "no document is drawn twice while others are left"
        );
    }
}
