//! The topics that candidates start from or add.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::counts::View;
use crate::counts::rows::{NonzeroBuffer, nonzeros_of_row};

use crate::solvers::coordinate_descent::{Data, Factors};
use crate::solvers::factor::{CHUNK, Factor, reciprocals};

/// The share of every document's tokens that the added topics start with, together.
const ADDED_SHARE: f64 = 0.2;
/// The share of an added topic that is the terms of one document.
const DOCUMENT_IN_ADDED: f64 = 0.5;
/// The same of a topic to start from. It decides which documents get the topic, and the rest keeps topics apart that start from
/// documents of the same kind.
const DOCUMENT_IN_START: f64 = 0.03;

/// These topics, and equal shares of them in every document.
pub(super) fn equal_shares(f: Factor, data: &Data) -> Factors {
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

/// Topics for documents that fit badly: mixtures of the corpus's fitted term frequencies and the terms of one document, which is
/// drawn with a probability proportional to its deviance.
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
    let frequencies = frequencies.iter();
    let values = frequencies.flat_map(|frequency| std::iter::repeat_n(*frequency as f32, added));
    let corpus = Factor {
        topics: added,
        values: values.collect(),
    };
    let deviances = deviances(factors, data, view);
    mixtures(corpus, DOCUMENT_IN_ADDED, deviances, (data, view), random)
}

/// A new start: topics that are noise and, to a small share, the terms of one document, which is drawn with a probability
/// proportional to its length, and equal shares of them in every document. The noise has the same distribution for frequent and
/// for rare terms. With noise around the corpus's frequencies, all topics would fit all documents alike, and part later.
pub(super) fn start_from_documents(
    (topics, terms): (usize, usize),
    data: &Data,
    view: &View<'_>,
    random: &mut Xoshiro256PlusPlus,
) -> Factors {
    let noise = (0..topics * terms).map(|_| -(1.0 - random.random::<f64>()).ln());
    let mut noise = Factor {
        topics,
        values: noise.map(|value| value as f32).collect(),
    };
    noise.scale_columns(&reciprocals(&noise.column_sums()));
    let f = mixtures(
        noise,
        DOCUMENT_IN_START,
        data.lengths.clone(),
        (data, view),
        random,
    );
    equal_shares(f, data)
}

/// Mixtures of these topics, whose columns sum to one, and of the terms of one document each, which have so large a share.
/// Documents are drawn with a probability proportional to their weight, and none twice.
fn mixtures(
    mut f: Factor,
    share: f64,
    mut weights: Vec<f64>,
    (data, view): (&Data, &View<'_>),
    random: &mut Xoshiro256PlusPlus,
) -> Factor {
    let (topics, terms) = (f.topics, f.values.len() / f.topics);
    for value in &mut f.values {
        *value *= (1.0 - share) as f32;
    }
    let mut buffer = NonzeroBuffer::default();
    for topic in 0..topics {
        let mut rest = random.random::<f64>() * weights.iter().sum::<f64>();
        let drawn = weights.iter().position(|weight| {
            rest -= weight;
            rest <= 0.0
        });
        let document = drawn.unwrap_or(0);
        weights[document] = 0.0;
        let (indices, counts) = nonzeros_of_row(view, terms, document, &mut buffer);
        for (&term, &count) in indices.iter().zip(counts) {
            let frequency = f64::from(count) / data.lengths[document].max(1.0);
            f.values[term as usize * topics + topic] += (share * frequency) as f32;
        }
    }
    f
}

/// Adds these topics.
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

/// Half the deviance of each document: its log-likelihood under its own term frequencies minus that under the factors.
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
    use crate::system::{Purpose, stream};

    fn counts() -> Counts {
        // The last document has no tokens, and the last term no counts.
        let documents: [[u8; 4]; 4] = [[3, 1, 0, 0], [0, 2, 2, 0], [1, 0, 5, 0], [0, 0, 0, 0]];
        Counts::dense(4, 4, documents.concat()).unwrap()
    }

    #[test]
    fn topics_are_mixed_with_the_terms_of_documents() {
        let counts = counts();
        let data = Data::new(&counts).unwrap();
        let view = counts.view().unwrap();
        let mut random = stream(3, Purpose::FirstTopics, 0);
        let even = Factor {
            topics: 3,
            values: vec![0.25; 12],
        };
        let weights = data.lengths.clone();
        let f = mixtures(even, 0.4, weights, (&data, &view), &mut random);
        let expected = |document: usize, term: usize| {
            let counts = [[3, 1, 0, 0], [0, 2, 2, 0], [1, 0, 5, 0]][document];
            let length: i32 = counts.iter().sum();
            0.6 * 0.25 + 0.4 * f64::from(counts[term]) / f64::from(length)
        };
        let mut seen: Vec<usize> = (0..3)
            .map(|topic| {
                let is = |document: &usize| {
                    let found = |term| f64::from(f.row(term)[topic]);
                    (0..4).all(|term| (found(term) - expected(*document, term)).abs() < 1e-6)
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

    #[test]
    fn topics_to_start_from_are_probabilities_and_differ() {
        let counts = counts();
        let data = Data::new(&counts).unwrap();
        let view = counts.view().unwrap();
        let mut random = stream(3, Purpose::FirstTopics, 0);
        let Factors { l, f } = start_from_documents((3, 4), &data, &view, &mut random);
        let sums = f.column_sums();
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{sums:?}");
        assert!(f.values.iter().all(|value| *value > 0.0));
        assert_ne!(f.row(0)[0], f.row(0)[1]);
        let shares = [4.0 / 3.0, 4.0 / 3.0, 2.0, 0.0];
        for (document, share) in shares.into_iter().enumerate() {
            assert!(l.row(document).iter().all(|weight| *weight == share as f32));
        }
    }
}
