//! The epochs of a fit, kept.

use serde::{Deserialize, Serialize};

use super::observer::{EpochReport, Observer};
use crate::charts::Chart;

/// One epoch of a fit's history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Epoch {
    pub(crate) epoch: usize,
    #[serde(with = "crate::exact")]
    pub(crate) loss: f64,
    #[serde(with = "crate::exact")]
    pub(crate) log_likelihood_per_token: f64,
    #[serde(with = "crate::exact")]
    pub(crate) learning_rate: f64,
    #[serde(with = "crate::exact")]
    pub(crate) seconds: f64,
    /// Anonymous memory of the process after the epoch, in bytes.
    pub(crate) memory: u64,
}

impl From<&EpochReport> for Epoch {
    fn from(report: &EpochReport) -> Self {
        Self {
            epoch: report.epoch,
            loss: report.loss,
            log_likelihood_per_token: report.log_likelihood_per_token,
            learning_rate: report.learning_rate,
            seconds: report.seconds,
            memory: report.memory,
        }
    }
}

/// Collects the history.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) epochs: Vec<Epoch>,
}

impl Observer for Recorder {
    fn epoch_finished(&mut self, report: &EpochReport) {
        self.epochs.push(report.into());
    }
}

/// The loss and the log-likelihood per token over the epochs.
pub(crate) fn loss_chart(history: &[Epoch]) -> Chart {
    let of = |value: fn(&Epoch) -> f64| -> Vec<f64> { history.iter().map(value).collect() };
    Chart::loss(
        &of(|epoch| epoch.loss),
        &of(|epoch| epoch.log_likelihood_per_token),
    )
}
