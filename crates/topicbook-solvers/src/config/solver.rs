//! How a model is fitted, and the parameters of each way.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::or_ref;
use crate::error::{Error, Result};

use super::gradient_step::GradientStep;
use super::optimizer::{Optimizer, StateValues};
use super::precision::Precision;
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
/// A setting that the solver does not have is refused when the fit is planned: coordinate descent has no learning rate.
///
/// ```
/// use topicbook::{Solver, Synthetic, TopicModel};
/// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let model = TopicModel::new(3).solver(Solver::auto()).tolerance(1e-6).quiet();
/// let fit = model.fit(&counts)?;
/// assert_eq!(fit.settings().solver.to_string(), "automatic (coordinate descent with splits and merges)");
/// assert!(model.max_lr(0.1).fit(&counts).is_err());
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
    /// et al. 2000), by random starts, and by fits that take each topic from one of two earlier fits (the crossover of Gribel
    /// and Vidal 2019). The search ends when 120 tries in a row have brought no better fit.
    /// Its scores are the best so far, and its progress says what it tries. Counts that are streamed from a file are
    /// fitted as by `CoordinateDescent`.
    Auto(FullPass),
}

/// The parameters of [`Solver::MiniBatch`]. The defaults are tinytopics'; the setters of the same names on
/// `TopicModel` say more about each.
///
/// ```
/// use topicbook::{Solver, TopicModel};
/// let settings = TopicModel::new(10).batch_size(64).settings();
/// let Solver::MiniBatch(parameters) = settings.solver else { unreachable!() };
/// assert_eq!((parameters.batch_size, parameters.max_lr), (64, 0.05));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MiniBatch {
    /// Documents in a minibatch; 16, at least 1.
    pub batch_size: usize,
    /// The learning rate at the end of a period; 0.01, positive and at most `max_lr`.
    #[serde(with = "crate::system::serde_f64")]
    pub base_lr: f64,
    /// The learning rate at the start of a period; 0.05, positive.
    #[doc(alias = "learning_rate")]
    #[serde(with = "crate::system::serde_f64")]
    pub max_lr: f64,
    /// Epochs in the first period of the learning rate; 20, at least 1.
    pub t_0: usize,
    /// How many times longer each period is than the one before; 1, at least 1.
    pub t_mult: usize,
    /// AdamW's decoupled weight decay, and the L2 penalty of the other optimizers; 1e-5, 0 or more.
    #[serde(with = "crate::system::serde_f64")]
    pub weight_decay: f64,
    /// The update rule; `Optimizer::AdamW`.
    pub optimizer: Optimizer,
    /// Where L's logits and their optimizer state are stored; `TableStorage::Memory`.
    pub table_storage: TableStorage,
    /// The precision in which L's logits and their optimizer state are stored; `Precision::F32`.
    #[serde(default)]
    pub table_precision: Precision,
    /// The precision in which GPU kernels read the tables; `Precision::F32`.
    pub precision: Precision,
    /// How a step computes the loss of a batch and its gradients; `GradientStep::Fused`.
    #[serde(default)]
    pub step: GradientStep,
    /// Documents whose gradients are computed at once; `None` for as many as the budget allows, else from 1 to `batch_size`.
    #[serde(default)]
    pub micro_batch: Option<usize>,
    /// The largest norm of a step's gradient, to which longer ones are scaled; infinite for none, otherwise positive.
    #[serde(with = "crate::system::serde_f64", default = "unlimited")]
    pub clip_grad_norm: f64,
}

