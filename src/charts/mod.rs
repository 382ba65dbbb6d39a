//! Charts: values that own their data, and are drawn when a cell shows them or a file is written.
//!
//! A chart is a tree of panels and of rows and columns of charts. A `Panel` computes its height and draws itself into
//! an area; `layout` places titles and panels, and this file has the public type and writes pictures.

mod axis;
mod canvas;
mod histogram;
mod layout;
mod loss;
mod memory;
mod memory_panels;
mod palette;
mod pixels;
mod structure;
mod top_terms;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use plotters::backend::{BitMapBackend, SVGBackend};

pub(crate) use memory::{MemoryLine, MemoryPanel};
pub(crate) use memory_panels::{anonymous, curve, end, files, group, spans};
pub use palette::palette;

use crate::data::{Matrix, Terms};
use crate::error::{Error, ErrorKind, Result};
use crate::system::write_atomic;

use canvas::{Area, Canvas};

/// Width of a picture in pixels. It is more than the CSS width, so that it is sharp on high-resolution screens.
const WIDTH: i64 = 1600;

/// A chart, which a notebook cell shows and which can be saved as PNG or SVG.
///
/// Charts own (or share) their data, so they can be kept in variables, cloned cheaply and composed. They are drawn when
/// they are shown or saved. Data that cannot be drawn is reported then, as an error of kind
/// [`ErrorKind::Drawing`](crate::ErrorKind::Drawing).
///
/// Pictures are 1,600 pixels wide (histograms 800) on a white background. Text is drawn with an embedded font, so no
/// font needs to be installed.
///
/// ```
/// use topicbook::{Chart, Matrix, side_by_side};
/// let l = Matrix::new(2, 2, vec![0.9, 0.1, 0.2, 0.8])?;
/// let pair = side_by_side([
///     Chart::structure(&l).title("True"),
///     Chart::structure(&l).title("Learned"),
/// ]);
/// assert!(pair.to_png()?.starts_with(b"\x89PNG"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a chart is drawn when a cell shows it, or by `to_png`, `to_svg`, `save_png` and `save_svg`"]
#[doc(alias = "plot")]
#[doc(alias = "figure")]
pub struct Chart {
    title: Option<String>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Panel(Arc<dyn Panel>),
    Row(Vec<Chart>),
    Column(Vec<Chart>),
}

/// One kind of chart.
trait Panel: Send + Sync {
    /// The default title; empty for none.
    fn title(&self) -> &str;

    /// A short description with the sizes of the data.
    fn describe(&self) -> String;

    /// The width of a picture of this panel alone, with margins.
    fn width(&self) -> i64 {
        WIDTH
    }

    /// The height of the panel at this width.
    fn height(&self, width: i64) -> i64;

    /// Draws into the area. The error says which data cannot be drawn.
    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()>;
}

/// Charts side by side, from left to right. Charts that would become narrower than 480 pixels go to further lines.
///
/// A cell shows one picture, so two charts of a cell have to be composed.
///
/// ```
/// use topicbook::{Chart, Matrix, side_by_side};
/// let l = Matrix::new(2, 2, vec![0.9, 0.1, 0.2, 0.8])?;
/// let pair = side_by_side([Chart::structure(&l).title("True"), Chart::structure(&l).title("Learned")]);
/// let svg = pair.to_svg()?;
/// assert!(svg.contains("True") && svg.contains("Learned"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[doc(alias = "subplots")]
#[doc(alias = "hstack")]
pub fn side_by_side(charts: impl IntoIterator<Item = Chart>) -> Chart {
    Chart {
        title: None,
        body: Body::Row(charts.into_iter().collect()),
    }
}

/// Charts below each other, from top to bottom.
///
/// A cell shows one picture, so two charts of a cell have to be composed.
///
/// ```
/// use topicbook::{Chart, Matrix, stack};
/// let l = Matrix::new(2, 2, vec![0.9, 0.1, 0.2, 0.8])?;
/// let both = stack([Chart::loss(&[9.0, 7.0], &[-4.0, -3.5]), Chart::structure(&l)]).title("A fit");
/// assert!(both.to_svg()?.contains("A fit"));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[doc(alias = "subplots")]
#[doc(alias = "vstack")]
pub fn stack(charts: impl IntoIterator<Item = Chart>) -> Chart {
    Chart {
        title: None,
        body: Body::Column(charts.into_iter().collect()),
    }
}

impl Chart {
    /// The loss of each epoch and, below it, the log-likelihood per token.
    ///
    /// `loss` is the loss that a fit reports (mean over batches of batch sums); `log_likelihood_per_token` is in nats
    /// and does not depend on the batch size. Both slices have one value per epoch. The second panel is scaled to the
    /// last nine tenths of the epochs, because the steep first part would flatten the rest.
    ///
    /// ```
    /// use topicbook::Chart;
    /// assert!(Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]).to_png()?.starts_with(b"\x89PNG"));
    /// assert!(Chart::loss(&[9.0, 7.0], &[-4.0]).to_png().is_err()); // one value is missing
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn loss(loss: &[f64], log_likelihood_per_token: &[f64]) -> Self {
        Self::panel(loss::Loss::new(loss, log_likelihood_per_token))
    }

    /// The topic proportions of every document as stacked bars, documents in the order of
    /// [`sort_documents`](crate::sort_documents).
    ///
    /// `l` has one row per document and one column per topic; rows are scaled to sum to one. If there are more
    /// documents than columns of pixels, a column shows the mean of its documents.
    ///
    /// ```
    /// use topicbook::{Chart, ErrorKind, Matrix};
    /// let l = Matrix::new(2, 2, vec![0.9, 0.1, 0.2, 0.8])?;
    /// assert!(Chart::structure(&l).to_png()?.starts_with(b"\x89PNG"));
    /// let error = Chart::structure(&Matrix::new(1, 2, vec![-0.1, 1.1])?).to_png().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Drawing);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "structure_plot")]
    pub fn structure(l: &Matrix) -> Self {
        Self::panel(structure::Structure::new(l.clone()))
    }

