//! The settings of a topic model.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::batches::Reading;
use crate::config::{Budget, Cluster, Device, Solver};
use crate::data::{Epoch, OrRef, Terms};

use super::TopicModel;

impl TopicModel {
    /// Passes over the documents; 200 by default, at least 1. Solvers that converge stop earlier.
    ///
    /// ```
    /// let model = topicbook::TopicModel::new(10).epochs(50);
    /// assert_eq!(model.settings().epochs, 50);
    /// ```
    #[doc(alias("num_epochs", "max_iter"))]
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
    /// # let _folder = topicbook::example_folder()?;
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
    /// The parameters of gradient steps are set on [`Solver::mini_batch`]; two that everybody uses have short-cuts here,
    /// [`batch_size`](Self::batch_size) and [`tolerance`](Self::tolerance), which hold before and after `solver`. A solver with
    /// another batch size than the default replaces one that was set before.
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let model = TopicModel::new(10).batch_size(64).solver(Solver::mini_batch().max_lr(0.1));
    /// assert!(matches!(model.settings().solver, Solver::MiniBatch(p) if p.batch_size == 64 && p.max_lr == 0.1));
    /// let model = TopicModel::new(10).solver(Solver::auto()).tolerance(1e-6);
    /// assert!(matches!(model.settings().solver, Solver::Auto(p) if p.tolerance == 1e-6));
    /// ```
    pub fn solver(&self, solver: impl Into<Solver>) -> Self {
        self.with(|recipe| recipe.set_solver(solver.into()))
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
        self.with(|recipe| recipe.set_tolerance(tolerance))
    }

    /// Documents in a minibatch of gradient steps; 16 by default, at least 1. Larger batches use a GPU better.
    ///
    /// The learning rates that go with them depend on the steps of an epoch, documents / batch size. With 64 steps or
    /// more the default rates hold, whatever the batch. With fewer, multiply [`max_lr`](crate::MiniBatch::max_lr) and
    /// [`base_lr`](crate::MiniBatch::base_lr) by √(64 / steps), at most by 8: a row of L is in one batch of an epoch, and AdamW moves
    /// it by about the rate times √steps for that. [`Optimizer::RowwiseAdamW`](crate::Optimizer::RowwiseAdamW) takes the same factors, and its scores are
    /// -24,884,400 at batch 64, -24,877,800 at 256, -24,908,000 at 1,024 and -24,917,800 for all documents at once, beside those
    /// of AdamW in this table. [`t_0`](crate::MiniBatch::t_0) may stay. On 2,483 NIPS papers, k = 10, 200 epochs:
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
    /// 1,024 than at 16 (0.11 and 0.06, in total variation), and as near after 120 (`benches/records/batches.md`).
    ///
    /// ```
    /// use topicbook::{Solver, TopicModel};
    /// let settings = TopicModel::new(10).batch_size(256).settings();
    /// assert!(matches!(settings.solver, Solver::MiniBatch(p) if p.batch_size == 256));
    /// ```
    pub fn batch_size(&self, documents: usize) -> Self {
        self.with(|recipe| recipe.set_batch_size(documents))
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
    #[doc(alias("topic_word_prior", "eta", "pseudo_count"))]
    pub fn smoothing(&self, tokens: f64) -> Self {
        self.with(|recipe| recipe.settings.smoothing = tokens)
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
    /// # let _folder = topicbook::example_folder()?;
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
    #[doc(alias("distributed", "MPI"))]
    pub fn cluster(&self, cluster: impl OrRef<Cluster>) -> Self {
        self.with(|recipe| recipe.cluster = Some(cluster.value().clone()))
    }
}
