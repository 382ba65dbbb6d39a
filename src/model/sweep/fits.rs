//! The fits of a sweep, and how they compare.

use std::fmt;
use std::time::Duration;

#[cfg(feature = "polars")]
use polars::prelude::Column;

use crate::counts::Counts;
use crate::data::Matrix;
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::error::{Error, Result};
use crate::fit::{CountNames, Evaluation, Fit};

use super::advice::{Candidate, advise};

/// One fit of a sweep: an element of [`SweepFits::runs`], and what [`Sweep::on_fit`](super::Sweep::on_fit) gets.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
/// let sweep = TopicModel::sweep([2, 4]).seeds(2).quiet().fit(&counts)?;
/// let run = &sweep.runs()[3];
/// assert_eq!((run.topics, run.seed), (4, 1));
/// assert!(run.evaluation.score_per_token() > sweep.runs()[0].evaluation.score_per_token());
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SweepRun {
    /// Number of topics.
    pub topics: usize,
    /// Seed of the fit.
    pub seed: u64,
    /// Its evaluation on the held-out documents, the same for all fits of the sweep.
    pub evaluation: Evaluation,
    /// The mean NPMI of the ten most probable terms of its topics in the training documents, from -1 to 1; `None` where none
    /// have two terms that occur.
    pub npmi: Option<f64>,
    /// Wall time of the training.
    pub duration: Duration,
    /// The highest anonymous memory of the process during the training, in bytes; `None` without a record.
    pub peak_memory: Option<u64>,
    /// Whether it was found in the [`checkpoint`](super::Sweep::checkpoint)'s folder.
    pub loaded: bool,
}

/// The fits of one number of topics: at least one.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) topics: usize,
    pub(super) runs: Vec<SweepRun>,
    /// The fit with the best likelihood of the training documents.
    pub(super) best: Fit,
    /// F of all fits, in the order of `runs`.
    pub(super) f: Vec<Matrix>,
    /// The mean cosine of the paired topics of all pairs of seeds.
    pub(super) stability: Option<f64>,
}

/// The fits of a sweep, and how they compare; made by [`Sweep::fit`](super::Sweep::fit). Cheap to clone. It keeps the best fit of
/// each number of topics, F of all fits, and the counts that it was given.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
/// let sweep = TopicModel::sweep([2, 4, 8]).seeds(2).quiet().fit(&counts)?;
/// assert_eq!(sweep.table().height(), 3);
/// assert!(sweep.recommendation().starts_with("4 topics"));
/// assert!(sweep.plot().to_png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
pub struct SweepFits {
    pub(super) groups: Vec<Group>,
    /// All documents, of which a consensus has the topics, and what they came with.
    pub(super) documents: (Counts, CountNames),
    /// Fits that were asked for.
    asked: usize,
}

impl SweepFits {
    pub(super) fn new(groups: Vec<Group>, documents: (Counts, CountNames), asked: usize) -> Self {
        Self {
            groups,
            documents,
            asked,
        }
    }

