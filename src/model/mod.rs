//! The topic model: settings in, a fit out.

mod attach;
mod estimate;
mod example;
mod on_cluster;
mod resume;
mod run;
mod setters;
mod source;
mod sweep;
mod update;

pub use estimate::Estimate;
pub use example::{ExampleFolder, example_checkpoint, example_fit, example_folder, example_halves};
pub use resume::Checkpoint;
pub use source::CountSource;
pub use sweep::{Sweep, SweepFits, SweepPlan, SweepRun};
pub use update::Update;

use crate::config::{Recipe, Settings};
use crate::data::{OrRef, or_ref};

/// A topic model of `k` topics, to be fitted to counts: tinytopics' neural Poisson NMF.
///
/// Counts X (documents x terms) are modelled as Poisson with rates L F. L (documents x topics) is the softmax over topics
/// of a table of logits, F (topics x terms) the softmax over terms of another. The loss is the Poisson negative
/// log-likelihood, the sum of rate - x log max(rate, 1e-10). By default AdamW minimises it over random minibatches of
/// documents, with a learning rate that falls along a cosine and restarts; [`solver`](Self::solver) has other ways. Model,
/// loss and defaults are those of the Python package tinytopics 0.9 (Xiao 2025).
///
/// A setter returns another model and leaves the one it is called on as it was, so that a cell can be run again. It checks
/// nothing: what is out of its range is refused when the fit is planned.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
/// let fit = TopicModel::new(3).epochs(5).seed(1).quiet().fit(corpus.counts())?;
/// assert_eq!(fit.l().shape(), (60, 3));
/// assert_eq!(fit.f().shape(), (3, 30));
/// # Ok::<(), topicbook::Error>(())
/// ```
///
/// # Cost
/// An epoch of gradient steps takes O(nonzeros x k + steps x terms x k) operations, because every step updates all of
/// F. A pass of the other solvers takes O(nonzeros x k).
#[derive(Debug, Clone)]
#[must_use = "a model does nothing before `fit`, `spawn` or `plan` is called"]
#[doc(alias("NeuralPoissonNMF", "NMF", "pLSA"))]
pub struct TopicModel {
    recipe: Recipe,
}

or_ref!(TopicModel);

impl TopicModel {
    /// A model of `k` topics, from 1 to the number of documents and of terms, with the defaults of [`Settings`].
    ///
    /// ```
    /// let model = topicbook::TopicModel::new(10);
    /// assert_eq!(model.settings().topics, 10);
    /// ```
    #[doc(alias("n_components", "n_topics"))]
    pub fn new(k: usize) -> Self {
        Self {
            recipe: Recipe::new(k),
        }
    }

    /// A model with the settings of another model or of a fit.
    ///
    /// ```
    /// use topicbook::TopicModel;
    /// let settings = TopicModel::new(10).seed(42).settings();
    /// assert_eq!(TopicModel::from_settings(&settings).settings(), settings);
    /// ```
    pub fn from_settings(settings: impl OrRef<Settings>) -> Self {
        Self {
            recipe: Recipe::from_settings(settings.value().clone()),
        }
    }

    /// A copy with a changed recipe. The recipe holds numbers, paths and handles, no counts and no tables.
    fn with(&self, change: impl FnOnce(&mut Recipe)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.recipe);
        changed
    }

    /// The settings as they stand.
    ///
    /// ```
    /// let settings = topicbook::TopicModel::new(10).settings();
    /// assert_eq!(settings.epochs, 200);
    /// ```
    pub fn settings(&self) -> Settings {
        self.recipe.settings.clone()
    }
}
