//! Training a Burn module of one's own with the loop, the monitor and the checkpoints that fits have.

mod estimate;
mod example;
mod learner;
mod micro_rows;
mod record;
mod resume;
mod run;
mod setters;
mod settings;
mod trained;

use std::fmt;

use crate::CountBatch;
use crate::OrRef;
use crate::batches::Batches;
use crate::burn::module::AutodiffModule;
use crate::burn::tensor::Tensor;
use crate::error::Result;
use crate::module::{Cpu, OwnNetwork, Validation, initialize};
use crate::training::{Observer, Training};

pub use estimate::TrainingEstimate;
pub use example::{example_loss, example_trainer};
pub use trained::Trained;

use run::{Data, Start};
use settings::TrainerSettings;

/// Trains a [Burn](crate::burn) module of one's own on batches of rows, by a loss that is a function of module and batch: with
/// the loop, progress lines, stop button, memory monitor and checkpoints of [`TopicModel`](crate::TopicModel).
///
/// The three things that people do with it:
///
/// ```
/// use topicbook::burn::{self, module::Module};
/// use topicbook::burn::nn::{Linear, LinearConfig, loss::CrossEntropyLossConfig};
/// use topicbook::burn::tensor::{Int, Tensor, backend::Backend};
/// use topicbook::{CountBatch, Counts, Cpu, Trainer};
///
/// // A classifier of documents: counts in, a class out.
/// #[derive(Module, Debug)]
/// struct Net<B: Backend> {
///     layer: Linear<B>,
/// }
///
/// fn loss<B: Backend>(net: &Net<B>, batch: &CountBatch) -> Tensor<B, 1> {
///     let device = Default::default();
///     let scores = net.layer.forward(batch.rows().to_tensor::<B>(&device));
///     let classes = Tensor::<B, 1, Int>::from_data(&*batch.labels(), &device);
///     CrossEntropyLossConfig::new().init(&device).forward(scores, classes)
/// }
///
/// let counts = Counts::dense(4, 2, vec![3u32, 0, 0, 2, 5, 1, 0, 4])?;
/// let batches = counts.batches(2)?.labels(["sport", "art", "sport", "art"])?;
/// let net = Net::<Cpu> { layer: LinearConfig::new(2, 2).init(&Default::default()) };
///
/// // 1. Train it.
/// let trained = Trainer::new(net).epochs(50).learning_rate(0.1).quiet().fit(&batches, loss)?;
/// assert!(trained.loss() < 0.5);
/// // 2. Look at it: the losses, the memory of each part.
/// assert_eq!(trained.epochs().len(), 50);
/// println!("{}", trained.memory_by_module());
/// // 3. Use it: measure it on batches, and give it new counts, both without gradients.
/// fn accuracy<B: Backend>(net: &Net<B>, batch: &CountBatch) -> Tensor<B, 1> {
///     let device = Default::default();
///     let classes = Tensor::<B, 1, Int>::from_data(&*batch.labels(), &device);
///     let scores = net.layer.forward(batch.rows().to_tensor::<B>(&device));
///     scores.argmax(1).flatten::<1>(0, 1).equal(classes).float().mean()
/// }
/// assert!(trained.measure(&batches, accuracy)? > 0.9);
/// let new = Counts::dense(2, 2, vec![4u32, 0, 1, 6])?.batches(64)?;
/// let scores = trained.predict(&new, |net, batch| net.layer.forward(batch.rows().to_tensor(&Default::default())))?;
/// let best = |row: &[f32]| if row[0] > row[1] { 0 } else { 1 };
/// assert_eq!(batches.classes()[best(scores.row(0))], "sport");
/// assert_eq!(batches.classes()[best(scores.row(1))], "art");
/// # Ok::<(), topicbook::Error>(())
/// ```
///
/// The loss is a mean over the rows of its batch. Then a batch may be cut into [micro-batches](Self::micro_batch), whose gradients
/// add up to the same step. Random numbers, as dropout draws them, start from the [`seed`](Self::seed) in each step, so a
/// training that resumes has the same bits. They belong to the process: two trainings at once share them.
///
/// Every setter returns a new trainer, and leaves this one as it is.
#[must_use = "a trainer does nothing until `fit` or `spawn`"]
pub struct Trainer<M> {
    module: M,
    settings: TrainerSettings,
    validation: Option<(Batches, Validation<M>)>,
}

impl<M: Clone> Clone for Trainer<M> {
    fn clone(&self) -> Self {
        let validation = self.validation.as_ref();
        Self {
            module: self.module.clone(),
            settings: self.settings.copy(),
            validation: validation.map(|(batches, loss)| (batches.clone(), loss.clone())),
        }
    }
}

