//! What can be set on a chart: its texts, axes, topics and colours.

#[cfg(feature = "polars")]
use crate::data::{ColumnValues, Labels};
use crate::data::{Documents, Indices};
use crate::error::{Error, Result};

use super::Chart;
use super::numbers::{IntoSeries, Series};
use super::palette::{Rgb, colours, parse};
use super::theme::Theme;

/// What is drawn: texts, axes and topics. Each kind of chart takes some of them.
#[derive(Clone, Default)]
pub struct Options {
    pub x_label: Option<String>,
    pub y_label: Option<String>,
    pub log_x: bool,
    pub log_y: bool,
    /// Positions or names along the horizontal axis.
    pub x: Option<Vec<String>>,
    /// Names along the vertical axis.
    pub y: Option<Vec<String>>,
    pub bins: Option<usize>,
    pub topics: Option<Vec<usize>>,
    /// Labels of documents, or the error in them.
    #[cfg(feature = "polars")]
    pub by: Option<Result<Labels>>,
    /// The documents of the rows; their columns can be labels.
    pub documents: Option<Documents>,
    /// The lower and the upper ends of the bands around lines.
    pub bands: Option<[Vec<Series>; 2]>,
    /// Those of error bars.
    pub error_bars: Option<[Vec<Series>; 2]>,
    /// Own colours, or the error in them.
    pub colours: Option<Result<Vec<Rgb>>>,
    pub opacity: Option<f64>,
    pub horizontal: bool,
    pub fit_line: bool,
    /// A position of lines that is marked, and what is written there.
    pub mark: Option<(f64, String)>,
}

impl Options {
    /// The labels that are set.
    #[cfg(feature = "polars")]
    pub fn labels(&self) -> Result<Option<&Labels>> {
        match &self.by {
            None => Ok(None),
            Some(Ok(labels)) => Ok(Some(labels)),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    /// Labels come with the tables of Polars.
    #[cfg(not(feature = "polars"))]
    pub fn labels(&self) -> Result<Option<&std::convert::Infallible>> {
        Ok(None)
    }

    /// Fails if a setting is set that the kind of chart (`what`) does not take.
    pub fn check(&self, what: &str, takes: &[&str]) -> Result<()> {
        let set = [
            ("x_label", self.x_label.is_some()),
            ("y_label", self.y_label.is_some()),
            ("log_x", self.log_x),
            ("log_y", self.log_y),
            ("x", self.x.is_some()),
            ("y", self.y.is_some()),
            ("bins", self.bins.is_some()),
            ("topics", self.topics.is_some()),
            #[cfg(feature = "polars")]
            ("by", self.by.is_some()),
            ("bands", self.bands.is_some()),
            ("error_bars", self.error_bars.is_some()),
            ("colors", self.colours.is_some()),
            ("opacity", self.opacity.is_some()),
            ("horizontal", self.horizontal),
            ("fit_line", self.fit_line),
        ];
        let refused = set
            .into_iter()
            .find(|(name, is_set)| *is_set && !takes.contains(name));
        let Some((name, _)) = refused else {
            return self.check_values();
        };
        let remedy = match takes {
            [] => "set it on the charts inside".into(),
            takes => format!("leave it out; this chart takes {}", takes.join(", ")),
        };
        Err(Error::drawing(format!("`{name}` does not apply to {what}")).fix(remedy))
    }

    fn check_values(&self) -> Result<()> {
        if let Some(opacity) = self
            .opacity
            .filter(|opacity| !(0.01..=1.0).contains(opacity))
        {
            return Err(Error::drawing(format!("an opacity of {opacity}"))
                .fix("choose an opacity from 0.01, nearly invisible, to 1"));
        }
        match &self.colours {
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(own)) if own.is_empty() => {
                Err(Error::drawing("`colors` without a colour").fix("name at least one colour"))
            }
            _ => Ok(()),
        }
    }

    /// The colours of `number` series or groups: those that are set, again from the first where there are more, or `usual`.
    pub fn colours(&self, number: usize, usual: Vec<Rgb>) -> Vec<Rgb> {
        match &self.colours {
            Some(Ok(own)) if !own.is_empty() => own.iter().copied().cycle().take(number).collect(),
            _ => usual,
        }
    }

    /// The colours of `number` series: ten, repeated, so that hues stay far apart, unless others are set.
    pub fn of_series(&self, number: usize) -> Vec<Rgb> {
        let ten = colours(10).into_iter().cycle().take(number);
        self.colours(number, ten.collect())
    }

    /// The colours of `number` lines on a background. Lines differ by their dashes too.
    pub fn lines(&self, theme: &Theme, number: usize) -> Vec<Rgb> {
        let colours = self.of_series(number).into_iter();
        colours.map(|colour| theme.line(colour)).collect()
    }

    /// The title of the horizontal axis: the one that is set, or the default.
    pub fn x_label<'a>(&'a self, default: &'a str) -> &'a str {
        self.x_label.as_deref().unwrap_or(default)
    }

    /// The title of the vertical axis: the one that is set, or the default.
    pub fn y_label<'a>(&'a self, default: &'a str) -> &'a str {
        self.y_label.as_deref().unwrap_or(default)
    }
}

impl Chart {
    /// Sets the title. Each kind of chart has a default title; composed charts have none. An empty title removes it.
    ///
    /// ```
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// assert!(chart.title("A short fit").to_svg()?.contains("A short fit"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the title of the horizontal axis.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).x_label("epoch");
    /// assert!(chart.to_svg()?.contains("epoch"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "xlabel")]
    pub fn x_label(mut self, label: impl Into<String>) -> Self {
        self.options.x_label = Some(label.into());
        self
    }

