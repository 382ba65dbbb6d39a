//! How a model is fitted, and the parameters of each way.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

use super::mini_batch::MiniBatch;
use super::optimizer::StateValues;
use super::storage::TableStorage;

/// How a model is fitted, with the parameters that belong to it.
///
/// | Solver | One epoch is | Memory besides L, F and the counts |
/// |---|---|---|
/// | [`mini_batch`](Self::mini_batch) | gradient steps over minibatches of documents | gradients and optimizer state |
/// | [`em`](Self::em) | one pass over the documents | 12 bytes x terms x k |
/// | [`coordinate_descent`](Self::coordinate_descent) | one pass by documents, one by terms | 8 bytes a nonzero count (the counts by term), 12 bytes x k x (documents + terms) |
/// | the same, streamed | one pass over the documents | 12 bytes x terms x k |
/// | [`auto`](Self::auto) | as coordinate descent | the same, three times |
///
/// The solvers that pass over all documents stop as soon as they converge, so `epochs` is
/// the largest number of passes. On a CUDA GPU `mini_batch` runs there and `em` has its sums computed there; the others
/// run on the CPU.
///
/// Only gradient steps have a `batch_size`, and only the others a `tolerance`: setting the wrong one is refused when the fit is
/// planned.
///
/// ```
/// use topicbook::{Solver, TopicModel};
/// # let (counts, _) = topicbook::example_fit()?;
/// let model = TopicModel::new(3).solver(Solver::auto()).tolerance(1e-6).quiet();
/// let fit = model.fit(&counts)?;
/// assert_eq!(fit.settings().solver.to_string(), "automatic (coordinate descent with splits and merges)");
/// assert!(model.batch_size(64).fit(&counts).is_err());
/// # Ok::<(), topicbook::Error>(())
/// ```
///
/// # Cost
/// A pass takes O(nonzeros x k) operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Solver {
    /// Stochastic gradient steps over minibatches, as in tinytopics: the default.
    MiniBatch(MiniBatch),
    /// Expectation-maximisation (Hofmann 1999): multiplicative updates that never lower the likelihood.
    Em(FullPass),
    /// Newton-like steps along one coordinate at a time (Lin and Boutros 2018), with extrapolation (Ang and Gillis
    /// 2019), as in fastTopics (Carbonetto et al. 2021). Streamed counts are read once an iteration: rows of L by
    /// coordinate descent (Newton's method where counts are dense), F by expectation-maximisation.
    CoordinateDescent(FullPass),
    /// The one that reaches the best likelihood in the records: coordinate descent from topics of noise, which leaves local
    /// maxima by adding topics where documents fit worst and merging the topics that are most alike (splits and merges, Ueda
    /// et al. 2000), and by random starts, in turn. The search ends when 120 tries in a row have brought no better fit.
    /// Its scores are the best so far, and its progress says what it tries. Counts that are streamed from a file are
    /// fitted as by `CoordinateDescent`.
    Auto(FullPass),
}

/// The parameters of the solvers that pass over all documents in each iteration.
///
/// ```
/// use topicbook::{Solver, TopicModel};
/// let settings = TopicModel::new(10).solver(Solver::em()).settings();
/// let Solver::Em(parameters) = settings.solver else { unreachable!() };
/// assert_eq!(parameters.tolerance, 1e-8);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullPass {
    /// Relative gain of the log-likelihood below which the fit has converged; 1e-8, 0 or more.
    #[doc(alias = "tol")]
    #[serde(with = "crate::system::serde_f64")]
    pub tolerance: f64,
}

impl FullPass {
    const DEFAULT: Self = Self { tolerance: 1e-8 };
}

impl Default for FullPass {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Default for Solver {
    fn default() -> Self {
        Self::MiniBatch(MiniBatch::DEFAULT)
    }
}

impl From<MiniBatch> for Solver {
    fn from(parameters: MiniBatch) -> Self {
        Self::MiniBatch(parameters)
    }
}

impl From<&MiniBatch> for Solver {
    fn from(parameters: &MiniBatch) -> Self {
        Self::MiniBatch(parameters.clone())
    }
}

impl From<&Solver> for Solver {
    fn from(solver: &Solver) -> Self {
        solver.clone()
    }
}

impl Solver {
    /// Gradient steps over minibatches, with tinytopics' defaults. The setters of [`MiniBatch`] change them.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let model = TopicModel::new(10).solver(Solver::mini_batch().max_lr(0.1));
    /// assert!(matches!(model.settings().solver, Solver::MiniBatch(parameters) if parameters.max_lr == 0.1));
    /// ```
    #[doc(alias("MiniBatchNMF", "sgd"))]
    pub const fn mini_batch() -> MiniBatch {
        MiniBatch::DEFAULT
    }

