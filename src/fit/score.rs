//! The score of a fit on counts.

use std::borrow::Borrow;
use std::cell::RefCell;

use rayon::prelude::*;

use crate::batches::Reading;
use crate::config::SMALLEST_RATE;
use crate::counts::Counts;
use crate::counts::rows::{NonzeroBuffer, for_each_block, nonzeros_of_row};
use crate::data::Matrix;
use crate::error::{Error, ErrorKind, Result};
use crate::solvers::documents_in_block;

use super::Fit;

thread_local! {
    /// Scratch buffer for the nonzeros of a dense row.
    static NONZEROS: RefCell<NonzeroBuffer> = RefCell::default();
}

impl Fit {
    /// The score of the fit on the counts it was fitted to: the sum over all counts x of x log max(rate, 1e-10) in
    /// nats, where the rates are L F. Higher is better. It is the multinomial log-likelihood without its constant;
    /// `(-score / tokens).exp()` is the perplexity, with the tokens of [`Summary::total`](crate::Summary::total).
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// let longer = TopicModel::new(3).epochs(50).quiet().fit(&counts)?;
    /// assert!(longer.score(&counts)? > fit.score(&counts)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts have another shape, cannot be read, or hold something that is not a count.
    ///
    /// # Cost
    /// O(nonzeros x k) operations on all cores and one pass over the counts, after the one that checks them where that
    /// has not been done. Counts in a file that takes more than half of the free memory are streamed through two
    /// buffers of at most 1,024 documents; besides those it needs F once.
    #[doc(alias = "log_likelihood")]
    #[doc(alias = "perplexity")]
    pub fn score(&self, counts: impl Borrow<Counts>) -> Result<f64> {
        let counts = counts.borrow();
        if counts.shape() != (self.documents(), self.terms()) {
            return Err(self.shape_error(counts, "score"));
        }
        let per_block = documents_in_block(self.terms());
        let streamed = Reading::Auto
            .resolve(counts, per_block)?
            .shuffle()
            .is_some();
        counts.summary_by(streamed)?;
        // The topics of a term are adjacent in memory.
        let terms_first = self.f.transposed();
        let mut score = 0.0;
        for_each_block(counts, streamed, per_block, &mut |block| {
            let scores: Vec<f64> = block
                .rows
                .clone()
                .into_par_iter()
                .map(|row| {
                    let document = block.first + row - block.rows.start;
                    NONZEROS.with_borrow_mut(|buffer| {
                        let (terms, values) =
                            nonzeros_of_row(&block.view, self.terms(), row, buffer);
                        score_document(self.l.row(document), &terms_first, terms, values)
                    })
                })
                .collect();
            // In the order of the documents, so that neither blocks nor threads change the sum.
            score = scores.into_iter().fold(score, |sum, score| sum + score);
            Ok(())
        })?;
        Ok(score)
    }

    pub(crate) fn shape_error(&self, counts: &Counts, action: &str) -> Error {
        Error::new(
            ErrorKind::Shape,
            format!(
                "cannot {action} {} documents × {} terms with a fit of {} documents × {} terms",
                counts.documents(),
                counts.terms(),
                self.documents(),
                self.terms()
            ),
        )
        .fix("use counts over the same terms, in the same order, as those the model was fitted to")
    }
}

fn score_document(weights: &[f32], terms_first: &Matrix, terms: &[u32], counts: &[f32]) -> f64 {
    terms
        .iter()
        .zip(counts)
        .map(|(&term, &count)| {
            let rate: f64 = weights
                .iter()
                .zip(terms_first.row(term as usize))
                .map(|(&weight, &probability)| f64::from(weight) * f64::from(probability))
                .sum();
            f64::from(count) * rate.max(SMALLEST_RATE).ln()
        })
        .sum()
}
