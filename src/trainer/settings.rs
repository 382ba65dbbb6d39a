//! The settings of a trainer, whatever module it trains.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::burn::optim::AdamWConfig;
use crate::config::OnEpoch;
use crate::data::Budget;
use crate::error::{Error, Result};
use crate::module::{Checkpointing, Clipping, LossScale, ModuleOptimizer, Scaler, Stepper};
use crate::step::Watch;
use crate::text::counted;

/// Makes a schedule, which gives the learning rate of one step after the other.
pub(super) type Schedule = Arc<dyn Fn() -> Box<dyn FnMut() -> f64 + Send> + Send + Sync>;

/// All settings but module, loss and data.
#[derive(Clone)]
pub(super) struct TrainerSettings {
    pub(super) epochs: usize,
    pub(super) seed: u64,
    pub(super) optimizer: ModuleOptimizer,
    pub(super) learning_rate: f64,
    pub(super) schedule: Option<Schedule>,
    pub(super) clipping: Clipping,
    pub(super) loss_scale: LossScale,
    pub(super) checkpointing: Checkpointing,
    pub(super) micro_batch: Option<usize>,
    pub(super) budget: Budget,
    pub(super) patience: Option<usize>,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) on_epoch: Option<OnEpoch>,
    pub(super) quiet: bool,
}

impl Default for TrainerSettings {
    fn default() -> Self {
        Self {
            epochs: 10,
            seed: 0,
            optimizer: AdamWConfig::new().into(),
            learning_rate: 1e-3,
            schedule: None,
            clipping: Clipping::default(),
            loss_scale: LossScale::None,
            checkpointing: Checkpointing::None,
            micro_batch: None,
            budget: Budget::new(),
            patience: None,
            checkpoint: None,
            on_epoch: None,
            quiet: false,
        }
    }
}

impl TrainerSettings {
    /// A clone that cells do not compile.
    pub(super) fn copy(&self) -> Self {
        self.clone()
    }

    /// Fails where a setting is out of its range.
    pub(super) fn check(&self, validates: bool) -> Result<()> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let refuse = |what: String, fix: &str| Err(Error::setting(what).fix(fix));
        if self.micro_batch == Some(0) {
            return refuse(
                "micro-batches of 0 rows".into(),
                "use micro_batch(1) or more",
            );
        }
        if !positive(self.learning_rate) {
            let what = format!("a learning rate of {}", self.learning_rate);
            return refuse(what, "use a number above 0, such as learning_rate(0.001)");
        }
        let limits = [self.clipping.norm, self.clipping.value];
        if let Some(limit) = limits.into_iter().flatten().find(|limit| !positive(*limit)) {
            return refuse(
                format!("gradients clipped at {limit}"),
                "use a number above 0",
            );
        }
        let scale = Scaler::new(self.loss_scale).scale;
        if !positive(scale) {
            return refuse(format!("losses scaled by {scale}"), "use a number above 0");
        }
        if self.checkpointing == Checkpointing::Every(0) {
            return refuse(
                "blocks of 0 calls".into(),
                "use Checkpointing::Every(1) or more",
            );
        }
        if self.patience.is_some() && !validates {
            return refuse(
                "patience without a validation".into(),
                "add validation(batches, loss)",
            );
        }
        Ok(())
    }

    /// What takes the steps, before the first one.
    pub(super) fn stepper(&self, micro_rows: usize, watch: Watch) -> Stepper {
        Stepper {
            optimizer: self.optimizer.create(),
            loss_scale: self.loss_scale,
            scaler: Scaler::new(self.loss_scale),
            clipping: self.clipping,
            checkpointing: self.checkpointing.clone(),
            micro_rows,
            watch,
        }
    }
}

impl fmt::Display for TrainerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epochs = counted(self.epochs, "epoch");
        write!(f, "{epochs}, {}, ", self.optimizer)?;
        match self.schedule {
            Some(_) => f.write_str("learning rate by a schedule")?,
            None => write!(f, "learning rate {}", self.learning_rate)?,
        }
        if let Some(rows) = self.micro_batch {
            write!(f, ", micro-batches of {rows}")?;
        }
        if self.checkpointing != Checkpointing::None {
            write!(f, ", checkpointing {:?}", self.checkpointing)?;
        }
        if self.loss_scale != LossScale::None {
            write!(f, ", loss scale {:?}", self.loss_scale)?;
        }
        write!(f, ", seed {}", self.seed)
    }
}
