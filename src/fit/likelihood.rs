//! How well a fit explains counts.

use std::borrow::Borrow;

use rayon::prelude::*;

use super::Fit;
use crate::counts::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::SMALLEST_RATE;

/// Documents read at once by one thread.
const BLOCK: usize = 32;

impl Fit {
    /// The score of the fit on the counts it was fitted to: the sum over all counts of x log max(rate, 1e-10), with
    /// rates L F; nats, higher is better. It is the multinomial log-likelihood without its constant.
    ///
    /// Costs O(nonzeros x k) and one pass over the counts.
    ///
    /// # Errors
    /// When the counts have another shape, or cannot be read.
    pub fn score(&self, counts: impl Borrow<Counts>) -> Result<f64> {
        let counts = counts.borrow();
        if counts.shape() != (self.documents(), self.terms()) {
            return Err(self.shape_error(counts, "score"));
        }
        let terms_first = transpose(&self.f);
        let scores = for_each_document(counts, |document, terms| {
            score_document(self.l.row(document), &terms_first, terms)
        })?;
        Ok(scores.into_iter().sum())
    }

    pub(super) fn shape_error(&self, counts: &Counts, action: &str) -> Error {
        Error::new(
            ErrorKind::Shape,
            format!(
                "cannot {action} {} documents x {} terms with a fit of {} documents x {} terms",
                counts.documents(),
                counts.terms(),
                self.documents(),
                self.terms()
            ),
        )
        .fix("use counts over the same terms, in the same order, as those the model was fitted to")
    }
}

/// Runs `f` on every document's nonzero counts (term, count), in parallel; the results come in the documents' order.
fn for_each_document<T: Send>(
    counts: &Counts,
    f: impl Fn(usize, &[(usize, f32)]) -> T + Sync,
) -> Result<Vec<T>> {
    let (documents, terms) = counts.shape();
    let blocks: Vec<Vec<T>> = (0..documents.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let rows: Vec<usize> = (block * BLOCK..documents.min((block + 1) * BLOCK)).collect();
            let mut dense = vec![0.0; rows.len() * terms];
            counts.fill_rows(&rows, &mut dense)?;
            let mut nonzeros = Vec::new();
            Ok(rows
                .iter()
                .zip(dense.chunks(terms))
                .map(|(&document, row)| {
                    nonzeros.clear();
                    nonzeros.extend(
                        row.iter()
                            .copied()
                            .enumerate()
                            .filter(|(_, count)| *count != 0.0),
                    );
                    f(document, &nonzeros)
                })
                .collect())
        })
        .collect::<Result<_>>()?;
    Ok(blocks.into_iter().flatten().collect())
}

/// F with one row per term, so that the topics of a term lie side by side.
fn transpose(f: &Matrix) -> Matrix {
    let (k, terms) = f.shape();
    let values = (0..terms)
        .flat_map(|term| (0..k).map(move |topic| f.values()[topic * terms + term]))
        .collect();
    Matrix::from_parts(terms, k, values)
}

fn score_document(weights: &[f32], terms_first: &Matrix, terms: &[(usize, f32)]) -> f64 {
    terms
        .iter()
        .map(|&(term, count)| {
            let rate: f64 = weights
                .iter()
                .zip(terms_first.row(term))
                .map(|(&weight, &probability)| f64::from(weight) * f64::from(probability))
                .sum();
            f64::from(count) * rate.max(SMALLEST_RATE).ln()
        })
        .sum()
}