    /// The `n` most probable terms of each topic as bars on a common scale.
    ///
    /// `f` has one row per topic and one column per term; `n` is from 1 to the number of terms. `terms` names the
    /// columns; without it, terms are shown by index.
    ///
    /// ```
    /// use topicbook::{Chart, Matrix, Terms};
    /// let f = Matrix::new(2, 3, vec![0.7, 0.2, 0.1, 0.1, 0.1, 0.8])?;
    /// let terms = Terms::new(["apple", "pear", "plum"])?;
    /// assert!(Chart::top_terms(&f, Some(&terms), 2).to_svg()?.contains("plum"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// One pass over `f`.
    #[doc(alias = "plot_top_words")]
    pub fn top_terms(f: &Matrix, terms: Option<&Terms>, n: usize) -> Self {
        Self::panel(top_terms::TopTerms::new(f, terms, n))
    }

    /// A small histogram of values. `unit` is the unit of the values ("tokens per document"); `counted` names the
    /// things that have them ("documents").
    ///
    /// ```
    /// use topicbook::Chart;
    /// let lengths = [120.0, 80.0, 95.0, 130.0];
    /// let chart = Chart::histogram(&lengths, "tokens per document", "documents");
    /// assert!(chart.to_svg()?.contains("tokens per document"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn histogram(values: &[f64], unit: impl Into<String>, counted: impl Into<String>) -> Self {
        Self::panel(histogram::Histogram::new(
            values,
            unit.into(),
            counted.into(),
        ))
    }

    /// Memory over time. `spans` are phases (name, start and end in seconds); `end` is the end of the time axis.
    pub(crate) fn memory(
        panels: Vec<MemoryPanel>,
        spans: Vec<(String, f64, f64)>,
        end: f64,
    ) -> Self {
        Self::panel(memory::Memory::new(panels, spans, end))
    }

    fn panel(panel: impl Panel + 'static) -> Self {
        Self {
            title: None,
            body: Body::Panel(Arc::new(panel)),
        }
    }

    /// Sets the title; that of the kind of chart by default, none for composed charts. With an empty title there is
    /// none.
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

    /// The contents of a PNG file with the picture, 1,600 pixels wide (histograms 800).
    ///
    /// ```
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the data cannot be drawn: it is empty, or contains NaN or a negative proportion; when the picture would be
    /// higher than 32,000 pixels.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let (width, height) = self.size()?;
        let mut pixels = vec![0; width as usize * height as usize * 3];
        self.draw_on(
            BitMapBackend::with_buffer(&mut pixels, (width, height)),
            false,
        )?;
        pixels::encode(&pixels, width, height)
    }

    /// The picture as an SVG document.
    ///
    /// ```
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// assert!(chart.to_svg()?.starts_with("<svg"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Chart::to_png`].
    pub fn to_svg(&self) -> Result<String> {
        let (width, height) = self.size()?;
        let mut svg = String::new();
        self.draw_on(SVGBackend::with_string(&mut svg, (width, height)), true)?;
        // The drawing has the coordinates of the PNG; width and height are those at which it is shown.
        let (css_width, css_height) = self.css_size();
        Ok(svg.replacen(
            &format!("width=\"{width}\" height=\"{height}\""),
            &format!("width=\"{css_width}\" height=\"{css_height}\""),
            1,
        ))
    }

    /// Writes a PNG file. The write is atomic: on an error, an existing file stays unchanged.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// chart.save_png("loss.png")?;
    /// assert_eq!(std::fs::read("loss.png").unwrap(), chart.to_png()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Chart::to_png`], and when the file cannot be written.
    #[doc(alias = "savefig")]
    pub fn save_png(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &self.to_png()?)
    }

    /// Writes an SVG file. The write is atomic: on an error, an existing file stays unchanged.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// chart.save_svg("loss.svg")?;
    /// assert_eq!(std::fs::read_to_string("loss.svg").unwrap(), chart.to_svg()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Chart::to_png`], and when the file cannot be written.
    pub fn save_svg(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), self.to_svg()?.as_bytes())
    }

    /// A description in one line.
    pub(crate) fn describe(&self) -> String {
        let what = match &self.body {
            Body::Panel(panel) => panel.describe(),
            Body::Row(charts) | Body::Column(charts) => {
                let charts: Vec<String> = charts.iter().map(Chart::describe).collect();
                format!("[{}]", charts.join("; "))
            }
        };
        match self.heading() {
            "" => what,
            heading => format!("{heading}: {what}"),
        }
    }
}

fn save(path: &Path, content: &[u8]) -> Result<()> {
    write_atomic(path, |file| {
        file.write_all(content)
            .map_err(|error| Error::io("write", path, error))
    })
}

/// The error of a chart without data.
fn nothing(what: &str) -> Error {
    Error::new(ErrorKind::Drawing, format!("nothing to draw: {what}"))
        .fix("check that the data it is made from is not empty")
}

/// The error of a chart with a number that has no position on its axis.
fn not_drawable(what: &str, value: f64, place: String) -> Error {
    Error::new(ErrorKind::Drawing, format!("{what} is {value}"))
        .at(place)
        .fix("charts need finite numbers, and proportions of zero or more; if a fit diverged, lower its learning rate")
}

impl fmt::Debug for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}
