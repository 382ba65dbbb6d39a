//! The parameters of gradient steps.

use serde::{Deserialize, Serialize};

use crate::data::{OrRef, With};
use crate::error::{Error, Result};

use super::gradient_step::GradientStep;
use super::optimizer::Optimizer;
use super::precision::Precision;
use super::storage::TableStorage;

/// Gradient steps over minibatches, [`Solver::mini_batch`](super::Solver::mini_batch), with their parameters. The defaults are
/// tinytopics'; the setters of the same names say more about each.
///
/// ```
/// use topicbook::{Solver, TopicModel};
/// let model = TopicModel::new(10).solver(Solver::mini_batch().batch_size(64).max_lr(0.1));
/// let Solver::MiniBatch(parameters) = model.settings().solver else { unreachable!() };
/// assert_eq!((parameters.batch_size, parameters.max_lr, parameters.base_lr), (64, 0.1, 0.01));
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
    #[serde(alias = "precision")]
    pub gpu_precision: Precision,
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

impl MiniBatch {
    pub(super) const DEFAULT: Self = Self {
        batch_size: 16,
        base_lr: 0.01,
        max_lr: 0.05,
        t_0: 20,
        t_mult: 1,
        weight_decay: 1e-5,
        optimizer: Optimizer::AdamW,
        table_storage: TableStorage::Memory,
        table_precision: Precision::F32,
        gpu_precision: Precision::F32,
        step: GradientStep::Fused,
        micro_batch: None,
        clip_grad_norm: f64::INFINITY,
    };
}

impl Default for MiniBatch {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Each returns changed parameters and checks nothing: what is out of its range is refused when a fit is planned.
impl MiniBatch {
    /// Documents in a minibatch; 16 by default, at least 1. `TopicModel::batch_size` says which learning rates go with
    /// large ones.
    ///
    /// ```
    /// assert_eq!(topicbook::Solver::mini_batch().batch_size(256).batch_size, 256);
    /// ```
    pub fn batch_size(&self, documents: usize) -> Self {
        self.with(|parameters| parameters.batch_size = documents)
    }

    /// The learning rate at the end of every period; 0.01 by default, positive and at most [`max_lr`](Self::max_lr).
    /// AdamW moves a logit by about this much in a step.
    ///
    /// ```
    /// assert_eq!(topicbook::Solver::mini_batch().base_lr(0.005).base_lr, 0.005);
    /// ```
    pub fn base_lr(&self, rate: f64) -> Self {
        self.with(|parameters| parameters.base_lr = rate)
    }

    /// The learning rate at the start of every period; 0.05 by default, positive.
    ///
    /// ```
    /// assert_eq!(topicbook::Solver::mini_batch().max_lr(0.1).max_lr, 0.1);
    /// ```
    #[doc(alias = "learning_rate")]
    pub fn max_lr(&self, rate: f64) -> Self {
        self.with(|parameters| parameters.max_lr = rate)
    }

    /// Epochs in the first period of the learning rate (tinytopics' `T_0`); 20 by default, at least 1.
    ///
    /// ```
    /// assert_eq!(topicbook::Solver::mini_batch().t_0(40).t_0, 40);
    /// ```
    pub fn t_0(&self, epochs: usize) -> Self {
        self.with(|parameters| parameters.t_0 = epochs)
    }

    /// How many times longer each period of the learning rate is than the one before (tinytopics' `T_mult`); 1 by default,
    /// at least 1.
    ///
    /// ```
    /// let solver = topicbook::Solver::mini_batch().t_0(10).t_mult(2); // restarts after 10, 30, 70 epochs
    /// assert_eq!(solver.t_mult, 2);
    /// ```
    pub fn t_mult(&self, factor: usize) -> Self {
        self.with(|parameters| parameters.t_mult = factor)
    }

    /// AdamW's decoupled weight decay, and the L2 penalty of the other optimizers; 1e-5 by default, 0 or more.
    ///
    /// ```
    /// assert_eq!(topicbook::Solver::mini_batch().weight_decay(0.0).weight_decay, 0.0);
    /// ```
    pub fn weight_decay(&self, weight_decay: f64) -> Self {
        self.with(|parameters| parameters.weight_decay = weight_decay)
    }

    /// The update rule; [`Optimizer::AdamW`], as in tinytopics, by default. On a GPU [`Optimizer::RowwiseAdamW`] has L
    /// offloaded to RAM or a file; the other optimizers need [`Device::Cpu`](super::Device::Cpu), and are refused on a GPU.
    ///
    /// ```
    /// use topicbook::{Optimizer, Solver};
    /// let solver = Solver::mini_batch().optimizer(Optimizer::RowwiseAdamW);
    /// assert_eq!(solver.optimizer, Optimizer::RowwiseAdamW);
    /// ```
    pub fn optimizer(&self, optimizer: Optimizer) -> Self {
        self.with(|parameters| parameters.optimizer = optimizer)
    }

    /// Where L's logits and their optimizer state are stored, and where L itself is stored afterwards;
    /// [`TableStorage::Memory`] by default.
    ///
    /// ```
    /// use topicbook::{Solver, TableStorage, TopicModel};
    /// let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).epochs(2).quiet();
    /// let in_file = Solver::mini_batch().table_storage(TableStorage::File(std::env::temp_dir()));
    /// assert_eq!(model.solver(in_file).fit(&counts)?.l(), model.fit(&counts)?.l());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn table_storage(&self, storage: impl OrRef<TableStorage>) -> Self {
        self.with(|parameters| parameters.table_storage = storage.value().clone())
    }

