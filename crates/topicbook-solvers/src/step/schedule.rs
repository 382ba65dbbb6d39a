//! The learning-rate schedule.

use std::f64::consts::PI;

use crate::config::MiniBatch;

/// Cosine annealing with warm restarts (Loshchilov and Hutter 2017, SGDR), as in PyTorch's
/// `CosineAnnealingWarmRestarts` with `T_0`, `T_mult` and `eta_min` = the base rate.
#[derive(Debug, Clone, Copy)]
pub struct WarmRestarts {
    base_lr: f64,
    max_lr: f64,
    t_0: usize,
    t_mult: usize,
}

impl WarmRestarts {
    pub fn new(parameters: &MiniBatch) -> Self {
        Self {
            base_lr: parameters.base_lr,
            max_lr: parameters.max_lr,
            t_0: parameters.t_0,
            t_mult: parameters.t_mult,
        }
    }

    /// The learning rate of the step after `epoch` epochs and `batch` batches of the next one. As in tinytopics, a step has the
    /// rate of the previous step's time, because the rate is updated after each step.
    pub fn of_step(&self, (epoch, batch): (usize, usize), batches: usize) -> f64 {
        let time = |epoch: usize, batch: usize| epoch as f64 + batch as f64 / batches as f64;
        self.at(match (epoch, batch) {
            (0, 0) => 0.0,
            (epoch, 0) => time(epoch - 1, batches - 1),
            (epoch, batch) => time(epoch, batch - 1),
        })
    }

    /// The learning rate at a time given in epochs.
    fn at(&self, time: f64) -> f64 {
        let (mut since_restart, mut period) = (time, self.t_0 as f64);
        if self.t_mult == 1 {
            since_restart %= period;
        } else {
            while since_restart >= period {
                since_restart -= period;
                period *= self.t_mult as f64;
            }
        }
        let half_range = (self.max_lr - self.base_lr) / 2.0;
        self.base_lr + half_range * (1.0 + (PI * since_restart / period).cos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_where_pytorch_restarts() {
        let plain = WarmRestarts {
            base_lr: 0.01,
            max_lr: 0.05,
            t_0: 20,
            t_mult: 1,
        };
        assert_eq!(plain.at(0.0), 0.05);
        assert!((plain.at(10.0) - 0.03).abs() < 1e-12);
        assert!((plain.at(19.999) - 0.01).abs() < 1e-6);
        assert_eq!(plain.at(40.0), 0.05);
        let doubling = WarmRestarts { t_mult: 2, ..plain };
        // Restarts at 20, 60, 140.
        for restart in [20.0, 60.0, 140.0] {
            assert_eq!(doubling.at(restart), 0.05);
            assert!(doubling.at(restart - 1e-3) < 0.0101);
        }
    }

    #[test]
    fn a_step_has_the_rate_of_the_step_before_it() {
        let schedule = WarmRestarts::new(&MiniBatch::default());
        for (at, time) in [
            ((0, 0), 0.0),
            ((0, 1), 0.0),
            ((0, 3), 0.5),
            ((3, 0), 2.75),
            ((3, 2), 3.25),
        ] {
            assert_eq!(schedule.of_step(at, 4), schedule.at(time), "{at:?}");
        }
    }
}
