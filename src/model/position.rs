//! How far a fit has come.

use serde::{Deserialize, Serialize};

/// A place between two batches.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Position {
    /// Finished epochs.
    pub(crate) epoch: usize,
    /// Finished batches of the epoch after them.
    pub(crate) batches: usize,
    /// Summed loss of those batches, as far as it was read from the device.
    #[serde(with = "crate::exact")]
    pub(crate) loss: f64,
    /// Wall time that earlier processes spent on those batches.
    #[serde(with = "crate::exact")]
    pub(crate) seconds: f64,
}

impl Position {
    /// The start of an epoch, counted from 0.
    pub(crate) fn start_of(epoch: usize) -> Self {
        Self {
            epoch,
            ..Self::default()
        }
    }

    /// One by one and in order, so that a sum that was saved halfway ends in the same bits.
    pub(crate) fn add(&mut self, losses: &[f64]) {
        self.loss = losses.iter().fold(self.loss, |sum, loss| sum + loss);
    }

    /// Epochs done, with the part of the one at hand.
    pub(crate) fn done(&self, batches: usize) -> f64 {
        time(self.epoch, self.batches, batches)
    }

    /// The time of the step before this place, in epochs; 0 before the first.
    pub(crate) fn last_step(&self, batches: usize) -> f64 {
        match (self.epoch, self.batches) {
            (0, 0) => 0.0,
            (epoch, 0) => time(epoch - 1, batches - 1, batches),
            (epoch, done) => time(epoch, done - 1, batches),
        }
    }
}

fn time(epoch: usize, batch: usize, batches: usize) -> f64 {
    epoch as f64 + batch as f64 / batches as f64
}
