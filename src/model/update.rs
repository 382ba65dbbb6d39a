//! A fit that goes on with new documents.

#[cfg(feature = "polars")]
use polars::prelude::Column;

use crate::config::Solver;
use crate::counts::Counts;
#[cfg(feature = "polars")]
use crate::data::Table;
use crate::data::{Matrix, OrRef};
use crate::error::{Error, Result};
use crate::fit::{Fit, Movement};
use crate::plan::Plan;
use crate::text::counted;
use crate::training::{ExistingFile, ResumeState};

use super::TopicModel;

/// Part of a topic's probability that is spread over all terms at the start, so that terms which no document had can gain.
const SPREAD: f32 = 1e-3;

/// A fit that started from the topics of another one, and how far each topic has moved; [`Fit::update`] makes it.
///
/// ```
/// # use topicbook::{Synthetic, TopicModel};
/// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let (old, new) = counts.split(0.5, 1)?;
/// let fit = TopicModel::new(3).epochs(20).quiet().fit(&old)?;
/// let update = fit.update(&new)?;
/// println!("{}", update.table());
/// let fit = update.fit();
/// assert_eq!(fit.documents(), 30);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Update {
    fit: Fit,
    moved: Vec<Movement>,
}

impl Fit {
    /// Fits new documents from where this fit ended: topics keep their order and their names, and the result says how far each
    /// has moved.
    ///
    /// L of the new documents starts from [`transform`](Self::transform), F from that of this fit with a thousandth spread over
    /// all terms, so that terms without a probability can gain one. Coordinate descent
    /// ([`Solver::coordinate_descent`](crate::Solver::coordinate_descent)) then climbs to the nearest maximum of the likelihood
    /// of the new counts, whatever solver made this fit. Earlier documents do not count: where they should, pass the counts of
    /// all documents. To leave the topics as they are, use `transform`.
    ///
    /// ```
    /// # use topicbook::{Synthetic, TopicModel};
    /// # let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let (old, new) = counts.split(0.5, 1)?;
    /// let fit = TopicModel::new(3).epochs(20).quiet().fit(&old)?.name_topics(["a", "b", "c"])?;
    /// let updated = fit.update(&new)?.fit();
    /// assert_eq!(updated.topic_names(), ["a", "b", "c"]);
    /// assert!(updated.score(&new)? > fit.score(&new)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts have another number of terms or fewer documents than there are topics, and whatever
    /// [`TopicModel::fit`] refuses.
    ///
    /// # Cost
    /// O(nonzeros x k) operations per iteration, and the memory that [`TopicModel::plan`] predicts for coordinate descent.
    #[doc(alias("partial_fit", "warm_start", "online"))]
    pub fn update(&self, counts: impl OrRef<Counts>) -> Result<Update> {
        let counts = counts.value();
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "update with"));
        }
        if counts.documents() < self.topics() {
            return Err(Error::shape(format!(
                    "{} do not determine {}",
                    counted(counts.documents(), "document"),
                    counted(self.topics(), "topic")
                ))
            .fix("pass at least as many documents as topics, or use `transform`, which leaves the topics as they are"));
        }
        let mut model = TopicModel::new(self.topics()).solver(Solver::coordinate_descent());
        model.recipe.terms = self.term_names();
        model.recipe.settings.smoothing = self.settings.smoothing;
        let plan = Plan::new(&model.recipe, counts, false)?;
        let run = plan.begin(ExistingFile::None)?;
        let start = ResumeState::from_topics(self.transform(counts)?, spread(&self.f()));
        let fit = run.fit(start, None)?.with_names_of(self);
        let moved = fit.moved_from(self);
        Ok(Update { fit, moved })
    }
}

/// F with a part of each topic spread evenly over all terms.
fn spread(f: &Matrix) -> Matrix {
    let (topics, terms) = f.shape();
    let even = SPREAD / terms as f32;
    let values = f.values().iter().map(|p| (1.0 - SPREAD) * p + even);
    Matrix::from_parts(topics, terms, values.collect())
}

impl Update {
    /// The fit to the new counts. A handle, not a copy.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.update(&counts)?.fit().topics(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn fit(&self) -> Fit {
        self.fit.clone()
    }

    /// How far each topic has moved: the Jensen-Shannon distance of its terms before and after, from 0 (the same probabilities)
    /// to 1 (no term in common).
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// assert!(fit.update(&counts)?.distances().iter().all(|distance| (0.0..=1.0).contains(distance)));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn distances(&self) -> Vec<f64> {
        self.moved.iter().map(|moved| moved.distance).collect()
    }

    /// Table with one row per topic: `topic` (its name), `distance` (as in [`distances`](Self::distances)), `cosine` of its rows
    /// of F before and after, `share_before` and `share` (its mean proportion in the documents of the earlier fit, and in the
    /// new ones), and the three terms that `gained` and `lost` most probability.
    ///
    /// ```
    /// # let (counts, fit) = topicbook::example_fit()?;
    /// assert_eq!(fit.update(&counts)?.table().shape(), (3, 7));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[cfg(feature = "polars")]
    pub fn table(&self) -> Table {
        let numbers =
            |value: fn(&Movement) -> f64| -> Vec<f64> { self.moved.iter().map(value).collect() };
        let texts = |terms: fn(&Movement) -> &[String]| -> Vec<String> {
            self.moved
                .iter()
                .map(|moved| terms(moved).join(", "))
                .collect()
        };
        Table::from_columns(vec![
            Column::new("topic".into(), self.fit.topic_names()),
            Column::new("distance".into(), numbers(|moved| moved.distance)),
            Column::new("cosine".into(), numbers(|moved| moved.cosine)),
            Column::new("share_before".into(), numbers(|moved| moved.share_before)),
            Column::new("share".into(), numbers(|moved| moved.share)),
            Column::new("gained".into(), texts(|moved| &moved.gained)),
            Column::new("lost".into(), texts(|moved| &moved.lost)),
        ])
    }

    pub(crate) fn movements(&self) -> &[Movement] {
        &self.moved
    }
}
