//! The settings of a topic model.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::batches::Reading;
use crate::config::{
    Budget, Cluster, Device, GradientStep, Optimizer, Precision, Solver, TableStorage,
};
use crate::data::{Epoch, OrRef, Terms};

use super::TopicModel;

impl TopicModel {
    /// Passes over the documents; 200 by default, at least 1. Solvers that converge stop earlier.
    ///
    /// ```
    /// let model = topicbook::TopicModel::new(10).epochs(50);
    /// assert_eq!(model.settings().epochs, 50);
    /// ```
    #[doc(alias = "num_epochs")]
    #[doc(alias = "max_iter")]
    pub fn epochs(&self, epochs: usize) -> Self {
        self.with(|recipe| recipe.settings.epochs = epochs)
    }

    /// The seed of the starting point and of the order of the batches; 0 by default, any `u64`. Only the lower 32 bits
    /// matter, as in PyTorch.
    ///
    /// On the CPU the same seed gives the same fit bit for bit, for any number of threads. Where the counts are read in
    /// place ([`Reading::InPlace`]), the fit starts where tinytopics with PyTorch on the CPU starts with this seed, and
    /// meets the same batches. A stream has an order of its own, so set [`reading`](Self::reading) where a fit must be
    /// repeated on a machine with other memory: [`Reading::Auto`] decides by what is free.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let f = |seed| TopicModel::new(3).epochs(2).seed(seed).quiet().fit(&counts).map(|fit| fit.f());
    /// assert!(f(42)? == f(42)? && f(42)? != f(43)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "random_state")]
    pub fn seed(&self, seed: u64) -> Self {
        self.with(|recipe| recipe.settings.seed = seed)
    }

    /// The device to train on; [`Device::Auto`] by default.
    ///
    /// ```
    /// use topicbook::{Device, TopicModel};
    /// assert_eq!(TopicModel::new(10).device(Device::Cpu).settings().device, Device::Cpu);
    /// ```
    pub fn device(&self, device: Device) -> Self {
        self.with(|recipe| recipe.settings.device = device)
    }

