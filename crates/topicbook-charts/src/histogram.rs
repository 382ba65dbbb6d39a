//! How often values occur, as bars over bins.

use crate::error::{Error, Result};
use crate::text::{count, counted};

use super::axis::Scale;
use super::bars::draw_bar;
use super::canvas::{Area, Canvas};
use super::frame::{Frame, Kind, Range};
use super::layout::Heights;
use super::options::Options;
use super::plain::{bounds, span};
use super::{Panel, not_drawable, nothing};

const PLOT_HEIGHT: i64 = 360;
/// Most bins by default, and most that can be set.
const MAX_BINS: usize = 40;
const MOST_BINS: usize = 1_000;

pub struct Histogram {
    values: Vec<f64>,
}

impl Histogram {
    pub fn new(values: Vec<f64>) -> Self {
        Self { values }
    }

    fn check(&self, options: &Options) -> Result<()> {
        if self.values.is_empty() {
            return Err(nothing("a histogram without values"));
        }
        if let Some(index) = self.values.iter().position(|value| !value.is_finite()) {
            let place = format!("index {index}");
            return Err(not_drawable("a value", self.values[index], place));
        }
        if options.log_x && self.shown(options).next().is_none() {
            return Err(nothing("no value above zero for a logarithmic axis"));
        }
        match options.bins {
            Some(bins) if !(1..=MOST_BINS).contains(&bins) => Err(Error::drawing(format!(
                "a histogram with {} bins",
                count(bins as u64)
            ))
            .fix("choose from 1 to 1,000 bins")),
            _ => Ok(()),
        }
    }

    /// The values that have a place on the axis.
    fn shown(&self, options: &Options) -> impl Iterator<Item = f64> {
        let above_zero = options.log_x;
        let values = self.values.iter().copied();
        values.filter(move |&value| !above_zero || value > 0.0)
    }
}

/// Edges of bins that grow by a constant factor, from `low` to `high`, both above zero.
fn growing(low: f64, high: f64, max: usize) -> Vec<f64> {
    let (from, to) = match high > low {
        true => (low.log10(), high.log10()),
        false => (low.log10() - 0.1, low.log10() + 0.1),
    };
    let edge = |bin: usize| 10f64.powf(from + (to - from) * bin as f64 / max as f64);
    (0..=max).map(edge).collect()
}

/// The most bins of a histogram of `values` values, if it is not set.
fn usual(values: usize) -> usize {
    values.isqrt().clamp(1, MAX_BINS)
}

/// Edges of `number` bins of equal width from `low` to `high`.
fn equal(low: f64, high: f64, number: usize) -> Vec<f64> {
    let (low, high) = match high > low {
        true => (low, high),
        false => (
            low - 0.5 * low.abs().max(1.0),
            high + 0.5 * high.abs().max(1.0),
        ),
    };
    // The difference of very large numbers can be infinite.
    let edge = |part: f64| low * (1.0 - part) + high * part;
    (0..=number)
        .map(|bin| edge(bin as f64 / number as f64))
        .collect()
}

