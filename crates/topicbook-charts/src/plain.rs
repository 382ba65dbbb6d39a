//! Charts of people's own numbers: their constructors, and the plot with two axes that most of them share.

use crate::error::{Error, Result};
use crate::text::{count, counted, number};

use super::axis::{Scale, above, below, horizontal, left_of, title_above, title_below, vertical};
use super::bars::Bars;
use super::canvas::{Area, Canvas, SMALL, text_width};
use super::heatmap::Heatmap;
use super::histogram::Histogram;
use super::layout::Heights;
use super::lines::Lines;
use super::numbers::{IntoRows, IntoSeries, Numbers, Series};
use super::options::Options;
use super::scatter::Scatter;
use super::{Chart, not_drawable, nothing};

impl Chart {
    /// Lines through numbers: one line, or several with names that stand at their ends.
    ///
    /// Takes numbers of any type in a vector, slice, array, range or iterator; pairs of a name and its numbers for several
    /// lines; or a [`Matrix`](crate::Matrix), whose columns are lines. Lines go over 0, 1, 2, ...; [`x`](Self::x) sets other
    /// positions. NaN and `None` leave gaps.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let (train, test) = (vec![9.0, 7.0, 6.5], vec![9.5, 8.0, 7.9]);
    /// Chart::lines(&train).title("Training").y_label("loss").to_png()?;
    /// let both = Chart::lines([("training", &train), ("held out", &test)]).x([1, 2, 3]).x_label("epoch");
    /// assert!(both.to_svg()?.contains("held out"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without numbers, with infinite ones, with another number of positions in `x` than of values in a
    /// line, or with zero or less on a logarithmic axis.
    #[doc(alias("plot", "line", "series"))]
    pub fn lines(series: impl IntoSeries) -> Self {
        Self::panel(Lines::new(series.into_series()))
    }

    /// Bars with their numbers: one per value, one per pair of a name and a number, or groups of bars for several named
    /// series. Bars with long names are drawn horizontally.
    ///
    /// [`x`](Self::x) names the bars or groups.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let sizes = [0.5, 0.3, 0.2];
    /// Chart::bars(sizes).x(["sports", "politics", "science"]).to_png()?;
    /// Chart::bars([("sports", 12), ("politics", 7)]).y_label("documents").to_png()?;
    /// let years = Chart::bars([("2019", [3, 5]), ("2020", [4, 9])]).x(["spring", "autumn"]);
    /// assert!(years.to_svg()?.contains("autumn"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without numbers, with NaN or infinite ones, with series of different lengths, or with another
    /// number of names.
    #[doc(alias("bar", "barh", "barplot", "column"))]
    pub fn bars(series: impl IntoSeries) -> Self {
        Self::panel(Bars::new(series.into_series()))
    }

    /// Points at `x` and `y`, which have one number per point. Points with NaN are left out.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let lengths = [120, 80, 95];
    /// let shares = [0.5f32, 0.2, 0.4];
    /// let chart = Chart::scatter(&lengths, &shares).x_label("tokens").y_label("share of topic 3");
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without points, with different numbers of `x` and `y`, with infinite numbers, or with zero or less
    /// on a logarithmic axis.
    #[doc(alias = "points")]
    pub fn scatter(x: impl Numbers, y: impl Numbers) -> Self {
        Self::panel(Scatter::new(x.to_numbers(), y.to_numbers()))
    }

    /// How often values occur, in bins of equal width; with [`log_x`](Self::log_x) in bins that grow by a constant factor.
    ///
    /// Takes the numbers as [`lines`](Self::lines) does, in one series.
    ///
    /// ```
    /// use topicbook::{Chart, Counts};
    /// let counts = Counts::dense(3, 2, vec![3u8, 1, 0, 1, 4, 4])?;
    /// let chart = Chart::histogram(counts.summary()?.document_lengths()).x_label("tokens").y_label("documents");
    /// assert!(chart.to_svg()?.contains("tokens"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without numbers, or with NaN or infinite ones.
    #[doc(alias("hist", "distplot"))]
    pub fn histogram(values: impl IntoSeries) -> Self {
        let values = values.into_series().into_iter();
        Self::panel(Histogram::new(
            values.flat_map(|series| series.values).collect(),
        ))
    }

    /// A table of numbers as coloured cells, with the numbers in the cells where they fit. Numbers of both signs get two
    /// colours around zero.
    ///
    /// Takes a [`Matrix`](crate::Matrix), or rows: vectors, slices or arrays of the same length. [`x`](Self::x) names the
    /// columns, [`y`](Self::y) the rows. NaN leaves a cell empty. Where there are more rows or columns than pixels, a pixel
    /// shows the mean of its cells.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let correlation = [[1.0, -0.3], [-0.3, 1.0]];
    /// let chart = Chart::heatmap(correlation).x(["sports", "law"]).y(["sports", "law"]);
    /// assert!(chart.to_svg()?.contains("-0.3"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without numbers, with infinite ones, with rows of different lengths, or with another number of names.
    #[doc(alias("imshow", "matshow"))]
    pub fn heatmap(rows: impl IntoRows) -> Self {
        Self::panel(Heatmap::new(rows.into_rows()))
    }
}

