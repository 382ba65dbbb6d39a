//! Charts of people's own numbers: their constructors, and how they are described.

use crate::error::Error;
use crate::text::{counted, number};

use super::Chart;
use super::bars::Bars;
use super::box_plot::BoxPlot;
use super::heatmap::Heatmap;
use super::histogram::Histogram;
use super::lines::Lines;
use super::numbers::{IntoPositions, IntoRows, IntoSeries, Numbers, Series};
use super::scatter::Scatter;

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
    /// series. Bars with long names are drawn horizontally, as are all by [`horizontal`](Self::horizontal).
    ///
    /// [`x`](Self::x) names the bars or groups, and [`error_bars`](Self::error_bars) draws how uncertain they are.
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

    /// Points at `x` and `y`, which have one number per point; `x` can also be dates, as texts. Points with NaN or without a
    /// date are left out.
    ///
    /// [`by`](Self::by) gives each group of points a colour, [`opacity`](Self::opacity) shows where they lie upon each other, and
    /// [`fit_line`](Self::fit_line) draws a straight line through them. Where there are more points than dots have room, a dot
    /// stands for several of them and grows with their number.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let lengths = [120, 80, 95];
    /// let shares = [0.5f32, 0.2, 0.4];
    /// let chart = Chart::scatter(&lengths, &shares).x_label("tokens").y_label("share of topic 3");
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// let over_time = Chart::scatter(["2023-11-20", "2024-02-03", "2024-05-15"], &shares);
    /// assert!(over_time.to_svg()?.contains("2024-01"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without points, with different numbers of `x` and `y`, with infinite numbers, or with zero or less
    /// on a logarithmic axis.
    #[doc(alias("points", "regplot", "relplot", "scatterplot"))]
    pub fn scatter(x: impl IntoPositions, y: impl Numbers) -> Self {
        Self::panel(Scatter::new(x.into_positions(), y.to_numbers()))
    }

    /// How values are spread, as a box for each group: from the first to the third quartile, with a line at the median.
    /// Whiskers go to the farthest value within 1.5 times the height of the box, and values beyond are dots (Tukey 1977).
    ///
    /// Takes the numbers as [`lines`](Self::lines) does, with one box per series; or one series and, by [`by`](Self::by), the group
    /// of each value. NaN and `None` are left out. Boxes with long names are drawn horizontally.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let (novels, letters) = (vec![310.0, 280.5, 295.0], [20.0, 35.5, 28.0, 110.0]);
    /// let chart = Chart::box_plot([("novels", novels.as_slice()), ("letters", &letters)]).y_label("tokens");
    /// assert!(chart.to_svg()?.contains("letters"));
    /// let stars = Chart::box_plot([5, 4, 1, 2]).by(["books", "books", "sound", "sound"]);
    /// assert!(stars.to_svg()?.contains("sound"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: if a group has no numbers, with infinite ones, with another number of labels than of values, or with
    /// zero or less on a logarithmic axis.
    #[doc(alias("boxplot", "boxen", "violin", "violinplot"))]
    pub fn box_plot(series: impl IntoSeries) -> Self {
        Self::panel(BoxPlot::new(series.into_series()))
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