/// Edges of bins that cover all values from `low` to `high`, with a round width: about `max` of them. Those of whole numbers
/// are no narrower than 1, and then have the numbers in their middle.
fn bins(low: f64, high: f64, max: usize, whole: bool) -> Vec<f64> {
    let scale = Scale::new(low, high, 0, 1);
    let inner = scale.ticks(max);
    match inner[..] {
        [first, second, ..] if whole && second - first <= 1.0 => {
            let bins = 0..=(high - low) as usize + 1;
            bins.map(|bin| low - 0.5 + bin as f64).collect()
        }
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
    fn kind(&self) -> &'static str {
        "a histogram"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "y_label", "log_x", "bins", "colors"]
    }

    fn title(&self) -> &str {
        "Histogram"
    }

    fn describe(&self, options: &Options) -> String {
        let of = options
            .x_label
            .as_ref()
            .map_or(String::new(), |label| format!(" of {label}"));
        let what = options.y_label.as_deref();
        let values = match what {
            Some(what) => format!("{} {what}", count(self.values.len() as u64)),
            None => counted(self.values.len(), "value"),
        };
        match self.values.iter().all(|value| value.is_nan()) {
            true => format!("histogram{of}: {values}"),
            false => {
                let span = span(self.values.iter().copied());
                format!("histogram{of}: {values}, from {span}")
            }
        }
    }

    fn heights(&self, _width: i64, options: &Options) -> Heights {
        Frame::heights(PLOT_HEIGHT, options.x_label(""), options.y_label("values"))
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        self.check(options)?;
        let (low, high) = bounds(self.shown(options));
        let shown: Vec<f64> = self.shown(options).collect();
        let whole = shown.iter().all(|value| value.fract() == 0.0);
        let usual = usual(shown.len());
        let edges = match options.bins {
            _ if options.log_x => growing(low, high, options.bins.unwrap_or(usual)),
            Some(number) => equal(low, high, number),
            None => bins(low, high, usual, whole),
        };
        let counts = counts(&shown, &edges);
        let largest = counts.iter().copied().max().unwrap_or(1) as f64;
        let left_out = self.values.len() - shown.len();
        let x_label = match left_out {
            0 => options.x_label("").to_string(),
            _ => format!(
                "{} ({} of zero or less left out)",
                options.x_label(""),
                counted(left_out, "value")
            ),
        };
        let frame = Frame {
            x: Range {
                low: edges[0],
                high: edges[edges.len() - 1],
                logarithmic: options.log_x,
                kind: if whole { Kind::Whole } else { Kind::Numbers },
            },
            y: Range {
                kind: Kind::Whole,
                ..Range::between(0.0, 1.05 * largest)
            },
            x_label: x_label.trim_start(),
            y_label: options.y_label("values"),
            ..Frame::default()
        };
        let plot = frame.draw(canvas, area)?;
        for (bin, &count) in counts.iter().enumerate() {
            let (left, right) = (plot.x.pixel(edges[bin]), plot.x.pixel(edges[bin + 1]));
            let bar = Area {
                left,
                top: plot.y.pixel(count as f64),
                right: (right - 2).max(left + 1),
                bottom: plot.area.bottom,
            };
            draw_bar(canvas, bar, options.of_series(1)[0])?;
        }
        Ok(())
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
            let (low, high) = bounds(values.iter().copied());
            let edges = bins(low, high, usual(values.len()), false);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
            assert!(
                edges[0] <= low && high <= edges[edges.len() - 1],
                "{edges:?}"
            );
            assert!(edges.len() <= MAX_BINS + 3);
            assert_eq!(counts(values, &edges).iter().sum::<usize>(), values.len());
        }
    }

    #[test]
    fn whole_numbers_are_in_the_middle_of_their_bins() {
        assert_eq!(bins(1.0, 5.0, 40, true), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
        assert_eq!(bins(0.0, 100.0, 10, true)[..3], [0.0, 20.0, 40.0]);
        assert_eq!(bins(7.0, 7.0, 3, true).len(), 2);
    }

    #[test]
    fn bins_are_as_many_as_are_asked_for() {
        for (low, high) in [
            (0.0, 1.0),
            (-3.0, 250.0),
            (5.0, 5.0),
            (0.0, 0.0),
            (-1e308, 1e308),
        ] {
            let edges = equal(low, high, 30);
            assert_eq!(edges.len(), 31);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
            assert!(edges[0] <= low && high <= edges[30], "{edges:?}");
        }
        // numpy.histogram([1, 2, 2, 3, 7, 10], bins=3)
        let values = [1.0, 2.0, 2.0, 3.0, 7.0, 10.0];
        assert_eq!(counts(&values, &equal(1.0, 10.0, 3)), [4, 0, 2]);
    }

    #[test]
    fn growing_bins_contain_every_value() {
        let values: Vec<f64> = (0..1000).map(|i| 3.0 * 1.01f64.powi(i)).collect();
        for values in [&values[..], &[7.0], &[1e-300, 1e300]] {
            let edges = growing(values[0], values[values.len() - 1], 12);
            assert_eq!(counts(values, &edges).iter().sum::<usize>(), values.len());
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
        }
    }
}
