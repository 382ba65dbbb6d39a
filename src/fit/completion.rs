//! Predicts one part of documents from another: posterior means of their proportions, and F smoothed.

use rayon::prelude::*;

use crate::counts::Counts;
use crate::counts::rows::{NonzeroBuffer, nonzeros_of_row};
use crate::data::Matrix;
use crate::error::Result;
use crate::solvers::{Posterior, PosteriorScratch};
use crate::system::memory::check_free;

use super::evaluate::SEED;

/// Maximum number of documents from which the prior is estimated.
const SAMPLED: usize = 2048;
/// Maximum number of nonzero counts of these documents, unless one document has more.
const SAMPLED_NONZEROS: usize = 1 << 18;
/// The concentrations 2^(step / 2) are tried, for these steps.
const STEPS: std::ops::RangeInclusive<i32> = -8..=24;
/// The smallest weight of the uniform distribution: an unseen term of 10,000 has a probability of 1e-8, and other tokens lose
/// 0.0001 nats.
const SMALLEST_WEIGHT: f64 = 1e-4;
/// Iterations of expectation-maximisation for this weight, which is one number.
const WEIGHT_ITERATIONS: usize = 100;

/// Bytes of the documents from which the prior is estimated, in halves and whole, with the probabilities of their tokens.
pub(super) fn sample_bytes() -> u64 {
    SAMPLED_NONZEROS as u64 * (3 * 8 + 16)
}

/// A token count and the probability of its term.
pub(super) type Predicted = (f64, f64);

/// How documents are predicted.
pub(super) struct Prediction<'a> {
    /// F in probabilities (terms x topics).
    terms_first: &'a Matrix,
    /// The sum of the parameters of the proportions' Dirichlet prior.
    pub(super) concentration: f64,
    /// The weight of the uniform distribution over the terms.
    pub(super) smoothing: f64,
}

impl<'a> Prediction<'a> {
    /// Estimates prior and smoothing from the first halves of some of the documents, halved once more: the values with which
    /// one half predicts the other best.
    pub(super) fn estimate(counts: &Counts, terms_first: &'a Matrix) -> Result<Self> {
        let (sample, largest) = sample(counts)?;
        let scratch = 4 * largest as u64 * terms_first.columns() as u64;
        check_free(
            scratch * rayon::current_num_threads() as u64,
            "the topics of the terms of each document",
        )?;
        let mut prediction = Self {
            terms_first,
            concentration: 1.0,
            smoothing: SMALLEST_WEIGHT,
        };
        if terms_first.columns() > 1 {
            prediction.concentration = climb(|step| {
                let concentration = concentration_of(step);
                let prediction = Self {
                    concentration,
                    ..prediction
                };
                let scores = prediction.predicted(&sample)?;
                Ok(scores
                    .iter()
                    .map(|(x, p)| x * prediction.smoothed(*p).ln())
                    .sum())
            })
            .map(concentration_of)?;
        }
        let predicted = prediction.predicted(&sample)?;
        let uniform = 1.0 / terms_first.rows() as f64;
        prediction.smoothing = weight_of_uniform(&predicted, uniform).max(SMALLEST_WEIGHT);
        Ok(prediction)
    }

    /// The probability of a term whose L F is `p`.
    pub(super) fn smoothed(&self, p: f64) -> f64 {
        (1.0 - self.smoothing) * p + self.smoothing / self.terms_first.rows() as f64
    }

