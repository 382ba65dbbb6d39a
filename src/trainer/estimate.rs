//! What a training takes of memory, before it runs.

use std::fmt;

use crate::batches::Batches;
use crate::data::Table;
use crate::error::Result;
use crate::module::Network;
use crate::text::{bytes, count};

use super::micro_rows::{Slope, first_batch, parameter_bytes, slope};
use super::record::parts_table;
use super::settings::TrainerSettings;

/// Bytes that a training takes, by part: what [`Trainer::estimate`](crate::Trainer::estimate) returns.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingEstimate {
    parameters: u64,
    state: u64,
    slope: Slope,
    rows: usize,
}

impl TrainingEstimate {
    /// Bytes of the parameters; the gradients take as much.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let estimate = trainer.estimate(&batches, example_loss)?;
    /// assert_eq!(estimate.parameters(), 4 * 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Bytes of the optimizer's state.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let estimate = trainer.estimate(&batches, example_loss)?;
    /// println!("{} bytes", estimate.optimizer_state());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn optimizer_state(&self) -> u64 {
        self.state
    }

    /// Bytes of the activations of a micro-batch of this number of rows, with the checkpointing that the trainer has.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let estimate = trainer.estimate(&batches, example_loss)?;
    /// println!("{} bytes for 64 rows", estimate.activations(64));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn activations(&self, rows: usize) -> u64 {
        self.slope.of(rows)
    }

    /// All parts for whole batches, in MiB.
    ///
    /// ```
    /// # use topicbook::*;
    /// let (trainer, batches) = example_trainer()?;
    /// let estimate = trainer.estimate(&batches, example_loss)?;
    /// assert_eq!(estimate.table().texts("part")?[4], "all");
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn table(&self) -> Table {
        parts_table(&self.parts())
    }

    /// All parts with their sizes in words.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        self.parts()
            .map(|(name, size)| (name, bytes(size)))
            .to_vec()
    }

    fn parts(&self) -> [(&'static str, u64); 5] {
        let activations = self.slope.of(self.rows);
        let all = 2 * self.parameters + self.state + activations;
        [
            ("parameters", self.parameters),
            ("gradients", self.parameters),
            ("optimizer state", self.state),
            ("activations of a batch", activations),
            ("all", all),
        ]
    }
}

impl fmt::Display for TrainingEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts();
        let parts: Vec<String> = parts
            .iter()
            .map(|(name, size)| format!("{name} {}", bytes(*size)))
            .collect();
        write!(
            f,
            "{} for {} rows at once",
            parts.join(", "),
            count(self.rows as u64)
        )
    }
}

/// Measures parts of a batch, and takes one step for the optimizer's state, after which the parameters are as before.
pub(super) fn estimate(
    settings: &TrainerSettings,
    network: &mut dyn Network,
    batches: &Batches,
) -> Result<TrainingEstimate> {
    let mut stepper = settings.stepper(usize::MAX, Box::new(|_| {}));
    let batch = first_batch(batches)?;
    let slope = slope(&mut stepper, network, &batch, settings.seed)?;
    let before = network.parameters();
    let report = stepper.step(
        network,
        &batch.slice(0..1),
        settings.learning_rate,
        settings.seed,
    )?;
    let parameters = parameter_bytes(&before);
    let values = before
        .iter()
        .map(|parameter| (parameter.id, parameter.with(parameter.plain())));
    network.replace(values.collect());
    Ok(TrainingEstimate {
        parameters,
        state: report.memory.state,
        slope,
        rows: batch.documents().len(),
    })
}
