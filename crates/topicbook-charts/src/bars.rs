//! Bars with their numbers: vertical, or horizontal if names are long.

use crate::error::{Error, Result};
use crate::text::counted;

use super::axis::{BELOW, Scale, above, title_above};
use super::canvas::{Anchor, Area, Canvas, SMALL, fit_text, text_width};
use super::error_bars::{draw_error_bar, error_bars};
use super::frame::{Frame, Range};
use super::layout::Heights;
use super::legend::Legend;
use super::numbers::Series;
use super::options::Options;
use super::palette::Rgb;
use super::plain::{brief, extent, list, of_series, wrong_names};
use super::{Panel, not_drawable, nothing};

const PLOT_HEIGHT: i64 = 380;
/// Height of a horizontal bar with the space around it.
const ROW: i64 = 34;
/// Space above a legend.
const SPACE: i64 = 16;
/// Most values that a chart of vertical bars writes above them.
const MAX_WRITTEN: usize = 30;

pub struct Bars {
    series: Vec<Series>,
}

/// Bars by name: each series has one value per name.
struct Groups {
    names: Vec<String>,
    series: Vec<Series>,
    colours: Vec<Rgb>,
    /// The ends of the error bars of each series; none without them.
    errors: Vec<Vec<[f64; 2]>>,
}

/// Whether the series are single bars with names. One number alone has none.
fn is_named(series: &[Series]) -> bool {
    let single = |series: &Series| series.values.len() == 1;
    series.iter().all(single) && (series.len() > 1 || series.iter().any(|s| !s.name.is_empty()))
}

/// The series; single bars with names are one.
fn joined(series: &[Series]) -> Vec<Series> {
    match is_named(series) {
        true => vec![Series {
            name: String::new(),
            values: series.iter().map(|s| s.values[0]).collect(),
        }],
        false => series.to_vec(),
    }
}

impl Bars {
    pub fn new(series: Vec<Series>) -> Self {
        Self { series }
    }

    fn groups(&self, options: &Options) -> Result<Groups> {
        let series = joined(&self.series);
        let longest = series.iter().map(|series| series.values.len()).max();
        let names = match (&options.x, is_named(&self.series)) {
            (Some(x), _) => x.clone(),
            (None, true) => self.series.iter().map(|s| s.name.clone()).collect(),
            (None, false) => (0..longest.unwrap_or(0)).map(|at| at.to_string()).collect(),
        };
        let errors = match &options.error_bars {
            Some([lower, upper]) => error_bars(&[joined(lower), joined(upper)], &series)?,
            None => Vec::new(),
        };
        Ok(Groups {
            names,
            colours: options.of_series(series.len()),
            series,
            errors,
        })
    }
}

impl Groups {
    fn check(&self) -> Result<()> {
        let Some(first) = self.series.first().filter(|s| !s.values.is_empty()) else {
            return Err(nothing("no numbers"));
        };
        for series in &self.series {
            if series.values.len() != first.values.len() {
                let of = |series: &Series| {
                    counted(series.values.len(), "value") + &of_series(&series.name)
                };
                return Err(Error::drawing(format!("{}, but {}", of(first), of(series)))
                    .fix("pass one value per group of bars in each series"));
            }
            if let Some(at) = series.values.iter().position(|value| !value.is_finite()) {
                let place = format!("value {at}{}", of_series(&series.name));
                return Err(not_drawable("a value", series.values[at], place));
            }
        }
        match self.names.len() == first.values.len() {
            true => Ok(()),
            false => Err(wrong_names(self.names.len(), first.values.len(), "bar")),
        }
    }

    /// The range of the values and zero, with room for the numbers at the ends.
    fn range(&self) -> Result<Range> {
        let values = self.series.iter().flat_map(|series| series.values.clone());
        let ends = self.errors.iter().flatten().flatten().copied();
        let values: Vec<f64> = values.chain(ends).chain([0.0]).collect();
        let mut range = Range::of(&values, false, 0.0, |at| format!("value {at}"))?;
        let margin = 0.12 * (range.high - range.low);
        if range.high > 0.0 && margin.is_finite() {
            range.high += margin;
        }
        if range.low < 0.0 && margin.is_finite() {
            range.low -= margin;
        }
        Ok(range)
    }

