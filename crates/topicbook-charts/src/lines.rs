//! Lines through numbers, with their names at the ends.

use crate::error::Result;
use crate::text::counted;

use super::canvas::{Anchor, Area, Canvas, Point, SMALL, fit_text, text_width};
use super::error_bars::check_ends;
use super::frame::{Frame, Positions, Range, positions};
use super::layout::Heights;
use super::numbers::Series;
use super::options::Options;
use super::palette::Rgb;
use super::plain::{brief, extent, list, of_series};
use super::{Panel, nothing};

const PLOT_HEIGHT: i64 = 420;
/// Height of the name of a line.
const NAME_HEIGHT: i64 = 32;
/// Most values of a line that are marked by dots.
const MAX_MARKED: usize = 40;
/// Number of lines with different colours; further ones are dashed, and then dotted.
const SOLID: usize = 10;

pub struct Lines {
    series: Vec<Series>,
}

impl Lines {
    pub fn new(series: Vec<Series>) -> Self {
        Self { series }
    }

    fn check(&self) -> Result<()> {
        if self.series.is_empty() {
            return Err(nothing("no numbers"));
        }
        match self.series.iter().find(|series| series.values.is_empty()) {
            Some(series) => Err(nothing(&format!("no values{}", of_series(&series.name)))),
            None => Ok(()),
        }
    }

    /// The ranges of both axes.
    fn ranges(&self, options: &Options, at: &Positions) -> Result<(Range, Range)> {
        let x = at.range(options.log_x, 0.0, |at| format!("position {at} of `x`"))?;
        let ends = options.bands.iter().flatten().flatten();
        let all: Vec<&Series> = self.series.iter().chain(ends).collect();
        let values: Vec<f64> = all.iter().flat_map(|s| s.values.clone()).collect();
        let place = |index: usize| {
            let mut index = index;
            for series in &all {
                match index.checked_sub(series.values.len()) {
                    Some(rest) => index = rest,
                    None => return format!("value {index}{}", of_series(&series.name)),
                }
            }
            format!("value {index}")
        };
        Ok((x, Range::of(&values, options.log_y, 0.05, place)?))
    }
}

impl Panel for Lines {
    fn kind(&self) -> &'static str {
        "lines"
    }

    fn takes(&self) -> &'static [&'static str] {
        &[
            "x_label", "y_label", "log_x", "log_y", "x", "bands", "colors",
        ]
    }

    fn describe(&self, options: &Options) -> String {
        let axes = [&options.y_label, &options.x_label];
        let over = match axes {
            [Some(y), Some(x)] => format!(" of {y} over {x}"),
            [Some(y), None] => format!(" of {y}"),
            [None, Some(x)] => format!(" over {x}"),
            [None, None] => String::new(),
        };
        let series = list(&self.series, |series| {
            let last = series.values.iter().rev().find(|value| !value.is_nan());
            let last = last.map_or(String::new(), |&last| format!(", last {}", brief(last)));
            extent(&series.values) + &last
        });
        let bands = options.bands.as_ref().map_or("", |_| " with bands");
        let lines = counted(self.series.len(), "line");
        format!("{lines}{bands}{over}: {series}")
    }

    fn heights(&self, _width: i64, options: &Options) -> Heights {
        Frame::heights(
            PLOT_HEIGHT.max(NAME_HEIGHT * self.series.len() as i64),
            options.x_label(""),
            options.y_label(""),
        )
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        self.check()?;
        let at = positions(options, &self.series)?;
        if let Some(ends) = &options.bands {
            check_ends(ends, &self.series)?;
        }
        let (x, y) = self.ranges(options, &at)?;
        let names: Vec<&str> = self.series.iter().map(|s| s.name.as_str()).collect();
        let right = name_width(&names, area.width());
        let frame = Frame {
            x,
            y,
            x_label: options.x_label(""),
            y_label: options.y_label(""),
            x_names: at.names.as_deref(),
            x_ticks: match options.x.is_some() && !at.are_dates {
                true => &at.numbers,
                false => &[],
            },
            right,
            ..Frame::default()
        };
        let plot = frame.draw(canvas, area)?;
        let colours = options.lines(canvas.theme(), self.series.len());
        if let Some([lower, upper]) = &options.bands {
            let ends = |series: &Series| -> Vec<(f64, f64)> {
                let points = at.numbers.iter().zip(&series.values);
                points
                    .map(|(&x, &value)| (plot.x.position(x), plot.y.position(value)))
                    .collect()
            };
            let bands: Vec<Band> = lower
                .iter()
                .zip(upper)
                .zip(&colours)
                .flat_map(|((lower, upper), &colour)| pieces(&ends(lower), &ends(upper), colour))
                .collect();
            draw_bands(canvas, &bands)?;
        }
        if let Some((at, text)) = &options.mark {
            let theme = canvas.theme();
            let x = plot.x.pixel(*at);
            for dash in dashed(&[(x, plot.area.top), (x, plot.area.bottom)], 12.0, 8.0) {
                canvas.line(dash, theme.soft_ink, 3)?;
            }
            let (off, anchor) = match x > (plot.area.left + plot.area.right) / 2 {
                true => (-12, Anchor::Right),
                false => (12, Anchor::Left),
            };
            let place = (x + off, plot.area.bottom - 22);
            canvas.text(text, place, anchor, SMALL, theme.soft_ink)?;
        }
        let mut ends = Vec::new();
        for (index, (series, &colour)) in self.series.iter().zip(&colours).enumerate() {
            let points = at.numbers.iter().zip(&series.values);
            let points = points.map(|(&x, &value)| (plot.x.position(x), plot.y.position(value)));
            let points: Vec<(f64, f64)> = points.collect();
            curve(canvas, &points, colour, index / SOLID)?;
            if let Some(last) = points.iter().rev().find(|point| !point.1.is_nan()) {
                ends.push((last.1.round() as i32, series.name.as_str(), colour));
            }
        }
        names_beside(canvas, plot.area, right, ends)
    }
}

