//! Regressions of topic proportions on labels of the documents.

mod formula;
mod regression;
#[cfg(test)]
mod tests;

use polars::prelude::Column;

use crate::data::Table;
use crate::error::{Error, Result};

use super::Fit;
use super::by_label::interval;
use formula::Design;
use regression::Regression;

/// Regressions that are drawn for the intervals.
const DRAWS: usize = 1_000;

/// The effects of labels on the proportions of topics; [`Fit::effects`] makes them.
///
/// ```
/// # use topicbook::Documents;
/// # let (_, fit) = topicbook::example_fit()?;
/// # let documents = Documents::numbered(60)?.with_numbers("year", (0..60).map(|document| 1990 + document / 10))?;
/// # let fit = fit.with_documents(&documents)?;
/// let effects = fit.effects("year")?;
/// assert_eq!(effects.terms(), ["intercept", "year"]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Effects {
    formula: String,
    topic_names: Vec<String>,
    terms: Vec<String>,
    /// Documents in the regression, and documents that were left out.
    documents: [usize; 2],
    /// The coefficients and the ends of their intervals (terms x topics).
    estimates: Vec<f64>,
    ends: [Vec<f64>; 2],
}

impl Fit {
    /// How the proportion of each topic depends on labels of the documents: the coefficients of a linear regression on all of them
    /// at once, with 95% intervals. So the effect of a year is that among documents of the same party.
    ///
    /// The formula names labels of the [documents](Self::with_documents), with `+` between them, and with `*` where they
    /// interact: `"year * party"` is both, and the products of their columns. Numbers are taken as they are, dates as years with
    /// fractions. Texts are groups: each but the first in the order of [`by`](Self::by) has a coefficient, `party = R`, which is its
    /// difference to the first. `intercept` is the proportion where all numbers are 0, in the first groups. Documents without one
    /// of the labels (null, NaN or a blank text), or without counts, are left out.
    ///
    /// The estimates are those of ordinary least squares. An interval goes from the 2.5% to the 97.5% quantile of 1,000 regressions
    /// whose documents have random weights (Rubin 1981, the Bayesian bootstrap). A document's L errs independently of those of
    /// others, so its uncertainty is part of how much the documents differ, and of the interval; nothing is assumed of the
    /// variances. `estimateEffect` of the R package stm draws L from the curvature at its maximum instead, for which it needs the
    /// counts.
    ///
    /// ```
    /// # let (_, fit) = topicbook::example_fit()?;
    /// use topicbook::Documents;
    /// let documents = Documents::numbered(60)?
    ///     .with_numbers("year", (0..60).map(|document| 1990 + document / 10))?
    ///     .with_labels("party", (0..60).map(|document| if document % 2 == 0 { "D" } else { "R" }))?;
    /// let fit = fit.with_documents(&documents)?;
    /// let effects = fit.effects("year + party")?;
    /// assert_eq!(effects.terms(), ["intercept", "year", "party = R"]);
    /// assert_eq!(effects.table().shape(), (9, 5)); // three coefficients of three topics
    /// assert_eq!(fit.effects("year * party")?.terms()[3], "year * party = R");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the fit has no documents, or these have no such label (the message names near ones). When a label has one value, or a
    /// group one document. When a coefficient follows from the others, as that of a decade does from years, or there are as many as
    /// documents. When a label has times without dates. Texts that are no dates are refused by
    /// [`Documents::with_dates`](crate::Documents::with_dates).
    ///
    /// # Cost
    /// 1,000 regressions, on all cores: O(documents x topics) operations each, and O(c (t² + t topics)) for t coefficients and c
    /// different combinations of labels.
    #[doc(alias("estimateEffect", "regression", "lm", "covariates"))]
    pub fn effects(&self, formula: impl AsRef<str>) -> Result<Effects> {
        let formula = formula.as_ref();
        let Some(documents) = &self.documents else {
            return Err(Error::value(
                "the fit does not know its documents, so that they have no labels",
            )
            .fix("give it the documents: fit.with_documents(&documents)?.effects(..)"));
        };
        let design = Design::new(formula, documents, |&row| !self.has_no_counts(row))?;
        let regression = Regression::new(&self.l, &design.documents, &design.columns);
        let regression = regression.map_err(|column| {
            Error::value(format!(
                "the coefficient of `{}` has no value of its own: its label follows from others",
                design.terms[column]
            ))
            .fix("leave one of these labels, or their interaction, out of the formula")
        })?;
        let estimates = regression.estimate();
        let draws = regression.draws(DRAWS);
        let mut ends: [Vec<f64>; 2] = Default::default();
        for at in 0..estimates.len() {
            let found = interval(draws.iter().map(|draw| draw[at]));
            for (ends, end) in ends.iter_mut().zip(found) {
                ends.push(end);
            }
        }
        let used = design.documents.len();
        Ok(Effects {
            formula: formula.into(),
            topic_names: self.topic_names(),
            terms: design.terms,
            documents: [used, self.documents() - used],
            estimates,
            ends,
        })
    }
}

