//! The settings of a [`Trainer`].

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::CountBatch;
use crate::OrRef;
use crate::batches::Batches;
use crate::burn::backend::Flex;
use crate::burn::lr_scheduler::LrScheduler;
use crate::burn::module::AutodiffModule;
use crate::burn::tensor::Tensor;
use crate::config::OnEpoch;
use crate::data::{Budget, Epoch, With};
use crate::module::{Checkpointing, Cpu, LossScale, Measure, ModuleOptimizer};

use super::Trainer;

/// Settings; those that are not set have the defaults of the text.
impl<M> Trainer<M> {
    /// Passes over the rows; 10 by default.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.epochs(3).fit(&batches, example_loss)?;
    /// assert_eq!(trained.epochs().len(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn epochs(&self, epochs: usize) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.epochs = epochs)
    }

    /// The seed of the random numbers that the module draws in training; 0 by default. The order of the rows has the seed of the
    /// [`Batches`]. The values that a module begins with are drawn where it is made, after `Cpu::seed(&Default::default(), 1)` of
    /// Burn's trait `Backend` always the same.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// assert!(trainer.seed(7).to_string().contains("seed 7"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "manual_seed")]
    pub fn seed(&self, seed: u64) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.seed = seed)
    }

    /// The optimizer: the configuration of one of Burn's, or a [`ModuleOptimizer`] of one's own; AdamW by default.
    ///
    /// ```
    /// # use topicbook::{Cpu, Trainer, burn::nn::LinearConfig};
    /// # let layer = LinearConfig::new(2, 2).init::<Cpu>(&Default::default());
    /// use topicbook::burn::optim::SgdConfig;
    /// let trainer = Trainer::new(layer).optimizer(SgdConfig::new());
    /// assert!(trainer.to_string().contains("Sgd"));
    /// ```
    pub fn optimizer(&self, optimizer: impl Into<ModuleOptimizer>) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.optimizer = optimizer.into())
    }

    /// The learning rate of all steps; 0.001 by default.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.learning_rate(0.1).fit(&batches, example_loss)?;
    /// assert_eq!(trained.epochs()[0].learning_rate, 0.1);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "lr")]
    pub fn learning_rate(&self, rate: f64) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| {
            (trainer.settings.learning_rate, trainer.settings.schedule) = (rate, None);
        })
    }

    /// A schedule of Burn's, which gives each step its learning rate.
    ///
    /// ```
    /// # use topicbook::{Cpu, Trainer, burn::nn::LinearConfig};
    /// # let layer = LinearConfig::new(2, 2).init::<Cpu>(&Default::default());
    /// use topicbook::burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
    /// let cosine = CosineAnnealingLrSchedulerConfig::new(0.01, 100).init().unwrap();
    /// let trainer = Trainer::new(layer).lr_scheduler(cosine);
    /// assert!(trainer.to_string().contains("by a schedule"));
    /// ```
    pub fn lr_scheduler<S>(&self, scheduler: S) -> Self
    where
        M: Clone,
        S: LrScheduler + 'static,
    {
        let start = move || -> Box<dyn FnMut() -> f64 + Send> {
            let mut scheduler = scheduler.clone();
            Box::new(move || scheduler.step())
        };
        self.with(|trainer| trainer.settings.schedule = Some(Arc::new(start)))
    }

    /// Cuts each batch into micro-batches of at most this number of rows, whose gradients are accumulated: the same step, up to
    /// rounding, with the activations of a micro-batch. By default the whole batch, or what the [`budget`](Self::budget) allows.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let whole = trainer.fit(&batches, example_loss)?.loss();
    /// let parts = trainer.micro_batch(2).fit(&batches, example_loss)?.loss();
    /// assert!((parts - whole).abs() < 1e-5);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "gradient_accumulation")]
    pub fn micro_batch(&self, rows: usize) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.micro_batch = Some(rows))
    }

    /// Scales all gradients of a step so that their common norm is at most this number, as `clip_grad_norm_` of PyTorch; by
    /// default they stay as they are. [`Epoch::grad_norm`] has the mean norm before.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.clip_grad_norm(0.1).fit(&batches, example_loss)?;
    /// assert!(trained.epochs()[0].grad_norm > Some(0.1)); // the norm before clipping
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn clip_grad_norm(&self, norm: f64) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.clipping.norm = Some(norm))
    }

    /// Bounds every gradient by this number and its negative, as `clip_grad_value_` of PyTorch; by default they stay as they are.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.clip_grad_value(0.01).fit(&batches, example_loss)?;
    /// assert!(trained.loss().is_finite());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn clip_grad_value(&self, value: f64) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.clipping.value = Some(value))
    }

    /// By what losses are multiplied before their gradients are computed; nothing by default.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let scaled = trainer.loss_scale(LossScale::Static(1024.0)).fit(&batches, example_loss)?;
    /// assert_eq!(scaled.loss(), trainer.fit(&batches, example_loss)?.loss()); // a power of two rounds nothing
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn loss_scale(&self, scale: LossScale) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.loss_scale = scale)
    }

    /// Which calls of [`checkpointed`](crate::checkpointed) in the loss compute their activations again; none by default.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trainer = trainer.checkpointing(Checkpointing::only(["block 1"]));
    /// assert!(trainer.to_string().contains("block 1"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "gradient_checkpointing")]
    pub fn checkpointing(&self, checkpointing: Checkpointing) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.checkpointing = checkpointing)
    }

    /// The RAM that the process may use. Before it trains, the trainer measures what a few rows take, and cuts the batches into
    /// micro-batches that fit; where a step takes more, it halves them, and says so. Without one, batches are not cut.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.budget(Budget::new().ram("16 GiB")?).fit(&batches, example_loss)?;
    /// assert!(trained.notes().is_empty()); // no batch was cut
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn budget(&self, budget: Budget) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.budget = budget)
    }

    /// Measures after each epoch what `loss` is on these batches, of the module without gradients and with dropout off: a
    /// [mean over rows](Epoch::validation_loss). The function that is trained with serves, where it is generic in its backend.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let (train, valid) = batches.split(0.75, 1)?;
    /// let trained = trainer.validation(&valid, example_loss).fit(&train, example_loss)?;
    /// assert!(trained.validation_loss().is_some());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn validation<V>(&self, batches: impl OrRef<Batches>, loss: V) -> Self
    where
        M: AutodiffModule<Cpu>,
        M::InnerModule: 'static,
        V: Fn(&M::InnerModule, &CountBatch) -> Tensor<Flex, 1> + Send + Sync + 'static,
    {
        let (batches, loss) = (batches.value().clone(), Arc::new(loss));
        let validation = move |module: &M| -> Measure {
            let (module, loss) = (module.valid(), loss.clone());
            Box::new(move |batch| loss(&module, batch))
        };
        self.with(|trainer| trainer.validation = Some((batches, Arc::new(validation))))
    }

    /// Ends the training after this number of epochs without a lower [validation](Self::validation) loss. The result then is the
    /// module of the epoch with the lowest.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let (train, valid) = batches.split(0.75, 1)?;
    /// let trainer = trainer.epochs(500).validation(&valid, example_loss).patience(2);
    /// assert!(trainer.fit(&train, example_loss)?.epochs().len() < 500);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "early_stopping")]
    pub fn patience(&self, epochs: usize) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.patience = Some(epochs))
    }

    /// Writes a checkpoint to this file from time to time, in at most a fiftieth of the time, from which
    /// [`resume`](Self::resume) goes on.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// # let _folder = topicbook::example_folder()?;
    /// let trainer = trainer.checkpoint("layer.ckpt");
    /// trainer.epochs(2).fit(&batches, example_loss)?;
    /// assert_eq!(trainer.epochs(4).resume(&batches, example_loss)?.epochs().len(), 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn checkpoint(&self, path: impl Into<PathBuf>) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.checkpoint = Some(path.into()))
    }

    /// Calls a function after each epoch, which may end the training.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// use std::ops::ControlFlow;
    /// let trainer = trainer.on_epoch(|epoch| match epoch.loss < 0.1 {
    ///     true => ControlFlow::Break(()),
    ///     false => ControlFlow::Continue(()),
    /// });
    /// assert!(trainer.epochs(500).fit(&batches, example_loss)?.epochs().len() < 500);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn on_epoch<F>(&self, call: F) -> Self
    where
        M: Clone,
        F: Fn(&Epoch) -> ControlFlow<()> + Send + Sync + 'static,
    {
        self.with(|trainer| trainer.settings.on_epoch = Some(OnEpoch::new(call)))
    }

    /// Prints no progress.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// trainer.quiet().fit(&batches, example_loss)?; // no line below the cell
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn quiet(&self) -> Self
    where
        M: Clone,
    {
        self.with(|trainer| trainer.settings.quiet = true)
    }
}
