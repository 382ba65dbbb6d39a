//! Fits with several numbers of topics and several seeds, judged alike: to choose the number of topics.

mod advice;
mod consensus;
mod files;
mod fits;
mod plan;
#[cfg(feature = "charts")]
mod plot;
mod run;

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

pub use fits::{SweepFits, SweepRun};
pub use plan::SweepPlan;

use crate::config::Solver;
use crate::counts::Counts;
use crate::data::{Indices, OrRef, With};
use crate::error::Result;

use super::{CountSource, TopicModel};

/// Fits with several numbers of topics and several seeds, which answer the question how many topics there are. Made by
/// [`TopicModel::sweep`].
///
/// Every fit is judged in the same way: by its score on held-out documents ([`Fit::evaluate`](crate::Fit::evaluate)), by
/// the NPMI of the ten most probable terms of its topics in the training documents
/// ([`Fit::coherence`](crate::Fit::coherence)), and by how much its topics agree with those of other seeds. The result is
/// [`SweepFits`].
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
/// let sweep = TopicModel::sweep([2, 4, 8]).seeds(2).quiet().fit(&counts)?;
/// println!("{}", sweep.recommendation());
/// assert_eq!(sweep.runs().len(), 6);
/// assert_eq!(sweep.fit(4)?.topics(), 4);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a sweep does nothing before `fit` or `plan` is called"]
#[doc(alias("searchK", "GridSearchCV"))]
pub struct Sweep {
    pub(crate) topics: Vec<usize>,
    pub(crate) seeds: usize,
    pub(crate) model: TopicModel,
    held_out: Option<Counts>,
    folder: Option<PathBuf>,
    on_fit: Option<OnFit>,
}

/// A user's function that is called after every fit.
#[derive(Clone)]
struct OnFit(Arc<FitFn>);

type FitFn = dyn Fn(&SweepRun) -> ControlFlow<()> + Send + Sync;

impl fmt::Debug for OnFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFit")
    }
}

impl TopicModel {
    /// A sweep over numbers of topics: one fit for each of them and each seed, all judged alike. A number that comes twice
    /// counts once.
    ///
    /// The fits have the settings of [`TopicModel::new`] with [`Solver::coordinate_descent`]: fits that have converged can be
    /// compared, and one start a fit shows how much starts differ. [`Sweep::model`] sets others.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).quiet().fit(&counts)?;
    /// assert!(sweep.recommendation().starts_with("4 topics"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("choose_k", "n_components"))]
    pub fn sweep(topics: impl Indices) -> Sweep {
        let mut topics = topics.to_indices();
        topics.sort_unstable();
        topics.dedup();
        Sweep {
            topics,
            seeds: 1,
            model: TopicModel::new(1).solver(Solver::coordinate_descent()),
            held_out: None,
            folder: None,
            on_fit: None,
        }
    }
}

