//! How well a fit predicts held-out documents: document completion.

use crate::counts::Counts;
use crate::data::OrRef;
use crate::error::{Error, Result};
use crate::system::memory::check_free;

use super::Fit;
use super::completion::{Prediction, sample_bytes};
use super::evaluation::{Evaluation, Scored};

/// The seed of the halves. It is fixed, so that all fits are judged on the same ones.
pub(super) const SEED: u64 = 0;

/// Bytes that the evaluation of a fit on these counts takes.
pub(crate) fn evaluation_bytes(counts: &Counts, topics: usize) -> u64 {
    let halves = counts.halved_batch();
    let f_bytes = 4 * (topics as u64).saturating_mul(counts.terms() as u64);
    f_bytes
        .saturating_add(halves)
        .saturating_add(sample_bytes())
        .saturating_add(result_bytes(counts))
        .saturating_add(counts.in_memory().to_read)
}

/// Bytes of an [`Evaluation`] on these counts.
pub(crate) fn result_bytes(counts: &Counts) -> u64 {
    (counts.documents() as u64).saturating_mul(size_of::<Scored>() as u64)
}

impl Fit {
    /// Judges the fit on documents that it has not seen, by document completion. Every document is split at random into two
    /// halves of its tokens ([`Counts::split_tokens`](crate::Counts::split_tokens) with seed 0). Its topics are estimated from
    /// the first half with F fixed, and the second half is scored. No token is both fitted and scored, so that, unlike
    /// [`score`](Self::score), more topics are not favoured.
    ///
    /// The proportions are posterior means under a symmetric Dirichlet prior, by CVB0 (Asuncion, Welling, Smyth and Teh 2009).
    /// Its concentration (the sum of its parameters) is the value with which one half of the first halves predicts the other
    /// best, over up to 2,048 documents; no scored token takes part. So the few tokens of a short document do not decide
    /// alone, and the tokens of a long one do. F is smoothed: it is mixed with a uniform distribution over the terms, whose
    /// weight is the most likely one for the same tokens, and at least 1e-4.
    ///
    /// Short documents tell topics apart only in large numbers. Of 300 drawn documents with four topics, 300 tokens each tell
    /// four from two (0.025 ± 0.005 nats a token), 80 do not (0.005 ± 0.015).
    ///
    /// The [`Evaluation`] holds the score in nats a token, the perplexity, the standard error over the documents, the prior,
    /// and what was left out; its card shows the formula. All fits are judged on the same halves. The halves and the result do
    /// not depend on where the counts are. Document completion is method (b) of Wallach, Murray, Salakhutdinov and Mimno
    /// (2009, *Evaluation methods for topic models*); it is fair because halves of Poisson counts are independent.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let (train, held_out) = counts.split(0.8, 1)?;
    /// let fit = TopicModel::new(4).seed(1).quiet().fit(&train)?;
    /// let one_topic = TopicModel::new(1).quiet().fit(&train)?;
    /// let (evaluation, baseline) = (fit.evaluate(&held_out)?, one_topic.evaluate(&held_out)?);
    /// assert!(evaluation.score_per_token() > baseline.score_per_token());
    /// assert!(evaluation.perplexity() < 60.0); // a model that knows nothing has the number of terms
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts have another number of terms, cannot be read, or hold something that is not a count or is above 2^24.
    /// When no document has tokens in both halves, or memory is too small. The memory is checked before anything is allocated.
    ///
    /// # Cost
    /// Two passes over the counts: one for the prior, one for the score. O(nonzeros x k) operations per iteration, of which a
    /// document takes some 20, on all cores. Documents are halved in batches of up to two million nonzero counts: up to 96 MiB
    /// of memory for those, F once, and 32 bytes for each document, however many there are.
    #[doc(alias("held_out", "document_completion", "log_perplexity", "eval_heldout"))]
    pub fn evaluate(&self, held_out: impl OrRef<Counts>) -> Result<Evaluation> {
        let counts = held_out.value();
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "evaluate"));
        }
        let needed = evaluation_bytes(counts, self.topics());
        check_free(needed, "the evaluation of these documents")?;
        // The topics of a term are adjacent in memory.
        let terms_first = self.f.transposed();
        let prediction = Prediction::estimate(counts, &terms_first)?;
        let mut scored = Vec::with_capacity(counts.documents());
        counts.for_each_halved(SEED, &mut |batch| {
            debug_assert_eq!(scored.len(), batch.first);
            scored.extend(prediction.complete(&batch.halves, |observed, tokens| {
                Scored::of(observed, tokens, |p| prediction.smoothed(p))
            })?);
            Ok(())
        })?;
        if !scored.iter().any(Scored::counts) {
            return Err(Error::value(
                "nothing to evaluate: no document has tokens in both of its halves",
            )
            .fix("pass documents with more tokens, or more documents"));
        }
        // Counts with another number of documents are not the training counts: they need not be read to see that.
        let seen = counts.documents() == self.documents() && self.is_fitted_to(counts)?;
        let sizes = (self.topics(), self.terms());
        let (concentration, smoothing) = (prediction.concentration, prediction.smoothing);
        Ok(Evaluation::new(
            scored,
            sizes,
            seen,
            (concentration, smoothing),
        ))
    }
}