/// A range of values on an axis.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    pub logarithmic: bool,
}

impl Range {
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
        Ok(match logarithmic {
            true => {
                let by = (high / low).powf(margin);
                Self {
                    low: low / by,
                    high: high * by,
                    logarithmic,
                }
            }
            false => {
                // The difference of very large numbers can be infinite.
                let by = Some(margin * (high - low)).filter(|by| by.is_finite());
                Self {
                    low: low - by.unwrap_or(0.0),
                    high: high + by.unwrap_or(0.0),
                    logarithmic,
                }
            }
        })
    }

    pub fn scale(self, from: i32, to: i32) -> Scale {
        match self.logarithmic {
            true => Scale::logarithmic(self.low, self.high, from, to),
            false => Scale::new(self.low, self.high, from, to),
        }
    }
}

/// A plot with two axes.
pub struct Frame<'a> {
    pub x: Range,
    pub y: Range,
    pub x_label: &'a str,
    pub y_label: &'a str,
    /// Names at 0, 1, 2, ... in place of numbers.
    pub x_names: Option<&'a [String]>,
    /// Numbers at which the horizontal axis has ticks, if there is room.
    pub x_ticks: &'a [f64],
    /// Whether both axes show counts, so that ticks are whole numbers.
    pub counts: bool,
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
        let y = self.y.scale(bottom, top);
        let mut ticks = y.ticks(((bottom - top) / 55).clamp(2, 8) as usize);
        if self.counts {
            ticks.retain(|tick| tick.fract() == 0.0);
        }
        let labels = y.labels(&ticks);
        let plot = Area {
            left: area.left + left_of(&labels),
            top,
            right: area.right - 24 - self.right,
            bottom,
        };
        title_above(canvas, plot, self.y_label)?;
        vertical(canvas, plot, &y, &ticks, &labels)?;
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
        // Positions of four digits, such as years, have no separator.
        let four_digits = |at: &f64| at.fract() == 0.0 && (1_000.0..10_000.0).contains(at);
        let are_years = !self.x_ticks.is_empty() && self.x_ticks.iter().all(four_digits);
        let plain = |text: String| match are_years {
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
            let ticks = x.ticks(max);
            let labels = x.labels(&ticks).into_iter().map(plain).collect();
            (ticks, labels)
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
pub struct Positions {
    pub numbers: Vec<f64>,
    /// Their names, if they are not numbers.
    pub names: Option<Vec<String>>,
}

/// The positions that are set, or 0, 1, 2, ...: one per value of the longest series.
pub fn positions(options: &Options, series: &[Series]) -> Result<Positions> {
    let Some(x) = &options.x else {
        let longest = series.iter().map(|series| series.values.len()).max();
        return Ok(Positions {
            numbers: (0..longest.unwrap_or(0)).map(|at| at as f64).collect(),
            names: None,
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
    let numbers: Option<Vec<f64>> = x
        .iter()
        .map(|text| text.parse().ok().filter(|number: &f64| number.is_finite()))
        .collect();
    Ok(match numbers {
        Some(numbers) => Positions {
            numbers,
            names: None,
        },
        None => Positions {
            numbers: (0..x.len()).map(|at| at as f64).collect(),
            names: Some(x.clone()),
        },
    })
}

/// The error for too many or too few names.
pub fn wrong_names(names: usize, things: usize, what: &str) -> Error {
    Error::drawing(format!(
        "{} for {}",
        counted(names, "name"),
        counted(things, what)
    ))
    .fix(format!("pass one name per {what}"))
}

/// ` of a` for the series `a`; nothing for one without a name.
pub fn of_series(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!(" of {name}"),
    }
}

/// A number without trailing zeros.
pub fn brief(value: f64) -> String {
    let text = number(value);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// The least and the largest value, NaN left out; infinite without a value.
pub fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.fold(none, |(low, high), value| (low.min(value), high.max(value)))
}

/// The least and the largest value, as `0.5 to 20`.
pub fn span(values: impl Iterator<Item = f64>) -> String {
    let (low, high) = bounds(values);
    format!("{} to {}", brief(low), brief(high))
}

/// The values in a few words: their number, and their range.
pub fn extent(values: &[f64]) -> String {
    let (low, high) = bounds(values.iter().copied());
    match low <= high {
        true => format!(
            "{} from {} to {}",
            counted(values.len(), "value"),
            brief(low),
            brief(high)
        ),
        false => counted(values.len(), "value"),
    }
}

/// Descriptions of the first few series.
pub fn list(series: &[Series], describe: impl Fn(&Series) -> String) -> String {
    const SHOWN: usize = 5;
    let mut parts: Vec<String> = series
        .iter()
        .take(SHOWN)
        .map(|series| match series.name.as_str() {
            "" => describe(series),
            name => format!("{name}: {}", describe(series)),
        })
        .collect();
    if series.len() > SHOWN {
        parts.push(format!("and {} more", series.len() - SHOWN));
    }
    parts.join("; ")
}