    /// Whether names are too wide to fit below vertical bars.
    fn lie(&self, width: i64) -> bool {
        let widest = self.names.iter().map(|name| text_width(name, SMALL)).max();
        let slot = (width - 120) / self.names.len().max(1) as i64;
        let are_words = self.names.iter().any(|name| name.parse::<f64>().is_err());
        are_words && i64::from(widest.unwrap_or(0)) + 20 > slot
    }

    fn bars(&self) -> usize {
        self.names.len() * self.series.len()
    }

    fn legend(&self, width: i64) -> Option<Legend> {
        let names = || self.series.iter().map(|series| series.name.clone());
        (self.series.len() > 1).then(|| Legend::new(names().collect(), width as i32))
    }

    /// The ends of an error bar, or the value where there is none: as pixels.
    fn ends(&self, series: usize, at: usize, scale: &Scale) -> [f64; 2] {
        let value = self.series[series].values[at];
        let ends = self.errors.get(series).map(|errors| errors[at]);
        let ends = ends.filter(|ends| ends.iter().all(|end| !end.is_nan()));
        ends.unwrap_or([value; 2]).map(|end| scale.position(end))
    }

    /// Draws vertical bars.
    fn upright(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        let frame = Frame {
            x: Range::between(-0.5, self.names.len() as f64 - 0.5),
            y: self.range()?,
            x_label: options.x_label(""),
            y_label: options.y_label(""),
            x_names: Some(&self.names),
            ..Frame::default()
        };
        let plot = frame.draw(canvas, area)?;
        let zero = plot.y.pixel(0.0);
        let width = 0.8 / self.series.len() as f64;
        let texts: Vec<String> = self.series[0].values.iter().map(|&v| brief(v)).collect();
        let widest = texts.iter().map(|text| text_width(text, SMALL)).max();
        let slot = plot.area.width() / self.names.len().max(1) as i32;
        let written =
            self.series.len() == 1 && texts.len() <= MAX_WRITTEN && widest.unwrap_or(0) + 8 < slot;
        for (index, (series, &colour)) in self.series.iter().zip(&self.colours).enumerate() {
            for (at, &value) in series.values.iter().enumerate() {
                let left = at as f64 - 0.4 + index as f64 * width;
                let end = plot.y.pixel(value);
                let bar = Area {
                    left: plot.x.pixel(left),
                    right: plot.x.pixel(left + width).max(plot.x.pixel(left) + 1),
                    top: end.min(zero),
                    bottom: end.max(zero),
                };
                draw_bar(canvas, bar, colour)?;
                let middle = (bar.left + bar.right) / 2;
                let [lower, upper] = self.ends(index, at, &plot.y);
                if lower != upper {
                    let x = f64::from(middle);
                    draw_error_bar(canvas, [(x, lower), (x, upper)], canvas.theme().ink)?;
                }
                if written {
                    let beyond = match value < 0.0 {
                        true => lower as i32 + 18,
                        false => upper as i32 - 18,
                    };
                    let place = (middle, beyond);
                    let ink = canvas.theme().ink;
                    canvas.text(&texts[at], place, Anchor::Centre, SMALL, ink)?;
                }
            }
        }
        let ends = vec![(plot.area.left, zero), (plot.area.right, zero)];
        canvas.line(ends, canvas.theme().soft_ink, 2)
    }

