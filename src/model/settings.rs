//! The settings of a fit, their defaults and their rules.

use serde::{Deserialize, Serialize};

use crate::device::{Device, Resolved};
use crate::error::{Error, Result};
use crate::loader::Reading;
use crate::place::TablePlace;
use crate::solver::Solver;

use super::optimizer::Optimizer;
use super::precision::Precision;
use super::settings_card;

/// The settings of a fit; part of every saved model. The defaults are tinytopics'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of topics (k).
    pub topics: usize,
    /// Passes over the documents; 200.
    pub epochs: usize,
    /// Documents in a batch; 16.
    pub batch_size: usize,
    /// The learning rate at the end of a period; 0.01.
    #[serde(with = "crate::exact")]
    pub base_lr: f64,
    /// The learning rate at the start of a period; 0.05.
    #[serde(with = "crate::exact")]
    pub max_lr: f64,
    /// Epochs in the first period of the learning rate; 20.
    pub t_0: usize,
    /// How many times longer each period is than the one before; 1.
    pub t_mult: usize,
    /// AdamW's decoupled weight decay; 1e-5.
    #[serde(with = "crate::exact")]
    pub weight_decay: f64,
    /// How a step moves the tables; `Optimizer::AdamW`.
    #[serde(default)]
    pub optimizer: Optimizer,
    /// Where the table behind L lives during a fit; `TablePlace::Memory`.
    #[serde(default)]
    pub table_place: TablePlace,
    /// How a card reads the tables; `Precision::F32`.
    #[serde(default)]
    pub precision: Precision,
    /// The seed of the starting point and of the order of the batches; 0.
    pub seed: u64,
    /// Where to train; `Device::Auto`.
    pub device: Device,
    /// How the counts are read; `Reading::Auto`. In the settings of a fit, what was chosen.
    #[serde(default)]
    pub reading: Reading,
    /// How the model is fitted; `Solver::AdamW`.
    #[serde(default)]
    pub solver: Solver,
    /// Relative gain of the log-likelihood below which a solver other than AdamW ends; 1e-8.
    #[serde(default = "tolerance", with = "crate::exact")]
    pub tolerance: f64,
}

fn tolerance() -> f64 {
    1e-8
}

impl Settings {
    /// The defaults for `k` topics: the one place where they stand.
    pub(crate) fn new(topics: usize) -> Self {
        Self {
            topics,
            epochs: 200,
            batch_size: 16,
            base_lr: 0.01,
            max_lr: 0.05,
            t_0: 20,
            t_mult: 1,
            weight_decay: 1e-5,
            optimizer: Optimizer::AdamW,
            table_place: TablePlace::Memory,
            precision: Precision::F32,
            seed: 0,
            device: Device::Auto,
            solver: Solver::default(),
            tolerance: tolerance(),
            reading: Reading::Auto,
        }
    }

    /// Shows the settings below a cell.
    pub fn evcxr_display(&self) {
        settings_card(&format!("Settings, k = {}", self.topics), self)
            .row("device", self.device.describe())
            .show();
    }

    /// Where this fit runs.
    pub(crate) fn place(&self) -> Result<Resolved> {
        match self.solver.runs_on_cards() {
            true => self.device.resolve(),
            false => Ok(Resolved::Cpu),
        }
    }

    /// Checks every rule; the first broken one is the error.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, value) in [
            ("k, the number of topics,", self.topics),
            ("epochs", self.epochs),
            ("batch_size", self.batch_size),
            ("t_0", self.t_0),
            ("t_mult", self.t_mult),
        ] {
            if value == 0 {
                return Err(Error::setting(format!("{name} is 0")).fix("it must be at least 1"));
            }
        }
        for (name, value) in [("base_lr", self.base_lr), ("max_lr", self.max_lr)] {
            // Written so that NaN is refused as well.
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::setting(format!("{name} is {value}"))
                    .fix("learning rates are positive numbers, 0.01 to 0.05 by default"));
            }
        }
        if self.base_lr > self.max_lr {
            return Err(Error::setting(format!(
                "base_lr ({}) is above max_lr ({})",
                self.base_lr, self.max_lr
            ))
            .fix("the learning rate falls from max_lr to base_lr: exchange them"));
        }
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return Err(
                Error::setting(format!("weight_decay is {}", self.weight_decay))
                    .fix("it is zero or a small positive number, 1e-5 by default"),
            );
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(Error::setting(format!("tolerance is {}", self.tolerance))
                .fix("it is zero or a small positive number, 1e-8 by default"));
        }
        if !self.solver.runs_on_cards() && matches!(self.device, Device::Cuda(_)) {
            return Err(
                Error::setting(format!("{} on {:?}", self.solver, self.device))
                    .fix("use Device::Cpu, or Solver::AdamW or Solver::Em on the card"),
            );
        }
        self.reading.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_refuses() {
        type Change = fn(&mut Settings);
        let cases: [(Change, &str); 13] = [
            (|s| s.topics = 0, "number of topics, is 0"),
            (|s| s.epochs = 0, "epochs is 0"),
            (|s| s.batch_size = 0, "batch_size is 0"),
            (|s| s.t_0 = 0, "t_0 is 0"),
            (|s| s.t_mult = 0, "t_mult is 0"),
            (|s| s.base_lr = f64::NAN, "base_lr is NaN"),
            (|s| s.max_lr = f64::INFINITY, "max_lr is inf"),
            (|s| s.base_lr = -0.1, "base_lr is -0.1"),
            (|s| s.max_lr = 0.001, "above max_lr"),
            (|s| s.weight_decay = f64::NAN, "weight_decay is NaN"),
            (|s| s.weight_decay = -1.0, "weight_decay is -1"),
            (|s| s.tolerance = f64::NAN, "tolerance is NaN"),
            (
                |s| (s.solver, s.device) = (Solver::CoordinateDescent, Device::Cuda(0)),
                "coordinate descent on Cuda(0)",
            ),
        ];
        for (change, expected) in cases {
            let mut settings = Settings::new(10);
            assert!(settings.check().is_ok());
            change(&mut settings);
            let message = settings.check().unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
