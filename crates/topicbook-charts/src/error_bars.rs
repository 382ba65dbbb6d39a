//! Intervals around numbers: the ends of bands and of error bars.

use crate::error::{Error, Result};
use crate::text::counted;

use super::canvas::{Canvas, Point};
use super::numbers::Series;
use super::palette::Rgb;
use super::plain::{brief, of_series};

/// Checks the lower and the upper ends of intervals against the series to which they belong.
pub fn check_ends(ends: &[Vec<Series>; 2], series: &[Series]) -> Result<()> {
    for (side, name) in ends.iter().zip(["lower", "upper"]) {
        if side.len() != series.len() {
            return Err(Error::drawing(format!(
                "{} of `{name}` for {} of values",
                counted(side.len(), "list"),
                counted(series.len(), "list")
            ))
            .fix("pass the ends in the same form as the values"));
        }
        for (ends, one) in side.iter().zip(series) {
            if ends.values.len() != one.values.len() {
                return Err(Error::drawing(format!(
                    "{} of `{name}` for {}{}",
                    counted(ends.values.len(), "value"),
                    counted(one.values.len(), "value"),
                    of_series(&one.name)
                ))
                .fix("pass one end per value"));
            }
        }
    }
    Ok(())
}

/// Error bars as pairs of ends, series by series: checked against the values, which lie between their ends.
pub fn error_bars(ends: &[Vec<Series>; 2], series: &[Series]) -> Result<Vec<Vec<[f64; 2]>>> {
    check_ends(ends, series)?;
    let [lower, upper] = ends;
    let sides = lower.iter().zip(upper).zip(series);
    let of = |((lower, upper), one): ((&Series, &Series), &Series)| {
        let pairs = lower
            .values
            .iter()
            .zip(&upper.values)
            .map(|(&l, &u)| [l, u]);
        let pairs: Vec<[f64; 2]> = pairs.collect();
        let outside = pairs
            .iter()
            .zip(&one.values)
            .position(|([lower, upper], value)| lower > value || value > upper);
        match outside {
            None => Ok(pairs),
            Some(at) => Err(Error::drawing(format!(
                "an error bar from {} to {} for the value {}",
                brief(pairs[at][0]),
                brief(pairs[at][1]),
                brief(one.values[at])
            ))
            .at(format!("value {at}{}", of_series(&one.name)))
            .fix("pass the lower and the upper ends, such as value - error and value + error")),
        }
    };
    sides.map(of).collect()
}

/// Draws an error bar between its ends, which are above or beside each other; none where an end is missing.
pub fn draw_error_bar(canvas: &dyn Canvas, ends: [(f64, f64); 2], colour: Rgb) -> Result<()> {
    const CAP: i32 = 7;
    if ends.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
        return Ok(());
    }
    let ends: [Point; 2] = ends.map(|(x, y)| (x.round() as i32, y.round() as i32));
    canvas.line(ends.to_vec(), colour, 3)?;
    let across = match ends[0].0 == ends[1].0 {
        true => (CAP, 0),
        false => (0, CAP),
    };
    for (x, y) in ends {
        let cap = vec![(x - across.0, y - across.1), (x + across.0, y + across.1)];
        canvas.line(cap, colour, 3)?;
    }
    Ok(())
}
