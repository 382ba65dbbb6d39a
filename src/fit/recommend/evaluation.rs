//! The result of an evaluation of rankings.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "polars")]
use polars::prelude::Column;

#[cfg(feature = "polars")]
use crate::data::Table;

/// A document of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    /// Held-out terms that the document has no count of: the terms to be found.
    pub(super) relevant: u32,
    /// Held-out terms that it has a count of.
    pub(super) known: u32,
    pub(super) recall: f64,
    pub(super) ndcg: f64,
    pub(super) popularity_recall: f64,
    pub(super) popularity_ndcg: f64,
}

impl Ranked {
    /// A document without relevant terms.
    pub(super) fn left_out(known: usize) -> Self {
        Self {
            relevant: 0,
            known: known as u32,
            recall: 0.0,
            ndcg: 0.0,
            popularity_recall: 0.0,
            popularity_ndcg: 0.0,
        }
    }

    /// Whether the document is part of the means.
    pub(super) fn counts(&self) -> bool {
        self.relevant > 0
    }
}

/// How well a fit ranks the terms that documents have next, made by
/// [`Fit::evaluate_ranking`](crate::Fit::evaluate_ranking), which has the definitions.
///
/// Recall and NDCG are means over documents, from 0 to 1; higher is better. They compare fits of any kind and any number of
/// topics on the same counts, and say little across different sets of documents or terms, or different n. The same two
/// measures of the most popular terms are the baseline. Cheap to clone.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let all = Synthetic::new(100, 60, 3).avg_doc_length(30).seed(1).generate()?.counts();
/// let (counts, held_out) = all.split_tokens(1)?;
/// let fit = TopicModel::new(3).epochs(20).quiet().fit(&counts)?;
/// let ranking = fit.evaluate_ranking(&counts, &held_out, 10)?;
/// assert!((0.0..=1.0).contains(&ranking.recall()) && (0.0..=1.0).contains(&ranking.ndcg()));
/// assert_eq!(ranking.documents() + ranking.documents_left_out().len(), 100);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[doc(alias = "precision_at_k")]
pub struct RankingEvaluation {
    ranked: Arc<Vec<Ranked>>,
    n: usize,
    topics: usize,
}

impl RankingEvaluation {
    /// At least one document counts.
    pub(super) fn new(ranked: Vec<Ranked>, n: usize, topics: usize) -> Self {
        Self {
            ranked: Arc::new(ranked),
            n,
            topics,
        }
    }

    fn counting(&self) -> impl Iterator<Item = &Ranked> + Clone {
        self.ranked.iter().filter(|document| document.counts())
    }

    fn mean(&self, of: fn(&Ranked) -> f64) -> f64 {
        self.counting().map(of).sum::<f64>() / self.documents() as f64
    }

    /// The standard error of a mean; `None` with fewer than two documents.
    fn error(&self, of: fn(&Ranked) -> f64) -> Option<f64> {
        let (documents, mean) = (self.documents() as f64, self.mean(of));
        let squares = self
            .counting()
            .map(|document| (of(document) - mean).powi(2));
        let variance = squares.sum::<f64>() / (documents - 1.0);
        (documents >= 2.0).then(|| (variance / documents).sqrt())
    }

    /// Recall@n: the mean over documents of the held-out terms among the first n of the ranking, divided by n or by the number
    /// of held-out terms, whichever is smaller. From 0 to 1; higher is better.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// let of = |n| fit.evaluate_ranking(&counts, &held_out, n).map(|ranking| ranking.recall());
    /// assert!(of(1)? < 1.0);
    /// assert_eq!(of(40)?, 1.0); // every term is among the first 40 of 40
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn recall(&self) -> f64 {
        self.mean(|document| document.recall)
    }

