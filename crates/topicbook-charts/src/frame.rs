//! The plot with two axes that most charts of people's own numbers share: its ranges, ticks and positions.

use crate::error::{Error, Result};
use crate::text::{count, counted, number};

use super::axis::{Scale, above, below, horizontal, left_of, title_above, title_below, vertical};
use super::canvas::{Anchor, Area, Canvas, SMALL, fit_text, text_width};
use super::dates;
use super::layout::Heights;
use super::numbers::Series;
use super::options::Options;
use super::plain::{bounds, brief, of_series};
use super::{not_drawable, nothing};

/// What the values on an axis are, which decides where its ticks are.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub enum Kind {
    #[default]
    Numbers,
    Whole,
    /// Days, as `dates` counts them.
    Dates,
}

/// A range of values on an axis.
#[derive(Debug, Default, Clone, Copy)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    pub logarithmic: bool,
    pub kind: Kind,
}

impl Range {
    pub fn between(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            ..Self::default()
        }
    }

    /// The range of the values, without NaN, extended by a fraction of it on both sides. `place` names a value by its index.
    /// Values that have no place on the axis are refused.
    pub fn of(
        values: &[f64],
        logarithmic: bool,
        margin: f64,
        place: impl Fn(usize) -> String,
    ) -> Result<Self> {
        let wrong = |value: &f64| value.is_infinite() || (logarithmic && *value <= 0.0);
        if let Some(index) = values.iter().position(wrong) {
            return Err(match values[index].is_infinite() {
                true => not_drawable("a value", values[index], place(index)),
                false => Error::drawing(format!(
                    "{} has no place on a logarithmic axis",
                    number(values[index])
                ))
                .at(place(index))
                .fix("leave `log_x` and `log_y` out, or leave out what is not above zero"),
            });
        }
        let (low, high) = bounds(values.iter().copied());
        if low > high {
            return Err(nothing(&match values.len() {
                0 => "no numbers".into(),
                1 => "the only number is missing (NaN)".into(),
                all => format!("all {} numbers are missing (NaN)", count(all as u64)),
            }));
        }
        let (low, high) = match logarithmic {
            true => {
                let by = (high / low).powf(margin);
                (low / by, high * by)
            }
            false => {
                // The difference of very large numbers can be infinite.
                let by = Some(margin * (high - low)).filter(|by| by.is_finite());
                let by = by.unwrap_or(0.0);
                (low - by, high + by)
            }
        };
        let mut shown = values.iter().filter(|value| !value.is_nan());
        Ok(Self {
            low,
            high,
            logarithmic,
            kind: match shown.all(|value| value.fract() == 0.0) {
                true => Kind::Whole,
                false => Kind::Numbers,
            },
        })
    }

    pub fn scale(self, from: i32, to: i32) -> Scale {
        match self.logarithmic {
            true => Scale::logarithmic(self.low, self.high, from, to),
            false => Scale::new(self.low, self.high, from, to),
        }
    }

    /// Ticks and their texts, at most `most`. Between whole numbers there are none.
    fn ticks(self, scale: &Scale, most: usize) -> (Vec<f64>, Vec<String>) {
        if self.kind == Kind::Dates {
            return dates::ticks(self.low, self.high, most);
        }
        let mut ticks = scale.ticks(most);
        if self.kind == Kind::Whole {
            ticks.retain(|tick| (tick - tick.round()).abs() < 1e-9);
        }
        let texts = scale.labels(&ticks);
        (ticks, texts)
    }

    /// Whether the values may be years, which have no separator.
    fn may_be_years(self) -> bool {
        self.kind == Kind::Whole && self.low >= 1_000.0 && self.high < 10_000.0
    }
}

/// A plot with two axes.
#[derive(Default)]
pub struct Frame<'a> {
    pub x: Range,
    pub y: Range,
    pub x_label: &'a str,
    pub y_label: &'a str,
    /// Names at 0, 1, 2, ... in place of numbers.
    pub x_names: Option<&'a [String]>,
    /// The same on the vertical axis, the first one at its top.
    pub y_names: Option<&'a [String]>,
    /// Numbers at which the horizontal axis has ticks, if there is room.
    pub x_ticks: &'a [f64],
    /// Width that is left free on the right.
    pub right: i32,
}

/// The part of a frame in which data are drawn.
pub struct Plot {
    pub area: Area,
    pub x: Scale,
    pub y: Scale,
}

