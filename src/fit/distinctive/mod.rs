//! Which terms distinguish a topic from all others: log fold changes and their standard errors.

#[cfg(test)]
mod tests;

#[cfg(feature = "polars")]
use polars::prelude::Column;
use rayon::prelude::*;

#[cfg(feature = "charts")]
use crate::charts::Chart;
use crate::counts::{Counts, for_each_term_block};
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::data::{Matrix, OrRef, Terms, top_n};
use crate::error::{Error, Result};
use crate::solvers::{TermFit, TermRates};
use crate::system::memory::{check_free, free_memory};

#[cfg(feature = "polars")]
use super::topics::ranks;
use super::which::{NameOrNumber, find_topic};
use super::{Fit, term_name};

/// Pseudo-count of a term in each topic, added to the counts of the documents. fastTopics adds 0.01 and draws from the
/// posterior distribution. In the normal approximation of the logarithm, 0.01 would give a topic without the term a standard
/// error of 1 / √0.01 = 10. The terms that only one topic has would be the least certain ones (Hauck and Donner 1977). With
/// one count the standard error is 1.
const PSEUDOCOUNT: f64 = 1.0;
/// Half of the width of a 95% interval in standard errors.
const NORMAL_95: f64 = 1.959964;
/// The counts of a block of terms may use 1 / `PARTS_OF_MEMORY` of the free memory.
const PARTS_OF_MEMORY: u64 = 4;

/// What distinguishes the topics of a fit, term by term; [`Fit::distinctive`] makes it. Cheap to clone.
///
/// ```
/// # let (counts, fit) = topicbook::example_fit()?;
/// let distinctive = fit.distinctive(&counts)?;
/// println!("{}", distinctive.terms_of_topic(2, 10)?);
/// assert!(distinctive.plot_volcano(2).to_png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[doc(alias("de_analysis", "differential_expression"))]
pub struct Distinctive {
    /// Topics x terms.
    log_fold_changes: Matrix,
    standard_errors: Matrix,
    /// The topic with which each topic is compared.
    next: std::sync::Arc<[u32]>,
    topic_names: Vec<String>,
    terms: Option<Terms>,
}

impl Fit {
    /// Compares the topics term by term: how many times as probable a term is in a topic as in the topic that comes next, and
    /// how certain that is.
    ///
    /// For each term, its rates f per token of each topic are fitted again, with L as it is, to the Poisson model. In this
    /// model, a document of s tokens has the term s (l · f) times on average. The log fold change of topic a is log₂ (f_a /
    /// f_b), where b is the other topic whose rate is nearest (the "least extreme" change). Far above 0, the topic has more of
    /// the term than the next one below it, and no topic has about as much. The standard error comes from Laplace's
    /// approximation: the curvature of the likelihood in log f. One count of the term is added to a token of each topic, so
    /// that topics without it have finite changes.
    ///
    /// This is the grade-of-membership differential expression of Carbonetto et al. (2023), Genome Biology 24:236,
    /// `de_analysis` of fastTopics, with these differences: the normal approximation replaces Monte Carlo draws, one
    /// pseudo-count replaces 0.01, and the estimates are not shrunk any further.
    ///
    /// Pass the counts of the fit; for other documents over the same terms, L is what [`transform`](Self::transform) gives.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// let changes = fit.distinctive(&counts)?.log_fold_changes();
    /// assert_eq!(changes.shape(), (3, 30));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the fit has one topic, the counts have another number of terms, cannot be read or hold something that is not a
    /// count, or memory is too small.
    ///
    /// # Cost
    /// O(nonzeros x k²) operations for each of about six steps of Newton's method, on all cores. It takes 24 bytes x k x terms
    /// of memory, and 8 bytes for each nonzero count, or a quarter of the free memory where that is less. The counts are then
    /// passed over more than once.
    #[doc(alias("de_analysis", "differential_expression", "keyness", "log_fold_change"))]
    pub fn distinctive(&self, counts: impl OrRef<Counts>) -> Result<Distinctive> {
        let counts = counts.value();
        let (k, terms) = self.f.shape();
        if k < 2 {
            return Err(Error::value(
                "a fit with one topic has nothing that distinguishes it from others",
            )
            .fix("fit two or more topics"));
        }
        if counts.terms() != terms {
            return Err(self.shape_error(counts, "compare topics by"));
        }
        check_free(
            24 * k as u64 * terms as u64,
            "the log fold changes of all terms",
        )?;
        let l = match self.is_fitted_to(counts)? {
            true => self.l.clone(),
            false => self.transform(counts)?,
        };
        let rates = TermRates {
            tokens: topic_tokens(&l, counts.summary()?.document_lengths()),
            l: l.values(),
            pseudocount: PSEUDOCOUNT,
        };
        let mut comparisons: Vec<Comparison> = Vec::with_capacity(k * terms);
        for_each_term_block(counts, free_memory() / PARTS_OF_MEMORY, &mut |block| {
            let compared =
                (0..block.len())
                    .into_par_iter()
                    .map_init(TermFit::default, |fit, at| {
                        let term = block.first + at;
                        let start = (0..k).map(|topic| self.f.row(topic)[term]);
                        rates.fit(block.term(at), start, fit);
                        compare(&fit.rates, &fit.covariance)
                    });
            comparisons.par_extend(compared.flatten_iter());
            Ok(())
        })?;
        // From terms x topics to topics x terms.
        let by_topic = |value: fn(&Comparison) -> f32| -> Matrix {
            let values = (0..k * terms).map(|at| value(&comparisons[at % terms * k + at / terms]));
            Matrix::from_parts(k, terms, values.collect())
        };
        let next = (0..k * terms).map(|at| comparisons[at % terms * k + at / terms].next);
        Ok(Distinctive {
            log_fold_changes: by_topic(|comparison| comparison.log_fold_change),
            standard_errors: by_topic(|comparison| comparison.standard_error),
            next: next.collect(),
            topic_names: self.topic_names(),
            terms: self.terms.clone(),
        })
    }
}