/// A part of a band without missing values: its ends from left to right, in pixels.
struct Band {
    lower: Vec<Point>,
    upper: Vec<Point>,
    colour: Rgb,
}

/// The parts of a band between missing values.
fn pieces(lower: &[(f64, f64)], upper: &[(f64, f64)], colour: Rgb) -> Vec<Band> {
    let pixel = |point: &(f64, f64)| (point.0.round() as i32, point.1.round() as i32);
    let pairs: Vec<_> = lower.iter().zip(upper).collect();
    pairs
        .split(|(low, high)| low.1.is_nan() || high.1.is_nan())
        .filter(|piece| piece.len() > 1)
        .map(|piece| Band {
            lower: piece.iter().map(|pair| pixel(pair.0)).collect(),
            upper: piece.iter().map(|pair| pixel(pair.1)).collect(),
            colour,
        })
        .collect()
}

/// Draws all bands in pale colours, and then their edges, which show where bands overlap.
fn draw_bands(canvas: &dyn Canvas, bands: &[Band]) -> Result<()> {
    let theme = canvas.theme();
    for band in bands {
        let outline = band.upper.iter().chain(band.lower.iter().rev());
        let outline = outline.copied().collect();
        canvas.polygon(outline, theme.pale(band.colour, 0.25).into())?;
    }
    for band in bands {
        for edge in [&band.lower, &band.upper] {
            canvas.line(thinned(edge), theme.pale(band.colour, 0.6), 2)?;
        }
    }
    Ok(())
}

/// Width of the names at the right of a plot; zero without names.
pub fn name_width(names: &[&str], width: i32) -> i32 {
    let widest = names.iter().map(|name| text_width(name, SMALL)).max();
    match widest.unwrap_or(0) {
        0 => 0,
        text => (text + text / 8 + 14).min(width * 2 / 5),
    }
}

/// Draws a line through the points, interrupted where a value is missing, with dots if there are few. `dashes` is 0 for a
/// solid line, 1 for dashes, and 2 for dots.
pub fn curve(canvas: &dyn Canvas, points: &[(f64, f64)], colour: Rgb, dashes: usize) -> Result<()> {
    for piece in points.split(|point| point.0.is_nan() || point.1.is_nan()) {
        let pixels: Vec<Point> = piece
            .iter()
            .map(|&(x, y)| (x.round() as i32, y.round() as i32))
            .collect();
        if points.len() <= MAX_MARKED || pixels.len() == 1 {
            for &at in &pixels {
                canvas.dot(at, 6, colour, 1.0)?;
            }
        }
        let pixels = thinned(&pixels);
        let pieces = match dashes {
            0 => vec![pixels],
            1 => dashed(&pixels, 18.0, 12.0),
            _ => dashed(&pixels, 4.0, 10.0),
        };
        for piece in pieces.into_iter().filter(|piece| piece.len() > 1) {
            canvas.line(piece, colour, 4)?;
        }
    }
    Ok(())
}

/// Of consecutive points with the same horizontal pixel, the first, the highest, the lowest and the last.
fn thinned(points: &[Point]) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for column in points.chunk_by(|a, b| a.0 == b.0) {
        let highest = column.iter().min_by_key(|point| point.1);
        let lowest = column.iter().max_by_key(|point| point.1);
        let some = [column.first(), highest, lowest, column.last()];
        kept.extend(some.into_iter().flatten());
    }
    kept.dedup();
    kept
}