    /// Expectation-maximisation, with the defaults of [`FullPass`].
    ///
    /// ```
    /// use topicbook::{Solver, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).solver(Solver::em()).epochs(20).quiet().fit(&counts)?;
    /// let epochs = fit.epochs();
    /// assert!(epochs[19].log_likelihood_per_token > epochs[0].log_likelihood_per_token);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("multiplicative_update", "mu"))]
    pub const fn em() -> Self {
        Self::Em(FullPass::DEFAULT)
    }

    /// Coordinate descent, with the defaults of [`FullPass`].
    ///
    /// ```
    /// use topicbook::{Solver, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).epochs(20).quiet();
    /// let fit = model.clone().solver(Solver::coordinate_descent()).fit(&counts)?;
    /// assert!(fit.score(&counts)? > model.fit(&counts)?.score(&counts)?); // than gradient steps
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("cd", "scd"))]
    pub const fn coordinate_descent() -> Self {
        Self::CoordinateDescent(FullPass::DEFAULT)
    }

    /// Coordinate descent with splits, merges and random starts, with the defaults of [`FullPass`].
    ///
    /// ```
    /// use topicbook::{Solver, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).epochs(50).quiet();
    /// let fit = model.clone().solver(Solver::auto()).fit(&counts)?;
    /// assert!(fit.score(&counts)? > model.fit(&counts)?.score(&counts)?); // than gradient steps
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "split_merge")]
    pub const fn auto() -> Self {
        Self::Auto(FullPass::DEFAULT)
    }

    /// The parameters of gradient steps, where those are the solver.
    #[doc(hidden)]
    pub fn as_mini_batch(&self) -> Option<&MiniBatch> {
        match self {
            Self::MiniBatch(parameters) => Some(parameters),
            _ => None,
        }
    }

    /// The parameters of a solver that passes over all documents.
    #[doc(hidden)]
    pub fn as_full_pass(&self) -> Option<&FullPass> {
        match self {
            Self::MiniBatch(_) => None,
            Self::Em(parameters) | Self::CoordinateDescent(parameters) | Self::Auto(parameters) => {
                Some(parameters)
            }
        }
    }

    pub(super) fn as_mini_batch_mut(&mut self) -> Option<&mut MiniBatch> {
        match self {
            Self::MiniBatch(parameters) => Some(parameters),
            _ => None,
        }
    }

    /// Whether each iteration passes over all documents, instead of minibatches of them.
    #[doc(hidden)]
    pub fn is_full_pass(&self) -> bool {
        self.as_full_pass().is_some()
    }

    /// Whether a GPU can run the fit, or make its sums.
    #[doc(hidden)]
    pub fn runs_on_gpu(&self) -> bool {
        matches!(self, Self::MiniBatch(_) | Self::Em(_))
    }

    /// Values of state that a gradient step keeps for an entry of L and of F; other solvers keep none.
    #[doc(hidden)]
    pub fn state_values(&self) -> StateValues {
        self.as_mini_batch()
            .map_or_else(StateValues::default, |parameters| {
                parameters.optimizer.state_values()
            })
    }

    /// Where L's logits are stored; full passes keep L in memory.
    #[doc(hidden)]
    pub fn table_storage(&self) -> TableStorage {
        self.as_mini_batch()
            .map_or(TableStorage::Memory, |parameters| {
                parameters.table_storage.clone()
            })
    }

    /// The same with L's logits in a folder.
    #[doc(hidden)]
    pub fn stored_in(mut self, folder: PathBuf) -> Self {
        if let Some(parameters) = self.as_mini_batch_mut() {
            parameters.table_storage = TableStorage::File(folder);
        }
        self
    }

    /// Checks every rule of the parameters; the first broken one is the error.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::MiniBatch(parameters) => parameters.check(),
            Self::Em(parameters) | Self::CoordinateDescent(parameters) | Self::Auto(parameters) => {
                parameters.check()
            }
        }
    }
}

impl FullPass {
    fn check(&self) -> Result<()> {
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(Error::setting(format!("tolerance is {}", self.tolerance))
                .fix("it is zero or a small positive number, 1e-8 by default"));
        }
        Ok(())
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MiniBatch(_) => "gradient steps over minibatches",
            Self::Em(_) => "expectation-maximisation",
            Self::CoordinateDescent(_) => "coordinate descent",
            Self::Auto(_) => "automatic (coordinate descent with splits and merges)",
        })
    }
}