/// The tokens of each topic in all documents, plus one of the pseudo-document.
fn topic_tokens(l: &Matrix, lengths: &[f64]) -> Vec<f64> {
    let mut tokens = vec![1.0; l.columns()];
    for (document, length) in lengths.iter().enumerate() {
        for (sum, &proportion) in tokens.iter_mut().zip(l.row(document)) {
            *sum += length * f64::from(proportion);
        }
    }
    tokens
}

/// A topic's rate of a term, compared with the nearest one.
struct Comparison {
    next: u32,
    log_fold_change: f32,
    standard_error: f32,
}

/// Compares each topic with the one whose rate is nearest, the first of equals. `covariance` is of the logarithms of the
/// rates.
fn compare(rates: &[f64], covariance: &[f64]) -> Vec<Comparison> {
    let k = rates.len();
    let logs: Vec<f64> = rates.iter().map(|rate| rate.log2()).collect();
    (0..k)
        .map(|topic| {
            let mut next = usize::from(topic == 0);
            for other in (0..k).filter(|&other| other != topic) {
                if (logs[topic] - logs[other]).abs() < (logs[topic] - logs[next]).abs() {
                    next = other;
                }
            }
            let covariance = |a: usize, b: usize| covariance[a * k + b];
            let variance =
                covariance(topic, topic) + covariance(next, next) - 2.0 * covariance(topic, next);
            Comparison {
                next: next as u32,
                log_fold_change: (logs[topic] - logs[next]) as f32,
                standard_error: (variance.max(0.0).sqrt() / std::f64::consts::LN_2) as f32,
            }
        })
        .collect()
}

impl Distinctive {
    /// The log fold changes, to base 2, of each topic and term (topics x terms). A value is 1 where the term is twice as
    /// probable in the topic as in the next one, and below 0 where the nearest topic has more of it.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// let changes = fit.distinctive(&counts)?.log_fold_changes();
    /// // At most one topic has more of a term than every other.
    /// assert!((0..30).all(|term| (0..3).filter(|&topic| changes.row(topic)[term] > 0.0).count() >= 1));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "lfc")]
    pub fn log_fold_changes(&self) -> Matrix {
        self.log_fold_changes.clone()
    }

    /// The standard errors of the log fold changes, to base 2 (topics x terms), above 0.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// let errors = fit.distinctive(&counts)?.standard_errors();
    /// assert!(errors.values().iter().all(|&error| error > 0.0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "se")]
    pub fn standard_errors(&self) -> Matrix {
        self.standard_errors.clone()
    }

    fn topics(&self) -> usize {
        self.log_fold_changes.rows()
    }

    /// The lower ends of the 95% intervals of a topic's log fold changes.
    fn lower_ends(&self, topic: usize) -> Vec<f32> {
        let changes = self.log_fold_changes.row(topic).iter();
        let errors = self.standard_errors.row(topic);
        changes
            .zip(errors)
            .map(|(change, error)| change - NORMAL_95 as f32 * error)
            .collect()
    }

    /// The `n` terms of a topic with the largest lower ends.
    pub(crate) fn best(&self, topic: usize, n: usize) -> Vec<usize> {
        top_n(&self.lower_ends(topic), n)
    }

    pub(crate) fn topic_names(&self) -> &[String] {
        &self.topic_names
    }