    /// The standard error of [`recall`](Self::recall) over documents: how much it would differ on other documents of the same
    /// kind. `None` with fewer than two documents.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 10)?;
    /// assert!(ranking.recall_error().is_some_and(|error| error > 0.0 && error < 0.1));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn recall_error(&self) -> Option<f64> {
        self.error(|document| document.recall)
    }

    /// NDCG@n, the normalised discounted cumulative gain: the mean over documents of the sum of 1 / log₂(rank + 1) over the
    /// held-out terms among the first n, divided by its largest possible value. It goes from 0 to 1; higher is better.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 1)?;
    /// assert_eq!(ranking.ndcg(), ranking.recall()); // there is one rank
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn ndcg(&self) -> f64 {
        self.mean(|document| document.ndcg)
    }

    /// The standard error of [`ndcg`](Self::ndcg) over documents; `None` with fewer than two documents.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 10)?;
    /// assert!(ranking.ndcg_error().is_some_and(|error| error > 0.0 && error < 0.1));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn ndcg_error(&self) -> Option<f64> {
        self.error(|document| document.ndcg)
    }

    /// Recall@n of the baseline: for each document the terms that most documents have, except terms that it has a count of.
    ///
    /// ```
    /// # use topicbook::TopicModel;
    /// # let (_, counts, held_out) = topicbook::example_halves()?;
    /// // A model of one topic ranks the terms alike for all documents, as the baseline does.
    /// let one_topic = TopicModel::new(1).epochs(20).quiet().fit(&counts)?;
    /// let ranking = one_topic.evaluate_ranking(&counts, &held_out, 10)?;
    /// assert!((ranking.recall() - ranking.popularity_recall()).abs() < 0.1);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "most_popular")]
    pub fn popularity_recall(&self) -> f64 {
        self.mean(|document| document.popularity_recall)
    }

    /// NDCG@n of the baseline: for each document the terms that most documents have, except terms that it has a count of.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 10)?;
    /// assert!((0.0..=1.0).contains(&ranking.popularity_ndcg()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn popularity_ndcg(&self) -> f64 {
        self.mean(|document| document.popularity_ndcg)
    }

    /// The number of terms of each ranking that was judged, as requested.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// assert_eq!(fit.evaluate_ranking(&counts, &held_out, 10)?.n(), 10);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn n(&self) -> usize {
        self.n
    }

    /// Documents that were judged: they have a held-out term that they have no count of.
    ///
    /// ```
    /// # use topicbook::{Counts, Synthetic, TopicModel};
    /// # let all = Synthetic::new(60, 4, 2).avg_doc_length(30).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(2).epochs(20).quiet().fit(&all)?;
    /// let counts = Counts::dense(2, 4, vec![1u8, 0, 0, 0, 2, 1, 0, 0])?;
    /// let held_out = Counts::dense(2, 4, vec![0u8, 1, 0, 0, 1, 0, 0, 0])?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 2)?;
    /// assert_eq!((ranking.documents(), ranking.documents_left_out()), (1, vec![1]));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents(&self) -> usize {
        self.counting().count()
    }

    /// Rows of the documents that were left out, in increasing order. They have counts of all of their held-out terms, so
    /// there is nothing to find for them.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 10)?;
    /// assert!(ranking.documents_left_out().is_empty());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents_left_out(&self) -> Vec<usize> {
        let documents = self.ranked.iter().enumerate();
        documents
            .filter(|(_, document)| !document.counts())
            .map(|(row, _)| row)
            .collect()
    }

    /// Held-out counts that were left out, in all documents: the document has a count of the term.
    ///
    /// ```
    /// # use topicbook::{Counts, Synthetic, TopicModel};
    /// # let all = Synthetic::new(60, 4, 2).avg_doc_length(30).seed(1).generate()?.counts();
    /// # let fit = TopicModel::new(2).epochs(20).quiet().fit(&all)?;
    /// let counts = Counts::dense(2, 4, vec![1u8, 0, 0, 0, 2, 1, 0, 0])?;
    /// let held_out = Counts::dense(2, 4, vec![0u8, 1, 0, 0, 1, 1, 1, 0])?;
    /// assert_eq!(fit.evaluate_ranking(&counts, &held_out, 2)?.left_out(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn left_out(&self) -> u64 {
        let known = self.ranked.iter().map(|document| u64::from(document.known));
        known.sum()
    }

    /// Table with one row for each document, including documents that were left out. Its columns are the row `document`, the
    /// number of held-out terms that it has no count of (`relevant`), and its `recall`, `ndcg`, `popularity_recall` and
    /// `popularity_ndcg`, null where it was left out.
    ///
    /// ```
    /// # let (fit, counts, held_out) = topicbook::example_halves()?;
    /// let ranking = fit.evaluate_ranking(&counts, &held_out, 10)?;
    /// let worst = ranking.table().sort_by("ndcg")?.head(3);
    /// assert_eq!(worst.shape(), (3, 6));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let of = |name: &str, value: fn(&Ranked) -> f64| {
            let values = self.ranked.iter();
            let values = values.map(|document| document.counts().then(|| value(document)));
            Column::new(name.into(), values.collect::<Vec<Option<f64>>>())
        };
        let documents: Vec<u64> = (0..self.ranked.len() as u64).collect();
        let relevant: Vec<u32> = self.ranked.iter().map(|ranked| ranked.relevant).collect();
        Table::from_columns(vec![
            Column::new("document".into(), documents),
            Column::new("relevant".into(), relevant),
            of("recall", |document| document.recall),
            of("ndcg", |document| document.ndcg),
            of("popularity_recall", |document| document.popularity_recall),
            of("popularity_ndcg", |document| document.popularity_ndcg),
        ])
    }

    /// Topics of the fit.
    #[cfg(feature = "notebook")]
    pub(crate) fn topics(&self) -> usize {
        self.topics
    }
}

impl fmt::Debug for RankingEvaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RankingEvaluation: {self}, k = {}", self.topics)
    }
}

impl fmt::Display for RankingEvaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("recall", self.recall(), self.recall_error()),
            ("NDCG", self.ndcg(), self.ndcg_error()),
        ];
        for (at, (name, value, error)) in parts.into_iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{name}@{} {value:.4}", self.n)?;
            if let Some(error) = error {
                write!(f, " ± {error:.4}")?;
            }
        }
        Ok(())
    }
}
