//! Where a search starts, and the topics that a candidate adds.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::counts::View;
use crate::counts::rows::{NonzeroBuffer, nonzeros_of_row};

use super::coordinate_descent::{Data, Factors};
use super::factor::{CHUNK, Factor, reciprocals};
use super::merge_topics::merge_losses;

/// The share of every document's tokens that the added topics start with, together.
const ADDED_SHARE: f64 = 0.2;

/// Random factors: topics with random terms, and equal shares of them in every document.
pub(super) fn random_start(
    data: &Data,
    like: &Factors,
    topics: usize,
    random: &mut Xoshiro256PlusPlus,
) -> Factors {
    let f = like.f.values.iter();
    let mut f = Factor {
        topics,
        values: f.map(|_| 0.01 + random.random::<f32>()).collect(),
    };
    f.scale_columns(&reciprocals(&f.column_sums()));
    let lengths = data.lengths.iter();
    let l =
        lengths.flat_map(|length| std::iter::repeat_n((*length / topics as f64) as f32, topics));
    let l = Factor {
        topics,
        values: l.collect(),
    };
    Factors { l, f }
}

/// Topics for documents that fit badly: equal mixtures of the corpus's fitted term frequencies and the terms of one document,
/// which is drawn with a probability proportional to its deviance.
pub(super) fn topics_of_documents(
    factors: &Factors,
    data: &Data,
    view: &View<'_>,
    added: usize,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<Vec<f64>> {
    let (topics, terms) = (factors.f.topics, factors.f.values.len() / factors.f.topics);
    let deviances = deviances(factors, data, view);
    let total: f64 = deviances.iter().sum();
    let tokens = factors.l.column_sums();
    let mixture: Vec<f64> = factors
        .f
        .values
        .chunks(topics)
        .map(|row| {
            let parts = row.iter().zip(&tokens);
            parts.map(|(f, tokens)| f64::from(*f) * tokens).sum::<f64>() / data.tokens
        })
        .collect();
    let mut buffer = NonzeroBuffer::default();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for _ in 0..added {
        let mut rest = random.random::<f64>() * total;
        let drawn = deviances.iter().position(|deviance| {
            rest -= deviance;
            rest <= 0.0
        });
        let document = drawn.unwrap_or(0);
        let mut column: Vec<f64> = mixture.iter().map(|frequency| 0.5 * frequency).collect();
        let (indices, counts) = nonzeros_of_row(view, terms, document, &mut buffer);
        for (&term, &count) in indices.iter().zip(counts) {
            column[term as usize] += 0.5 * f64::from(count) / data.lengths[document].max(1.0);
        }
        columns.push(column);
    }
    columns
}

/// The topics of `other` that `factors` lack most: those whose tokens lose most where each is merged with the topic of
/// `factors` that is most like it.
pub(super) fn topics_of_another(factors: &Factors, other: &Factors, added: usize) -> Vec<Vec<f64>> {
    let topics = factors.f.topics;
    let rows = factors
        .f
        .values
        .chunks(topics)
        .zip(other.f.values.chunks(topics));
    let both = Factor {
        topics: 2 * topics,
        values: rows.flat_map(|(a, b)| a.iter().chain(b)).copied().collect(),
    };
    let tokens = [factors.l.column_sums(), other.l.column_sums()].concat();
    let losses = merge_losses(&both, &tokens);
    let lost = |topic: usize| {
        let losses = &losses[(topics + topic) * 2 * topics..][..topics];
        losses.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let mut order: Vec<usize> = (0..topics).collect();
    order.sort_by(|a, b| lost(*b).total_cmp(&lost(*a)));
    let column = |topic: &usize| {
        let rows = other.f.values.chunks(topics);
        rows.map(|row| f64::from(row[*topic])).collect()
    };
    order[..added].iter().map(column).collect()
}

/// Adds topics with these term frequencies.
pub(super) fn add_topics(factors: &Factors, data: &Data, columns: &[Vec<f64>]) -> Factors {
    let (topics, terms, added) = (
        factors.f.topics,
        factors.f.values.len() / factors.f.topics,
        columns.len(),
    );
    let width = topics + added;
    let mut f = Vec::with_capacity(terms * width);
    for (term, row) in factors.f.values.chunks(topics).enumerate() {
        f.extend_from_slice(row);
        f.extend(columns.iter().map(|column| column[term] as f32));
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

    /// Factors with one document, whose tokens are shared equally, and topics that have these terms alone, equally often.
    fn factors(topics: &[&[usize]]) -> Factors {
        let terms = 8;
        let value = |at: usize| {
            let (term, topic) = (at / topics.len(), at % topics.len());
            match topics[topic].contains(&term) {
                true => 1.0 / topics[topic].len() as f32,
                false => 1e-12,
            }
        };
        let factor = |values| Factor {
            topics: topics.len(),
            values,
        };
        Factors {
            l: factor(vec![100.0; topics.len()]),
            f: factor((0..terms * topics.len()).map(value).collect()),
        }
    }

    #[test]
    fn the_topics_that_are_lacking_come_first() {
        let own = factors(&[&[0, 1], &[2, 3], &[4, 5]]);
        let other = factors(&[&[2, 3], &[6, 7], &[0, 2]]);
        let columns = topics_of_another(&own, &other, 2);
        let terms_of =
            |column: &[f64]| -> Vec<usize> { (0..8).filter(|term| column[*term] > 0.1).collect() };
        // No own topic has the terms 6 and 7; two have one of the terms 0 and 2.
        assert_eq!(terms_of(&columns[0]), [6, 7]);
        assert_eq!(terms_of(&columns[1]), [0, 2]);
    }
}
