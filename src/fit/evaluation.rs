//! The result of an evaluation on held-out documents.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "polars")]
use polars::prelude::Column;

#[cfg(feature = "polars")]
use crate::data::Table;
use crate::data::{OrRef, or_ref};
use crate::error::{Error, Result};

use super::completion::Predicted;

/// A document of an evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Scored {
    /// Tokens from which its topics were estimated.
    pub(super) observed: f64,
    /// Tokens that were scored.
    pub(super) tokens: f64,
    /// The sum of their log probabilities, in nats.
    pub(super) score: f64,
    /// Scored tokens whose terms have an L F below 1e-10.
    pub(super) impossible: f64,
}

/// L F below which a term counts as one that no topic has.
const SMALLEST_PROBABILITY: f64 = 1e-10;

impl Scored {
    /// A document with `observed` tokens in its first half. `predicted` are the counts of the second one with L F, and
    /// `smoothed` gives the probability with which such a token is scored.
    pub(super) fn of(
        observed: f64,
        predicted: &mut dyn Iterator<Item = Predicted>,
        smoothed: impl Fn(f64) -> f64,
    ) -> Self {
        let mut document = Self {
            observed,
            ..Self::default()
        };
        for (count, p) in predicted {
            document.tokens += count;
            document.score += count * smoothed(p).ln();
            if p < SMALLEST_PROBABILITY {
                document.impossible += count;
            }
        }
        document
    }

    /// Whether the document is part of the score: its topics could be estimated, and there is something to score.
    pub(super) fn counts(&self) -> bool {
        self.observed > 0.0 && self.tokens > 0.0
    }
}

/// How well a fit predicts held-out documents, made by [`Fit::evaluate`](crate::Fit::evaluate).
///
/// The score is the sum over the second halves of the documents of x ln p, divided by their tokens. Here p is (1 - e) L F + e
/// / terms, the probability of a term in the document. Its proportions L are estimated from its first half with a prior, and e
/// is the weight of a uniform distribution ([`smoothing`](Self::smoothing)). The score is in nats a token; higher is better.
/// The perplexity is exp(-score); lower is better. Both compare fits of any kind and any number of topics on the same
/// documents and terms, and say nothing across different vocabularies.
///
/// A document without tokens in its first half is left out, because nothing is known of its topics; one without tokens in its
/// second half has nothing to score. Both are named. Cheap to clone.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(100, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let (train, held_out) = counts.split(0.8, 1)?;
/// let evaluation = TopicModel::new(3).epochs(20).quiet().fit(&train)?.evaluate(&held_out)?;
/// assert_eq!(evaluation.perplexity(), (-evaluation.score_per_token()).exp());
/// assert_eq!(evaluation.documents(), 20);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Evaluation {
    scored: Arc<Vec<Scored>>,
    topics: usize,
    terms: usize,
    seen: bool,
    concentration: f64,
    smoothing: f64,
}

or_ref!(Evaluation);

impl Evaluation {
    /// At least one document counts.
    pub(super) fn new(
        scored: Vec<Scored>,
        (topics, terms): (usize, usize),
        seen: bool,
        (concentration, smoothing): (f64, f64),
    ) -> Self {
        Self {
            scored: Arc::new(scored),
            topics,
            terms,
            seen,
            concentration,
            smoothing,
        }
    }

    fn counting(&self) -> impl Iterator<Item = &Scored> + Clone {
        self.scored.iter().filter(|document| document.counts())
    }

    fn sum(&self, of: fn(&Scored) -> f64) -> f64 {
        self.counting().map(of).sum()
    }

    /// The rows of the documents that `is` selects.
    fn rows(&self, is: impl Fn(&Scored) -> bool) -> Vec<usize> {
        let documents = self.scored.iter().enumerate();
        documents
            .filter(|(_, document)| is(document))
            .map(|(row, _)| row)
            .collect()
    }

    /// The mean log probability of a scored token, in nats. Higher is better; a uniform model has -ln(terms).
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// assert!(evaluation.score_per_token() > -(30f64).ln());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "log_likelihood")]
    pub fn score_per_token(&self) -> f64 {
        self.sum(|document| document.score) / self.tokens()
    }

