//! Scales, ticks and axes of plots.

use crate::error::Result;
use crate::text::fixed;

use super::canvas::{Anchor, Area, Canvas, SMALL, text_width};

/// A linear or logarithmic scale from values to pixels.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    low: f64,
    high: f64,
    /// Pixels of `low` and `high`. On a vertical scale `from` is the larger one, because pixels count downwards.
    from: i32,
    to: i32,
    /// `low` and `high` are logarithms to base 10.
    logarithmic: bool,
}

impl Scale {
    /// A scale from `low` to `high`, both finite. If they are equal, it is extended on both sides.
    pub fn new(low: f64, high: f64, from: i32, to: i32) -> Self {
        let padding = if high > low {
            0.0
        } else {
            (low.abs() * 0.01).max(f64::MIN_POSITIVE.sqrt())
        };
        Self {
            low: low - padding,
            high: high + padding,
            from,
            to,
            logarithmic: false,
        }
    }

    /// A logarithmic scale from `low` to `high`, both finite and above zero.
    pub fn logarithmic(low: f64, high: f64, from: i32, to: i32) -> Self {
        let (low, high) = (low.log10(), high.log10());
        let padding = if high > low { 0.0 } else { 0.5 };
        Self {
            low: low - padding,
            high: high + padding,
            from,
            to,
            logarithmic: true,
        }
    }

    /// The position of a value in fractions of pixels.
    pub fn position(&self, value: f64) -> f64 {
        let value = if self.logarithmic {
            value.log10()
        } else {
            value
        };
        let fraction = (value - self.low) / (self.high - self.low);
        f64::from(self.from) + fraction * f64::from(self.to - self.from)
    }

    pub fn pixel(&self, value: f64) -> i32 {
        self.position(value).round() as i32
    }

    /// Multiples of 1, 2 or 5 times a power of ten on the scale: at most `max`, and at least about half as many. On a
    /// logarithmic scale powers of ten, and 1, 2 and 5 times these where there is room.
    pub fn ticks(&self, max: usize) -> Vec<f64> {
        match self.logarithmic {
            true => self.powers(max),
            false => self.multiples(max),
        }
    }

    pub fn labels(&self, ticks: &[f64]) -> Vec<String> {
        match self.logarithmic {
            true => ticks
                .iter()
                .flat_map(|&tick| tick_labels(&[tick]))
                .collect(),
            false => tick_labels(ticks),
        }
    }

    fn powers(&self, max: usize) -> Vec<f64> {
        let on_scale = |factors: &[f64], every: i32| -> Vec<f64> {
            let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
            let powers = (first..=last).filter(|power| power % every == 0);
            let values =
                powers.flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
            let inside =
                |value: &f64| (self.low - 1e-9..=self.high + 1e-9).contains(&value.log10());
            values.filter(inside).collect()
        };
        let fine = on_scale(&[1.0, 2.0, 5.0], 1);
        if fine.len() <= max {
            return match fine.len() {
                ..2 => {
                    let scale = Self::new(10f64.powf(self.low), 10f64.powf(self.high), 0, 1);
                    let mut ticks = scale.multiples(max);
                    ticks.retain(|&tick| tick > 0.0);
                    ticks
                }
                _ => fine,
            };
        }
        (1..)
            .map(|every| on_scale(&[1.0], every))
            .find(|ticks| ticks.len() <= max)
            .unwrap_or_default()
    }

    fn multiples(&self, max: usize) -> Vec<f64> {
        let span = self.high - self.low;
        let rough = span / max.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|&step| (self.high / step).floor() - (self.low / step).ceil() < max as f64)
            .unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        if !(step > 0.0 && first.is_finite() && last - first < 1e3) {
            return Vec::new();
        }
        (0..=(last - first) as i64)
            // Adding 0.0 makes -0.0 into 0.0.
            .map(|index| (first + index as f64) * step + 0.0)
            .collect()
    }
}

/// Ticks as text with the decimal places of their step, with a suffix (M, G, T) from a million on.
///
/// Below 1e-5 and from 1e15 on, numbers are in scientific notation.
pub fn tick_labels(ticks: &[f64]) -> Vec<String> {
    let largest = ticks
        .iter()
        .fold(0.0, |largest: f64, tick| largest.max(tick.abs()));
    let (unit, suffix) = match largest {
        l if l >= 1e15 || (l > 0.0 && l < 1e-5) => {
            return ticks.iter().map(|tick| format!("{tick:e}")).collect();
        }
        l if l >= 1e12 => (1e12, "T"),
        l if l >= 1e9 => (1e9, "G"),
        l if l >= 1e6 => (1e6, "M"),
        _ => (1.0, ""),
    };
    let step = match ticks {
        [first, second, ..] => (second - first) / unit,
        _ => largest / unit,
    };
    // Whether the step is a multiple of the last decimal place.
    let is_exact = |&decimals: &usize| {
        let digits = step * 10f64.powi(decimals as i32);
        (digits - digits.round()).abs() < 1e-6 * digits.abs()
    };
    let decimals = (0..9).find(is_exact).unwrap_or(9);
    let label = |tick: &f64| match *tick {
        0.0 => "0".to_string(),
        tick => fixed(tick / unit, decimals) + suffix,
    };
    ticks.iter().map(label).collect()
}

/// Pixels between an axis and its labels.
const DISTANCE: i32 = 12;
/// Height of the labels of a horizontal axis below a plot; labels and a title need twice that.
pub const BELOW: i32 = 40;

