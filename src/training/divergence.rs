//! Ends a fit whose loss is no longer a number.

use crate::config::Settings;
use crate::data::Epoch;
use crate::error::{Error, Result};
use crate::step::divergence::diverged;

/// # Errors
/// When the loss of an epoch is infinite or NaN: later epochs could not repair L and F.
pub(super) fn check(report: &Epoch, settings: &Settings) -> Result<()> {
    if report.loss.is_finite() {
        return Ok(());
    }
    let how = format!("the loss of epoch {} is {}", report.epoch, report.loss);
    Err(match settings.solver.as_mini_batch() {
        Some(parameters) => diverged(how, parameters),
        None => Error::value(format!("the fit has diverged: {how}")).fix(
            "look for counts that are far larger than the others: Counts::summary has the largest",
        ),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Solver;

    #[test]
    fn a_loss_that_is_no_number_names_what_to_change() {
        let with_loss = |loss| Epoch {
            epoch: 3,
            loss,
            log_likelihood_per_token: loss,
            learning_rate: 0.05,
            grad_norm: None,
            validation_loss: None,
            duration: Duration::ZERO,
            memory_bytes: 0,
        };
        for (solver, remedy) in [(Solver::default(), "max_lr"), (Solver::em(), "counts")] {
            let mut settings = Settings::new(2);
            settings.solver = solver;
            assert!(check(&with_loss(-1e300), &settings).is_ok());
            for loss in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let error = check(&with_loss(loss), &settings).unwrap_err();
                assert!(error.to_string().contains("epoch 3"), "{error}");
                assert!(error.remedy().unwrap().contains(remedy), "{error}");
            }
        }
    }
}
