//! The position of a fit: epochs and batches done.

use serde::{Deserialize, Serialize};

/// A position between two batches. Stored in checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Position {
    /// Finished epochs.
    pub(crate) epoch: usize,
    /// Finished batches of the current epoch.
    pub(crate) batches: usize,
    /// Sum of the losses of those batches, as far as they have been downloaded from the device.
    #[serde(with = "crate::system::serde_f64")]
    pub(crate) loss: f64,
    /// Sum of the norms of their gradients, where gradients are clipped.
    #[serde(with = "crate::system::serde_f64", default)]
    pub(crate) grad_norms: f64,
    /// Seconds of wall time that earlier processes spent on those batches.
    #[serde(with = "crate::system::serde_f64")]
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

    /// Adds losses and norms of gradients one by one, in order, so that a resumed fit gets the same sums bit for bit.
    pub(crate) fn add(&mut self, losses: &[f64], grad_norms: &[f64]) {
        let add = |sum, values: &[f64]| values.iter().fold(sum, |sum, value| sum + value);
        self.loss = add(self.loss, losses);
        self.grad_norms = add(self.grad_norms, grad_norms);
    }

    /// Epochs done, including the finished part of the current one.
    pub(crate) fn done(&self, batches: usize) -> f64 {
        self.epoch as f64 + self.batches as f64 / batches as f64
    }
}
