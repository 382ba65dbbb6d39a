//! A table of numbers as coloured cells.

use crate::error::{Error, Result};
use crate::text::{counted, number};

use super::axis::{above, below, title_above, title_below};
use super::canvas::{Anchor, Area, Canvas, SMALL, fit_text, text_width};
use super::frame::Range;
use super::layout::Heights;
use super::options::Options;
use super::palette::Rgb;
use super::plain::{brief, span, wrong_names};
use super::theme::{Theme, contrast, mix};
use super::{Panel, not_drawable, nothing};

/// Heights of a row of cells, and of all of them.
const ROW: i64 = 44;
const MAX_HEIGHT: i64 = 900;
const MIN_HEIGHT: i64 = 160;
/// Width of the scale of colours, with its labels.
const SCALE_WIDTH: i32 = 150;
/// Number of rectangles of the scale of colours.
const STEPS: i32 = 64;

pub struct Heatmap {
    rows: Vec<Vec<f64>>,
}

/// Colours of numbers: from zero in two directions, or from the least to the largest.
struct Ramp {
    low: f64,
    high: f64,
    colours: Vec<Rgb>,
}

impl Ramp {
    fn new(range: Range, theme: &Theme) -> Self {
        let blue = match theme.is_dark() {
            true => [[0x1B, 0x26, 0x3F], [0x42, 0x69, 0xD0], [0xB9, 0xD3, 0xFF]],
            false => [[0xEE, 0xF3, 0xFD], [0x5F, 0x86, 0xDC], [0x14, 0x2C, 0x73]],
        };
        if range.low < 0.0 && range.high > 0.0 {
            let far = range.high.max(-range.low);
            let middle = match theme.is_dark() {
                true => [0x24, 0x26, 0x2A],
                false => [0xF4, 0xF4, 0xF4],
            };
            let red = match theme.is_dark() {
                true => [[0xFF, 0xC2, 0xB5], [0xD8, 0x4E, 0x38]],
                false => [[0x7A, 0x16, 0x0A], [0xE8, 0x7A, 0x66]],
            };
            return Self {
                low: -far,
                high: far,
                colours: vec![red[0], red[1], middle, blue[1], blue[2]],
            };
        }
        Self {
            low: range.low,
            high: range.high,
            colours: blue.to_vec(),
        }
    }

    fn colour(&self, value: f64) -> Rgb {
        let fraction = match self.high > self.low {
            true => (value - self.low) / (self.high - self.low),
            false => 0.5,
        };
        let position = fraction.clamp(0.0, 1.0) * (self.colours.len() - 1) as f64;
        let left = (position.floor() as usize).min(self.colours.len() - 2);
        let weight = position - left as f64;
        mix(self.colours[left], self.colours[left + 1], weight)
    }
}

impl Heatmap {
    pub fn new(rows: Vec<Vec<f64>>) -> Self {
        Self { rows }
    }