    /// Sets the title of the vertical axis, which stands above it.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).y_label("nats");
    /// assert!(chart.to_svg()?.contains("nats"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "ylabel")]
    pub fn y_label(mut self, label: impl Into<String>) -> Self {
        self.options.y_label = Some(label.into());
        self
    }

    /// Makes the horizontal axis logarithmic, for lines, points and histograms. The bins of a histogram then grow by a
    /// constant factor, which shows long tails; values of zero or less are left out of it and counted below.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let lengths = [12, 15, 20, 31, 55, 140, 2_900];
    /// assert!(Chart::histogram(lengths).log_x().to_png()?.starts_with(b"\x89PNG"));
    /// // A line has no place for 0 on a logarithmic axis.
    /// assert!(Chart::lines([1.0, 2.0]).x([0, 1]).log_x().to_png().is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("xscale", "semilogx"))]
    pub fn log_x(mut self) -> Self {
        self.options.log_x = true;
        self
    }

    /// Makes the vertical axis logarithmic, for lines and points; their values must be above zero.
    ///
    /// ```
    /// assert!(topicbook::Chart::lines([1.0, 10.0, 1e6]).log_y().to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("yscale", "semilogy"))]
    pub fn log_y(mut self) -> Self {
        self.options.log_y = true;
        self
    }

