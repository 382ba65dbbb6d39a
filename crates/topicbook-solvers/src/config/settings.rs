//! The settings of a fit, their defaults and their rules.

use serde::{Deserialize, Serialize};

use crate::batches::Reading;
use crate::data::or_ref;
use crate::error::{Error, Result};

use super::device::{Device, Resolved};
use super::mini_batch::MiniBatch;
use super::solver::Solver;

/// The settings of a fit; part of every saved model. The defaults are tinytopics'.
///
/// `TopicModel::settings` and `Fit::settings` give them;
/// `TopicModel::from_settings` makes a model of them again.
///
/// ```
/// use topicbook::{Synthetic, TopicModel};
/// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
/// let fit = TopicModel::new(3).epochs(5).seed(7).quiet().fit(&counts)?;
/// let again = TopicModel::from_settings(fit.settings()).quiet().fit(&counts)?;
/// assert!(again.l() == fit.l());
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of topics (k), from 1 to the number of documents and of terms.
    #[doc(alias = "n_components")]
    pub topics: usize,
    /// Passes over the documents; 200, at least 1. Solvers that converge stop earlier.
    pub epochs: usize,
    /// The seed of the starting point and of the order of the batches; 0, of which the lower 32 bits matter.
    #[doc(alias = "random_state")]
    pub seed: u64,
    /// Where to train; `Device::Auto`.
    pub device: Device,
    /// How the counts are read; `Reading::Auto`. In the settings of a fit, what was chosen.
    pub reading: Reading,
    /// How the model is fitted; gradient steps over minibatches.
    pub solver: Solver,
    /// Tokens of every term that are added to each topic when the fit ends; 0, finite and not negative.
    #[serde(with = "crate::system::serde_f64", default)]
    pub smoothing: f64,
}

or_ref!(Settings);

impl Settings {
    /// The defaults for `k` topics.
    #[doc(hidden)]
    pub fn new(topics: usize) -> Self {
        Self {
            topics,
            epochs: 200,
            seed: 0,
            device: Device::Auto,
            reading: Reading::Auto,
            solver: Solver::default(),
            smoothing: 0.0,
        }
    }

    /// The parameters of gradient steps; their defaults with another solver.
    #[doc(hidden)]
    pub fn mini_batch(&self) -> MiniBatch {
        self.solver.as_mini_batch().cloned().unwrap_or_default()
    }

    /// Documents in a minibatch. A full pass has none; its loss is reported as the mean over minibatches of tinytopics'
    /// default size, so that it compares with that of gradient steps.
    #[doc(hidden)]
    pub fn batch_size(&self) -> usize {
        self.mini_batch().batch_size
    }

    /// The same with other parameters of gradient steps.
    #[doc(hidden)]
    pub fn with_mini_batch(mut self, change: impl FnOnce(&mut MiniBatch)) -> Self {
        if let Some(parameters) = self.solver.as_mini_batch_mut() {
            change(parameters);
        }
        self
    }

    /// The device that this fit runs on.
    #[doc(hidden)]
    pub fn resolve_device(&self) -> Result<Resolved> {
        match self.solver.runs_on_gpu() {
            true => self.device.resolve(),
            false => Ok(Resolved::Cpu),
        }
    }

    /// Checks every rule; the first broken one is the error.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("k, the number of topics,", self.topics),
            ("epochs", self.epochs),
        ] {
            if value == 0 {
                return Err(Error::setting(format!("{name} is 0")).fix("it must be at least 1"));
            }
        }
        if !(self.smoothing >= 0.0 && self.smoothing.is_finite()) {
            return Err(Error::setting(format!("smoothing is {}", self.smoothing))
                .fix("it must be 0 or more"));
        }
        self.solver.check()?;
        if !self.solver.runs_on_gpu() && matches!(self.device, Device::Cuda(_)) {
            return Err(
                Error::setting(format!("{} on {}", self.solver, self.device))
                    .fix("use Device::Cpu, or Solver::mini_batch() or Solver::em() on the GPU"),
            );
        }
        self.reading.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FullPass;
    use crate::error::ErrorKind;

    fn mini_batch(change: impl Fn(&mut MiniBatch)) -> Solver {
        let mut parameters = MiniBatch::default();
        change(&mut parameters);
        Solver::MiniBatch(parameters)
    }

    #[test]
    fn every_rule_refuses() {
        let with = |change: &dyn Fn(&mut Settings)| {
            let mut settings = Settings::new(10);
            assert!(settings.check().is_ok());
            change(&mut settings);
            settings.check()
        };
        let check = |change: fn(&mut Settings)| with(&change);
        let steps = |change: fn(&mut MiniBatch)| with(&|s| s.solver = mini_batch(change));
        let tolerance = f64::NAN;
        testkit::refused! {
            check(|s| s.topics = 0) => Setting, "number of topics, is 0";
            check(|s| s.smoothing = -0.1) => Setting, "smoothing is -0.1";
            check(|s| s.smoothing = f64::NAN) => Setting, "smoothing is NaN";
            check(|s| s.epochs = 0) => Setting, "epochs is 0";
            steps(|p| p.batch_size = 0) => Setting, "batch_size is 0";
            steps(|p| p.t_0 = 0) => Setting, "t_0 is 0";
            steps(|p| p.t_mult = 0) => Setting, "t_mult is 0";
            steps(|p| p.base_lr = f64::NAN) => Setting, "base_lr is NaN";
            steps(|p| p.max_lr = f64::INFINITY) => Setting, "max_lr is inf";
            steps(|p| p.base_lr = -0.1) => Setting, "base_lr is -0.1";
            steps(|p| p.max_lr = 0.001) => Setting, "above max_lr";
            steps(|p| p.weight_decay = f64::NAN) => Setting, "weight_decay is NaN";
            steps(|p| p.weight_decay = -1.0) => Setting, "weight_decay is -1";
            with(&|s| s.solver = Solver::Em(FullPass { tolerance })) => Setting, "tolerance is NaN";
            check(|s| (s.solver, s.device) = (Solver::coordinate_descent(), Device::Cuda(0))) => Setting,
                "coordinate descent on CUDA GPU 0";
        }
    }
}
