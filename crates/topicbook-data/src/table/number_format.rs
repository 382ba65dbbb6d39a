//! The format in which a cell shows the values of a column.

use polars::prelude::AnyValue;

use crate::text::{decimals_of, fixed};

use super::error::attempt;

/// The format of all numbers of a column, so that they can be compared at a glance.
#[derive(Clone, Copy)]
pub(super) enum NumberFormat {
    /// With this number of decimal places, and separators between thousands. Smaller numbers are shown as `<0.0001`.
    Fixed(usize),
    /// `1.234e-7`, where the largest number is below 0.0001 or from 10^15 on.
    Scientific,
    /// Digits alone: integers of at most four digits, such as years.
    Plain,
}

impl NumberFormat {
    /// The decimal places that the numbers have, at most four or so; none if all are integers.
    pub(super) fn of_floats(values: &[AnyValue<'_>]) -> Self {
        let numbers = values.iter().filter_map(float);
        let numbers = numbers.filter(|number| number.is_finite());
        let largest = numbers.clone().map(f64::abs).fold(0.0, f64::max);
        if largest >= 1e15 || (largest > 0.0 && largest < 1e-4) {
            return Self::Scientific;
        }
        match numbers.clone().all(|number| number.fract() == 0.0) {
            true => Self::Fixed(0),
            false => Self::Fixed(decimals_of(numbers).max(1)),
        }
    }

    pub(super) fn of_integers(values: &[AnyValue<'_>]) -> Self {
        let mut numbers = values.iter().filter_map(AnyValue::extract::<f64>);
        match numbers.all(|number| number.abs() < 1e4) {
            true => Self::Plain,
            false => Self::Fixed(0),
        }
    }

    /// The text of a value, which is not null.
    pub(super) fn format(self, value: &AnyValue<'_>) -> String {
        match value {
            AnyValue::Boolean(truth) => return truth.to_string(),
            // This build of Polars knows no time zones; times with a zone are stored in UTC.
            AnyValue::Datetime(time, unit, Some(_)) => {
                return format!("{} UTC", text_of(&AnyValue::Datetime(*time, *unit, None)));
            }
            _ => {}
        }
        if let Some(text) = value.get_str() {
            return text.into();
        }
        match (self, float(value)) {
            (_, Some(number)) if !number.is_finite() => number.to_string(),
            (Self::Scientific, Some(number)) => format!("{number:.3e}"),
            // With fixed decimal places, a small number would be shown as zero.
            (Self::Fixed(decimals), Some(number)) if rounds_to_zero(number, decimals) => {
                let smallest = fixed(0.1f64.powi(decimals as i32), decimals);
                match number > 0.0 {
                    true => format!("<{smallest}"),
                    false => format!(">-{smallest}"),
                }
            }
            // Above 2^53, `f64` does not hold every integer.
            (Self::Fixed(decimals), Some(number)) if number.abs() < 9e15 => fixed(number, decimals),
            _ => text_of(value),
        }
    }
}

/// The text that Polars has for a value. It has none for dates after the year 262,142, which damaged files have.
fn text_of(value: &AnyValue<'_>) -> String {
    attempt(|| Ok(value.to_string())).unwrap_or_else(|problem| format!("({})", problem.sentence))
}

/// A number. An `f32` has the digits that tell it from its neighbours: 16777.19, not 16777.189453125.
fn float(value: &AnyValue<'_>) -> Option<f64> {
    match value {
        AnyValue::Float32(number) => number.to_string().parse().ok(),
        _ => value.extract(),
    }
}

/// Whether a number other than zero is shown as zero.
fn rounds_to_zero(number: f64, decimals: usize) -> bool {
    number != 0.0 && number.abs() < 0.5 * 0.1f64.powi(decimals as i32)
}