    /// The numbers of topics that were fitted, in increasing order.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([4, 2, 4]).quiet().fit(&counts)?;
    /// assert_eq!(sweep.topics(), [2, 4]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn topics(&self) -> Vec<usize> {
        self.groups.iter().map(|group| group.topics).collect()
    }

    /// All fits in the order in which they ran, with what each was judged by.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).seeds(2).quiet().fit(&counts)?;
    /// let seconds: f64 = sweep.runs().iter().map(|run| run.duration.as_secs_f64()).sum();
    /// assert!(seconds > 0.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn runs(&self) -> Vec<SweepRun> {
        let runs = self.groups.iter().flat_map(|group| &group.runs);
        runs.cloned().collect()
    }

    /// The fit with this number of topics: of its seeds the one with the best likelihood of the training documents. The
    /// held-out documents have no part in that choice, so its score on them is a fair one.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).seeds(2).quiet().fit(&counts)?;
    /// assert_eq!(sweep.fit(4)?.topics(), 4);
    /// assert!(sweep.fit(3).unwrap_err().to_string().contains("2, 4"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no fit with this number of topics.
    pub fn fit(&self, topics: usize) -> Result<Fit> {
        Ok(self.group(topics)?.best.clone())
    }

    /// The fits with this number of topics.
    pub(super) fn group(&self, topics: usize) -> Result<&Group> {
        let group = self.groups.iter().find(|group| group.topics == topics);
        group.ok_or_else(|| {
            let own: Vec<String> = self.topics().iter().map(usize::to_string).collect();
            Error::value(format!(
                "no fit of {topics} topics in a sweep over {}",
                own.join(", ")
            ))
            .fix("take one of these numbers of topics, or sweep over others")
        })
    }

    /// What the held-out scores say about the number of topics: a sentence with its reason and its uncertainty, and others on
    /// what speaks for or against it. Where no score is above that of a model that gives each term the same probability, no
    /// number is recommended, and the sentence says so.
    ///
    /// It names the smallest number of topics whose score is within one standard error of the best (Breiman et al. 1984,
    /// *Classification and regression trees*, the one-standard-error rule): a smaller model that predicts as well is easier to
    /// read. The error is that of the difference to the best, paired over documents, and the variance between seeds is added.
    /// That topics which predict well are those that people find meaningful is not certain (Chang et al. 2009): NPMI and the
    /// topics themselves have to be looked at too.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4, 8]).seeds(2).quiet().fit(&counts)?;
    /// let sentence = sweep.recommendation();
    /// assert!(sentence.starts_with("4 topics") && sentence.contains("± "), "{sentence}");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "best_k")]
    pub fn recommendation(&self) -> String {
        let mut text = advise(&self.candidates());
        let done = self.done();
        if done < self.asked {
            text += &format!(
                " The sweep was stopped after {done} of {} fits.",
                self.asked
            );
        }
        text
    }

    /// Table with one row for each number of `topics`, of means over its seeds: `score_per_token` on the held-out documents
    /// in nats (higher is better), its `standard_error` over documents, `perplexity` (lower is better), `npmi` (from -1 to 1,
    /// higher is better), `stability` (mean cosine of the paired topics of two seeds, to 1; null with one seed), `seconds` of
    /// a fit, and the highest `peak_memory` of the process in bytes.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).seeds(2).quiet().fit(&counts)?;
    /// let scores = sweep.table().numbers("score_per_token")?;
    /// assert!(scores[1] > scores[0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let rows: Vec<Row> = self.rows();
        let of = |value: fn(&Row) -> Option<f64>| rows.iter().map(value).collect::<Vec<_>>();
        let topics: Vec<u64> = rows.iter().map(|row| row.topics as u64).collect();
        let memory: Vec<Option<u64>> = rows.iter().map(|row| row.peak_memory).collect();
        Table::from_columns(vec![
            Column::new("topics".into(), topics),
            Column::new("score_per_token".into(), of(|row| Some(row.score))),
            Column::new("standard_error".into(), of(|row| row.standard_error)),
            Column::new("perplexity".into(), of(|row| Some(row.perplexity))),
            Column::new("npmi".into(), of(|row| row.npmi)),
            Column::new("stability".into(), of(|row| row.stability)),
            Column::new("seconds".into(), of(|row| Some(row.seconds))),
            Column::new("peak_memory".into(), memory),
        ])
    }

    /// One row for each number of topics.
    #[cfg(feature = "polars")]
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.groups.iter().filter_map(Row::of).collect()
    }

    /// Held-out documents that were scored, fits that were done, and fits that were asked for.
    #[cfg(feature = "notebook")]
    pub(crate) fn sizes(&self) -> [usize; 3] {
        let mut runs = self.groups.iter().flat_map(|group| &group.runs);
        let scored = runs.next().map_or(0, |run| run.evaluation.documents());
        [scored, self.done(), self.asked]
    }

    /// The numbers of topics with fits, and how they were judged.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        self.groups.iter().filter_map(Candidate::of).collect()
    }

    /// Fits that were done.
    fn done(&self) -> usize {
        self.groups.iter().map(|group| group.runs.len()).sum()
    }
}

impl fmt::Debug for SweepFits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SweepFits")
            .field("topics", &self.topics())
            .field("recommendation", &self.recommendation())
            .finish_non_exhaustive()
    }
}

/// A row of the table: means over the seeds of a number of topics.
#[cfg(feature = "polars")]
pub(crate) struct Row {
    pub(crate) topics: usize,
    pub(crate) score: f64,
    pub(crate) standard_error: Option<f64>,
    pub(crate) perplexity: f64,
    pub(crate) npmi: Option<f64>,
    pub(crate) stability: Option<f64>,
    pub(crate) seconds: f64,
    pub(crate) peak_memory: Option<u64>,
}

#[cfg(feature = "polars")]
impl Row {
    fn of(group: &Group) -> Option<Self> {
        let runs = &group.runs;
        let candidate = Candidate::of(group)?;
        let seconds: f64 = runs.iter().map(|run| run.duration.as_secs_f64()).sum();
        Some(Self {
            topics: group.topics,
            score: candidate.mean.score_per_token(),
            standard_error: candidate.mean.standard_error(),
            perplexity: candidate.mean.perplexity(),
            npmi: candidate.npmi,
            stability: group.stability,
            seconds: seconds / runs.len() as f64,
            peak_memory: runs.iter().filter_map(|run| run.peak_memory).max(),
        })
    }
}