    /// The names of the `n` most distinctive terms of a topic.
    pub(crate) fn best_names(&self, topic: usize, n: usize) -> Vec<String> {
        let best = self.best(topic, n).into_iter();
        best.map(|term| term_name(self.terms.as_ref(), term))
            .collect()
    }
}

#[cfg(feature = "polars")]
impl Distinctive {
    /// Table of the `n` most distinctive terms of every topic: one column per topic, the most distinctive term first, in the
    /// order of [`terms_of_topic`](Self::terms_of_topic). `n` is capped at the number of terms.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.distinctive(&counts)?.top_terms(5).shape(), (5, 4)); // rank and three topics
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn top_terms(&self, n: usize) -> Table {
        let n = n.min(self.log_fold_changes.columns());
        let topics = self.topic_names.iter().enumerate();
        let topics =
            topics.map(|(topic, name)| Column::new(name.into(), self.best_names(topic, n)));
        Table::from_columns(std::iter::once(ranks(n)).chain(topics).collect())
    }

    /// Table of the `n` most distinctive terms of a topic. Its columns are `rank` from 1, `term`, `log_fold_change` to base 2,
    /// `lower` and `upper` (the ends of its 95% interval), `standard_error`, `z` (change / standard error) and `next_topic`,
    /// the topic of comparison. `n` is capped at the number of terms.
    ///
    /// The terms are sorted by `lower`: a term comes first if its change is surely large. Sorted by the change alone, rare
    /// terms would come first; sorted by z, frequent ones.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// let table = fit.distinctive(&counts)?.terms_of_topic(2, 10)?;
    /// let lower = table.numbers("lower")?;
    /// assert!(lower[0] >= lower[9]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such topic.
    pub fn terms_of_topic(&self, topic: impl NameOrNumber, n: usize) -> Result<Table> {
        let topic = find_topic(topic.which(), &self.topic_names)?;
        let terms = self.best(topic, n);
        let (changes, errors) = (
            self.log_fold_changes.row(topic),
            self.standard_errors.row(topic),
        );
        let of = |value: &dyn Fn(f32, f32) -> f32| -> Vec<f32> {
            let pairs = terms.iter().map(|&term| value(changes[term], errors[term]));
            pairs.collect()
        };
        let half = NORMAL_95 as f32;
        let names: Vec<String> = terms
            .iter()
            .map(|&term| term_name(self.terms.as_ref(), term))
            .collect();
        let next: Vec<&str> = terms
            .iter()
            .map(|&term| self.next[topic * changes.len() + term] as usize)
            .map(|next| self.topic_names[next].as_str())
            .collect();
        Ok(Table::from_columns(vec![
            ranks(terms.len()),
            Column::new("term".into(), names),
            Column::new("log_fold_change".into(), of(&|change, _| change)),
            Column::new("lower".into(), of(&|change, error| change - half * error)),
            Column::new("upper".into(), of(&|change, error| change + half * error)),
            Column::new("standard_error".into(), of(&|_, error| error)),
            Column::new("z".into(), of(&|change, error| change / error)),
            Column::new("next_topic".into(), next),
        ]))
    }
}

#[cfg(feature = "charts")]
impl Distinctive {
    /// Plots the terms of a topic, of which the number or the name is given: the log fold change on the x axis, and its distance
    /// from zero in standard errors on the y axis. Terms whose 95% interval is above zero have the colour of the topic, and the
    /// 15 most distinctive ones have their names.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// let fit = fit.name_topics([(2, "science")])?;
    /// let distinctive = fit.distinctive(&counts)?;
    /// assert_eq!(distinctive.plot_volcano("science").to_svg()?, distinctive.plot_volcano(2).to_svg()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// A topic that does not exist is reported when the chart is drawn.
    #[doc(alias = "volcano_plot")]
    pub fn plot_volcano(&self, topic: impl NameOrNumber) -> Chart {
        /// Maximum number of terms whose names are drawn.
        const NAMED: usize = 15;
        let topic = match find_topic(topic.which(), &self.topic_names) {
            Ok(topic) => topic,
            Err(error) => return Chart::failed(error),
        };
        let changes = self.log_fold_changes.row(topic);
        let errors = self.standard_errors.row(topic);
        let points = changes
            .iter()
            .zip(errors)
            .map(|(&change, &error)| (f64::from(change), f64::from((change / error).abs())));
        let lower = self.lower_ends(topic);
        let named = self.best(topic, NAMED).into_iter();
        let named = named.filter(|&term| lower[term] > 0.0);
        Chart::volcano(
            (topic, self.topics()),
            &self.topic_names[topic],
            points.collect(),
            lower.iter().map(|&lower| lower > 0.0).collect(),
            named
                .map(|term| (term, term_name(self.terms.as_ref(), term)))
                .collect(),
        )
    }
}