impl Frame<'_> {
    /// The height of a chart with such a plot, whose axes have these titles.
    pub fn heights(plot: i64, x_label: &str, y_label: &str) -> Heights {
        Heights {
            fixed: above(y_label) + below(x_label),
            plots: plot,
        }
    }

    /// Draws the axes; the plot fills the area.
    pub fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<Plot> {
        let top = area.top + above(self.y_label) as i32;
        let bottom = area.bottom - below(self.x_label) as i32;
        let y = match self.y_names {
            Some(_) => self.y.scale(top, bottom),
            None => self.y.scale(bottom, top),
        };
        let (ticks, labels) = match self.y_names {
            Some(names) => {
                let most = area.width() * 2 / 5;
                let texts = names.iter().map(|name| fit_text(name, SMALL, most));
                (Vec::new(), texts.collect())
            }
            None => self.y.ticks(&y, ((bottom - top) / 55).clamp(2, 8) as usize),
        };
        let plot = Area {
            left: area.left + left_of(&labels),
            top,
            right: area.right - 24 - self.right,
            bottom,
        };
        title_above(canvas, plot, self.y_label)?;
        match self.y_names {
            None => vertical(canvas, plot, &y, &ticks, &labels)?,
            Some(_) => {
                for (at, name) in labels.iter().enumerate() {
                    let place = (plot.left - 12, y.pixel(at as f64));
                    canvas.text(name, place, Anchor::Right, SMALL, canvas.theme().ink)?;
                }
            }
        }
        let x = self.x.scale(plot.left, plot.right);
        let (ticks, labels) = self.marks(&x, plot.width());
        horizontal(canvas, plot, &x, &ticks, &labels)?;
        title_below(canvas, plot, self.x_label)?;
        Ok(Plot { area: plot, x, y })
    }

    /// Ticks of the horizontal axis and their labels, as many as fit.
    fn marks(&self, x: &Scale, width: i32) -> (Vec<f64>, Vec<String>) {
        if let Some(names) = self.x_names {
            let widest = names.iter().map(|name| text_width(name, SMALL)).max();
            let slots = (width / (widest.unwrap_or(0) + 16).max(1)).max(1) as usize;
            let every = names.len().div_ceil(slots).max(1);
            let shown = names.iter().enumerate().step_by(every);
            return shown.map(|(at, name)| (at as f64, name.clone())).unzip();
        }
        let plain = |text: String| match self.x.may_be_years() {
            true => text.replace(',', ""),
            false => text,
        };
        let given: Vec<String> = self.x_ticks.iter().map(|&at| plain(brief(at))).collect();
        let room = self
            .x_ticks
            .windows(2)
            .zip(given.windows(2))
            .all(|(ticks, texts)| {
                let widths = text_width(&texts[0], SMALL) + text_width(&texts[1], SMALL);
                x.pixel(ticks[1]) - x.pixel(ticks[0]) > widths / 2 + 16
            });
        if room && !given.is_empty() {
            return (self.x_ticks.to_vec(), given);
        }
        let most = (width / 90).clamp(2, 12) as usize;
        let mut fitting = (2..=most).rev().map(|max| {
            let (ticks, labels) = self.x.ticks(x, max);
            (ticks, labels.into_iter().map(plain).collect())
        });
        let fits = |(_, labels): &(Vec<f64>, Vec<String>)| {
            let texts: i32 = labels.iter().map(|text| text_width(text, SMALL) + 24).sum();
            texts <= width
        };
        fitting
            .clone()
            .find(fits)
            .or(fitting.next_back())
            .unwrap_or_default()
    }
}

/// Positions along the horizontal axis.
#[derive(Default)]
pub struct Positions {
    pub numbers: Vec<f64>,
    /// Their names, if they are not numbers.
    pub names: Option<Vec<String>>,
    /// Whether the numbers are dates.
    pub are_dates: bool,
}

impl Positions {
    /// Texts that are all numbers, all dates but for blank ones, or names at 0, 1, 2, ...
    pub fn of_texts(texts: &[String]) -> Self {
        let all = |position: &dyn Fn(&str) -> Option<f64>| -> Option<Vec<f64>> {
            texts.iter().map(|text| position(text)).collect()
        };
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        let date = |text: &str| match text.trim() {
            "" => Some(f64::NAN),
            text => dates::position(text),
        };
        let dates = || all(&date).filter(|days| days.iter().any(|day| !day.is_nan()));
        if let Some(numbers) = all(&number) {
            return Self {
                numbers,
                ..Self::default()
            };
        }
        match dates() {
            Some(numbers) => Self {
                numbers,
                are_dates: true,
                names: None,
            },
            None => Self {
                numbers: (0..texts.len()).map(|at| at as f64).collect(),
                names: Some(texts.to_vec()),
                are_dates: false,
            },
        }
    }

    /// The range of the positions on an axis.
    pub fn range(
        &self,
        logarithmic: bool,
        margin: f64,
        place: impl Fn(usize) -> String,
    ) -> Result<Range> {
        if self.are_dates && logarithmic {
            return Err(Error::drawing("dates have no place on a logarithmic axis")
                .fix("leave `log_x` out"));
        }
        let range = Range::of(&self.numbers, logarithmic, margin, place)?;
        Ok(match self.are_dates {
            true => Range {
                kind: Kind::Dates,
                ..range
            },
            false => range,
        })
    }
}

/// The positions that are set, or 0, 1, 2, ...: one per value of the longest series.
pub fn positions(options: &Options, series: &[Series]) -> Result<Positions> {
    let Some(x) = &options.x else {
        let longest = series.iter().map(|series| series.values.len()).max();
        return Ok(Positions {
            numbers: (0..longest.unwrap_or(0)).map(|at| at as f64).collect(),
            ..Positions::default()
        });
    };
    for one in series {
        if one.values.len() != x.len() {
            return Err(Error::drawing(format!(
                "{} of `x` for {}{}",
                counted(x.len(), "position"),
                counted(one.values.len(), "value"),
                of_series(&one.name)
            ))
            .fix("pass one position per value"));
        }
    }
    Ok(Positions::of_texts(x))
}