    /// Sets the positions (numbers or dates) or names (texts) along the horizontal axis: one per value of a line, per group of
    /// bars, per box, per column of a heat map. By default they are counted from 0.
    ///
    /// Lines over dates of ISO 8601 (`2024-03` or `2024-03-15`) have the distances of the calendar, and ticks at years, months
    /// or days. Bars and boxes that lie have these names too, on their left.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let score_by_k = Chart::lines([-7.4, -7.1, -7.0]).x([5, 10, 20]).x_label("topics");
    /// let months = Chart::bars([3, 9, 4]).x(["May", "June", "July"]);
    /// assert!(months.to_svg()?.contains("June"));
    /// let over_time = Chart::lines([3, 9, 4]).x(["2023-11", "2024-02", "2025-01"]);
    /// assert!(over_time.to_svg()?.contains(">2024-07<"));
    /// assert!(score_by_k.x([5, 10]).to_svg().is_err()); // two positions for three values
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("xticks", "labels"))]
    pub fn x<I>(mut self, positions: I) -> Self
    where
        I: IntoIterator,
        I::Item: ToString,
    {
        self.options.x = Some(positions.into_iter().map(|at| at.to_string()).collect());
        self
    }

    /// Sets the names of the rows of a heat map. By default they are counted from 0.
    ///
    /// ```
    /// use topicbook::{Chart, Matrix};
    /// let chart = Chart::heatmap(&Matrix::new(2, 2, vec![1.0, 0.2, 0.2, 1.0])?).x(["a", "b"]).y(["upper", "lower"]);
    /// assert!(chart.to_svg()?.contains("upper"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "yticks")]
    pub fn y<I>(mut self, names: I) -> Self
    where
        I: IntoIterator,
        I::Item: ToString,
    {
        self.options.y = Some(names.into_iter().map(|name| name.to_string()).collect());
        self
    }

    /// Sets how many bins a histogram has, from 1 to 1,000, all of the same width between the lowest and the highest value. By
    /// default their width is a round number, and they are about as many as the square root of the number of values, at most 40.
    ///
    /// ```
    /// let chart = topicbook::Chart::histogram((0..500).map(|i| i % 37)).bins(10);
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn bins(mut self, bins: usize) -> Self {
        self.options.bins = Some(bins);
        self
    }

    /// Shows only these topics of a structure plot or of top terms, in this order. They keep their numbers, names and
    /// colours; a structure plot shows all others in grey.
    ///
    /// ```
    /// use topicbook::{Chart, Matrix};
    /// let f = Matrix::new(3, 3, vec![0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.2, 0.3, 0.5])?;
    /// let svg = Chart::top_terms(&f, None, 2).topics([2, 0]).to_svg()?;
    /// assert!(svg.contains("Topic 2") && !svg.contains("Topic 1"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// A topic that the chart does not have is reported when it is drawn.
    pub fn topics(mut self, topics: impl Indices) -> Self {
        self.options.topics = Some(topics.to_indices());
        self
    }

    /// Groups documents, points or values by labels. In a structure plot the groups stand side by side with gaps between them
    /// and their names below. Each is as wide as its number of documents, and documents are sorted within their group. On a map
    /// of documents and among points each group has a colour, and what has no label is grey. A box plot has a box for each.
    ///
    /// The labels are a vector, array or slice of texts, numbers or `Option`s of them, or a column of a table, with one label
    /// per document, point or value. Numbers and dates are in rising order, and so are texts that are all numbers, ISO dates (`2023-08`) or
    /// English names of months; other texts are in the order in which they first occur. Documents without a label (null, NaN,
    /// or a blank text) come last.
    ///
    /// ```
    /// use topicbook::{Chart, Matrix};
    /// let l = Matrix::new(4, 2, vec![0.9, 0.1, 0.2, 0.8, 0.7, 0.3, 0.4, 0.6])?;
    /// let chart = Chart::structure(&l).by(["letters", "poems", "letters", "poems"]);
    /// assert!(chart.to_svg()?.contains("poems"));
    /// assert!(chart.by([1, 1, 1, 1]).to_svg().is_err()); // one group
    /// let points = Chart::scatter([1.0, 2.0, 3.0], [2.0, 3.0, 1.0]).by(["novel", "poem", "novel"]);
    /// assert!(points.to_svg()?.contains("novel"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without one label per document, point or value, with one group, or if all labels are missing.
    #[cfg(feature = "polars")]
    #[doc(alias("grouping", "facet", "hue"))]
    pub fn by(mut self, labels: impl ColumnValues) -> Self {
        self.options.by = Some(Labels::new(labels, self.options.documents.as_ref()));
        self
    }

    /// The chart of these documents: [`by`](Self::by) takes the names of their columns.
    #[doc(hidden)]
    pub fn of_documents(mut self, documents: Option<Documents>) -> Self {
        self.options.documents = documents;
        self
    }

    /// Draws a band around each line of [`lines`](Self::lines), such as an interval: from `lower` to `upper`, which have the
    /// same form as the lines. A value that is missing interrupts the band.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let mean = [0.2, 0.3, 0.5];
    /// let chart = Chart::lines(mean).bands([0.1, 0.2, 0.3], [0.3, 0.5, 0.6]).x([1987, 1990, 1999]);
    /// assert!(chart.to_svg()?.contains("polygon"));
    /// assert!(chart.bands([0.1], [0.3]).to_svg().is_err()); // one value for three
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: if `lower` or `upper` has another number of series or values than the lines, or an infinite value.
    #[doc(alias("fill_between", "errorbar", "geom_ribbon"))]
    pub fn bands(mut self, lower: impl IntoSeries, upper: impl IntoSeries) -> Self {
        self.options.bands = Some([lower.into_series(), upper.into_series()]);
        self
    }

    /// Marks a position along the axis of lines by a line upwards, with a text.
    #[doc(hidden)]
    pub fn mark(mut self, at: f64, text: &str) -> Self {
        self.options.mark = Some((at, text.into()));
        self
    }

    /// Draws an error bar at each bar or point, from `lower` to `upper`, which have the same form as the values of
    /// [`bars`](Self::bars) or the `y` of [`scatter`](Self::scatter). A value with a missing end has none.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let (mean, error) = ([0.2, 0.3, 0.5], [0.02, 0.05, 0.1]);
    /// let end = |sign: f64| mean.iter().zip(&error).map(move |(mean, error)| mean + sign * error);
    /// let chart = Chart::bars(mean).x(["Letters", "Poems", "Novels"]).error_bars(end(-1.0), end(1.0));
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// assert!(chart.error_bars([0.02, 0.05, 0.1], [0.02, 0.05, 0.1]).to_svg().is_err()); // errors are no ends
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: if `lower` or `upper` has another number of series or values, or a value does not lie between its ends.
    #[doc(alias("errorbar", "yerr", "geom_errorbar"))]
    pub fn error_bars(mut self, lower: impl IntoSeries, upper: impl IntoSeries) -> Self {
        self.options.error_bars = Some([lower.into_series(), upper.into_series()]);
        self
    }

    /// Sets the colours of lines, bars, boxes, points or topics, the first again where they are not enough: `#rrggbb`, or a name
    /// of CSS such as `tomato`. Lines and points are darker where a colour is too light for the page, or lighter.
    ///
    /// ```
    /// let chart = topicbook::Chart::bars([("a", [3, 5]), ("b", [4, 9])]).colors(["#1b9e77", "orange"]);
    /// assert!(chart.to_svg()?.contains("#1B9E77"));
    /// assert!(chart.colors(["oragne"]).to_svg().is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// A colour that is not one is reported when the chart is drawn.
    #[doc(alias("color", "colours", "palette", "cmap"))]
    pub fn colors<I>(mut self, colours: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let colours = colours.into_iter().map(|colour| parse(colour.as_ref()));
        self.options.colours = Some(colours.collect());
        self
    }

    /// Sets how opaque points are, from 0.01 to 1, the default. Where several lie upon each other, their colour is stronger.
    ///
    /// ```
    /// let chart = topicbook::Chart::scatter([1, 1, 2], [3, 3, 4]).opacity(0.3);
    /// assert!(chart.to_svg()?.contains("fill-opacity=\"0.3\""));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "alpha")]
    pub fn opacity(mut self, opacity: impl Into<f64>) -> Self {
        self.options.opacity = Some(opacity.into());
        self
    }

    /// Draws bars or boxes horizontally, with their names on the left. Where names are long, they are without it.
    ///
    /// ```
    /// let chart = topicbook::Chart::bars([("sports", 12), ("politics", 7)]).horizontal();
    /// assert!(chart.to_svg()?.contains("politics"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("barh", "coord_flip"))]
    pub fn horizontal(mut self) -> Self {
        self.options.horizontal = true;
        self
    }

    /// Draws the straight line through the points that has the least squared distances from them upwards, of each group one
    /// where [`by`](Self::by) makes groups. On logarithmic axes, it is the line through the logarithms. The picture's
    /// description has its slope.
    ///
    /// ```
    /// let chart = topicbook::Chart::scatter([1, 2, 3, 4], [3, 5, 7, 9]).fit_line();
    /// assert!(format!("{chart:?}").contains("slope 2"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("trendline", "regression", "lmplot", "geom_smooth"))]
    pub fn fit_line(mut self) -> Self {
        self.options.fit_line = true;
        self
    }
}