    /// The standard error of the score over documents, in nats a token: how much it would differ on other documents of the
    /// same kind. `None` with fewer than two documents.
    ///
    /// The score is a ratio of sums over documents; its error is computed from the linearised ratio (Cochran 1977, *Sampling
    /// techniques*, chapter 6). To compare two fits use [`difference`](Self::difference), whose error is smaller.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// assert!(evaluation.standard_error().is_some_and(|error| error > 0.0 && error < 0.5));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn standard_error(&self) -> Option<f64> {
        ratio_error(
            self.counting()
                .map(|document| (document.score, document.tokens)),
        )
    }

    /// The perplexity, exp(-[`score_per_token`](Self::score_per_token)): the number of terms among which a model that draws
    /// uniformly would be as uncertain. Lower is better; a uniform model has the number of terms.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// assert!(evaluation.perplexity() < 30.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn perplexity(&self) -> f64 {
        (-self.score_per_token()).exp()
    }

    /// Tokens that were scored: the tokens of the second halves.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// let all = counts.summary()?.total();
    /// assert_eq!(evaluation.tokens() + evaluation.observed_tokens(), all);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "num_tokens")]
    pub fn tokens(&self) -> f64 {
        self.sum(|document| document.tokens)
    }

    /// Tokens from which the topics were estimated: the first halves of the documents that were scored.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// assert!(evaluation.observed_tokens() > 0.4 * counts.summary()?.total());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn observed_tokens(&self) -> f64 {
        self.sum(|document| document.observed)
    }

    /// Scored tokens whose terms have an L F below 1e-10, most often because no document of the training has them. Each has the probability [`smoothing`](Self::smoothing) / terms.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// assert_eq!(evaluation.impossible_tokens(), 0.0); // every term occurs in the training
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "out_of_vocabulary")]
    pub fn impossible_tokens(&self) -> f64 {
        self.sum(|document| document.impossible)
    }

    /// Documents that were scored.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// assert_eq!(evaluation.documents(), counts.documents());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents(&self) -> usize {
        self.counting().count()
    }

    /// Rows of the documents without any tokens, in increasing order. They are left out.
    ///
    /// ```
    /// # use topicbook::{Counts, Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let held_out = Counts::dense(2, 30, [vec![0u8; 30], vec![9; 30]].concat())?;
    /// let evaluation = TopicModel::new(3).epochs(20).quiet().fit(&counts)?.evaluate(&held_out)?;
    /// assert_eq!((evaluation.documents(), evaluation.empty_documents()), (1, vec![0]));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn empty_documents(&self) -> Vec<usize> {
        self.rows(|document| document.observed == 0.0 && document.tokens == 0.0)
    }

    /// Rows of the documents with tokens in their second half alone, in increasing order. They are left out, because nothing
    /// is known of their topics.
    ///
    /// ```
    /// # use topicbook::{Counts, Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let single: Vec<u8> = (0..50 * 30).map(|cell| u8::from(cell % 30 == 7)).collect(); // a token in each document
    /// let two = [single, vec![1; 30]].concat();
    /// let held_out = Counts::dense(51, 30, two)?;
    /// let evaluation = TopicModel::new(3).epochs(20).quiet().fit(&counts)?.evaluate(&held_out)?;
    /// let (first, second) = (evaluation.documents_without_first_half(), evaluation.documents_without_second_half());
    /// assert_eq!((first.len() + second.len(), evaluation.documents()), (50, 1));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents_without_first_half(&self) -> Vec<usize> {
        self.rows(|document| document.observed == 0.0 && document.tokens > 0.0)
    }

    /// Rows of the documents with tokens in their first half alone, in increasing order. They have nothing to score.
    ///
    /// ```
    /// # use topicbook::{Counts, Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let (train, held_out) = counts.split(0.8, 1)?;
    /// # let evaluation = TopicModel::new(3).epochs(20).quiet().fit(&train)?.evaluate(&held_out)?;
    /// assert!(evaluation.documents_without_second_half().is_empty()); // documents of 200 tokens
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents_without_second_half(&self) -> Vec<usize> {
        self.rows(|document| document.observed > 0.0 && document.tokens == 0.0)
    }

    /// Table with one row for each document, including documents that were left out: its row `document`, its `observed` and
    /// scored `tokens`, and its `score_per_token` in nats, null where it was left out.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// let worst = evaluation.table().sort_by("score_per_token")?.head(3);
    /// assert_eq!(worst.shape(), (3, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let of =
            |value: fn(&Scored) -> f64| -> Vec<f64> { self.scored.iter().map(value).collect() };
        let scores = self.scored.iter().map(|document| {
            let per_token = document.score / document.tokens;
            document.counts().then_some(per_token)
        });
        let documents: Vec<u64> = (0..self.scored.len() as u64).collect();
        Table::from_columns(vec![
            Column::new("document".into(), documents),
            Column::new("observed".into(), of(|document| document.observed)),
            Column::new("tokens".into(), of(|document| document.tokens)),
            Column::new(
                "score_per_token".into(),
                scores.collect::<Vec<Option<f64>>>(),
            ),
        ])
    }

    /// This score minus the score of another fit on the same documents, document by document: positive where this one is
    /// better.
    ///
    /// Documents mostly differ more than fits do. The standard error of the paired difference leaves that out, and says whether
    /// one fit is better than the other on documents of this kind. It is large where one of the fits fails on some documents.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(200, 40, 4).avg_doc_length(200).seed(1).generate()?.counts();
    /// let (train, held_out) = counts.split(0.8, 1)?;
    /// let evaluate = |k| TopicModel::new(k).epochs(50).quiet().fit(&train)?.evaluate(&held_out);
    /// let (four, one) = (evaluate(4)?, evaluate(1)?);
    /// let difference = four.difference(&one)?;
    /// assert!((difference.per_token - (four.score_per_token() - one.score_per_token())).abs() < 1e-12);
    /// assert!(difference.standard_error < four.standard_error());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the two evaluations are of different documents.
    #[doc(alias = "paired")]
    pub fn difference(&self, other: impl OrRef<Evaluation>) -> Result<ScoreDifference> {
        let other = other.value();
        let halves = |document: &Scored| (document.observed.to_bits(), document.tokens.to_bits());
        if !self
            .scored
            .iter()
            .map(halves)
            .eq(other.scored.iter().map(halves))
        {
            return Err(
                Error::value("the two evaluations are of different documents")
                    .fix("evaluate both fits on the same counts"),
            );
        }
        let pairs = self.counting().zip(other.counting());
        let pairs = pairs.map(|(own, other)| (own.score - other.score, own.tokens));
        let (difference, tokens) = sums(pairs.clone());
        Ok(ScoreDifference {
            per_token: difference / tokens,
            standard_error: ratio_error(pairs),
        })
    }

    /// The mean of evaluations on the same documents, document by document; `None` without any.
    pub(crate) fn mean(evaluations: &[&Evaluation]) -> Option<Self> {
        let (first, others) = evaluations.split_first()?;
        let mut scored = first.scored.to_vec();
        for other in others {
            for (sum, document) in scored.iter_mut().zip(other.scored.iter()) {
                sum.score += document.score;
                sum.impossible += document.impossible;
            }
        }
        for document in &mut scored {
            document.score /= evaluations.len() as f64;
            document.impossible /= evaluations.len() as f64;
        }
        Some(Self {
            scored: Arc::new(scored),
            ..(*first).clone()
        })
    }

    /// The concentration of the prior of the proportions, the sum of its Dirichlet parameters, in tokens. A small value means
    /// that documents have few topics each. It is 1 with one topic, where it changes nothing.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(200, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// # let (train, held_out) = counts.split(0.5, 1)?;
    /// # let evaluation = TopicModel::new(3).quiet().fit(&train)?.evaluate(&held_out)?;
    /// // The proportions were drawn from Dirichlet(1, 1, 1).
    /// assert!((1.0..10.0).contains(&evaluation.concentration()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("alpha", "doc_topic_prior"))]
    pub fn concentration(&self) -> f64 {
        self.concentration
    }

    /// The weight of the uniform distribution over the terms that is mixed with L F, from 1e-4 to 1: what remains for
    /// terms that no topic has.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// # let evaluation = fit.evaluate(&counts)?;
    /// assert!((1e-4..0.2).contains(&evaluation.smoothing()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn smoothing(&self) -> f64 {
        self.smoothing
    }

    /// The score of a uniform model, which gives each term the same probability: -ln(terms), in nats a token.
    pub(crate) fn uniform_score(&self) -> f64 {
        -(self.terms as f64).ln()
    }

    /// Topics and terms of the fit.
    #[cfg(feature = "notebook")]
    pub(crate) fn of_fit(&self) -> (usize, usize) {
        (self.topics, self.terms)
    }

    /// Whether these are the documents that the model was fitted to.
    #[cfg(feature = "notebook")]
    pub(crate) fn is_of_training(&self) -> bool {
        self.seen
    }
}