    /// How the fit reads its counts; [`Reading::Auto`] by default, and at least one document a block and one block of a
    /// [`Reading::Stream`]. The order of the batches, and so the fit, is a function of the seed and of the sizes of the
    /// stream, and of nothing else.
    ///
    /// ```
    /// use topicbook::{Reading, Synthetic, TopicModel};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let counts = Synthetic::new(60, 30, 3).seed(1).write_npy("X.npy")?.counts();
    /// let stream = Reading::Stream { block: 4, blocks: 8 };
    /// let fit = TopicModel::new(3).reading(stream).epochs(2).quiet().fit(&counts)?;
    /// assert_eq!(fit.settings().reading, stream);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn reading(&self, reading: Reading) -> Self {
        self.with(|recipe| recipe.settings.reading = reading)
    }

    /// How the model is fitted; [`Solver::mini_batch`] by default, as in tinytopics. [`Solver::auto`] reaches a better
    /// likelihood much sooner.
    ///
    /// Parameters of a solver are set after it: [`tolerance`](Self::tolerance) for those that converge, and for gradient
    /// steps [`batch_size`](Self::batch_size), [`base_lr`](Self::base_lr), [`max_lr`](Self::max_lr), [`t_0`](Self::t_0),
    /// [`t_mult`](Self::t_mult), [`weight_decay`](Self::weight_decay), [`optimizer`](Self::optimizer),
    /// [`table_storage`](Self::table_storage), [`precision`](Self::precision), [`step`](Self::step),
    /// [`micro_batch`](Self::micro_batch) and [`clip_grad_norm`](Self::clip_grad_norm). A parameter that the solver does not have
    /// is refused when the fit is planned.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).solver(Solver::auto()).tolerance(1e-6).settings();
    /// assert!(matches!(settings.solver, Solver::Auto(parameters) if parameters.tolerance == 1e-6));
    /// ```
    pub fn solver(&self, solver: impl OrRef<Solver>) -> Self {
        self.with(|recipe| recipe.set_solver(solver.value().clone()))
    }

    /// Gain of the log-likelihood, relative to its size, below which a solver that passes over all documents has
    /// converged; 1e-8 by default, 0 or more. With 0 it runs all epochs.
    ///
    /// It ends when an iteration has changed the log-likelihood by less than this part of it, and a step of
    /// expectation-maximisation would move no more than its square root (1e-4 by default) of all tokens to other topics.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).solver(Solver::em()).tolerance(1e-4).quiet().fit(&counts)?;
    /// assert!(fit.epochs().len() < 200);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "tol")]
    pub fn tolerance(&self, tolerance: f64) -> Self {
        self.with(|recipe| {
            recipe.set_full_pass("tolerance", |parameters| parameters.tolerance = tolerance)
        })
    }

    /// Documents in a minibatch of gradient steps; 16 by default, at least 1. Larger batches use a GPU better.
    ///
    /// The learning rates that go with them depend on the steps of an epoch, documents / batch size. With 64 steps or
    /// more the default rates hold, whatever the batch. With fewer, multiply [`max_lr`](Self::max_lr) and
    /// [`base_lr`](Self::base_lr) by √(64 / steps), at most by 8: a row of L is in one batch of an epoch, and AdamW moves
    /// it by about the rate times √steps for that. [`Optimizer::RowwiseAdamW`] takes the same factors, and its scores are
    /// -24,884,400 at batch 64, -24,877,800 at 256, -24,908,000 at 1,024 and -24,917,800 for all documents at once, beside those
    /// of AdamW in this table. [`t_0`](Self::t_0) may stay. On 2,483 NIPS papers, k = 10, 200 epochs:
    ///
    /// | batch size | steps | factor | max_lr, base_lr | score | with the default rates |
    /// |---|---|---|---|---|---|
    /// | 16 | 156 | 1 | 0.05, 0.01 | -24,877,000 | -24,877,000 |
    /// | 64 | 39 | 1.3 | 0.064, 0.013 | -24,884,300 | -24,893,500 |
    /// | 256 | 10 | 2.5 | 0.126, 0.025 | -24,878,500 | -24,895,500 |
    /// | 1,024 | 3 | 4.6 | 0.23, 0.046 | -24,892,300 | -24,963,600 |
    /// | 2,483 | 1 | 8 | 0.4, 0.08 | -24,923,700 | -25,107,600 |
    ///
    /// Scores ([`Fit::score`](crate::Fit::score), higher is better) are means of three seeds, which lie 7,000 to 41,000 apart. With few steps an
    /// epoch it takes more epochs to learn as much: with 600 of them, batch 1,024 reaches -24,878,700 and all documents at
    /// once -24,888,800. In drawn counts of 20,000 documents topics are further from the true ones after 40 epochs at batch
    /// 1,024 than at 16 (0.11 and 0.06, in total variation), and as near after 120 (`cargo xtask bench batches`).
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).batch_size(256).max_lr(0.126).base_lr(0.025).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.batch_size == 256));
    /// ```
    pub fn batch_size(&self, documents: usize) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("batch_size", |parameters| parameters.batch_size = documents)
        })
    }

    /// The learning rate at the end of every period; 0.01 by default, positive and at most [`max_lr`](Self::max_lr).
    /// AdamW moves a logit by about this much in a step. For large batches see [`batch_size`](Self::batch_size).
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).base_lr(0.005).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.base_lr == 0.005));
    /// ```
    pub fn base_lr(&self, rate: f64) -> Self {
        self.with(|recipe| recipe.set_mini_batch("base_lr", |parameters| parameters.base_lr = rate))
    }

    /// The learning rate at the start of every period; 0.05 by default, positive. For large batches see
    /// [`batch_size`](Self::batch_size).
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).max_lr(0.1).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.max_lr == 0.1));
    /// ```
    #[doc(alias = "learning_rate")]
    pub fn max_lr(&self, rate: f64) -> Self {
        self.with(|recipe| recipe.set_mini_batch("max_lr", |parameters| parameters.max_lr = rate))
    }

    /// Epochs in the first period of the learning rate (tinytopics' `T_0`); 20 by default, at least 1.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).t_0(40).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.t_0 == 40));
    /// ```
    pub fn t_0(&self, epochs: usize) -> Self {
        self.with(|recipe| recipe.set_mini_batch("t_0", |parameters| parameters.t_0 = epochs))
    }

    /// How many times longer each period of the learning rate is than the one before (tinytopics' `T_mult`); 1 by default,
    /// at least 1.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).t_0(10).t_mult(2).settings(); // restarts after 10, 30, 70 epochs
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.t_mult == 2));
    /// ```
    pub fn t_mult(&self, factor: usize) -> Self {
        self.with(|recipe| recipe.set_mini_batch("t_mult", |parameters| parameters.t_mult = factor))
    }

    /// AdamW's decoupled weight decay, and the L2 penalty of the other optimizers; 1e-5 by default, 0 or more.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).weight_decay(0.0).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.weight_decay == 0.0));
    /// ```
    pub fn weight_decay(&self, weight_decay: f64) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("weight_decay", |parameters| {
                parameters.weight_decay = weight_decay;
            })
        })
    }

    /// The update rule of gradient steps; [`Optimizer::AdamW`], as in tinytopics, by default. On a GPU
    /// [`Optimizer::RowwiseAdamW`] has L offloaded to RAM or a file; the other optimizers need [`Device::Cpu`], and are refused on a
    /// GPU.
    ///
    /// ```
    /// use topicbook::{Optimizer, Solver, TopicModel};
    /// let settings = TopicModel::new(10).optimizer(Optimizer::RowwiseAdamW).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.optimizer == Optimizer::RowwiseAdamW));
    /// ```
    pub fn optimizer(&self, optimizer: Optimizer) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("optimizer", |parameters| parameters.optimizer = optimizer)
        })
    }

    /// Where gradient steps store L's logits and their optimizer state, and where L itself is stored afterwards;
    /// [`TableStorage::Memory`] by default.
    ///
    /// ```
    /// use topicbook::{TableStorage, TopicModel};
    /// let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).epochs(2).quiet();
    /// let in_file = model.clone().table_storage(TableStorage::File(std::env::temp_dir()));
    /// assert_eq!(in_file.fit(&counts)?.l(), model.fit(&counts)?.l());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn table_storage(&self, storage: impl OrRef<TableStorage>) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("table_storage", |parameters| {
                parameters.table_storage = storage.value().clone()
            })
        })
    }

    /// The precision in which gradient steps store L's logits and their optimizer state, in RAM or in a file;
    /// [`Precision::F32`] by default.
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
    /// use topicbook::{Precision, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).epochs(50).quiet();
    /// let narrow = model.table_precision(Precision::Bf16).fit(&counts)?;
    /// let (narrow, wide) = (narrow.score(&counts)?, model.fit(&counts)?.score(&counts)?);
    /// assert!((narrow / wide - 1.0).abs() < 0.02);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "half")]
    #[doc(alias = "bfloat16")]
    #[doc(alias = "stochastic_rounding")]
    pub fn table_precision(&self, precision: Precision) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("table_precision", |parameters| {
                parameters.table_precision = precision
            })
        })
    }

    /// The precision in which a GPU reads the tables in gradient steps; [`Precision::F32`] by default. On the CPU
    /// everything is `f32`.
    ///
    /// ```
    /// use topicbook::{Precision, Solver, TopicModel};
    /// let settings = TopicModel::new(10).precision(Precision::Bf16).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.precision == Precision::Bf16));
    /// ```
    pub fn precision(&self, precision: Precision) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("precision", |parameters| parameters.precision = precision)
        })
    }

    /// How a gradient step computes the loss of its batch and the gradients; [`GradientStep::Fused`] by default. The others
    /// are Burn's tensors, for lessons and comparisons: [`GradientStep`] says what each keeps in memory.
    ///
    /// ```
    /// use topicbook::{GradientStep, Solver, TopicModel};
    /// let settings = TopicModel::new(10).step(GradientStep::Checkpointing).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.step == GradientStep::Checkpointing));
    /// ```
    pub fn step(&self, step: GradientStep) -> Self {
        self.with(|recipe| recipe.set_mini_batch("step", |parameters| parameters.step = step))
    }

    /// Additive (Lidstone) smoothing of the topics, in tokens; 0 by default, as in tinytopics. When the fit ends, this many
    /// tokens of every term are added to those of each topic: F becomes (n F + s) / (n + s x terms), with n the tokens that the
    /// documents have of the topic. The losses of the history are those before.
    ///
    /// By maximum likelihood a topic gives no probability to a term that none of its documents has. Smoothed
    /// topics give it some, for a program that takes F as it is. [`Fit::evaluate`](crate::Fit::evaluate) smooths F itself, so its
    /// scores gain only 0.0005 nats a token on the NIPS papers. Smoothing has no effect on which terms are the most probable.
    ///
    /// ```
    /// use topicbook::{Solver, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 40, 3).avg_doc_length(30).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).solver(Solver::coordinate_descent()).quiet();
    /// let smallest = |model: TopicModel| -> topicbook::Result<f32> {
    ///     Ok(model.fit(&counts)?.f().values().iter().copied().fold(1.0, f32::min))
    /// };
    /// assert!(smallest(model.clone())? < 1e-6);
    /// assert!(smallest(model.smoothing(0.1))? > 1e-4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over L and F.
    #[doc(alias = "topic_word_prior")]
    #[doc(alias = "eta")]
    #[doc(alias = "pseudo_count")]
    pub fn smoothing(&self, tokens: f64) -> Self {
        self.with(|recipe| recipe.settings.smoothing = tokens)
    }

    /// Documents whose gradients are computed at once, from 1 to the [`batch_size`](Self::batch_size); by default the whole
    /// batch, or as many as the [`budget`](Self::budget) allows. The gradients of a batch's parts are added up before the
    /// update (gradient accumulation), so the fit is the same up to rounding, with smaller buffers. A tight budget makes
    /// the parts smaller still.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).batch_size(16).epochs(3).quiet();
    /// let (whole, parts) = (model.fit(&counts)?, model.micro_batch(4).fit(&counts)?);
    /// assert!((whole.loss().unwrap() / parts.loss().unwrap() - 1.0).abs() < 1e-5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "gradient_accumulation")]
    #[doc(alias = "accumulation_steps")]
    pub fn micro_batch(&self, documents: usize) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("micro_batch", |parameters| {
                parameters.micro_batch = Some(documents);
            })
        })
    }

    /// The largest norm of a step's gradient, positive; no limit by default. A longer gradient, taken with respect to all
    /// logits of L and F together, is scaled down to it before the update, as PyTorch's `clip_grad_norm_` does.
    /// [`Epoch::grad_norm`] has the mean norm before clipping. Gradients are in tokens: a batch of 16 documents of 1,000
    /// tokens has norms in the hundreds. AdamW hardly needs it, as its steps do not depend on the size of gradients that
    /// keep their size; SGD does.
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(3).clip_grad_norm(10.0).quiet().fit(&counts)?;
    /// assert!(fit.epochs()[0].grad_norm.is_some_and(|norm| norm > 10.0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// A pass over F's gradient in each step.
    #[doc(alias = "gradient_clipping")]
    pub fn clip_grad_norm(&self, norm: f64) -> Self {
        self.with(|recipe| {
            recipe.set_mini_batch("clip_grad_norm", |parameters| {
                parameters.clip_grad_norm = norm;
            })
        })
    }

    /// How much memory the fit may use, in bytes; by default what is free, less a margin (see [`Budget`]).
    ///
    /// ```
    /// use topicbook::{Budget, ErrorKind, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let error = TopicModel::new(3).budget(Budget::new().ram("100 kB")?).fit(&counts).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Space);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn budget(&self, budget: impl OrRef<Budget>) -> Self {
        self.with(|recipe| recipe.budget = budget.value().clone())
    }

    /// The names of the terms, for tables and charts; one for every column of the counts. Without them, which is the
    /// default, tables and charts show the number of the column.
    ///
    /// ```
    /// use topicbook::{Counts, Terms, TopicModel};
    /// let counts = Counts::dense(2, 3, vec![3u8, 1, 0, 0, 1, 4])?;
    /// let terms = Terms::new(["apple", "pear", "plum"])?;
    /// let fit = TopicModel::new(2).terms(&terms).epochs(3).quiet().fit(&counts)?;
    /// assert_eq!(fit.term_names().as_ref().and_then(|names| names.get(2)), Some("plum"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn terms(&self, terms: impl OrRef<Terms>) -> Self {
        self.with(|recipe| recipe.terms = Some(terms.value().clone()))
    }

    /// Prints no progress lines. By default a fit prints about 20 of them where [`show_progress`](crate::show_progress)
    /// is on: in notebooks, and in programs that turn it on.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let fit = topicbook::TopicModel::new(3).epochs(2).quiet().fit(&counts)?;
    /// assert_eq!(fit.epochs().len(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "verbose")]
    pub fn quiet(&self) -> Self {
        self.with(|recipe| recipe.quiet = true)
    }

    /// Calls a function after every epoch, on the thread of the fit. [`ControlFlow::Break`] ends the fit there, with what it
    /// has learned. By default there is none; a second call replaces the first.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).epochs(100).quiet().on_epoch(|epoch| match epoch.epoch {
    ///     5 => ControlFlow::Break(()),
    ///     _ => ControlFlow::Continue(()),
    /// });
    /// assert_eq!(model.fit(&counts)?.epochs().len(), 5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "callback")]
    pub fn on_epoch(
        &self,
        observe: impl Fn(&Epoch) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.with(|recipe| recipe.set_on_epoch(observe))
    }

    /// Writes checkpoints to this file during the fit, for [`Checkpoint::open`](crate::Checkpoint::open) after an interrupt or a crash; none by
    /// default.
    ///
    /// The last two checkpoints are kept, the one before the newest as `path` with `.previous` after it; a new fit
    /// replaces those of an older one. [`Checkpoint::open`](crate::Checkpoint::open) says how large they are; gradient steps take as much memory
    /// while they write one. The next is written after 49 times as long as the last one took (and at least a second), so
    /// that they cost at most 2% of a long fit's time, and one more when the fit ends or is stopped.
    ///
    /// The fit begins only where a checkpoint can be written. A disk that is full later does not end it: one line says so
    /// where [`show_progress`](crate::show_progress) is on, with [`quiet`](Self::quiet) too, [`Fit::note`](crate::Fit::note) repeats it, and
    /// the checkpoint before is kept. Meanwhile the file is locked (`path` with `.lock` after it): another fit that writes
    /// its checkpoints there is an error. A process that is killed releases the lock.
    ///
    /// ```
    /// use topicbook::{Checkpoint, Synthetic, TopicModel};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(2).checkpoint("fit.ckpt").fit(&counts)?;
    /// // In another process, after a crash:
    /// assert_eq!(Checkpoint::open("fit.ckpt")?.fit(&counts)?.l(), fit.l());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn checkpoint(&self, path: impl Into<PathBuf>) -> Self {
        self.with(|recipe| recipe.checkpoint = Some(path.into()))
    }

    /// Fits by the ranks of this [`Cluster`], with the same bits for every number of ranks; `topicbook-worker` has to be built
    /// (`cargo xtask worker`).
    ///
    /// [`plan`](Self::plan) shows the memory of a rank, what the ranks exchange in a pass, and refuses what they cannot fit. The
    /// counts are in a file that every rank sees under the same path. L's rows stay where their documents are.
    ///
    /// | Solver | Ranks exchange F's sums | Compared with the fit in this process |
    /// |---|---|---|
    /// | [`Solver::em`](crate::Solver::em) | once a pass | the same bits as that of streamed counts |
    /// | [`Solver::coordinate_descent`](crate::Solver::coordinate_descent) | once a pass | the same bits as that of streamed counts |
    /// | [`Solver::mini_batch`](crate::Solver::mini_batch), with [`batch_size`](Self::batch_size) 1,000 or more | at each step | other batches: each has a share of every shard of the documents, so that a rank reads its own alone |
    ///
    /// A cluster keeps its own checkpoints: [`Cluster::retries`] starts a job again that has lost a rank.
    ///
    /// ```
    /// use topicbook::{Cluster, Solver, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let model = TopicModel::new(3).solver(Solver::em()).cluster(Cluster::local(2));
    /// // These are in memory alone.
    /// let error = model.plan(&counts).unwrap_err();
    /// assert!(error.to_string().contains("write_npz"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "distributed")]
    #[doc(alias = "MPI")]
    pub fn cluster(&self, cluster: impl OrRef<Cluster>) -> Self {
        self.with(|recipe| recipe.cluster = Some(cluster.value().clone()))
    }
}
