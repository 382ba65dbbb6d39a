//! Loss curves: a plot of the loss per epoch, and one of the log-likelihood per token below it.

use std::ops::Deref;

use crate::error::{Error, Result};
use crate::text::{count, counted, number};

use super::axis::{
    BELOW, LABEL_HEIGHT, Scale, horizontal, left_of, tick_labels, title_above, title_below,
    vertical,
};
use super::canvas::{Anchor, Area, Canvas, Point, SMALL, text_width};
use super::layout::Heights;
use super::lines::{name_width, names_beside};
use super::options::Options;
use super::palette::Rgb;
use super::plain::of_series;
use super::{Panel, not_drawable, nothing};

const PLOT_HEIGHT: i64 = 300;
/// Space between the plots.
const SPACING: i64 = 30;
/// Most epochs that are marked by dots.
const MAX_MARKED: usize = 40;

/// A fit whose losses [`Chart::losses`](crate::Chart::losses) draws, or a reference to it.
pub trait Losses {
    /// The course of the fit.
    fn run(&self) -> Run;
}

impl<T: Deref<Target: Losses>> Losses for T {
    fn run(&self) -> Run {
        self.deref().run()
    }
}

/// The course of one fit.
pub struct Run {
    /// Empty if there is only one fit.
    pub name: String,
    /// The loss of each epoch.
    pub loss: Vec<f64>,
    /// The log-likelihood per token of each epoch, in nats.
    pub log_likelihood: Vec<f64>,
}

pub struct Loss {
    runs: Vec<Run>,
}

impl Loss {
    pub fn new(runs: Vec<Run>) -> Self {
        Self { runs }
    }

    fn check(&self) -> Result<()> {
        if self.runs.is_empty() {
            return Err(nothing("no fits"));
        }
        self.runs.iter().try_for_each(Run::check)
    }

    /// The epochs of the longest run.
    fn epochs(&self) -> usize {
        let epochs = self.runs.iter().map(|run| run.loss.len());
        epochs.max().unwrap_or(0)
    }
}

impl Run {
    fn check(&self) -> Result<()> {
        let of = of_series(&self.name);
        if self.loss.is_empty() {
            return Err(nothing(&format!("no epochs{of}")));
        }
        if self.loss.len() != self.log_likelihood.len() {
            return Err(Error::drawing(format!(
                "{} of the loss and {} of the log-likelihood{of}",
                counted(self.loss.len(), "value"),
                count(self.log_likelihood.len() as u64)
            ))
            .fix("pass one value of each per epoch"));
        }
        for (what, values) in [
            ("the loss", &self.loss),
            ("the log-likelihood", &self.log_likelihood),
        ] {
            if let Some(epoch) = values.iter().position(|value| !value.is_finite()) {
                let place = format!("epoch {}{of}", epoch + 1);
                return Err(not_drawable(what, values[epoch], place));
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let last = self.loss.last().zip(self.log_likelihood.last());
        let end = last.map_or(String::new(), |(&loss, &log_likelihood)| {
            format!(
                ", at the end loss {} and log-likelihood per token {}",
                number(loss),
                number(log_likelihood)
            )
        });
        counted(self.loss.len(), "epoch") + &end
    }
}

impl Panel for Loss {
    fn kind(&self) -> &'static str {
        "a loss curve"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "colors"]
    }

    fn title(&self) -> &str {
        match self.runs[..] {
            [_] => "Loss curve",
            _ => "Loss curves",
        }
    }

    fn describe(&self, _options: &Options) -> String {
        let parts: Vec<String> = self
            .runs
            .iter()
            .map(|run| match run.name.as_str() {
                "" => run.describe(),
                name => format!("{name}: {}", run.describe()),
            })
            .collect();
        parts.join("; ")
    }