impl fmt::Debug for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Evaluation: {self}")
    }
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.5}", self.score_per_token())?;
        if let Some(error) = self.standard_error() {
            write!(f, " ± {error:.5}")?;
        }
        f.write_str(" nats a token")
    }
}

/// The difference of two scores on the same documents, made by [`Evaluation::difference`].
///
/// ```
/// # use topicbook::{Synthetic, TopicModel};
/// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let fit = TopicModel::new(3).epochs(20).quiet().fit(&counts)?;
/// let evaluation = fit.evaluate(&counts)?;
/// let difference = evaluation.difference(&evaluation)?;
/// assert_eq!(difference.to_string(), "0.00000 ± 0.00000 nats a token");
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ScoreDifference {
    /// The difference, in nats a token.
    pub per_token: f64,
    /// Its standard error over documents, in nats a token; `None` with fewer than two documents.
    pub standard_error: Option<f64>,
}

impl fmt::Display for ScoreDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.5}", self.per_token)?;
        if let Some(error) = self.standard_error {
            write!(f, " ± {error:.5}")?;
        }
        f.write_str(" nats a token")
    }
}

fn sums(pairs: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    pairs.fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1))
}

/// The standard error over documents of the ratio of two sums.
fn ratio_error(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
    let documents = pairs.clone().count() as f64;
    let (score, tokens) = sums(pairs.clone());
    let ratio = score / tokens;
    let squares = pairs.map(|(score, tokens)| (score - ratio * tokens).powi(2));
    let variance = documents / (documents - 1.0) * squares.sum::<f64>();
    (documents >= 2.0).then(|| variance.sqrt() / tokens)
}