/// Width of a vertical axis with these labels, left of a plot.
pub fn left_of(labels: &[String]) -> i32 {
    let widths = labels.iter().map(|label| text_width(label, SMALL));
    // One eighth more, because in an SVG the browser's font may be wider than the embedded one.
    let widest = widths.max().unwrap_or(0);
    widest + widest / 8 + DISTANCE
}

/// Draws a vertical axis: grid lines across the plot, with labels on its left.
pub fn vertical(
    canvas: &dyn Canvas,
    plot: Area,
    scale: &Scale,
    ticks: &[f64],
    labels: &[String],
) -> Result<()> {
    for (&tick, label) in ticks.iter().zip(labels) {
        let y = scale.pixel(tick);
        canvas.line(
            vec![(plot.left, y), (plot.right, y)],
            canvas.theme().faint,
            2,
        )?;
        let at = (plot.left - DISTANCE, y);
        canvas.text(label, at, Anchor::Right, SMALL, canvas.theme().ink)?;
    }
    Ok(())
}

/// Draws a horizontal axis: a line below the plot with ticks and labels.
pub fn horizontal(
    canvas: &dyn Canvas,
    plot: Area,
    scale: &Scale,
    ticks: &[f64],
    labels: &[String],
) -> Result<()> {
    let y = plot.bottom + 1;
    canvas.line(
        vec![(plot.left, y), (plot.right, y)],
        canvas.theme().soft_ink,
        2,
    )?;
    for (&tick, label) in ticks.iter().zip(labels) {
        let x = scale.pixel(tick);
        canvas.line(vec![(x, y), (x, y + 7)], canvas.theme().soft_ink, 2)?;
        canvas.text(
            label,
            (x, y + 24),
            Anchor::Centre,
            SMALL,
            canvas.theme().ink,
        )?;
    }
    Ok(())
}

/// Draws the title of a horizontal axis, below its labels.
pub fn title_below(canvas: &dyn Canvas, plot: Area, title: &str) -> Result<()> {
    let at = ((plot.left + plot.right) / 2, plot.bottom + BELOW + 22);
    canvas.text(title, at, Anchor::Centre, SMALL, canvas.theme().soft_ink)
}

/// Height of the line of text above a plot, which is the title of its vertical axis.
pub const LABEL_HEIGHT: i64 = 44;

/// Height of the space above a plot, with its title or without one.
pub fn above(title: &str) -> i64 {
    match title {
        "" => 16,
        _ => LABEL_HEIGHT,
    }
}

/// Height of the space below a plot, for labels and the title of the axis.
pub fn below(title: &str) -> i64 {
    match title {
        "" => i64::from(BELOW) + 8,
        _ => i64::from(2 * BELOW),
    }
}

/// Draws the title of a vertical axis, above it.
pub fn title_above(canvas: &dyn Canvas, plot: Area, title: &str) -> Result<()> {
    let at = (plot.left, plot.top - LABEL_HEIGHT as i32 / 2 - 2);
    canvas.text(title, at, Anchor::Left, SMALL, canvas.theme().soft_ink)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_maximum() {
        let table: [(f64, f64, usize, &[&str]); 8] = [
            (0.0, 1.0, 6, &["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (0.0, 1.0, 3, &["0", "0.5", "1.0"]),
            (0.0, 200.0, 6, &["0", "50", "100", "150", "200"]),
            (-7.55, -7.48, 4, &["-7.54", "-7.52", "-7.50", "-7.48"]),
            (0.0, 0.021, 3, &["0", "0.01", "0.02"]),
            (0.0, 100_000.0, 3, &["0", "50,000", "100,000"]),
            (
                24.87e6,
                24.95e6,
                5,
                &["24.88M", "24.90M", "24.92M", "24.94M"],
            ),
            (0.0, 3e-7, 4, &["0e0", "1e-7", "2e-7", "3e-7"]),
        ];
        for (low, high, max, expected) in table {
            let ticks = Scale::new(low, high, 0, 100).ticks(max);
            assert!(ticks.len() <= max, "{low} to {high}: {ticks:?}");
            assert_eq!(tick_labels(&ticks), expected, "{low} to {high}: {ticks:?}");
        }
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_and_finer_where_there_is_room() {
        let table: [(f64, f64, usize, &[&str]); 5] = [
            (1.0, 1e4, 6, &["1", "10", "100", "1,000", "10,000"]),
            (3.0, 300.0, 8, &["5", "10", "20", "50", "100", "200"]),
            (1e-3, 1e9, 5, &["0.001", "1", "1,000", "1M", "1G"]),
            (110.0, 190.0, 5, &["120", "140", "160", "180"]),
            (7.0, 7.0, 5, &["5", "10", "20"]),
        ];
        for (low, high, max, expected) in table {
            let scale = Scale::logarithmic(low, high, 0, 100);
            let ticks = scale.ticks(max);
            assert_eq!(scale.labels(&ticks), expected, "{low} to {high}: {ticks:?}");
        }
        assert_eq!(Scale::logarithmic(1.0, 100.0, 0, 100).pixel(10.0), 50);
    }

    #[test]
    fn labels_have_the_decimal_places_of_their_step() {
        assert_eq!(tick_labels(&[0.0, 0.25, 0.5]), ["0", "0.25", "0.50"]);
        assert_eq!(tick_labels(&[1e6, 1.25e6]), ["1.00M", "1.25M"]);
        assert_eq!(tick_labels(&[]), [""; 0]);
    }

    #[test]
    fn a_constant_gets_a_scale_around_it() {
        for value in [0.0, 5.0, -24_873_012.0, 1e300] {
            let scale = Scale::new(value, value, 100, 0);
            assert_eq!(scale.pixel(value), 50, "{value}");
            assert!(scale.ticks(5).len() <= 5, "{value}");
        }
    }
}
