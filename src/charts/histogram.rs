//! A small histogram, for cards in notebook cells.

use crate::error::Result;
use crate::text::count;

use super::axis::{BELOW, Scale, horizontal, left_of, tick_labels, title_below, vertical};
use super::canvas::{Anchor, Area, Canvas, SMALL, SOFT_INK};
use super::palette::colours;
use super::{Panel, not_drawable, nothing};

const PLOT_HEIGHT: i64 = 200;
/// Height of the line of text above the plot.
const LABEL_HEIGHT: i64 = 44;
const MAX_BINS: usize = 40;

pub(crate) struct Histogram {
    values: Vec<f64>,
    /// Unit of the values: the title of the horizontal axis.
    unit: String,
    /// The things that have the values: the title of the vertical axis.
    counted: String,
}

impl Histogram {
    pub(crate) fn new(values: &[f64], unit: String, counted: String) -> Self {
        Self {
            values: values.to_vec(),
            unit,
            counted,
        }
    }

    /// The least and the largest value.
    fn range(&self) -> (f64, f64) {
        let values = || self.values.iter().copied();
        (
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        )
    }
}

/// Edges of bins that cover all values from `low` to `high`, with a round width.
///
/// Their number is at most about the square root of the number of values, and about [`MAX_BINS`].
fn bins(low: f64, high: f64, values: usize) -> Vec<f64> {
    let max = values.isqrt().clamp(1, MAX_BINS);
    let scale = Scale::new(low, high, 0, 1);
    let inner = scale.ticks(max);
    match inner[..] {
        [first, second, ..] if second > first => {
            let width = second - first;
            let begin = (low / width).floor();
            let end = (high / width).floor() + 1.0;
            (0..=(end - begin) as usize)
                .map(|bin| (begin + bin as f64) * width)
                .collect()
        }
        _ => {
            let padding = (high - low).max(high.abs() * 0.1).max(1.0) / 2.0;
            vec![low - padding, high + padding]
        }
    }
}

/// The number of values in each bin.
fn counts(values: &[f64], edges: &[f64]) -> Vec<usize> {
    let mut counts = vec![0; edges.len() - 1];
    let last = counts.len() - 1;
    for value in values {
        let above = edges.partition_point(|edge| edge <= value);
        counts[above.saturating_sub(1).min(last)] += 1;
    }
    counts
}

impl Panel for Histogram {
    fn title(&self) -> &str {
        ""
    }

    fn describe(&self) -> String {
        let (low, high) = self.range();
        let number = crate::text::number;
        match self.values.is_empty() {
            true => format!("histogram of {}: no {}", self.unit, self.counted),
            false => format!(
                "histogram of {}: {} {}, from {} to {}",
                self.unit,
                count(self.values.len() as u64),
                self.counted,
                number(low),
                number(high)
            ),
        }
    }

    fn width(&self) -> i64 {
        800
    }

    fn height(&self, _width: i64) -> i64 {
        PLOT_HEIGHT + LABEL_HEIGHT + i64::from(2 * BELOW)
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()> {
        if self.values.is_empty() {
            return Err(nothing("a histogram without values"));
        }
        if let Some(index) = self.values.iter().position(|value| !value.is_finite()) {
            return Err(not_drawable(
                "a value",
                self.values[index],
                format!("index {index}"),
            ));
        }
        let (low, high) = self.range();
        let edges = bins(low, high, self.values.len());
        let counts = counts(&self.values, &edges);
        let largest = counts.iter().copied().max().unwrap_or(1) as f64;
        let bottom = area.top + (LABEL_HEIGHT + PLOT_HEIGHT) as i32;
        let y = Scale::new(0.0, 1.05 * largest, bottom, area.top + LABEL_HEIGHT as i32);
        let mut ticks = y.ticks(4);
        ticks.retain(|tick| tick.fract() == 0.0);
        let labels = tick_labels(&ticks);
        let plot = Area {
            left: area.left + left_of(&labels),
            top: area.top + LABEL_HEIGHT as i32,
            right: area.right - 24,
            bottom,
        };
        let above = (plot.left, plot.top - LABEL_HEIGHT as i32 / 2 - 2);
        canvas.text(&self.counted, above, Anchor::Left, SMALL, SOFT_INK)?;
        vertical(canvas, plot, &y, &ticks, &labels)?;
        let x = Scale::new(edges[0], edges[edges.len() - 1], plot.left, plot.right);
        for (bin, &count) in counts.iter().enumerate() {
            let (left, right) = (x.pixel(edges[bin]), x.pixel(edges[bin + 1]));
            let bar = Area {
                left,
                top: y.pixel(count as f64),
                right: (right - 2).max(left + 1),
                bottom,
            };
            canvas.rectangle(bar, colours(1)[0])?;
        }
        let ticks = x.ticks(5);
        horizontal(canvas, plot, &x, &ticks, &tick_labels(&ticks))?;
        title_below(canvas, plot, &self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_contain_every_value() {
        let many: Vec<f64> = (0..1000).map(|i| f64::from(i) * 1.7 - 300.0).collect();
        let tables: [&[f64]; 5] = [
            &[5.0],
            &[3.0, 3.0, 3.0, 3.0],
            &[0.0, 1.0],
            &[-1e9, 1e9, 0.0],
            &many,
        ];
        for values in tables {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let edges = bins(low, high, values.len());
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
            assert!(
                edges[0] <= low && high <= edges[edges.len() - 1],
                "{edges:?}"
            );
            assert!(edges.len() <= MAX_BINS + 3);
            assert_eq!(counts(values, &edges).iter().sum::<usize>(), values.len());
        }
    }
}