    fn columns(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    fn check(&self, options: &Options) -> Result<Range> {
        if self.rows.is_empty() || self.columns() == 0 {
            return Err(nothing(&format!(
                "{} with {}",
                counted(self.rows.len(), "row"),
                counted(self.columns(), "column")
            )));
        }
        if let Some(row) = self.rows.iter().position(|row| row.len() != self.columns()) {
            return Err(Error::drawing(format!(
                "row {row} has {}, but row 0 has {}",
                counted(self.rows[row].len(), "value"),
                counted(self.columns(), "value")
            ))
            .fix("pass rows of the same length"));
        }
        let place = |at: usize| {
            format!(
                "row {}, column {}",
                at / self.columns(),
                at % self.columns()
            )
        };
        let values = self.rows.concat();
        if let Some(at) = values.iter().position(|value| value.is_infinite()) {
            return Err(not_drawable("a value", values[at], place(at)));
        }
        for (names, things, what) in [
            (&options.x, self.columns(), "column"),
            (&options.y, self.rows.len(), "row"),
        ] {
            if let Some(names) = names
                && names.len() != things
            {
                return Err(wrong_names(names.len(), things, what));
            }
        }
        Range::of(&values, false, 0.0, place)
    }

    /// The mean of the cells from one row and column to others, NaN left out.
    fn mean(&self, rows: (usize, usize), columns: (usize, usize)) -> f64 {
        let cells = self.rows[rows.0..rows.1].iter();
        let cells = cells.flat_map(|row| &row[columns.0..columns.1]);
        let (mut sum, mut number) = (0.0, 0);
        for value in cells.filter(|value| !value.is_nan()) {
            sum += value;
            number += 1;
        }
        sum / f64::from(number)
    }

    /// Draws the cells. Where there are more cells than pixels, a pixel shows the mean of its cells.
    fn cells(&self, canvas: &dyn Canvas, plot: Area, ramp: &Ramp) -> Result<()> {
        let rows = cuts(self.rows.len(), plot.height());
        let columns = cuts(self.columns(), plot.width());
        for (top, row) in &rows {
            // Neighbours of one colour are drawn as one rectangle.
            let colours: Vec<Rgb> = columns
                .iter()
                .map(|(_, column)| self.mean(*row, *column))
                .map(|value| match value.is_nan() {
                    true => canvas.theme().surface,
                    false => ramp.colour(value),
                })
                .collect();
            let mut first = 0;
            for run in colours.chunk_by(|a, b| a == b) {
                let last = first + run.len() - 1;
                let area = Area {
                    left: plot.left + columns[first].0.0,
                    right: plot.left + columns[last].0.1,
                    top: plot.top + top.0,
                    bottom: plot.top + top.1,
                };
                canvas.rectangle(area, run[0].into())?;
                first = last + 1;
            }
        }
        Ok(())
    }

    /// Writes the numbers into the cells, if all have room.
    fn numbers(&self, canvas: &dyn Canvas, plot: Area, ramp: &Ramp) -> Result<()> {
        let (width, height) = (
            plot.width() / self.columns() as i32,
            plot.height() / self.rows.len() as i32,
        );
        if height < 30 || width < 40 {
            return Ok(());
        }
        let texts: Vec<String> = self
            .rows
            .iter()
            .flatten()
            .map(|&value| short(value))
            .collect();
        if texts
            .iter()
            .any(|text| text_width(text, SMALL) + 12 > width)
        {
            return Ok(());
        }
        for (at, text) in texts.iter().enumerate() {
            let (row, column) = (at / self.columns(), at % self.columns());
            let value = self.rows[row][column];
            if value.is_nan() {
                continue;
            }
            let place = (
                plot.left
                    + ((column as f64 + 0.5) / self.columns() as f64 * f64::from(plot.width()))
                        as i32,
                plot.top
                    + ((row as f64 + 0.5) / self.rows.len() as f64 * f64::from(plot.height()))
                        as i32,
            );
            let cell = ramp.colour(value);
            let inks: [Rgb; 2] = [[0x11; 3], [0xFF; 3]];
            let ink = match contrast(inks[0], cell) > contrast(inks[1], cell) {
                true => inks[0],
                false => inks[1],
            };
            canvas.text(text, place, Anchor::Centre, SMALL, ink)?;
        }
        Ok(())
    }
}

/// A number for a cell: at most three digits after the point.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        small if small < 0.0005 => "<0.001".into(),
        below if below < 10.0 => {
            let text = format!("{value:.2}");
            match value.fract() == 0.0 {
                true => format!("{value}"),
                false => text,
            }
        }
        _ => number(value),
    }
}

/// Divides `things` rows or columns over a length in pixels: the pixels of each part, and the range of things in it.
fn cuts(things: usize, length: i32) -> Vec<((i32, i32), (usize, usize))> {
    let parts = things.min(length.max(1) as usize);
    (0..parts)
        .map(|part| {
            let pixel = |part: usize| (part as i64 * i64::from(length) / parts as i64) as i32;
            let thing = |part: usize| part * things / parts;
            (
                (pixel(part), pixel(part + 1)),
                (thing(part), thing(part + 1)),
            )
        })
        .collect()
}

/// The next of 1, 2, 5, 10, 20, 50, ...
fn round_step(step: usize) -> usize {
    let powers = (0..18).map(|power| 10usize.pow(power));
    let mut steps = powers.flat_map(|power| [1, 2, 5].map(|factor| factor * power));
    steps.find(|&round| round >= step).unwrap_or(step)
}

/// The names, or numbers from 0.
fn names(set: &Option<Vec<String>>, things: usize) -> Vec<String> {
    match set {
        Some(names) => names.clone(),
        None => (0..things).map(|at| at.to_string()).collect(),
    }
}

