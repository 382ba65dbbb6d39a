//! The learning-rate schedule.

use std::f64::consts::PI;

/// Cosine annealing with warm restarts (Loshchilov and Hutter 2017, SGDR), as in PyTorch's
/// `CosineAnnealingWarmRestarts` with `T_0`, `T_mult` and `eta_min` = the base rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WarmRestarts {
    pub(crate) base_lr: f64,
    pub(crate) max_lr: f64,
    pub(crate) t_0: usize,
    pub(crate) t_mult: usize,
}

impl WarmRestarts {
    /// The learning rate at a time given in epochs.
    pub(crate) fn at(&self, time: f64) -> f64 {
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
}