impl Sweep {
    /// Fits for each number of topics, with as many seeds: the model's and those after it. 1 by default, at least 1; from 2 on
    /// there is a stability, and the differences between starts are part of the uncertainty.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).seeds(3).quiet().fit(&counts)?;
    /// let seeds: Vec<u64> = sweep.runs().iter().map(|run| run.seed).collect();
    /// assert_eq!(seeds, [0, 1, 2, 0, 1, 2]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn seeds(&self, seeds: usize) -> Self {
        self.with(|changed| changed.seeds = seeds)
    }

    /// The model whose settings all fits have, but for the number of topics and the seed: its solver, its budget, its term
    /// names. Its seed is the first of the sweep.
    ///
    /// ```
    /// use topicbook::{Solver, Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let model = TopicModel::new(1).solver(Solver::em()).epochs(30).seed(7).quiet();
    /// let sweep = TopicModel::sweep([2, 4]).model(&model).fit(&counts)?;
    /// assert_eq!(sweep.fit(4)?.settings().solver, Solver::em());
    /// assert_eq!(sweep.fit(4)?.settings().seed, 7);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn model(&self, model: impl OrRef<TopicModel>) -> Self {
        self.with(|changed| changed.model = model.value().clone())
    }

    /// The documents on which the fits are judged; then all documents that [`fit`](Self::fit) gets are fitted, and nothing is
    /// copied. Without them, `fit` holds a fifth of its documents out, chosen by the model's seed.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let (train, held_out) = counts.split(0.9, 3)?;
    /// let sweep = TopicModel::sweep([2, 4]).held_out(&held_out).quiet().fit(&train)?;
    /// assert_eq!(sweep.fit(4)?.documents(), 270);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn held_out(&self, counts: impl OrRef<Counts>) -> Self {
        self.with(|changed| changed.held_out = Some(counts.value().clone()))
    }

    /// Saves every fit in this folder as soon as it is done, and takes those that lie there already: the same call goes on
    /// after a stop or a crash, with all but the fit that was at work. Another sweep over the same counts, with more numbers
    /// of topics or seeds, takes them too. The folder is made if it does not exist.
    ///
    /// ```
    /// use topicbook::{Fit, Synthetic, TopicModel};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).checkpoint("sweep").quiet();
    /// sweep.fit(&counts)?;
    /// assert_eq!(Fit::load("sweep/k4_seed0.safetensors")?.topics(), 4);
    /// let again = sweep.fit(&counts)?; // at once
    /// assert!(again.runs().iter().all(|run| run.loaded));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "resume")]
    pub fn checkpoint(&self, folder: impl Into<PathBuf>) -> Self {
        self.with(|changed| changed.folder = Some(folder.into()))
    }

    /// Prints no progress; by default one line says how far the sweep is, where [`show_progress`](crate::show_progress) is on.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4]).quiet().fit(&counts)?;
    /// assert_eq!(sweep.runs().len(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "verbose")]
    pub fn quiet(&self) -> Self {
        self.with(|changed| changed.model = self.model.quiet())
    }

    /// Calls a function after every fit, which may end the sweep by `ControlFlow::Break`: the result then has the fits so far.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4, 8]).quiet().on_fit(|run| match run.topics {
    ///     4 => ControlFlow::Break(()),
    ///     _ => ControlFlow::Continue(()),
    /// });
    /// assert_eq!(sweep.fit(&counts)?.runs().len(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "callback")]
    pub fn on_fit(
        &self,
        observe: impl Fn(&SweepRun) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.with(|changed| changed.on_fit = Some(OnFit(Arc::new(observe))))
    }

    /// Plans all fits at once: their peaks, and the memory of the fits that are kept, against the budget of the model.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let plan = TopicModel::sweep([2, 4]).seeds(2).quiet().plan(&counts)?;
    /// assert!(plan.peak_ram() > 0);
    /// assert_eq!(plan.fit()?.runs().len(), 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no number of topics or no seed; when one of the fits would be refused by [`TopicModel::plan`], or all of
    /// them together do not keep within the budget; when the held-out documents have other terms; when the parts of the
    /// documents do not fit into memory; when a label of the documents has the name of another column of a fit's tables.
    ///
    /// # Cost
    /// That of the plans of the fits, and unless [`held_out`](Self::held_out) is set that of
    /// [`Counts::split`](crate::Counts::split): a copy of the counts in memory, which the plan keeps.
    #[doc(alias = "dry_run")]
    pub fn plan(&self, counts: impl CountSource) -> Result<SweepPlan> {
        let (counts, names) = counts.named_counts()?;
        let mut sweep = self.clone();
        let terms = &mut sweep.model.recipe.terms;
        *terms = terms.take().or(names.terms.clone());
        for &topics in &sweep.topics {
            names.check(topics)?;
        }
        SweepPlan::new(&sweep, counts, names)
    }

    /// Fits the models one after the other, from the smallest number of topics to the largest, and judges each.
    ///
    /// The stop button of a notebook ends the sweep after the fit before; the result then has the fits so far, and with
    /// [`checkpoint`](Self::checkpoint) the same call goes on. The fits are of the training documents: for the final model,
    /// fit all counts with the number of topics that was chosen.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(300, 60, 4).avg_doc_length(300).seed(1).generate()?.counts();
    /// let sweep = TopicModel::sweep([2, 4, 8]).seeds(2).quiet().fit(&counts)?;
    /// assert!(sweep.recommendation().contains("± "));
    /// let fit = TopicModel::new(4).quiet().fit(&counts)?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`plan`](Self::plan), before the first fit; as [`TopicModel::fit`] and [`Fit::evaluate`](crate::Fit::evaluate);
    /// when a fit in the [`checkpoint`](Self::checkpoint)'s folder is of other counts or settings; when the sweep is stopped
    /// before its first fit is done.
    ///
    /// # Cost
    /// The sum of all fits, and for each of them an evaluation, a pass over the training documents, and the cosines of its
    /// topics with those of the other seeds. Of each number of topics one fit is kept, and F of all.
    pub fn fit(&self, counts: impl CountSource) -> Result<SweepFits> {
        self.plan(counts)?.fit()
    }
}
