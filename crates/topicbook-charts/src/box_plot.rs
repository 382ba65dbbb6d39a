//! How values are spread: the median, the quartiles, and what lies far from them, as a box for each group.

#[cfg(feature = "polars")]
use crate::error::Error;
use crate::error::Result;

use super::bars::draw_bar;
use super::canvas::{Area, Canvas, Point, SMALL, text_width};
use super::frame::{Frame, Range};
use super::layout::Heights;
use super::numbers::Series;
use super::options::Options;
use super::palette::Rgb;
use super::plain::{brief, list, of_series, wrong_names};
use super::{Panel, nothing};

const PLOT_HEIGHT: i64 = 420;
/// Height of a horizontal box with the space around it.
const ROW: i64 = 56;
/// Part of its space that a box fills, and its greatest width.
const BOX: (f64, f64) = (0.5, 120.0);

pub struct BoxPlot {
    series: Vec<Series>,
}

/// Five numbers of a group, and what lies beyond them.
#[derive(Debug, PartialEq)]
struct Summary {
    /// Ends of the lower and the upper whisker.
    whiskers: [f64; 2],
    quartiles: [f64; 3],
    outliers: Vec<f64>,
}

impl Summary {
    /// The summary of values, at least one of them no NaN.
    fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        // Interpolated as NumPy does by default.
        let quartiles = [0.25, 0.5, 0.75].map(|part| {
            let at = part * (sorted.len() - 1) as f64;
            let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            low + at.fract() * (high - low)
        });
        let reach = 1.5 * (quartiles[2] - quartiles[0]);
        let (least, most) = (quartiles[0] - reach, quartiles[2] + reach);
        let inside = |value: &f64| (least..=most).contains(value);
        let outliers: Vec<f64> = sorted.iter().copied().filter(|v| !inside(v)).collect();
        sorted.retain(inside);
        // Whiskers do not end inside of the box.
        let whiskers = [
            sorted.first().map_or(quartiles[0], |v| v.min(quartiles[0])),
            sorted.last().map_or(quartiles[2], |v| v.max(quartiles[2])),
        ];
        Self {
            whiskers,
            quartiles,
            outliers,
        }
    }
}

impl BoxPlot {
    pub fn new(series: Vec<Series>) -> Self {
        Self { series }
    }

    /// The groups: by labels, where they are set, with the names that are.
    fn groups(&self, options: &Options) -> Result<Vec<Series>> {
        let mut groups = self.labelled(options)?;
        if let Some(names) = &options.x {
            if names.len() != groups.len() {
                return Err(wrong_names(names.len(), groups.len(), "group"));
            }
            for (group, name) in groups.iter_mut().zip(names) {
                group.name = name.clone();
            }
        }
        Ok(groups)
    }

    #[cfg(feature = "polars")]
    fn labelled(&self, options: &Options) -> Result<Vec<Series>> {
        let Some(labels) = options.labels()? else {
            return Ok(self.series.clone());
        };
        let [one] = self.series.as_slice() else {
            return Err(Error::drawing(format!(
                "`by` groups the values of one series, and there are {}",
                self.series.len()
            ))
            .fix("pass all values in one list, or leave `by` out"));
        };
        labels.check(one.values.len(), "value")?;
        let (groups, _) = labels.documents();
        let named = labels.names.iter().zip(groups);
        let series = named.map(|(name, values)| Series {
            name: name.clone(),
            values: values.into_iter().map(|at| one.values[at]).collect(),
        });
        Ok(series.collect())
    }

    /// Labels come with the tables of Polars.
    #[cfg(not(feature = "polars"))]
    fn labelled(&self, _: &Options) -> Result<Vec<Series>> {
        Ok(self.series.clone())
    }
}

/// Whether the boxes are drawn horizontally: where it is set, or names are too wide to fit below.
fn lie(groups: &[Series], width: i64, options: &Options) -> bool {
    let widest = groups
        .iter()
        .map(|group| text_width(&group.name, SMALL))
        .max();
    let slot = (width - 120) / groups.len().max(1) as i64;
    options.horizontal || i64::from(widest.unwrap_or(0)) + 20 > slot
}

/// What is drawn of a box: where it is on the axis of names, how wide it is, and whether it lies.
struct Place<'a> {
    /// The pixels of values.
    pixel: &'a dyn Fn(f64) -> i32,
    middle: i32,
    half: i32,
    lies: bool,
}