    fn heights(&self, _width: i64, _options: &Options) -> Heights {
        Heights {
            fixed: 2 * LABEL_HEIGHT + SPACING + i64::from(2 * BELOW),
            plots: 2 * PLOT_HEIGHT,
        }
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        self.check()?;
        let epochs = self.epochs();
        // The steep first tenth would flatten the rest of the curve.
        let first_scaled = match epochs {
            ..10 => 0,
            _ => epochs / 10,
        };
        let fixed = self.heights(area.width().into(), options).fixed as i32;
        let plot_height = (area.height() - fixed) / 2;
        let upper = area.inset(0, LABEL_HEIGHT as i32, 0, 0);
        let upper = Area {
            bottom: upper.top + plot_height,
            ..upper
        };
        let lower_top = upper.bottom + (SPACING + LABEL_HEIGHT) as i32;
        let lower = Area {
            top: lower_top,
            bottom: lower_top + plot_height,
            ..upper
        };
        let of = |values: fn(&Run) -> &[f64]| self.runs.iter().map(values).collect();
        let plots = [
            Curves::new("loss (mean over batches)", of(|run| &run.loss), 0),
            Curves::new(
                "log-likelihood per token",
                of(|run| &run.log_likelihood),
                first_scaled,
            ),
        ];
        let labels = |curves: &Curves, plot: Area| tick_labels(&curves.scale(plot).ticks(5));
        let left = left_of(&labels(&plots[0], upper)).max(left_of(&labels(&plots[1], lower)));
        let names: Vec<&str> = self.runs.iter().map(|run| run.name.as_str()).collect();
        let right = name_width(&names, area.width());
        for (index, (curves, plot)) in plots.iter().zip([upper, lower]).enumerate() {
            let plot = plot.inset(left, 0, 16 + right, 0);
            // A single fit has one colour for each of its plots.
            let colours = match self.runs.len() {
                1 => vec![options.lines(canvas.theme(), 2)[index]],
                runs => options.lines(canvas.theme(), runs),
            };
            let x = epoch_scale(epochs, plot);
            let ends = curves.draw(canvas, plot, &x, &colours)?;
            let ends = ends.into_iter().zip(&names).zip(colours);
            let ends = ends.map(|((at, name), colour)| (at, *name, colour));
            names_beside(canvas, plot, right, ends.collect())?;
        }
        let lower = lower.inset(left, 0, 16 + right, 0);
        let (ticks, labels) = whole_ticks(&epoch_scale(epochs, lower), lower.width());
        horizontal(canvas, lower, &epoch_scale(epochs, lower), &ticks, &labels)?;
        title_below(canvas, lower, options.x_label("epoch"))
    }
}

/// One plot over the epochs, with a curve for each fit.
struct Curves<'a> {
    label: String,
    curves: Vec<&'a [f64]>,
    /// The first epoch, counted from 0, that the vertical scale includes.
    first_scaled: usize,
}

impl<'a> Curves<'a> {
    fn new(label: &str, curves: Vec<&'a [f64]>, first_scaled: usize) -> Self {
        let mut all = Self {
            label: label.into(),
            curves,
            first_scaled,
        };
        let (low, high) = all.range();
        let mut steep = all
            .curves
            .iter()
            .flat_map(|values| values.iter().take(first_scaled));
        if steep.any(|value| !(low..=high).contains(value)) {
            all.label += &format!(", scaled from epoch {} on", first_scaled + 1);
        }
        all
    }

    /// The range of the vertical scale, which extends the values by 4% on both sides.
    fn range(&self) -> (f64, f64) {
        // A fit that ended early counts with its last value.
        let scaled = || {
            let curves = self.curves.iter();
            curves.flat_map(|v| &v[self.first_scaled.min(v.len().saturating_sub(1))..])
        };
        let low = scaled().copied().fold(f64::INFINITY, f64::min);
        let high = scaled().copied().fold(f64::NEG_INFINITY, f64::max);
        let padding = 0.04 * (high - low);
        (low - padding, high + padding)
    }

    fn scale(&self, plot: Area) -> Scale {
        let (low, high) = self.range();
        Scale::new(low, high, plot.bottom, plot.top)
    }