impl Effects {
    /// The names of the coefficients: `intercept`, numbers by their label, groups as `party = R`, and interactions as
    /// `year * party = R`.
    ///
    /// ```
    /// # use topicbook::Documents;
    /// # let (_, fit) = topicbook::example_fit()?;
    /// # let documents = Documents::numbered(60)?.with_numbers("year", (0..60).map(|document| 1990 + document / 10))?;
    /// # let fit = fit.with_documents(&documents)?;
    /// assert_eq!(fit.effects("year")?.terms(), ["intercept", "year"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn terms(&self) -> Vec<String> {
        self.terms.clone()
    }

    /// Table with one row for each topic and coefficient: `topic` (its name), `term` (that of the coefficient, as in
    /// [`terms`](Self::terms)), `estimate` (how much the proportion changes by one unit of a number, or from the first group to this
    /// one), and `low` and `high`, the ends of the 95% interval.
    ///
    /// ```
    /// # use topicbook::Documents;
    /// # let (_, fit) = topicbook::example_fit()?;
    /// # let documents = Documents::numbered(60)?.with_numbers("year", (0..60).map(|document| 1990 + document / 10))?;
    /// # let fit = fit.with_documents(&documents)?;
    /// let table = fit.effects("year")?.table();
    /// assert_eq!(table.column_names(), ["topic", "term", "estimate", "low", "high"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        let (k, p) = (self.topic_names.len(), self.terms.len());
        let rows = || (0..k).flat_map(|topic| (0..p).map(move |term| (topic, term)));
        let topics = rows().map(|(topic, _)| self.topic_names[topic].as_str());
        let terms = rows().map(|(_, term)| self.terms[term].as_str());
        let of = |values: &[f64]| -> Vec<f64> {
            rows()
                .map(|(topic, term)| values[term * k + topic])
                .collect()
        };
        Table::from_columns(vec![
            Column::new("topic".into(), topics.collect::<Vec<_>>()),
            Column::new("term".into(), terms.collect::<Vec<_>>()),
            Column::new("estimate".into(), of(&self.estimates)),
            Column::new("low".into(), of(&self.ends[0])),
            Column::new("high".into(), of(&self.ends[1])),
        ])
    }

    /// The formula, the documents in the regression and those left out.
    pub(crate) fn of(&self) -> (&str, [usize; 2]) {
        (&self.formula, self.documents)
    }

    /// Plots the coefficients of the topics with their intervals: a small chart for each of them but the intercept.
    ///
    /// ```
    /// # use topicbook::Documents;
    /// # let (_, fit) = topicbook::example_fit()?;
    /// # let documents = Documents::numbered(60)?.with_numbers("year", (0..60).map(|document| 1990 + document / 10))?;
    /// # let fit = fit.with_documents(&documents)?;
    /// assert!(fit.effects("year")?.plot().to_svg()?.contains("year"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "charts")]
    pub fn plot(&self) -> crate::charts::Chart {
        use crate::charts::{Chart, side_by_side};
        let k = self.topic_names.len();
        let part = |values: &[f64], term: usize| values[term * k..][..k].to_vec();
        let terms = self.terms.iter().enumerate().skip(1);
        side_by_side(terms.map(|(term, name)| {
            Chart::bars(part(&self.estimates, term))
                .error_bars(part(&self.ends[0], term), part(&self.ends[1], term))
                .horizontal()
                .x(&self.topic_names)
                .title(name)
                .size(440, 34 * k as u32 + 120)
        }))
        .title(format!("Effects of {}, with 95% intervals", self.formula))
    }
}
