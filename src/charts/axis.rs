//! Scales, ticks and axes.

use super::canvas::{Anchor, Area, Canvas, FAINT, INK, SMALL, SOFT_INK, text_width};
use crate::display::fixed;
use crate::error::Result;

/// Maps values to pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    /// Pixels of `low` and `high`; on a vertical scale the first is the larger one.
    from: i32,
    to: i32,
}

impl Scale {
    /// A scale of finite `low` and `high`; where they are the same it gets room on both sides.
    pub(crate) fn new(low: f64, high: f64, from: i32, to: i32) -> Self {
        let room = if high > low {
            0.0
        } else {
            (low.abs() * 0.01).max(f64::MIN_POSITIVE.sqrt())
        };
        Self {
            low: low - room,
            high: high + room,
            from,
            to,
        }
    }

    pub(crate) fn position(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        f64::from(self.from) + share * f64::from(self.to - self.from)
    }

    pub(crate) fn pixel(&self, value: f64) -> i32 {
        self.position(value).round() as i32
    }

    /// Round numbers on the scale, at most `most` (and at least about half as many).
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        let span = self.high - self.low;
        let rough = span / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|&step| (self.high / step).floor() - (self.low / step).ceil() < most as f64)
            .unwrap_or(10.0 * power);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        if !(step > 0.0 && first.is_finite() && last - first < 1e3) {
            return Vec::new();
        }
        (0..=(last - first) as i64)
            // Zero without a sign.
            .map(|index| (first + index as f64) * step + 0.0)
            .collect()
    }
}

/// Ticks as text, with as many digits as tell them apart; from a million on with a suffix.
pub(crate) fn tick_labels(ticks: &[f64]) -> Vec<String> {
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
    let written_in_full = |&decimals: &usize| {
        let digits = step * 10f64.powi(decimals as i32);
        (digits - digits.round()).abs() < 1e-6 * digits.abs()
    };
    let decimals = (0..9).find(written_in_full).unwrap_or(9);
    let label = |tick: &f64| match *tick {
        0.0 => "0".to_string(),
        tick => fixed(tick / unit, decimals) + suffix,
    };
    ticks.iter().map(label).collect()
}

/// Pixels between an axis and its labels.
const DISTANCE: i32 = 12;
/// What a horizontal axis with labels takes below a plot; with a title below them twice that.
pub(crate) const BELOW: i32 = 40;

/// What a vertical axis with these labels takes left of a plot.
pub(crate) fn left_of(labels: &[String]) -> i32 {
    let widths = labels.iter().map(|label| text_width(label, SMALL));
    // A browser's own font may be wider than the embedded one.
    let widest = widths.max().unwrap_or(0);
    widest + widest / 8 + DISTANCE
}

/// Grid lines and their labels on the left of a plot.
pub(crate) fn vertical(
    canvas: &dyn Canvas,
    plot: Area,
    scale: &Scale,
    ticks: &[f64],
    labels: &[String],
) -> Result<()> {
    for (&tick, label) in ticks.iter().zip(labels) {
        let y = scale.pixel(tick);
        canvas.line(vec![(plot.left, y), (plot.right, y)], FAINT, 2)?;
        let at = (plot.left - DISTANCE, y);
        canvas.text(label, at, Anchor::Right, SMALL, INK)?;
    }
    Ok(())
}

/// The line below a plot with ticks and labels.
pub(crate) fn horizontal(
    canvas: &dyn Canvas,
    plot: Area,
    scale: &Scale,
    ticks: &[f64],
    labels: &[String],
) -> Result<()> {
    let y = plot.bottom + 1;
    canvas.line(vec![(plot.left, y), (plot.right, y)], SOFT_INK, 2)?;
    for (&tick, label) in ticks.iter().zip(labels) {
        let x = scale.pixel(tick);
        canvas.line(vec![(x, y), (x, y + 7)], SOFT_INK, 2)?;
        canvas.text(label, (x, y + 24), Anchor::Centre, SMALL, INK)?;
    }
    Ok(())
}

/// The title of a horizontal axis, below its labels.
pub(crate) fn title_below(canvas: &dyn Canvas, plot: Area, title: &str) -> Result<()> {
    let at = ((plot.left + plot.right) / 2, plot.bottom + BELOW + 22);
    canvas.text(title, at, Anchor::Centre, SMALL, SOFT_INK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
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
        for (low, high, most, expected) in table {
            let ticks = Scale::new(low, high, 0, 100).ticks(most);
            assert!(ticks.len() <= most, "{low} to {high}: {ticks:?}");
            assert_eq!(tick_labels(&ticks), expected, "{low} to {high}: {ticks:?}");
        }
    }

    #[test]
    fn labels_write_their_steps_in_full() {
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
