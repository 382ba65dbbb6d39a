//! Points at two coordinates.

use crate::error::{Error, Result};
use crate::text::counted;

use super::Panel;
use super::canvas::{Area, Canvas};
use super::layout::Heights;
use super::options::Options;
use super::palette::colours;
use super::plain::{Frame, Range, span};

const PLOT_HEIGHT: i64 = 560;

pub struct Scatter {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Scatter {
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> Self {
        Self { x, y }
    }

    /// The points that have both coordinates.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.x.iter().copied().zip(self.y.iter().copied());
        all.filter(|(x, y)| !x.is_nan() && !y.is_nan())
    }

    /// Pearson's correlation, where it is defined.
    fn correlation(&self) -> Option<f64> {
        let n = self.points().count() as f64;
        let (x, y) = self
            .points()
            .fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let (x, y) = (x / n, y / n);
        let sum = |value: fn(f64, f64) -> f64| -> f64 {
            self.points()
                .map(|point| value(point.0 - x, point.1 - y))
                .sum()
        };
        let spread = (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt();
        Some(sum(|x, y| x * y) / spread).filter(|r| r.is_finite())
    }
}

impl Panel for Scatter {
    fn kind(&self) -> &'static str {
        "points"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "y_label", "log_x", "log_y"]
    }

    fn describe(&self, options: &Options) -> String {
        let range = |values: fn((f64, f64)) -> f64| span(self.points().map(values));
        let points = counted(self.points().count(), "point");
        if self.points().next().is_none() {
            return points;
        }
        let correlation = self.correlation();
        let correlation = correlation.map_or(String::new(), |r| format!(", correlation {r:.2}"));
        format!(
            "{points}, {} from {}, {} from {}{correlation}",
            options.x_label("x"),
            range(|point| point.0),
            options.y_label("y"),
            range(|point| point.1),
        )
    }

    fn heights(&self, _width: i64, options: &Options) -> Heights {
        Frame::heights(PLOT_HEIGHT, options.x_label(""), options.y_label(""))
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        if self.x.len() != self.y.len() {
            return Err(Error::drawing(format!(
                "{} of x and {} of y",
                counted(self.x.len(), "value"),
                counted(self.y.len(), "value")
            ))
            .fix("pass one x and one y per point"));
        }
        let (x, y): (Vec<f64>, Vec<f64>) = self.points().unzip();
        let frame = Frame {
            x: Range::of(&x, options.log_x, 0.03, |at| format!("x of point {at}"))?,
            y: Range::of(&y, options.log_y, 0.05, |at| format!("y of point {at}"))?,
            x_label: options.x_label(""),
            y_label: options.y_label(""),
            x_names: None,
            x_ticks: &[],
            counts: false,
            right: 0,
        };
        let plot = frame.draw(canvas, area)?;
        let radius = match x.len() {
            ..=300 => 7,
            301..=3_000 => 5,
            _ => 3,
        };
        let colour = canvas.theme().line(colours(1)[0]);
        let mut pixels: Vec<(i32, i32)> = x
            .iter()
            .zip(&y)
            .map(|(&x, &y)| (plot.x.pixel(x), plot.y.pixel(y)))
            .collect();
        // Points on the same pixel look like one.
        pixels.sort_unstable();
        pixels.dedup();
        for at in pixels {
            canvas.dot(at, radius, colour)?;
        }
        Ok(())
    }
}