    /// Draws horizontal bars: names on the left, numbers at the ends.
    fn lying(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        let theme = canvas.theme();
        let widest = self.names.iter().map(|name| text_width(name, SMALL)).max();
        let widest = widest.unwrap_or(0);
        let gutter = (widest + widest / 8 + 14).min(area.width() * 2 / 5);
        let plot = Area {
            left: area.left + gutter,
            top: area.top + above(options.y_label("")) as i32,
            right: area.right - 100,
            bottom: area.bottom,
        };
        title_above(canvas, plot, options.y_label(""))?;
        let range = self.range()?;
        let x = Scale::new(range.low, range.high, plot.left, plot.right);
        let zero = x.pixel(0.0);
        let row = f64::from(plot.height()) / self.bars() as f64;
        for (at, name) in self.names.iter().enumerate() {
            let top = f64::from(plot.top) + (at * self.series.len()) as f64 * row;
            let middle = top + row * self.series.len() as f64 / 2.0;
            let name = fit_text(name, SMALL, gutter - 14);
            let place = (plot.left - 12, middle.round() as i32);
            canvas.text(&name, place, Anchor::Right, SMALL, theme.ink)?;
            for (index, (series, &colour)) in self.series.iter().zip(&self.colours).enumerate() {
                let value = series.values[at];
                let top = top + index as f64 * row;
                let end = x.pixel(value);
                let bar = Area {
                    left: end.min(zero),
                    right: end.max(zero),
                    top: (top + 0.12 * row).round() as i32,
                    bottom: (top + 0.88 * row).round() as i32,
                };
                draw_bar(canvas, bar, colour)?;
                let middle = (bar.top + bar.bottom) / 2;
                let [lower, upper] = self.ends(index, at, &x);
                if lower != upper {
                    let y = f64::from(middle);
                    draw_error_bar(canvas, [(lower, y), (upper, y)], theme.ink)?;
                }
                let (at, anchor) = match value < 0.0 {
                    true => (lower as i32 - 10, Anchor::Right),
                    false => (upper as i32 + 10, Anchor::Left),
                };
                canvas.text(&brief(value), (at, middle), anchor, SMALL, theme.soft_ink)?;
            }
        }
        let ends = vec![(zero, plot.top), (zero, plot.bottom)];
        canvas.line(ends, theme.soft_ink, 2)
    }
}

/// Draws a bar, with an outline that stands out from the background.
pub fn draw_bar(canvas: &dyn Canvas, bar: Area, colour: Rgb) -> Result<()> {
    canvas.rectangle(bar, colour.into())?;
    match bar.width() > 6 && bar.height() > 6 {
        true => canvas.outline(bar, canvas.theme().line(colour), 2),
        false => Ok(()),
    }
}

impl Panel for Bars {
    fn kind(&self) -> &'static str {
        "bars"
    }

    fn takes(&self) -> &'static [&'static str] {
        &[
            "x_label",
            "y_label",
            "x",
            "colors",
            "error_bars",
            "horizontal",
        ]
    }

    fn describe(&self, options: &Options) -> String {
        const SHOWN: usize = 12;
        let Ok(groups) = self.groups(options) else {
            return counted(self.series.len(), "list") + " of bars";
        };
        let of = options
            .y_label
            .as_ref()
            .map_or(String::new(), |label| format!(" of {label}"));
        let bars = counted(groups.bars(), "bar") + &of;
        if groups.series.len() != 1 || groups.bars() > SHOWN {
            return format!("{bars}: {}", list(&groups.series, |s| extent(&s.values)));
        }
        let values = groups.names.iter().zip(&groups.series[0].values);
        let values: Vec<String> = values
            .map(|(name, &value)| format!("{name} {}", brief(value)))
            .collect();
        format!("{bars}: {}", values.join(", "))
    }

    fn heights(&self, width: i64, options: &Options) -> Heights {
        // Errors are reported when the chart is drawn.
        let Ok(groups) = self.groups(options) else {
            return Frame::heights(PLOT_HEIGHT, options.x_label(""), options.y_label(""));
        };
        let mut heights = match groups.lie(width) || options.horizontal {
            true => Heights {
                fixed: above(options.y_label("")) + i64::from(BELOW) / 2,
                plots: ROW * groups.bars() as i64,
            },
            false => Frame::heights(PLOT_HEIGHT, options.x_label(""), options.y_label("")),
        };
        if let Some(legend) = groups.legend(width) {
            heights.fixed += SPACE + legend.height();
        }
        heights
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()> {
        let groups = self.groups(options)?;
        groups.check()?;
        let width = i64::from(area.width());
        let mut plot = area;
        if let Some(legend) = groups.legend(width) {
            let fills: Vec<_> = groups.colours.iter().map(|&colour| colour.into()).collect();
            let top = area.bottom - legend.height() as i32;
            legend.draw(canvas, area.left, top, &fills)?;
            plot.bottom = top - SPACE as i32;
        }
        match groups.lie(width) || options.horizontal {
            true => groups.lying(canvas, plot.inset(0, 0, 0, BELOW / 2), options),
            false => groups.upright(canvas, plot, options),
        }
    }
}
