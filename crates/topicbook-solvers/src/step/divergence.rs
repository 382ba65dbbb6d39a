//! Detects logits that have grown beyond what single precision resolves.

use crate::config::MiniBatch;
use crate::error::{Error, Result};

/// Largest absolute value of a logit. Above it two neighbouring `f32` are more than one nat apart, so that a gradient step
/// is lost in rounding.
const LARGEST_LOGIT: f32 = (1 << f32::MANTISSA_DIGITS) as f32;

/// The largest absolute value, and infinity where a value is NaN.
///
/// Without their sign, floating-point numbers are in the order of their bits, and NaN comes after infinity. The maximum
/// of integers compiles to vector instructions.
pub fn extent(logits: &[f32]) -> f32 {
    const WITHOUT_SIGN: u32 = u32::MAX >> 1;
    let sizes = logits.iter().map(|logit| logit.to_bits() & WITHOUT_SIGN);
    match f32::from_bits(sizes.fold(0, u32::max)) {
        size if size.is_nan() => f32::INFINITY,
        size => size,
    }
}

/// # Errors
/// If a table's logits, whose largest absolute value is `extent`, are no longer numbers that a gradient step can change.
pub fn check(table: &str, extent: f32, parameters: &MiniBatch) -> Result<()> {
    match extent <= LARGEST_LOGIT {
        true => Ok(()),
        false => Err(diverged(
            format!("the logits of {table} have grown to {extent:e}"),
            parameters,
        )),
    }
}

/// The error for gradient steps that do not converge.
pub fn diverged(how: String, parameters: &MiniBatch) -> Error {
    Error::setting(format!("the fit has diverged: {how}")).fix(format!(
        "use a smaller learning rate: max_lr is {:e}, 0.05 by default (weight_decay is {:e}, 1e-5 by default)",
        parameters.max_lr, parameters.weight_decay
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_that_rounding_freezes_are_an_error() {
        let parameters = MiniBatch::default();
        for (logits, diverges) in [
            (vec![], false),
            (vec![-3.0, 2.0], false),
            (vec![0.0, -1e7], false),
            (vec![0.0, 1e8], true),
            (vec![f32::NEG_INFINITY, 0.0], true),
            (vec![f32::NAN, 5.0], true),
            (vec![5.0, f32::NAN], true),
        ] {
            let outcome = check("F", extent(&logits), &parameters);
            assert_eq!(outcome.is_err(), diverges, "{logits:?}");
        }
    }
}