    /// Draws the curves; returns the heights at which they end.
    fn draw(
        &self,
        canvas: &dyn Canvas,
        plot: Area,
        x: &Scale,
        colours: &[Rgb],
    ) -> Result<Vec<i32>> {
        let y = self.scale(plot);
        title_above(canvas, plot, &self.label)?;
        if let [[.., last]] = self.curves[..] {
            let last = format!("last {}", number(*last));
            let width = text_width(&self.label, SMALL) + text_width(&last, SMALL);
            if width + 40 < plot.width() {
                let above = plot.top - LABEL_HEIGHT as i32 / 2 - 2;
                let ink = canvas.theme().ink;
                canvas.text(&last, (plot.right, above), Anchor::Right, SMALL, ink)?;
            }
        }
        let ticks = y.ticks(((plot.height() / 55).clamp(2, 5)) as usize);
        vertical(canvas, plot, &y, &ticks, &tick_labels(&ticks))?;

        let (top, bottom) = (f64::from(plot.top), f64::from(plot.bottom));
        let mut ends = Vec::new();
        for (values, &colour) in self.curves.iter().zip(colours) {
            let points: Vec<(f64, f64)> = values
                .iter()
                .enumerate()
                .map(|(epoch, &value)| (x.position((epoch + 1) as f64), y.position(value)))
                .collect();
            for piece in clip(&points, top, bottom) {
                canvas.line(piece, colour, 4)?;
            }
            if points.len() <= MAX_MARKED {
                for &(x, y) in points.iter().filter(|(_, y)| (top..=bottom).contains(y)) {
                    canvas.dot((x.round() as i32, y.round() as i32), 6, colour, 1.0)?;
                }
            }
            ends.extend(points.last().map(|end| end.1.round() as i32));
        }
        Ok(ends)
    }
}

fn epoch_scale(epochs: usize, plot: Area) -> Scale {
    let high = epochs.max(2) as f64;
    Scale::new(1.0, high, plot.left, plot.right)
}

/// Ticks at whole epochs, and their labels.
fn whole_ticks(scale: &Scale, width: i32) -> (Vec<f64>, Vec<String>) {
    let mut ticks = scale.ticks((width / 110).clamp(2, 11) as usize);
    ticks.retain(|tick| tick.fract() == 0.0);
    let labels = ticks.iter().map(|&tick| count(tick as u64)).collect();
    (ticks, labels)
}

/// Clips a line to the heights between `top` and `bottom`; returns its pieces in pixels.
fn clip(points: &[(f64, f64)], top: f64, bottom: f64) -> Vec<Vec<Point>> {
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let mut end = None;
    for pair in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        // The part of the segment between the two heights, in fractions of its length.
        let (mut from, mut to) = (0.0f64, 1.0f64);
        if y0 == y1 {
            if !(top..=bottom).contains(&y0) {
                continue;
            }
        } else {
            let (a, b) = ((top - y0) / (y1 - y0), (bottom - y0) / (y1 - y0));
            from = from.max(a.min(b));
            to = to.min(a.max(b));
        }
        if from >= to {
            continue;
        }
        let at = |fraction: f64| {
            let (x, y) = (x0 + fraction * (x1 - x0), y0 + fraction * (y1 - y0));
            (x.round() as i32, y.round() as i32)
        };
        match pieces.last_mut() {
            Some(piece) if end == Some(at(from)) => piece.push(at(to)),
            _ => pieces.push(vec![at(from), at(to)]),
        }
        end = Some(at(to));
    }
    // With many epochs per pixel, the same point occurs many times.
    for piece in &mut pieces {
        piece.dedup();
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_clipped_at_the_edges_of_its_plot() {
        let points = [(0.0, -10.0), (10.0, 10.0), (20.0, 10.0), (30.0, 30.0)];
        assert_eq!(
            clip(&points, 0.0, 20.0),
            [vec![(5, 0), (10, 10), (20, 10), (25, 20)]]
        );
        assert!(clip(&points[..1], 0.0, 20.0).is_empty());
        assert!(clip(&[(0.0, -5.0), (9.0, -1.0)], 0.0, 20.0).is_empty());
        let twice = [(0.0, 5.0), (2.0, -5.0), (4.0, 5.0)];
        assert_eq!(clip(&twice, 0.0, 20.0).len(), 2);
    }
}