// Bounds stand at the methods: rust-analyzer, which sees no derived traits, then still finds the methods in a notebook.
impl<M> Trainer<M> {
    /// A trainer of this module: AdamW with a learning rate of 0.001, 10 epochs.
    ///
    /// ```
    /// use topicbook::burn::nn::LinearConfig;
    /// use topicbook::{Cpu, Trainer};
    /// let layer = LinearConfig::new(2, 2).init::<Cpu>(&Default::default());
    /// let trainer = Trainer::new(layer).epochs(3);
    /// assert!(trainer.to_string().contains("3 epochs"));
    /// ```
    pub fn new(module: M) -> Self
    where
        M: AutodiffModule<Cpu>,
    {
        initialize(&module);
        Self {
            module,
            settings: TrainerSettings::default(),
            validation: None,
        }
    }

    /// Trains a copy of the module on these batches; [`Trainer`] has an example. In notebooks the stop button ends it early, and
    /// the result holds what has been learned.
    ///
    /// # Errors
    /// When a setting is out of its range; when the module has no parameters; when a loss is not one finite number, or a gradient
    /// is not finite, with the step and the parameters; when not even one row fits the [`budget`](Self::budget); when a file of
    /// the batches was changed.
    pub fn fit<L>(&self, batches: impl OrRef<Batches>, loss: L) -> Result<Trained<M>>
    where
        M: AutodiffModule<Cpu> + 'static,
        L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send,
    {
        self.train(batches.value(), loss, Start::New, None)
    }

    /// Goes on from the [`checkpoint`](Self::checkpoint) of a training that was interrupted, with the same module, batches and
    /// settings: the result has the same bits as without the interruption. More epochs train a finished one further.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// # let _folder = topicbook::example_folder()?;
    /// let trainer = trainer.checkpoint("layer.ckpt");
    /// trainer.epochs(2).fit(&batches, example_loss)?;
    /// let resumed = trainer.epochs(5).resume(&batches, example_loss)?;
    /// assert_eq!(resumed.loss(), trainer.epochs(5).fit(&batches, example_loss)?.loss());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit); when there is no checkpoint, or one of another module, with the parameter that differs.
    pub fn resume<L>(&self, batches: impl OrRef<Batches>, loss: L) -> Result<Trained<M>>
    where
        M: AutodiffModule<Cpu> + 'static,
        L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send,
    {
        self.train(batches.value(), loss, Start::Resume, None)
    }

    /// Does what [`fit`](Self::fit) does on a thread of its own: the handle shows how far it is, and stops it.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let training = trainer.spawn(&batches, example_loss)?;
    /// assert_eq!(training.join()?.epochs().len(), 10);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When no thread can be started; [`Training::join`] returns the errors of [`fit`](Self::fit).
    pub fn spawn<L>(&self, batches: impl OrRef<Batches>, loss: L) -> Result<Training<Trained<M>>>
    where
        M: AutodiffModule<Cpu> + 'static,
        L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send + 'static,
    {
        let (trainer, batches) = (self.quiet(), batches.value().clone());
        Training::start(Vec::new(), move |observer| {
            trainer.train(&batches, loss, Start::New, Some(observer))
        })
    }

    /// What a training would take of memory, without training: the parameters and what belongs to them by their number, and the
    /// activations from the loss of two small batches.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let estimate = trainer.estimate(&batches, example_loss)?;
    /// assert_eq!(estimate.parameters(), 4 * 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit).
    #[doc(alias = "estimate_activation_memory")]
    pub fn estimate<L>(&self, batches: impl OrRef<Batches>, loss: L) -> Result<TrainingEstimate>
    where
        M: AutodiffModule<Cpu> + 'static,
        L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send,
    {
        let mut network = self.network(loss);
        estimate::estimate(&self.settings, &mut network, batches.value())
    }

    fn network<L>(&self, loss: L) -> OwnNetwork<M, L>
    where
        M: AutodiffModule<Cpu> + 'static,
        L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send,
    {
        let validation = self.validation.as_ref().map(|(_, loss)| loss.clone());
        OwnNetwork::new(self.module.clone(), loss, validation)
    }

    fn train<L>(
        &self,
        batches: &Batches,
        loss: L,
        start: Start,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Trained<M>>
    where
        M: AutodiffModule<Cpu> + 'static,
        L: Fn(&M, &CountBatch) -> Tensor<Cpu, 1> + Send,
    {
        let mut network = self.network(loss);
        let data = Data {
            batches,
            validation: self.validation.as_ref().map(|(batches, _)| batches),
        };
        let record = run::train(&self.settings, &mut network, data, start, observer)?;
        Ok(Trained::new(network.into_module(), record))
    }
}

impl<M> Trainer<M> {
    pub(crate) fn settings_text(&self) -> String {
        self.settings.to_string()
    }
}

/// Writes the settings.
impl<M> fmt::Display for Trainer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trainer: {}", self.settings)
    }
}

impl<M> fmt::Debug for Trainer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
