//! New documents under topics that stay as they are.

use std::borrow::Borrow;

use super::Fit;
use super::likelihood::{for_each_document, transpose};
use crate::counts::Counts;
use crate::error::Result;
use crate::matrix::Matrix;

/// Iterations at most for one document.
const ITERATIONS: usize = 1_000;
/// A document is done when no proportion moves by more than this.
const TOLERANCE: f64 = 1e-6;

impl Fit {
    /// The topics of new documents: L (documents x topics, rows summing to one) for counts over the same terms, with F
    /// held fixed.
    ///
    /// Each document's proportions maximise its likelihood, a concave problem, by expectation-maximisation (Hofmann
    /// 1999, folding in) until no proportion moves by more than 1e-6. A document without counts gets equal
    /// proportions. Costs O(nonzeros x k) an iteration, on all cores.
    ///
    /// # Errors
    /// When the counts have another number of terms, or cannot be read.
    pub fn transform(&self, counts: impl Borrow<Counts>) -> Result<Matrix> {
        let counts = counts.borrow();
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "transform"));
        }
        counts.summary()?;
        let terms_first = transpose(&self.f);
        let rows = for_each_document(counts, |_, terms| {
            document_topics(&terms_first, self.topics(), terms)
        })?;
        Ok(Matrix::from_parts(
            counts.documents(),
            self.topics(),
            rows.concat(),
        ))
    }
}

fn document_topics(terms_first: &Matrix, k: usize, terms: &[(usize, f32)]) -> Vec<f32> {
    let mut weights = vec![1.0 / k as f64; k];
    let total: f64 = terms.iter().map(|(_, count)| f64::from(*count)).sum();
    if total == 0.0 {
        return weights.into_iter().map(|weight| weight as f32).collect();
    }
    let mut next = vec![0.0; k];
    for _ in 0..ITERATIONS {
        next.fill(0.0);
        for &(term, count) in terms {
            let probabilities = terms_first.row(term);
            let rate: f64 = weights
                .iter()
                .zip(probabilities)
                .map(|(weight, &probability)| weight * f64::from(probability))
                .sum();
            let share = f64::from(count) / rate.max(f64::MIN_POSITIVE);
            for (next, &probability) in next.iter_mut().zip(probabilities) {
                *next += share * f64::from(probability);
            }
        }
        let mut moved: f64 = 0.0;
        for (weight, next) in weights.iter_mut().zip(&next) {
            let updated = *weight * next / total;
            moved = moved.max((updated - *weight).abs());
            *weight = updated;
        }
        if moved < TOLERANCE {
            break;
        }
    }
    let sum: f64 = weights.iter().sum();
    weights
        .into_iter()
        .map(|weight| (weight / sum) as f32)
        .collect()
}
