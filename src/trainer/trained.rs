//! The result of a training.

use std::fmt;
use std::sync::Arc;

use crate::CountBatch;
use crate::batches::Batches;
use crate::burn::backend::Flex;
use crate::burn::module::AutodiffModule;
use crate::burn::tensor::Tensor;
use crate::charts::Chart;
use crate::data::{Epoch, Matrix, OrRef, Table};
use crate::error::Result;
use crate::fit::loss_chart;
use crate::module::{Cpu, Measure};
use crate::text::Card;

use super::learner::{mean_over_rows, predict_rows};
use super::record::Record;

/// A trained module, and what its training has seen: losses, memory and time. [`Trainer::fit`](crate::Trainer::fit) returns it;
/// [`Trainer`](crate::Trainer) has an example. Cheap to clone.
#[derive(Clone)]
pub struct Trained<M> {
    module: M,
    record: Arc<Record>,
}

impl<M> Trained<M> {
    pub(super) fn new(module: M, record: Record) -> Self {
        Self {
            module,
            record: Arc::new(record),
        }
    }

    /// The module as it was trained; a copy shares its parameters. `trained.module().valid()` is the module without gradients and
    /// with dropout off.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// let layer = trained.module();
    /// assert_eq!(layer.weight.dims(), [2, 1]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn module(&self) -> M
    where
        M: Clone,
    {
        self.module.clone()
    }

    /// What a function measures of the module without gradients and with dropout off: the mean over the rows of these batches.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// let error = trained.measure(&batches, example_loss)?;
    /// assert!(error < trained.epochs()[0].loss);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it has not one number for a batch, or a file of the batches cannot be read.
    #[doc(alias = "evaluate")]
    pub fn measure<V>(&self, batches: impl OrRef<Batches>, measure: V) -> Result<f64>
    where
        M: AutodiffModule<Cpu>,
        M::InnerModule: 'static,
        V: Fn(&M::InnerModule, &CountBatch) -> Tensor<Flex, 1> + 'static,
    {
        let module = self.module.valid();
        let measure: Measure = Box::new(move |batch: &CountBatch| measure(&module, batch));
        mean_over_rows(batches.value(), &measure)
    }

    /// What a function computes of each row, such as its score for each class, without gradients and with dropout off: a matrix
    /// with a row for each row of these batches, in their own order.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// let outputs = trained.predict(&batches, |net, batch| net.forward(batch.rows().to_tensor(&Default::default())))?;
    /// assert_eq!(outputs.shape(), (batches.rows(), 1));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it has another number of rows than a batch, or a file of the batches cannot be read.
    pub fn predict<V>(&self, batches: impl OrRef<Batches>, outputs: V) -> Result<Matrix>
    where
        M: AutodiffModule<Cpu>,
        V: Fn(&M::InnerModule, &CountBatch) -> Tensor<Flex, 2>,
    {
        let module = self.module.valid();
        predict_rows(batches.value(), &mut |batch| outputs(&module, batch))
    }

    /// The finished epochs, in order.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// assert!(trained.epochs()[9].loss < trained.epochs()[0].loss);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "history")]
    pub fn epochs(&self) -> Vec<Epoch> {
        self.record.history.clone()
    }

    /// The mean over rows of the loss in the last epoch, while the module changed; NaN without an epoch.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// assert_eq!(trained.loss(), trained.epochs()[9].loss);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn loss(&self) -> f64 {
        self.record
            .history
            .last()
            .map_or(f64::NAN, |epoch| epoch.loss)
    }

    /// What the validation measured of the module that this is: after the last epoch, or after the best with
    /// [`patience`](crate::Trainer::patience). `None` without a validation.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.validation(&batches, example_loss).fit(&batches, example_loss)?;
    /// assert_eq!(trained.validation_loss(), trained.epochs()[9].validation_loss);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn validation_loss(&self) -> Option<f64> {
        self.record.validation_loss()
    }

    /// The epochs as a table: `epoch`, `loss`, `validation` (missing without one), `learning_rate`, `grad_norm`, `seconds`.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// assert_eq!(trained.table().numbers("loss")?[9], trained.loss());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        self.record.table()
    }

    /// Plots the loss of each epoch, and what the validation measured.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// trained.plot_loss()
    /// # ;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn plot_loss(&self) -> Chart {
        loss_chart(&self.record.history)
    }

    /// Plots the memory of the process while it trained, with the epochs and the parts of the first steps.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// trained.plot_memory()
    /// # ;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn plot_memory(&self) -> Chart {
        self.record.memory.chart()
    }

    /// What a step takes of memory, as malloc counts it, in MiB: parameters, gradients, the optimizer's state, the activations of
    /// a micro-batch, and the peak of forward and backward pass above what was there before the step.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// assert_eq!(trained.memory_by_part().texts("part")?[0], "parameters");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn memory_by_part(&self) -> Table {
        self.record.memory_by_part()
    }

    /// Memory by part of the module: `module`, number of `parameters`, and in MiB `parameters_mib`, `gradients_mib`, `state_mib`
    /// and `activations_mib` (missing without a call of [`checkpointed`](crate::checkpointed) of that name); `again`: whether the
    /// call is computed again, so that only its input was kept.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// assert_eq!(trained.memory_by_module().numbers("parameters")?.iter().sum::<f64>(), 3.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn memory_by_module(&self) -> Table {
        self.record.memory_by_module()
    }

    /// Seconds of all epochs by part: reading batches, forward pass, backward pass, update, validation.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// assert_eq!(trained.times().texts("part")?[1], "forward");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "profile")]
    pub fn times(&self) -> Table {
        self.record.times_table()
    }

    /// Bytes by which forward and backward pass of a step rose above what was there before it; the median of the first steps.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// println!("{} bytes", trained.peak_of_a_step());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn peak_of_a_step(&self) -> u64 {
        self.record.step.peak
    }

    /// Bytes that a micro-batch kept between forward and backward pass; the median of the first steps.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// println!("{} bytes", trained.activations());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn activations(&self) -> u64 {
        self.record.step.activations
    }

    /// Steps that were skipped, because under a [`loss_scale`](crate::Trainer::loss_scale) their gradients were not finite.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let scale = LossScale::Dynamic { start: 1e38, growth_interval: 1000 };
    /// let trained = trainer.loss_scale(scale).fit(&batches, example_loss)?;
    /// assert!(trained.skipped_steps() > 0); // the first scales were too large
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn skipped_steps(&self) -> usize {
        self.record.skipped
    }

    /// What a reader should know: micro-batches by the budget, a lost checkpoint.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let trained = trainer.fit(&batches, example_loss)?;
    /// assert!(trained.notes().is_empty());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn notes(&self) -> Vec<String> {
        self.record.notes.clone()
    }

    pub(crate) fn card(&self) -> Card {
        self.record.card()
    }
}

/// Writes losses, memory and time.
impl<M> fmt::Display for Trained<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.record.card().text().trim_end())
    }
}

impl<M> fmt::Debug for Trained<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trained")
            .field("settings", &self.record.settings)
            .field("epochs", &self.record.history.len())
            .finish_non_exhaustive()
    }
}
