//! The score of a fit on counts.

use crate::batches::Reading;
use crate::config::SMALLEST_RATE;
use crate::counts::rows::for_each_block;
use crate::counts::{Counts, Fingerprint, READ_BYTES};
use crate::data::{Matrix, OrRef};
use crate::error::{Error, Result};
use crate::solvers::{Parts, documents_in_block};
use crate::text::count;

use super::Fit;

impl Fit {
    /// The score of the fit on counts: the sum over all counts x of x log max(rate, 1e-10) in nats, where the rates are L F.
    /// Higher is better. It is the multinomial log-likelihood without its constant.
    ///
    /// For the counts that it was fitted to, L is the fit's L. For other documents, such as held-out ones, L is what
    /// [`transform`](Self::transform) computes for them, as in scikit-learn. Their proportions are then fitted to the tokens
    /// that are scored: this measures how well the topics *can* describe new documents, and favours more topics a little. (A
    /// fit that was saved before topicbook stored what identifies its counts takes all counts of the same shape for its own.)
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let (train, test) = counts.split(0.8, 1)?;
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&train)?;
    /// let longer = TopicModel::new(3).epochs(50).quiet().fit(&train)?;
    /// assert!(longer.score(&train)? > fit.score(&train)?);
    /// assert!(longer.score(&test)? > fit.score(&test)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts have another number of terms, cannot be read, or hold something that is not a count; for other
    /// documents also when memory is too small for their topics.
    ///
    /// # Cost
    /// O(nonzeros x k) operations on all cores and one pass over the counts, after the one that checks them where that has not
    /// been done; for other documents also what [`transform`](Self::transform) takes. Counts in a file that takes more than
    /// half of the free memory are streamed through two buffers of at most 1,024 documents; F is needed once more. Where
    /// counts have few zeros, rates are computed in single precision: the score then differs by some 1e-8 of its size.
    #[doc(alias("log_likelihood", "held_out"))]
    pub fn score(&self, counts: impl OrRef<Counts>) -> Result<f64> {
        let counts = counts.value();
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "score"));
        }
        match self.is_fitted_to(counts)? {
            true => self.score_with(&self.l, counts),
            false => self.score_with(&self.transform(counts)?, counts),
        }
    }

    /// The [`score`](Self::score) per token, in nats: comparable between counts of different sizes. Higher is better.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// let tokens = counts.summary()?.total();
    /// assert_eq!(fit.score_per_token(&counts)?, fit.score(&counts)? / tokens);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`score`](Self::score), and when all counts are zero.
    ///
    /// # Cost
    /// As [`score`](Self::score).
    pub fn score_per_token(&self, counts: impl OrRef<Counts>) -> Result<f64> {
        let counts = counts.value();
        let score = self.score(counts)?;
        match counts.summary()?.total() {
            0.0 => Err(Error::value("all counts are zero")
                .fix("pass documents with tokens: there is nothing to score")),
            tokens => Ok(score / tokens),
        }
    }

    /// The perplexity. For the counts that the model was fitted to it is exp(-[`score_per_token`](Self::score_per_token)). For
    /// other documents it is the perplexity of [`evaluate`](Self::evaluate), where no token is both fitted and scored. Lower
    /// is better; a uniform model has the number of terms.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let (train, test) = counts.split(0.8, 1)?;
    /// let fit = TopicModel::new(3).epochs(50).quiet().fit(&train)?;
    /// assert_eq!(fit.perplexity(&test)?, fit.evaluate(&test)?.perplexity());
    /// assert!(fit.perplexity(&test)? < 30.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`score_per_token`](Self::score_per_token) and [`evaluate`](Self::evaluate).
    ///
    /// # Cost
    /// As [`score`](Self::score) and [`evaluate`](Self::evaluate).
    pub fn perplexity(&self, counts: impl OrRef<Counts>) -> Result<f64> {
        let counts = counts.value();
        match counts.terms() == self.terms() && !self.is_fitted_to(counts)? {
            true => Ok(self.evaluate(counts)?.perplexity()),
            false => Ok((-self.score_per_token(counts)?).exp()),
        }
    }

    /// Whether these are the counts that the model was fitted to.
    pub(crate) fn is_fitted_to(&self, counts: &Counts) -> Result<bool> {
        let shape = counts.shape() == (self.documents(), self.terms());
        Ok(match &self.counts {
            Some(own) => shape && *own == Fingerprint::of(counts)?,
            None => shape,
        })
    }

    /// The score with the rates `l` F.
    fn score_with(&self, l: &Matrix, counts: &Counts) -> Result<f64> {
        let per_block = documents_in_block(self.terms());
        let streamed = Reading::Auto
            .resolve(counts, per_block)?
            .shuffle()
            .is_some();
        counts.summary_by(streamed, READ_BYTES)?;
        // The topics of a term are adjacent in memory.
        let terms_first = self.f.transposed();
        let mut parts = Parts::new(self.terms(), self.topics());
        let mut score = 0.0;
        for_each_block(counts, streamed, per_block, &mut |block| {
            if block.first == 0 {
                parts.start_pass(terms_first.values(), &block);
            }
            score += parts.log_likelihood(&block, l.values(), SMALLEST_RATE);
            Ok(())
        })?;
        Ok(score)
    }

    pub(crate) fn shape_error(&self, counts: &Counts, action: &str) -> Error {
        Error::shape(format!(
            "cannot {action} counts of {} terms with a fit of {} terms",
            count(counts.terms() as u64),
            count(self.terms() as u64)
        ))
        .fix("use counts over the same terms, in the same order, as those the model was fitted to")
    }
}
