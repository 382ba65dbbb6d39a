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

/// `values` random values, as topics.
pub(super) fn random_topics(
    topics: usize,
    values: usize,
    random: &mut Xoshiro256PlusPlus,
) -> Factor {
    let values = (0..values).map(|_| 0.01 + random.random::<f32>());
    let mut f = Factor {
        topics,
        values: values.collect(),
    };
    f.scale_columns(&reciprocals(&f.column_sums()));
    f
}

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
