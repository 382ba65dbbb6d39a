//! The epochs of a fit, kept.

use serde::{Deserialize, Serialize};

use super::observer::{EpochReport, Observer};
use crate::memory::process_memory;

/// One epoch of a fit's history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Epoch {
    pub(crate) epoch: usize,
    pub(crate) loss: f64,
    pub(crate) log_likelihood_per_token: f64,
    pub(crate) learning_rate: f64,
    pub(crate) seconds: f64,
    /// Anonymous memory of the process after the epoch, in bytes.
    pub(crate) memory: u64,
}

/// Collects the history.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) epochs: Vec<Epoch>,
}

impl Observer for Recorder {
    fn epoch_finished(&mut self, report: &EpochReport) {
        self.epochs.push(Epoch {
            epoch: report.epoch,
            loss: report.loss,
            log_likelihood_per_token: report.log_likelihood_per_token,
            learning_rate: report.learning_rate,
            seconds: report.seconds,
            memory: process_memory().anonymous,
        });
    }
}
