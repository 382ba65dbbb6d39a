//! Points at two coordinates.

use crate::error::{Error, Result};
use crate::text::counted;

use super::Panel;
use super::canvas::{Area, Canvas, Point};
use super::dates;
use super::error_bars::{draw_error_bar, error_bars};
use super::frame::{Frame, Plot, Positions, Range};
use super::layout::Heights;
use super::numbers::Series;
use super::options::Options;
use super::palette::colours;
use super::plain::{bounds, brief, of_series, span};
use super::point_groups::{Grouping, PointGroup};

const PLOT_HEIGHT: i64 = 560;

pub struct Scatter {
    x: Positions,
    y: Vec<f64>,
    /// The only group, without labels.
    group: [PointGroup; 1],
    group_of: Vec<usize>,
}

/// A straight line on the axes as they are drawn: logarithms, where they are logarithmic.
struct Line {
    slope: f64,
    /// The height at 0.
    height: f64,
    /// The ends of the line along the horizontal axis.
    ends: [f64; 2],
}

impl Line {
    /// The line with the least squared distances upwards; `None` where all points are at the same `x`.
    fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / n;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |value: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|p| value(p.0 - x, p.1 - y)).sum()
        };
        let slope = sum(&|x, y| x * y) / sum(&|x, _| x * x);
        slope.is_finite().then(|| Self {
            slope,
            height: y - slope * x,
            ends: bounds(points.iter().map(|point| point.0)).into(),
        })
    }
}

impl Scatter {
    pub fn new(mut x: Positions, mut y: Vec<f64>) -> Self {
        // A point of which one coordinate is missing has none.
        for (x, y) in x.numbers.iter_mut().zip(&mut y) {
            if x.is_nan() || y.is_nan() {
                (*x, *y) = (f64::NAN, f64::NAN);
            }
        }
        Self {
            x,
            group: [PointGroup {
                colour: Some(colours(1)[0]),
                name: String::new(),
            }],
            group_of: vec![0; y.len()],
            y,
        }
    }

    /// The points that have both coordinates, and their numbers.
    fn points(&self) -> impl Iterator<Item = (usize, (f64, f64))> {
        let all = self.x.numbers.iter().copied().zip(self.y.iter().copied());
        all.enumerate().filter(|(_, (x, _))| !x.is_nan())
    }

    /// Pearson's correlation, where it is defined.
    fn correlation(&self) -> Option<f64> {
        let n = self.points().count() as f64;
        let (x, y) = self.points().fold((0.0, 0.0), |sum, (_, point)| {
            (sum.0 + point.0, sum.1 + point.1)
        });
        let (x, y) = (x / n, y / n);
        let sum = |value: fn(f64, f64) -> f64| -> f64 {
            self.points()
                .map(|(_, point)| value(point.0 - x, point.1 - y))
                .sum()
        };
        let spread = (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt();
        Some(sum(|x, y| x * y) / spread).filter(|r| r.is_finite())
    }

    fn grouping(&self, options: &Options) -> Result<Grouping<'_>> {
        Grouping::new(&self.group, &self.group_of, options, "point")
    }

    /// The lines that are asked for, with the groups to which they belong.
    fn lines(&self, grouping: &Grouping<'_>, options: &Options) -> Vec<(usize, Line)> {
        let groups = match options.fit_line {
            true => 0..grouping.groups.len(),
            false => 0..0,
        };
        let log = |value: f64, logarithmic: bool| match logarithmic {
            true => value.log10(),
            false => value,
        };
        let of_group = |group: usize| {
            let points = self.points().filter(|(at, _)| grouping.of[*at] == group);
            let points: Vec<(f64, f64)> = points
                .map(|(_, (x, y))| (log(x, options.log_x), log(y, options.log_y)))
                .collect();
            Some((group, Line::through(&points)?))
        };
        groups.filter_map(of_group).collect()
    }

    fn check(&self) -> Result<()> {
        if let Some(names) = &self.x.names {
            let is_no_date =
                |name: &&String| dates::position(name).is_none() && name.parse::<f64>().is_err();
            let name = names.iter().find(is_no_date).or(names.first());
            return Err(Error::drawing(format!(
                "`{}` is neither a number nor a date",
                name.map_or("", String::as_str)
            ))
            .fix("pass numbers, or dates such as 2024-03-15, as x; groups are .by(..) or Chart::box_plot"));
        }
        if self.x.numbers.len() != self.y.len() {
            return Err(Error::drawing(format!(
                "{} of x and {} of y",
                counted(self.x.numbers.len(), "value"),
                counted(self.y.len(), "value")
            ))
            .fix("pass one x and one y per point"));
        }
        Ok(())
    }