    /// The precision in which L's logits and their optimizer state are stored, in RAM or in a file; [`Precision::F32`] by
    /// default.
    ///
    /// [`Precision::Bf16`] halves these tables: 12 bytes become 6 for each entry of L under AdamW. A row is widened before
    /// its update, which is computed in `f32`, and rounded afterwards at random to one of its two neighbours in `bf16`, with
    /// the probabilities that make the mean right (stochastic rounding): with the nearest value, an update smaller than
    /// half a unit of the last place would be lost each time. The random bits depend on the document and the step, so a seed
    /// gives the same fit for any number of threads, and a resumed fit continues bit for bit.
    /// On 2,483 NIPS papers (k = 10, batch 16, 200 epochs) three seeds of dense AdamW end at scores 0.3 thousand below to 0.9
    /// thousand above those of `F32`, which lie 7 thousand apart.
    ///
    /// On a GPU L has to be outside of its memory ([`Optimizer::RowwiseAdamW`], [`TableStorage::File`]), where the tables are
    /// `f32`. L and F of the fit, and checkpoints, are `f32` in any case.
    ///
    /// ```
    /// use topicbook::{Precision, Solver, TopicModel};
    /// # let (counts, _) = topicbook::example_fit()?;
    /// let model = TopicModel::new(3).epochs(50).quiet();
    /// let narrow = Solver::mini_batch().table_precision(Precision::Bf16);
    /// let (narrow, wide) = (model.solver(narrow).fit(&counts)?, model.fit(&counts)?);
    /// assert!((narrow.score(&counts)? / wide.score(&counts)? - 1.0).abs() < 0.02);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("half", "bfloat16", "stochastic_rounding"))]
    pub fn table_precision(&self, precision: Precision) -> Self {
        self.with(|parameters| parameters.table_precision = precision)
    }

    /// The precision in which a GPU's kernels read the tables; [`Precision::F32`] by default. On the CPU everything is
    /// `f32`.
    ///
    /// ```
    /// use topicbook::{Precision, Solver};
    /// assert_eq!(Solver::mini_batch().gpu_precision(Precision::Bf16).gpu_precision, Precision::Bf16);
    /// ```
    pub fn gpu_precision(&self, precision: Precision) -> Self {
        self.with(|parameters| parameters.gpu_precision = precision)
    }

    /// How a step computes the loss of its batch and the gradients; [`GradientStep::Fused`] by default. The others are
    /// Burn's tensors, for lessons and comparisons: [`GradientStep`] says what each keeps in memory.
    ///
    /// ```
    /// use topicbook::{GradientStep, Solver};
    /// let solver = Solver::mini_batch().step(GradientStep::Checkpointing);
    /// assert_eq!(solver.step, GradientStep::Checkpointing);
    /// ```
    pub fn step(&self, step: GradientStep) -> Self {
        self.with(|parameters| parameters.step = step)
    }

    /// Documents whose gradients are computed at once, from 1 to the [`batch_size`](Self::batch_size); by default the whole
    /// batch, or as many as the [`Budget`](crate::data::Budget) allows. The gradients of a batch's micro-batches are added up
    /// before the update (gradient accumulation), so the fit is the same up to rounding, with smaller buffers. A tight budget
    /// makes them smaller still.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// # let (counts, _) = topicbook::example_fit()?;
    /// let model = TopicModel::new(3).epochs(3).quiet();
    /// let (whole, parts) = (model.fit(&counts)?, model.solver(Solver::mini_batch().micro_batch(4)).fit(&counts)?);
    /// assert!((whole.loss().unwrap() / parts.loss().unwrap() - 1.0).abs() < 1e-5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("gradient_accumulation", "accumulation_steps"))]
    pub fn micro_batch(&self, documents: usize) -> Self {
        self.with(|parameters| parameters.micro_batch = Some(documents))
    }

    /// The largest norm of a step's gradient, positive; no limit by default. A longer gradient, taken with respect to all
    /// logits of L and F together, is scaled down to it before the update, as PyTorch's `clip_grad_norm_` does.
    /// [`Epoch::grad_norm`](crate::data::Epoch::grad_norm) has the mean norm before clipping. Gradients are in tokens: a batch
    /// of 16 documents of 1,000 tokens has norms in the hundreds. AdamW hardly needs it, as its steps do not depend on the
    /// size of gradients that keep their size; SGD does.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// # let (counts, _) = topicbook::example_fit()?;
    /// let clipped = Solver::mini_batch().clip_grad_norm(10.0);
    /// let fit = TopicModel::new(3).epochs(3).solver(clipped).quiet().fit(&counts)?;
    /// assert!(fit.epochs()[0].grad_norm.is_some_and(|norm| norm > 10.0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// A pass over F's gradient in each step.
    #[doc(alias = "gradient_clipping")]
    pub fn clip_grad_norm(&self, norm: f64) -> Self {
        self.with(|parameters| parameters.clip_grad_norm = norm)
    }
}

impl MiniBatch {
    /// Checks every rule of the parameters; the first broken one is the error.
    pub(super) fn check(&self) -> Result<()> {
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
        if self.step.has_rates() && self.gpu_precision != Precision::F32 {
            return refused(
                format!("{}", self.gpu_precision),
                "only the fused kernels read narrower tables: use Precision::F32",
            );
        }
        Ok(())
    }
}
