//! From a model to a plan, a fit, or a fit in the background.

use crate::error::Result;
use crate::fit::Fit;
use crate::plan::Plan;
use crate::training::Training;

use super::{CountSource, TopicModel};

impl TopicModel {
    /// Plans a fit to these counts: the bytes of every item and the memory it is in, and the peaks against the budget.
    ///
    /// ```
    /// use topicbook::{Budget, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let plan = TopicModel::new(3).budget(Budget::new().ram("2 GiB")?).plan(&counts)?;
    /// assert!(plan.peak_ram() < 2 << 30);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a setting is out of its range or does not belong to the solver, the counts are too small for the topics, the
    /// device cannot be used, a GPU that was asked for by its number fails its
    /// [self-check](crate::Device#self-check), or no way of fitting keeps within the budget: then the message names the
    /// smallest changes that would.
    ///
    /// # Cost
    /// The sizes of a stream, and those of a solver that passes over all documents, depend on how many counts are zero:
    /// then, for dense counts, the pass that checks all counts comes first, in buffers that fit the budget, and is not
    /// repeated. It also comes before a refusal, whose numbers depend on it. Otherwise no counts are read. The first plan of
    /// a process for a GPU runs the self-check of that GPU, unless its result is kept.
    #[doc(alias = "dry_run")]
    pub fn plan(&self, counts: impl CountSource) -> Result<Plan> {
        let (counts, names) = counts.named_counts()?;
        Plan::named(&self.recipe, (&counts, &names), false)
    }

    /// Fits the model to counts (documents x terms): makes a [`plan`](Self::plan) and carries it out.
    ///
    /// In notebooks about 20 lines of progress are printed, unless [`quiet`](Self::quiet). The counts stay where they are;
    /// the plan says how much memory the rest needs, and keeps it within the [`budget`](Self::budget). The fit knows what the
    /// counts came with ([`CountSource`]): of the counts of texts the terms, the documents and the vectorizer.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?;
    /// let fit = TopicModel::new(3).epochs(20).quiet().fit(&corpus)?;
    /// assert_eq!((fit.l().shape(), fit.epochs().len()), ((60, 3), 20));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a setting is out of its range, the counts hold something that is not a count, there are fewer documents or
    /// terms than topics, the term names do not match the counts, a label of the documents has the name of another column of
    /// the fit's tables (fit the counts alone then: `fit(docs.counts())`), the device cannot be used, or memory does not
    /// suffice. All of it is checked before training starts.
    #[doc(alias("fit_model", "fit_transform"))]
    pub fn fit(&self, counts: impl CountSource) -> Result<Fit> {
        self.plan(counts)?.fit()
    }

    /// Starts the same fit on a thread of its own, without progress lines: the notebook stays free, and the handle shows
    /// how far the fit is.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let training = TopicModel::new(3).epochs(5).spawn(&counts)?;
    /// assert_eq!(training.join()?.epochs().len(), 5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and likewise before training starts.
    pub fn spawn(&self, counts: impl CountSource) -> Result<Training> {
        self.plan(counts)?.spawn()
    }
}
