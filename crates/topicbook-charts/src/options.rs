//! What can be set on a chart: its texts, axes and topics, and how it looks.

#[cfg(feature = "polars")]
use crate::data::{ColumnValues, Labels};
use crate::data::{Documents, Indices};
use crate::error::{Error, Result};

use super::numbers::{IntoSeries, Series};
use super::theme::{DARK, LIGHT, Theme};
use super::{Body, Chart};

/// Width at which a picture is shown by default, in CSS pixels: about the width of a notebook cell.
pub const CSS_WIDTH: u32 = 900;
/// Height of the small texts at that width, in CSS pixels.
const CSS_FONT: f64 = 14.625;
/// Pixels of a picture per CSS pixel, so that it is sharp on high-resolution screens.
const DENSITY: f64 = 16.0 / 9.0;

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
        ];
        let refused = set
            .into_iter()
            .find(|(name, is_set)| *is_set && !takes.contains(name));
        let Some((name, _)) = refused else {
            return Ok(());
        };
        let remedy = match takes {
            [] => "set it on the charts inside".into(),
            takes => format!("leave it out; this chart takes {}", takes.join(", ")),
        };
        Err(Error::drawing(format!("`{name}` does not apply to {what}")).fix(remedy))
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

/// How a chart looks. In a composition its own settings apply, or else the settings of its first chart that has some.
#[derive(Clone, Default)]
pub struct Look {
    /// Width and height in CSS pixels.
    pub size: Option<(u32, u32)>,
    /// Height of the small texts in CSS pixels.
    font: Option<f64>,
    dark: Option<bool>,
    transparent: Option<bool>,
}

impl Look {
    pub fn theme(&self) -> &'static Theme {
        match self.dark {
            Some(true) => &DARK,
            _ => &LIGHT,
        }
    }

    /// Sets the theme, and a background.
    pub(super) fn set_dark(&mut self, dark: bool) {
        (self.dark, self.transparent) = (Some(dark), Some(false));
    }

    pub fn is_transparent(&self) -> bool {
        self.transparent == Some(true)
    }

    /// Pixels of the picture per unit of the drawing.
    pub fn scale(&self) -> f64 {
        self.font.unwrap_or(CSS_FONT) / CSS_FONT
    }

    /// The width of the picture in pixels.
    pub fn width(&self) -> f64 {
        f64::from(self.size.map_or(CSS_WIDTH, |(width, _)| width)) * DENSITY
    }

    /// The height of the picture in pixels, if it is set.
    pub fn height(&self) -> Option<f64> {
        self.size.map(|(_, height)| f64::from(height) * DENSITY)
    }

    pub fn check(&self) -> Result<()> {
        if let Some(font) = self.font
            && !(4.0..=200.0).contains(&font)
        {
            return Err(Error::drawing(format!("a font size of {font} pixels")).fix(
                "choose a size from 4 to 200 pixels; 14.6 is the default, 22 is for a lecture",
            ));
        }
        Ok(())
    }

    /// These settings; what is not set here is taken from `other`.
    fn or(self, other: Self) -> Self {
        Self {
            size: self.size,
            font: self.font.or(other.font),
            dark: self.dark.or(other.dark),
            transparent: self.transparent.or(other.transparent),
        }
    }
}

/// CSS pixels of a number of pixels of a picture.
pub fn css(pixels: f64) -> u32 {
    (pixels / DENSITY).round() as u32
}

impl Chart {
    /// How the whole picture looks.
    pub(super) fn look(&self) -> Look {
        let inner = match &self.body {
            Body::Panel(_) => Look::default(),
            Body::Row(charts) | Body::Column(charts) => charts
                .iter()
                .map(Chart::look)
                .fold(Look::default(), Look::or),
        };
        self.look.clone().or(inner)
    }

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

    /// Sets the positions (numbers) or names (texts) along the horizontal axis: one per value of a line, per group of bars,
    /// per column of a heat map. By default they are counted from 0.
    ///
    /// ```
    /// use topicbook::Chart;
    /// let score_by_k = Chart::lines([-7.4, -7.1, -7.0]).x([5, 10, 20]).x_label("topics");
    /// let months = Chart::bars([3, 9, 4]).x(["May", "June", "July"]);
    /// assert!(months.to_svg()?.contains("June"));
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

    /// Sets about how many bins a histogram has, from 1 to 1,000; their width is a round number. By default it is the square
    /// root of the number of values, at most 40.
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

    /// Groups documents by labels. In a structure plot the groups stand side by side with gaps between them and their names
    /// below. Each is as wide as its number of documents, and documents are sorted within their group. On a map of documents
    /// each group has a colour, and documents without a label are grey.
    ///
    /// The labels are a vector, array or slice of texts, numbers or `Option`s of them, or a column of a table, with one label
    /// per document. Numbers and dates are in rising order, and so are texts that are all numbers, ISO dates (`2023-08`) or
    /// English names of months; other texts are in the order in which they first occur. Documents without a label (null, NaN,
    /// or a blank text) come last.
    ///
    /// ```
    /// use topicbook::{Chart, Matrix};
    /// let l = Matrix::new(4, 2, vec![0.9, 0.1, 0.2, 0.8, 0.7, 0.3, 0.4, 0.6])?;
    /// let chart = Chart::structure(&l).by(["letters", "poems", "letters", "poems"]);
    /// assert!(chart.to_svg()?.contains("poems"));
    /// assert!(chart.by([1, 1, 1, 1]).to_svg().is_err()); // one group
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without one label per document, with one group, or if all labels are missing.
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

    /// Sets the width and the height in pixels of the page. 900 is the default width, and each kind of chart has its own
    /// height; texts keep their size. A PNG has 16/9 times as many pixels, so that it is sharp on high-resolution screens.
    ///
    /// In a composition, the height of a chart inside is kept; the width is divided among the charts.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).size(450, 300);
    /// assert!(chart.to_svg()?.contains("width=\"450\" height=\"300\""));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// A height that is too small for the texts is reported when the chart is drawn.
    #[doc(alias("figsize", "width", "height"))]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.look.size = Some((width, height));
        self
    }

    /// Sets the height of the texts in pixels of the page, 14.6 by default. Lines, points and margins grow with it.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).font_size(20);
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "fontsize")]
    pub fn font_size(mut self, pixels: impl Into<f64>) -> Self {
        self.look.font = Some(pixels.into());
        self
    }

    /// For a lecture: texts, lines and points half as large again. It is [`font_size(22)`](Self::font_size).
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).large();
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn large(self) -> Self {
        self.font_size(22.0)
    }

    /// Draws light texts and lines on a dark background, for dark pages and slides.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).dark();
    /// assert!(chart.to_svg()?.contains("#111111"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn dark(mut self) -> Self {
        self.look.dark = Some(true);
        self
    }

    /// Leaves the background out. Texts are dark, for light pages; with [`dark`](Self::dark) they are light, for dark pages.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).transparent();
    /// assert!(!chart.to_svg()?.contains("#FFFFFF"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn transparent(mut self) -> Self {
        self.look.transparent = Some(true);
        self
    }
}