    /// Draws lines in a darker shade of their groups' colours, so that they stand out from the points.
    fn draw_lines(
        &self,
        canvas: &dyn Canvas,
        plot: &Plot,
        grouping: &Grouping<'_>,
        options: &Options,
    ) -> Result<()> {
        let value = |log: f64, logarithmic: bool| match logarithmic {
            true => 10f64.powf(log),
            false => log,
        };
        for (group, line) in self.lines(grouping, options) {
            let ends = line.ends.map(|x| {
                let y = line.height + line.slope * x;
                (
                    plot.x.pixel(value(x, options.log_x)),
                    plot.y.pixel(value(y, options.log_y)),
                )
            });
            let theme = canvas.theme();
            let colour = theme.text(grouping.groups[group].colour_on(canvas));
            canvas.line(ends.to_vec(), theme.background, 8)?;
            canvas.line(ends.to_vec(), colour, 4)?;
        }
        Ok(())
    }
}

impl Panel for Scatter {
    fn kind(&self) -> &'static str {
        "points"
    }

    fn takes(&self) -> &'static [&'static str] {
        &[
            "x_label",
            "y_label",
            "log_x",
            "log_y",
            "by",
            "colors",
            "opacity",
            "fit_line",
            "error_bars",
        ]
    }

    fn describe(&self, options: &Options) -> String {
        let points = counted(self.points().count(), "point");
        if self.points().next().is_none() {
            return points;
        }
        let x = match self.x.are_dates {
            false => span(self.points().map(|(_, point)| point.0)),
            true => {
                let (first, last) = bounds(self.points().map(|(_, point)| point.0));
                format!("{} to {}", dates::text(first), dates::text(last))
            }
        };
        let mut text = format!(
            "{points}, {} from {x}, {} from {}",
            options.x_label("x"),
            options.y_label("y"),
            span(self.points().map(|(_, point)| point.1)),
        );
        if let Some(r) = self.correlation() {
            text += &format!(", correlation {r:.2}");
        }
        // Errors in labels are reported when the chart is drawn.
        if let Ok(grouping) = self.grouping(options) {
            text += &grouping.described;
            for (group, line) in self.lines(&grouping, options) {
                let per = if self.x.are_dates { " a day" } else { "" };
                let name = of_series(&grouping.groups[group].name);
                text += &format!(", line{name}: slope {}{per}", brief(line.slope));
            }
        }
        text
    }

    fn heights(&self, width: i64, options: &Options) -> Heights {
        let mut heights = Frame::heights(PLOT_HEIGHT, options.x_label(""), options.y_label(""));
        if let Ok(grouping) = self.grouping(options) {
            heights.fixed += grouping.legend_height(width);
        }
        heights
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        self.check()?;
        let grouping = self.grouping(options)?;
        let series = Series {
            name: String::new(),
            values: self.y.clone(),
        };
        let bars = match &options.error_bars {
            Some(ends) => error_bars(ends, &[series])?.concat(),
            None => Vec::new(),
        };
        let heights = self.y.iter().copied().chain(bars.iter().copied().flatten());
        let y: Vec<f64> = heights.collect();
        let place = |at: usize| match at.checked_sub(self.y.len()) {
            None => format!("y of point {at}"),
            Some(end) => format!("error bar of point {}", end / 2),
        };
        let frame = Frame {
            x: self
                .x
                .range(options.log_x, 0.03, |at| format!("x of point {at}"))?,
            y: Range::of(&y, options.log_y, 0.05, place)?,
            x_label: options.x_label(""),
            y_label: options.y_label(""),
            ..Frame::default()
        };
        let plot = frame.draw(canvas, grouping.draw_legend(canvas, area)?)?;
        for (at, ends) in bars.iter().enumerate() {
            let ends = ends.map(|end| (plot.x.position(self.x.numbers[at]), plot.y.position(end)));
            let colour = grouping.groups[grouping.of[at]].colour_on(canvas);
            draw_error_bar(canvas, ends, colour)?;
        }
        let (shown, pixels): (Vec<usize>, Vec<Point>) = self
            .points()
            .map(|(at, (x, y))| (grouping.of[at], (plot.x.pixel(x), plot.y.pixel(y))))
            .unzip();
        let cloud = Grouping {
            groups: grouping.groups.clone(),
            of: shown.into(),
            described: String::new(),
        };
        cloud.cloud(canvas, &pixels, options.opacity.unwrap_or(1.0))?;
        self.draw_lines(canvas, &plot, &grouping, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_slope_of_numpy() {
        // numpy.polyfit([1, 2, 4, 7], [3, 1, 5, 6], 1)
        let line = Line::through(&[(1.0, 3.0), (2.0, 1.0), (4.0, 5.0), (7.0, 6.0)]).unwrap();
        assert!(
            (line.slope - 0.690_476_190_476).abs() < 1e-9,
            "{}",
            line.slope
        );
        assert!(
            (line.height - 1.333_333_333_333).abs() < 1e-9,
            "{}",
            line.height
        );
        assert_eq!(line.ends, [1.0, 7.0]);
        assert!(Line::through(&[(2.0, 3.0), (2.0, 5.0)]).is_none());
        assert!(Line::through(&[]).is_none());
    }
}