impl Panel for Heatmap {
    fn kind(&self) -> &'static str {
        "a heat map"
    }

    fn takes(&self) -> &'static [&'static str] {
        &["x_label", "y_label", "x", "y"]
    }

    fn describe(&self, _options: &Options) -> String {
        format!(
            "heat map of {} x {}, values from {}",
            counted(self.rows.len(), "row"),
            counted(self.columns(), "column"),
            span(self.rows.iter().flatten().copied())
        )
    }

    fn heights(&self, _width: i64, options: &Options) -> Heights {
        let rows = self.rows.len().min(1_000) as i64;
        Heights {
            fixed: above(options.y_label("")) + below(options.x_label("")),
            plots: (ROW * rows).clamp(MIN_HEIGHT, MAX_HEIGHT),
        }
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        let range = self.check(options)?;
        let theme = canvas.theme();
        let ramp = Ramp::new(range, theme);
        let (columns, rows) = (
            names(&options.x, self.columns()),
            names(&options.y, self.rows.len()),
        );
        let widest = rows.iter().map(|name| text_width(name, SMALL)).max();
        let gutter = (widest.unwrap_or(0) * 9 / 8 + 14).min(area.width() / 3);
        let plot = Area {
            left: area.left + gutter,
            top: area.top + above(options.y_label("")) as i32,
            right: area.right - SCALE_WIDTH,
            bottom: area.bottom - below(options.x_label("")) as i32,
        };
        title_above(canvas, plot, options.y_label(""))?;
        self.cells(canvas, plot, &ramp)?;
        self.numbers(canvas, plot, &ramp)?;
        let every = |things: usize, slots: i32| round_step(things.div_ceil(slots.max(1) as usize));
        for (at, name) in rows
            .iter()
            .enumerate()
            .step_by(every(rows.len(), plot.height() / 30))
        {
            let middle = (at as f64 + 0.5) / rows.len() as f64 * f64::from(plot.height());
            let place = (plot.left - 12, plot.top + middle as i32);
            let name = fit_text(name, SMALL, gutter - 14);
            canvas.text(&name, place, Anchor::Right, SMALL, theme.ink)?;
        }
        // Names that are too wide for their columns are shortened, but not below a readable width.
        let widest = columns.iter().map(|name| text_width(name, SMALL)).max();
        let slot = (widest.unwrap_or(0) + 16).min(110);
        let step = every(columns.len(), plot.width() / slot.max(1));
        let room = plot.width() * step as i32 / columns.len() as i32 - 10;
        for (at, name) in columns.iter().enumerate().step_by(step) {
            let middle = (at as f64 + 0.5) / columns.len() as f64 * f64::from(plot.width());
            let place = (plot.left + middle as i32, plot.bottom + 24);
            canvas.text(
                &fit_text(name, SMALL, room),
                place,
                Anchor::Centre,
                SMALL,
                theme.ink,
            )?;
        }
        title_below(canvas, plot, options.x_label(""))?;
        scale_beside(canvas, plot, &ramp)
    }
}

/// Draws the scale of colours at the right of the plot, with its least and largest number.
fn scale_beside(canvas: &dyn Canvas, plot: Area, ramp: &Ramp) -> Result<()> {
    let theme = canvas.theme();
    let bar = Area {
        left: plot.right + 28,
        right: plot.right + 52,
        ..plot
    };
    for step in 0..STEPS {
        let fraction = (f64::from(step) + 0.5) / f64::from(STEPS);
        let area = Area {
            top: bar.bottom - bar.height() * (step + 1) / STEPS,
            bottom: bar.bottom - bar.height() * step / STEPS,
            ..bar
        };
        canvas.rectangle(
            area,
            ramp.colour(ramp.low + fraction * (ramp.high - ramp.low))
                .into(),
        )?;
    }
    canvas.outline(bar, theme.soft_ink, 2)?;
    let values = match ramp.colours.len() {
        5 => vec![ramp.low, 0.0, ramp.high],
        _ => vec![ramp.low, ramp.high],
    };
    for value in &values {
        let fraction = match ramp.high > ramp.low {
            true => (value - ramp.low) / (ramp.high - ramp.low),
            false => 0.5,
        };
        // The precision is two digits of the whole range.
        let digits = (1.0 - (ramp.high - ramp.low).log10().floor()).clamp(0.0, 12.0);
        let unit = 10f64.powf(digits + 1.0);
        let label = match digits < 12.0 {
            true => brief((value * unit).round() / unit + 0.0),
            false => brief(*value),
        };
        let inner = bar.inset(0, 10, 0, 10);
        let at = inner.bottom - (fraction * f64::from(inner.height())).round() as i32;
        canvas.text(&label, (bar.right + 10, at), Anchor::Left, SMALL, theme.ink)?;
    }
    Ok(())
}