/// The dashes of a line: pieces of the length `on`, with gaps of the length `off`.
fn dashed(points: &[Point], on: f64, off: f64) -> Vec<Vec<Point>> {
    let mut pieces = vec![points[..points.len().min(1)].to_vec()];
    let mut is_on = true;
    let mut rest = on;
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let mut done = 0.0;
        while length - done > rest {
            done += rest;
            let at = (
                from.0 + (dx * done / length).round() as i32,
                from.1 + (dy * done / length).round() as i32,
            );
            match (is_on, pieces.last_mut()) {
                (true, Some(piece)) => piece.push(at),
                _ => pieces.push(vec![at]),
            }
            is_on = !is_on;
            rest = if is_on { on } else { off };
        }
        rest -= length - done;
        if let (true, Some(piece)) = (is_on, pieces.last_mut()) {
            piece.push(to);
        }
    }
    pieces
}

/// Draws names at the right of a plot, at the heights of their lines' ends, moved apart where they would overlap.
pub fn names_beside(
    canvas: &dyn Canvas,
    plot: Area,
    width: i32,
    mut ends: Vec<(i32, &str, Rgb)>,
) -> Result<()> {
    if width == 0 {
        return Ok(());
    }
    ends.sort_by_key(|end| end.0);
    let heights: Vec<i32> = ends.iter().map(|end| end.0).collect();
    let room = (plot.top, plot.bottom);
    for (at, (_, name, colour)) in apart(&heights, NAME_HEIGHT as i32, room)
        .into_iter()
        .zip(ends)
    {
        let text = fit_text(name, SMALL, width - 14);
        let colour = canvas.theme().text(colour);
        canvas.text(&text, (plot.right + 14, at), Anchor::Left, SMALL, colour)?;
    }
    Ok(())
}

/// Sorted positions, moved as little as needed so that they are `distance` apart, inside of `room` if it is wide enough.
pub fn apart(positions: &[i32], distance: i32, (low, high): (i32, i32)) -> Vec<i32> {
    let needed = (positions.len() as i32 - 1).max(0) * distance;
    // The distance is reduced if there is not enough room for it.
    let distance = match needed > high - low {
        true => (high - low) / (positions.len() as i32 - 1).max(1),
        false => distance,
    };
    // Groups of neighbours that touch: first and last index, and the position of the first.
    let mut groups: Vec<(usize, usize, f64)> = Vec::new();
    for (index, &position) in positions.iter().enumerate() {
        groups.push((index, index, f64::from(position)));
        while let [.., before, last] = groups[..] {
            let step = f64::from(distance);
            let end = before.2 + (before.1 - before.0 + 1) as f64 * step;
            if end <= last.2 {
                break;
            }
            // The joint group lies at the mean of its members' preferred positions.
            let (first, to) = (before.0, last.1);
            let wishes = (first..=to).map(|i| f64::from(positions[i]) - (i - first) as f64 * step);
            let start = wishes.sum::<f64>() / (to - first + 1) as f64;
            groups.truncate(groups.len() - 2);
            groups.push((first, to, start));
        }
    }
    let mut moved: Vec<i32> = groups
        .into_iter()
        .flat_map(|(first, last, start)| {
            let start = start.round() as i32;
            (0..=last - first).map(move |index| start + index as i32 * distance)
        })
        .collect();
    // Push back into the room, from below and then from above.
    let mut limit = high;
    for at in moved.iter_mut().rev() {
        *at = (*at).min(limit);
        limit = *at - distance;
    }
    let mut limit = low;
    for at in &mut moved {
        *at = (*at).max(limit);
        limit = *at + distance;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_moved_apart_and_stay_in_order() {
        assert_eq!(apart(&[10, 50, 90], 20, (0, 100)), [10, 50, 90]);
        assert_eq!(apart(&[50, 50], 20, (0, 100)), [40, 60]);
        assert_eq!(apart(&[0, 0, 0], 20, (0, 100)), [0, 20, 40]);
        assert_eq!(apart(&[99, 100, 100], 20, (0, 100)), [60, 80, 100]);
        assert_eq!(
            apart(&[5; 11], 20, (0, 100)),
            (0..11).map(|i| 10 * i).collect::<Vec<_>>()
        );
        assert_eq!(apart(&[], 20, (0, 100)), [0; 0]);
    }

    #[test]
    fn dashes_cover_their_part_of_a_line() {
        let pieces = dashed(&[(0, 0), (60, 0)], 20.0, 10.0);
        assert_eq!(pieces, [vec![(0, 0), (20, 0)], vec![(30, 0), (50, 0)]]);
        assert!(dashed(&[], 20.0, 10.0)[0].is_empty());
    }

    #[test]
    fn a_column_of_pixels_keeps_its_extremes() {
        let points = [(0, 5), (1, 3), (1, 9), (1, 1), (1, 4), (2, 4)];
        assert_eq!(
            thinned(&points),
            [(0, 5), (1, 3), (1, 1), (1, 9), (1, 4), (2, 4)]
        );
    }
}