    /// Calls `of` for each document with its tokens in the first part, from which its proportions are estimated, and with its
    /// counts in the second part and their probabilities L F.
    pub(super) fn complete<T: Send>(
        &self,
        [observed, completed]: &[Counts; 2],
        of: impl Fn(f64, &mut dyn Iterator<Item = Predicted>) -> T + Sync,
    ) -> Result<Vec<T>> {
        let documents = observed.documents();
        let (observed, completed) = (observed.view()?, completed.view()?);
        let (terms, topics) = (self.terms_first.rows(), self.terms_first);
        let posterior = Posterior {
            terms_first: topics,
            concentration: self.concentration,
        };
        let start = || (NonzeroBuffer::default(), PosteriorScratch::default());
        let each = (0..documents)
            .into_par_iter()
            .map_init(start, |(buffer, scratch), row| {
                let (columns, counts) = nonzeros_of_row(&observed, terms, row, buffer);
                let tokens = counts.iter().map(|&count| f64::from(count)).sum();
                let proportions = posterior.proportions(columns, counts, scratch);
                let (columns, counts) = nonzeros_of_row(&completed, terms, row, buffer);
                let mut predicted = columns.iter().zip(counts).map(|(&column, &count)| {
                    let products = proportions.iter().zip(topics.row(column as usize));
                    let p = products.map(|(l, &f)| l * f64::from(f)).sum();
                    (f64::from(count), p)
                });
                of(tokens, &mut predicted)
            });
        Ok(each.collect())
    }

    /// The second parts of the documents that have tokens in the first one.
    fn predicted(&self, sample: &[Counts; 2]) -> Result<Vec<Predicted>> {
        let documents = self.complete(sample, |observed, tokens| {
            let scored = observed > 0.0;
            tokens.filter(|_| scored).collect::<Vec<_>>()
        })?;
        Ok(documents.into_iter().flatten().collect())
    }
}

/// First halves of documents at equal distances, halved once more, and the largest number of nonzero counts of a first half.
fn sample(counts: &Counts) -> Result<([Counts; 2], usize)> {
    let mut step = counts.documents().div_ceil(SAMPLED).max(1);
    let mut rows: Vec<(usize, Vec<u32>, Vec<f32>)> = Vec::new();
    let (mut nonzeros, mut largest) = (0, 0);
    counts.for_each_halved(SEED, &mut |batch| {
        let [observed, _] = &batch.halves;
        let (view, mut buffer) = (observed.view()?, NonzeroBuffer::default());
        for row in 0..observed.documents() {
            let (columns, counts) = nonzeros_of_row(&view, counts.terms(), row, &mut buffer);
            largest = largest.max(columns.len());
            let document = batch.first + row;
            if document.is_multiple_of(step) {
                nonzeros += columns.len();
                rows.push((document, columns.to_vec(), counts.to_vec()));
            }
            // Every second document is left out, until the others are few enough.
            while nonzeros > SAMPLED_NONZEROS && rows.len() > 1 {
                step *= 2;
                rows.retain(|(document, ..)| document.is_multiple_of(step));
                nonzeros = rows.iter().map(|(_, columns, _)| columns.len()).sum();
            }
        }
        Ok(())
    })?;
    let mut indptr = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for (_, columns, counts) in rows {
        indices.extend(columns);
        values.extend(counts);
        indptr.push(indices.len() as u64);
    }
    let sample = Counts::csr(indptr.len() - 1, counts.terms(), indptr, indices, values)?;
    // Uses other random bits than the split of the documents into halves.
    let (first, second) = sample.split_tokens(SEED + 1)?;
    Ok(([first, second], largest))
}

fn concentration_of(step: i32) -> f64 {
    (f64::from(step) / 2.0).exp2()
}

/// The step of [`STEPS`] with the largest value, found from step 0 by strides of two octaves, one, and a half.
fn climb(value: impl Fn(i32) -> Result<f64>) -> Result<i32> {
    let (mut best, mut highest) = (0, value(0)?);
    for stride in [4, 2, 1] {
        for direction in [-stride, stride] {
            while STEPS.contains(&(best + direction)) {
                let next = value(best + direction)?;
                if next <= highest {
                    break;
                }
                (best, highest) = (best + direction, next);
            }
        }
    }
    Ok(best)
}

/// The most likely weight of a uniform distribution in a mixture with these probabilities.
fn weight_of_uniform(predicted: &[Predicted], uniform: f64) -> f64 {
    let tokens: f64 = predicted.iter().map(|(x, _)| x).sum();
    let mut weight = 0.01;
    for _ in 0..WEIGHT_ITERATIONS {
        let part = |p: f64| weight * uniform / (weight * uniform + (1.0 - weight) * p);
        let next: f64 = predicted.iter().map(|&(x, p)| x * part(p)).sum();
        weight = next / tokens.max(1.0);
    }
    weight
}
