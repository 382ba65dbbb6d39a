//! The loss curve: a plot of the loss per epoch, and one of the log-likelihood per token below it.

use crate::error::{Error, ErrorKind, Result};
use crate::text::{count, counted, number};

use super::axis::{BELOW, Scale, horizontal, left_of, tick_labels, title_below, vertical};
use super::canvas::{Anchor, Area, Canvas, INK, Point, SMALL, SOFT_INK, text_width};
use super::palette::{Rgb, colours};
use super::{Panel, not_drawable, nothing};

const PLOT_HEIGHT: i64 = 300;
/// Height of the line of text above a plot.
const LABEL_HEIGHT: i64 = 44;
/// Space between the plots.
const SPACING: i64 = 30;
/// Most epochs that are marked by dots.
const MAX_MARKED: usize = 40;

pub(crate) struct Loss {
    loss: Vec<f64>,
    log_likelihood: Vec<f64>,
}

impl Loss {
    pub(crate) fn new(loss: &[f64], log_likelihood: &[f64]) -> Self {
        Self {
            loss: loss.to_vec(),
            log_likelihood: log_likelihood.to_vec(),
        }
    }

    fn check(&self) -> Result<()> {
        if self.loss.is_empty() {
            return Err(nothing("no epochs"));
        }
        if self.loss.len() != self.log_likelihood.len() {
            return Err(Error::new(
                ErrorKind::Drawing,
                format!(
                    "{} of the loss and {} of the log-likelihood",
                    counted(self.loss.len(), "value"),
                    count(self.log_likelihood.len() as u64)
                ),
            )
            .fix("pass one value of each per epoch"));
        }
        for (what, values) in [
            ("the loss", &self.loss),
            ("the log-likelihood", &self.log_likelihood),
        ] {
            if let Some(epoch) = values.iter().position(|value| !value.is_finite()) {
                let place = format!("epoch {}", epoch + 1);
                return Err(not_drawable(what, values[epoch], place));
            }
        }
        Ok(())
    }
}

impl Panel for Loss {
    fn title(&self) -> &str {
        "Loss curve"
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

    fn height(&self, _width: i64) -> i64 {
        2 * (LABEL_HEIGHT + PLOT_HEIGHT) + SPACING + i64::from(2 * BELOW)
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()> {
        self.check()?;
        let epochs = self.loss.len();
        // The steep first tenth would flatten the rest of the curve.
        let first_scaled = match epochs {
            ..10 => 0,
            _ => epochs / 10,
        };
        let upper = area.inset(0, LABEL_HEIGHT as i32, 0, 0);
        let upper = Area {
            bottom: upper.top + PLOT_HEIGHT as i32,
            ..upper
        };
        let lower = Area {
            top: upper.bottom + (SPACING + LABEL_HEIGHT) as i32,
            bottom: upper.bottom + (SPACING + LABEL_HEIGHT + PLOT_HEIGHT) as i32,
            ..upper
        };
        let curves = [
            Curve::new("loss (mean over batches)".into(), &self.loss, 0),
            Curve::new(
                "log-likelihood per token".into(),
                &self.log_likelihood,
                first_scaled,
            ),
        ];
        let labels = |curve: &Curve, plot: Area| tick_labels(&curve.scale(plot).ticks(5));
        let left = left_of(&labels(&curves[0], upper)).max(left_of(&labels(&curves[1], lower)));
        let palette = colours(2);
        for ((curve, plot), &colour) in curves.iter().zip([upper, lower]).zip(&palette) {
            curve.draw(canvas, plot.inset(left, 0, 16, 0), colour)?;
        }
        let lower = lower.inset(left, 0, 16, 0);
        let (ticks, labels) = whole_ticks(&epoch_scale(epochs, lower));
        horizontal(canvas, lower, &epoch_scale(epochs, lower), &ticks, &labels)?;
        title_below(canvas, lower, "epoch")
    }
}

/// One curve over the epochs.
struct Curve<'a> {
    label: String,
    values: &'a [f64],
    /// The first epoch, counted from 0, that the vertical scale includes.
    first_scaled: usize,
}

impl<'a> Curve<'a> {
    fn new(label: String, values: &'a [f64], first_scaled: usize) -> Self {
        let mut curve = Self {
            label,
            values,
            first_scaled,
        };
        let (low, high) = curve.range();
        let steep = &values[..first_scaled];
        if steep.iter().any(|value| !(low..=high).contains(value)) {
            curve.label += &format!(", scaled from epoch {} on", first_scaled + 1);
        }
        curve
    }

    /// The range of the vertical scale, which extends the values by 4% on both sides.
    fn range(&self) -> (f64, f64) {
        let scaled = &self.values[self.first_scaled..];
        let low = scaled.iter().copied().fold(f64::INFINITY, f64::min);
        let high = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let padding = 0.04 * (high - low);
        (low - padding, high + padding)
    }

    fn scale(&self, plot: Area) -> Scale {
        let (low, high) = self.range();
        Scale::new(low, high, plot.bottom, plot.top)
    }

    fn draw(&self, canvas: &dyn Canvas, plot: Area, colour: Rgb) -> Result<()> {
        let y = self.scale(plot);
        let x = epoch_scale(self.values.len(), plot);
        let above = plot.top - LABEL_HEIGHT as i32 / 2 - 2;
        canvas.text(
            &self.label,
            (plot.left, above),
            Anchor::Left,
            SMALL,
            SOFT_INK,
        )?;
        if let Some(&last) = self.values.last() {
            let last = format!("last {}", number(last));
            let width = text_width(&self.label, SMALL) + text_width(&last, SMALL);
            if width + 40 < plot.width() {
                canvas.text(&last, (plot.right, above), Anchor::Right, SMALL, INK)?;
            }
        }
        let ticks = y.ticks(5);
        vertical(canvas, plot, &y, &ticks, &tick_labels(&ticks))?;

        let points: Vec<(f64, f64)> = self
            .values
            .iter()
            .enumerate()
            .map(|(epoch, &value)| (x.position((epoch + 1) as f64), y.position(value)))
            .collect();
        let (top, bottom) = (f64::from(plot.top), f64::from(plot.bottom));
        for piece in clip(&points, top, bottom) {
            canvas.line(piece, colour, 4)?;
        }
        if points.len() <= MAX_MARKED {
            for &(x, y) in points.iter().filter(|(_, y)| (top..=bottom).contains(y)) {
                canvas.dot((x.round() as i32, y.round() as i32), 6, colour)?;
            }
        }
        Ok(())
    }
}

fn epoch_scale(epochs: usize, plot: Area) -> Scale {
    let high = epochs.max(2) as f64;
    Scale::new(1.0, high, plot.left, plot.right)
}

/// Ticks at whole epochs, and their labels.
fn whole_ticks(scale: &Scale) -> (Vec<f64>, Vec<String>) {
    let mut ticks = scale.ticks(11);
    ticks.retain(|tick| tick.fract() == 0.0);
    let labels = ticks.iter().map(|&tick| count(tick as u64)).collect();
    (ticks, labels)
}

/// Clips a line to the heights between `top` and `bottom`; gives its pieces in pixels.
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