impl Place<'_> {
    /// The point at a value, this far from the middle.
    fn point(&self, value: f64, off: i32) -> Point {
        let along = (self.pixel)(value);
        match self.lies {
            true => (along, self.middle + off),
            false => (self.middle + off, along),
        }
    }

    fn draw(&self, canvas: &dyn Canvas, summary: &Summary, colour: Rgb) -> Result<()> {
        let theme = canvas.theme();
        let [first, median, third] = summary.quartiles;
        for (from, to) in [(first, summary.whiskers[0]), (third, summary.whiskers[1])] {
            canvas.line(
                vec![self.point(from, 0), self.point(to, 0)],
                theme.soft_ink,
                3,
            )?;
            let cap = [-self.half / 2, self.half / 2].map(|off| self.point(to, off));
            canvas.line(cap.to_vec(), theme.soft_ink, 3)?;
        }
        let corners = [self.point(first, -self.half), self.point(third, self.half)];
        let ends = |value: fn(&Point) -> i32| {
            let [a, b] = corners.each_ref().map(value);
            (a.min(b), a.max(b).max(a.min(b) + 1))
        };
        let ((left, right), (top, bottom)) = (ends(|point| point.0), ends(|point| point.1));
        let area = Area {
            left,
            top,
            right,
            bottom,
        };
        draw_bar(canvas, area, theme.pale(colour, 0.55))?;
        canvas.outline(area, theme.line(colour), 3)?;
        let across = [-self.half, self.half].map(|off| self.point(median, off));
        canvas.line(across.to_vec(), theme.ink, 5)?;
        let mut dots: Vec<Point> = summary.outliers.iter().map(|&v| self.point(v, 0)).collect();
        dots.dedup();
        for at in dots {
            canvas.dot(at, 5, theme.line(colour), 1.0)?;
        }
        Ok(())
    }
}

impl Panel for BoxPlot {
    fn kind(&self) -> &'static str {
        "a box plot"
    }

    fn takes(&self) -> &'static [&'static str] {
        &[
            "x_label",
            "y_label",
            "log_y",
            "x",
            "by",
            "colors",
            "horizontal",
        ]
    }

    fn describe(&self, options: &Options) -> String {
        // Errors are reported when the chart is drawn.
        let groups = self.groups(options).unwrap_or_default();
        let of = options
            .y_label
            .as_ref()
            .map_or(String::new(), |label| format!(" of {label}"));
        let described = list(&groups, |group| {
            match group.values.iter().all(|value| value.is_nan()) {
                true => "no values".into(),
                false => {
                    let [first, median, third] = Summary::of(&group.values).quartiles.map(brief);
                    format!("median {median}, quartiles {first} and {third}")
                }
            }
        });
        match groups.len() {
            1 => format!("1 box{of}: {described}"),
            many => format!("{many} boxes{of}: {described}"),
        }
    }

    fn heights(&self, width: i64, options: &Options) -> Heights {
        let groups = self.groups(options).unwrap_or_default();
        let (x, y) = (options.x_label(""), options.y_label(""));
        match lie(&groups, width, options) {
            true => Frame::heights(ROW * groups.len().max(2) as i64, y, x),
            false => Frame::heights(PLOT_HEIGHT, x, y),
        }
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        let groups = self.groups(options)?;
        if groups.is_empty() {
            return Err(nothing("no numbers"));
        }
        let empty = |group: &&Series| group.values.iter().all(|value| value.is_nan());
        if let Some(group) = groups.iter().find(empty) {
            return Err(nothing(&format!("no values{}", of_series(&group.name))));
        }
        let starts: Vec<usize> = groups
            .iter()
            .scan(0, |sum, group| {
                *sum += group.values.len();
                Some(*sum)
            })
            .collect();
        let place = |at: usize| {
            let group = starts.partition_point(|&end| end <= at);
            let before = group.checked_sub(1).map_or(0, |before| starts[before]);
            format!("value {}{}", at - before, of_series(&groups[group].name))
        };
        let all: Vec<f64> = groups
            .iter()
            .flat_map(|group| group.values.clone())
            .collect();
        let values = Range::of(&all, options.log_y, 0.05, place)?;
        let lies = lie(&groups, area.width().into(), options);
        let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
        let along = Range::between(-0.5, groups.len() as f64 - 0.5);
        let (names_label, values_label) = (options.x_label(""), options.y_label(""));
        let frame = match lies {
            true => Frame {
                x: values,
                y: along,
                x_label: values_label,
                y_label: names_label,
                y_names: Some(&names),
                ..Frame::default()
            },
            false => Frame {
                x: along,
                y: values,
                x_label: names_label,
                y_label: values_label,
                x_names: Some(&names),
                ..Frame::default()
            },
        };
        let plot = frame.draw(canvas, area)?;
        let (of_names, of_values) = match lies {
            true => (&plot.y, &plot.x),
            false => (&plot.x, &plot.y),
        };
        let slot = (of_names.position(1.0) - of_names.position(0.0)).abs();
        let half = (BOX.0 * slot).min(BOX.1) / 2.0;
        for (at, (group, colour)) in groups
            .iter()
            .zip(options.of_series(groups.len()))
            .enumerate()
        {
            let place = Place {
                pixel: &|value| of_values.pixel(value),
                middle: of_names.pixel(at as f64),
                half: (half as i32).max(1),
                lies,
            };
            place.draw(canvas, &Summary::of(&group.values), colour)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_those_of_matplotlib() {
        // matplotlib.cbook.boxplot_stats([1, 2, 3, 4, 5, 6, 7, 30, -20])
        let summary = Summary::of(&[1.0, 2.0, 3.0, f64::NAN, 4.0, 5.0, 6.0, 7.0, 30.0, -20.0]);
        assert_eq!(
            summary,
            Summary {
                whiskers: [1.0, 7.0],
                quartiles: [2.0, 4.0, 6.0],
                outliers: vec![-20.0, 30.0],
            }
        );
        let one = Summary::of(&[3.0]);
        assert_eq!((one.whiskers, one.quartiles), ([3.0; 2], [3.0; 3]));
    }
}