/// No limit of the gradient's norm.
fn unlimited() -> f64 {
    f64::INFINITY
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

impl MiniBatch {
    const DEFAULT: Self = Self {
        batch_size: 16,
        base_lr: 0.01,
        max_lr: 0.05,
        t_0: 20,
        t_mult: 1,
        weight_decay: 1e-5,
        optimizer: Optimizer::AdamW,
        table_storage: TableStorage::Memory,
        table_precision: Precision::F32,
        precision: Precision::F32,
        step: GradientStep::Fused,
        micro_batch: None,
        clip_grad_norm: f64::INFINITY,
    };
}

impl FullPass {
    const DEFAULT: Self = Self { tolerance: 1e-8 };
}

impl Default for MiniBatch {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Default for FullPass {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Default for Solver {
    fn default() -> Self {
        Self::mini_batch()
    }
}

or_ref!(Solver);

impl Solver {
    /// Gradient steps over minibatches, with the defaults of [`MiniBatch`].
    ///
    /// ```
    /// use topicbook::{MiniBatch, Solver, TopicModel};
    /// assert_eq!(Solver::mini_batch(), Solver::MiniBatch(MiniBatch::default()));
    /// assert_eq!(TopicModel::new(10).settings().solver, Solver::mini_batch());
    /// ```
    #[doc(alias = "MiniBatchNMF")]
    #[doc(alias = "sgd")]
    pub const fn mini_batch() -> Self {
        Self::MiniBatch(MiniBatch::DEFAULT)
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
    #[doc(alias = "multiplicative_update")]
    #[doc(alias = "mu")]
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
    #[doc(alias = "cd")]
    #[doc(alias = "scd")]
    pub const fn coordinate_descent() -> Self {
        Self::CoordinateDescent(FullPass::DEFAULT)
    }

    /// Coordinate descent with splits, merges, random starts and combined fits, with the defaults of [`FullPass`].
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

    pub(super) fn as_full_pass_mut(&mut self) -> Option<&mut FullPass> {
        match self {
            Self::MiniBatch(_) => None,
            Self::Em(parameters) | Self::CoordinateDescent(parameters) | Self::Auto(parameters) => {
                Some(parameters)
            }
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

impl MiniBatch {
    fn check(&self) -> Result<()> {
        for (name, value) in [
            ("batch_size", self.batch_size),
            ("t_0", self.t_0),
            ("t_mult", self.t_mult),
        ] {
            if value == 0 {
                return Err(Error::setting(format!("{name} is 0")).fix("it must be at least 1"));
            }
        }
        for (name, value) in [("base_lr", self.base_lr), ("max_lr", self.max_lr)] {
            // Written so that NaN is refused as well.
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::setting(format!("{name} is {value}"))
                    .fix("learning rates are positive numbers, 0.01 to 0.05 by default"));
            }
        }
        if self.base_lr > self.max_lr {
            return Err(Error::setting(format!(
                "base_lr ({}) is above max_lr ({})",
                self.base_lr, self.max_lr
            ))
            .fix("the learning rate falls from max_lr to base_lr: exchange them"));
        }
        self.check_gradients()?;
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return Err(
                Error::setting(format!("weight_decay is {}", self.weight_decay))
                    .fix("it is zero or a small positive number, 1e-5 by default"),
            );
        }
        Ok(())
    }
}

impl MiniBatch {
    /// Whether gradients are scaled down to a norm.
    #[doc(hidden)]
    pub fn clips(&self) -> bool {
        self.clip_grad_norm.is_finite()
    }

    /// Checks what concerns the computation of gradients.
    fn check_gradients(&self) -> Result<()> {
        if let Some(documents) = self.micro_batch
            && !(1..=self.batch_size).contains(&documents)
        {
            return Err(Error::setting(format!(
                "micro_batch is {documents}, and a batch has {} documents",
                self.batch_size
            ))
            .fix("a micro-batch is a part of a batch: from 1 document to batch_size"));
        }
        if self.clip_grad_norm.is_nan() || self.clip_grad_norm <= 0.0 {
            return Err(
                Error::setting(format!("clip_grad_norm is {}", self.clip_grad_norm)).fix(
                    "it is the largest norm of a step's gradient, a positive number; leave it out for no limit",
                ),
            );
        }
        if !self.step.is_on_tensors() {
            return Ok(());
        }
        let refused = |what: String, fix: &str| {
            let what = format!("{what} with GradientStep::{:?}", self.step);
            Err(Error::setting(what).fix(format!("{fix}, or use GradientStep::Fused")))
        };
        if cfg!(not(feature = "cuda")) {
            return refused(
                "a build without the feature cuda".into(),
                "build topicbook with its default features, which bring Burn's tensors",
            );
        }
        if self.optimizer != Optimizer::AdamW {
            return refused(
                format!(
                    "{}, which updates the rows of its batch only,",
                    self.optimizer
                ),
                "Burn's tensors are updated as a whole: use Optimizer::AdamW",
            );
        }
        if self.table_storage != TableStorage::Memory {
            return refused(
                "L in a file".into(),
                "Burn's tensors are in memory: use TableStorage::Memory",
            );
        }
        if self.table_precision != Precision::F32 {
            return refused(
                format!("tables in {}", self.table_precision),
                "Burn's tensors are f32: use table_precision(Precision::F32)",
            );
        }
        if self.step.has_rates() && self.precision != Precision::F32 {
            return refused(
                format!("{}", self.precision),
                "only the fused kernels read narrower tables: use Precision::F32",
            );
        }
        Ok(())
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
