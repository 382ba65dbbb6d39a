//! Charts of topicbook: values that own their data, and are drawn when a cell shows them or a file is written.
//!
//! Users import `topicbook`, which shows the items of this crate; `Chart::by` needs the feature `polars`.
//!
//! A chart is a tree of panels and of rows and columns of charts. A `Panel` computes its height and draws itself into an area.
//! `layout` places titles and panels; this file has the public type and writes pictures.

mod axis;
mod bars;
mod box_plot;
mod canvas;
mod dates;
mod error_bars;
mod failed;
mod fonts;
mod frame;
mod heatmap;
mod histogram;
mod html;
mod layout;
mod legend;
mod lines;
mod look;
mod loss;
mod memory;
mod memory_panels;
mod numbers;
mod options;
mod page_colours;
mod palette;
mod pdf;
mod pixels;
mod plain;
mod point_groups;
mod points;
mod scatter;
mod shaping;
mod show;
mod structure;
#[cfg(feature = "polars")]
mod structure_groups;
mod svg;
mod theme;
mod top_terms;
mod topics;
mod tree;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

#[doc(hidden)]
pub use loss::{Losses, Run};
#[doc(hidden)]
pub use memory::{MemoryLine, MemoryPanel};
#[doc(hidden)]
pub use memory_panels::{anonymous, end, files, group, spans, vram};
pub use numbers::{IntoPositions, IntoRows, IntoSeries, Number, Numbers};
#[doc(hidden)]
pub use page_colours::page_colours;
pub use palette::palette;
#[doc(hidden)]
pub use topicbook_base::{Error, ErrorKind, Result};
#[doc(hidden)]
pub use topicbook_data::{Matrix, Terms};

pub(crate) use topicbook_base::{error, evcxr, system, text};
pub(crate) use topicbook_data as data;

use crate::system::write_atomic;
use crate::text::one_line;

use canvas::{Area, Canvas};
use layout::Heights;
use look::Look;
use options::Options;
use topics::{TopicNames, Topics};

/// A chart, which a notebook cell shows and which can be saved as PNG or SVG.
///
/// Charts own (or share) their data, so they can be kept in variables, cloned cheaply and composed. They are drawn when
/// they are shown or saved. Data that cannot be drawn is reported then, as an error of kind
/// [`ErrorKind::Drawing`].
///
/// | For | use |
/// |---|---|
/// | a fit | `Fit::plot_structure`, `Fit::plot_top_terms`, `Fit::plot_loss`, `Fit::plot_memory`, `Fit::plot_topic_map`, `Fit::plot_topic_network`, `Fit::plot_document_map`, `Fit::plot_topic_tree`, `Distinctive::plot_volcano`, `ByLabel::plot`, and [`Chart::losses`] for several fits |
/// | documents with labels | [`by`](Self::by) of a structure plot |
/// | numbers of your own | [`lines`](Self::lines), [`bars`](Self::bars), [`scatter`](Self::scatter), [`box_plot`](Self::box_plot), [`histogram`](Self::histogram), [`heatmap`](Self::heatmap) |
/// | texts and axes | [`title`](Self::title), [`x_label`](Self::x_label), [`y_label`](Self::y_label), [`log_x`](Self::log_x), [`log_y`](Self::log_y), [`x`](Self::x), which takes dates too |
/// | what is added | [`by`](Self::by), [`bands`](Self::bands), [`error_bars`](Self::error_bars), [`fit_line`](Self::fit_line) |
/// | looks | [`size`](Self::size), [`font_size`](Self::font_size), [`large`](Self::large), [`colors`](Self::colors), [`opacity`](Self::opacity), [`horizontal`](Self::horizontal), [`dark`](Self::dark), [`transparent`](Self::transparent) |
/// | several charts | [`side_by_side`], [`stack`] |
/// | files | [`save_png`](Self::save_png) with [`dpi`](Self::dpi), [`save_svg`](Self::save_svg), [`save_pdf`](Self::save_pdf) |
///
/// Pictures are 900 pixels of the page wide, and 1,600 in a PNG, on a white background. Latin, Greek and
/// Cyrillic letters and emoji are drawn with embedded fonts, every other script with a font of the system: a note below the
/// picture says if there is none, and how to install one. An SVG is drawn in the browser's fonts, and a PDF has outlines.
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
#[must_use = "a chart is drawn when a cell shows it, or by `save_png`, `save_svg` and `save_pdf`"]
#[doc(alias("plot", "figure"))]
pub struct Chart {
    title: Option<String>,
    options: Options,
    look: Look,
    body: Body,
    /// Depth of nested compositions.
    depth: usize,
}

/// Maximum depth of compositions that are drawn.
const MAX_DEPTH: usize = 16;

#[derive(Clone)]
enum Body {
    Panel(Arc<dyn Panel>),
    Row(Vec<Chart>),
    Column(Vec<Chart>),
}

/// One kind of chart.
trait Panel: Send + Sync {
    /// The kind, in a sentence: `a structure plot`.
    fn kind(&self) -> &'static str;

    /// The settings of [`Options`] that this kind takes.
    fn takes(&self) -> &'static [&'static str];

    /// The default title; empty for none.
    fn title(&self) -> &str {
        ""
    }

    /// A short description with the sizes of the data.
    fn describe(&self, options: &Options) -> String;

    /// The height of the panel at this width.
    fn heights(&self, width: i64, options: &Options) -> Heights;

    /// Draws into the area; plots fill its height. The error says which data cannot be drawn.
    fn draw(&self, canvas: &dyn Canvas, area: Area, options: &Options) -> Result<()>;
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
///
/// # Errors
/// When it is drawn: without charts, or with more than 16 compositions inside each other.
#[doc(alias("subplots", "hstack"))]
pub fn side_by_side(charts: impl IntoIterator<Item = Chart>) -> Chart {
    Chart::composed(charts, Body::Row)
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
///
/// # Errors
/// When it is drawn: without charts, or with more than 16 compositions inside each other.
#[doc(alias("subplots", "vstack"))]
pub fn stack(charts: impl IntoIterator<Item = Chart>) -> Chart {
    Chart::composed(charts, Body::Column)
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
        Self::runs(vec![Run {
            name: String::new(),
            loss: loss.to_vec(),
            log_likelihood: log_likelihood_per_token.to_vec(),
        }])
    }

    /// The losses and the log-likelihoods per token of several fits in one chart, each with its name: fits with different
    /// settings, seeds or numbers of topics.
    ///
    /// The loss depends on the batch size; the log-likelihood per token does not, and can be compared between all fits of
    /// the same counts. The chart of one fit is `Fit::plot_loss`.
    ///
    /// ```
    /// use topicbook::{Chart, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let small = TopicModel::new(2).epochs(5).quiet().fit(&counts)?;
    /// let large = TopicModel::new(4).epochs(5).quiet().fit(&counts)?;
    /// let chart = Chart::losses([("k = 2", &small), ("k = 4", &large)]);
    /// assert!(chart.to_svg()?.contains("k = 4"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When it is drawn: without fits, or with one that has no history.
    #[doc(alias("learning_curves", "compare"))]
    pub fn losses<N: ToString, F: Losses>(fits: impl IntoIterator<Item = (N, F)>) -> Self {
        let named = fits.into_iter().map(|(name, fit)| Run {
            name: name.to_string(),
            ..fit.run()
        });
        Self::runs(named.collect())
    }

    /// [`loss`](Self::loss) of several fits.
    #[doc(hidden)]
    pub fn runs(runs: Vec<Run>) -> Self {
        Self::panel(loss::Loss::new(runs))
    }

    /// The topic proportions of every document as stacked bars, documents in the order of
    /// `sort_documents`.
    ///
    /// `l` has one row per document and one column per topic; rows are scaled to sum to one. If there are more
    /// documents than columns of pixels, a column shows the mean of its documents. Above ten topics, areas differ by their
    /// stripes too. Columns that [`Matrix::select_columns`] picked keep their numbers and colours; to see some topics
    /// among all, use [`topics`](Self::topics).
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
        Self::structure_of(l, TopicNames::default())
    }

    /// [`structure`](Self::structure) with the names of the topics.
    #[doc(hidden)]
    pub fn structure_of(l: &Matrix, names: TopicNames) -> Self {
        let topics = Topics::of_columns(l, names);
        Self::panel(structure::Structure::new(l.clone(), topics))
    }

    /// The `n` most probable terms of each topic as bars, with the probability at the end of each bar. Each topic has a
    /// scale of its own.
    ///
    /// `f` has one row per topic and one column per term; `n` is from 1 to the number of terms. `terms` names the
    /// columns; without it, terms are shown by index. Rows that [`Matrix::select_rows`] picked keep their numbers and
    /// colours, as do [`topics`](Self::topics).
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
        Self::top_terms_of(f, terms, n, TopicNames::default())
    }

    /// [`top_terms`](Self::top_terms) with the names of the topics.
    #[doc(hidden)]
    pub fn top_terms_of(f: &Matrix, terms: Option<&Terms>, n: usize, names: TopicNames) -> Self {
        let topics = Topics::of_rows(f, names);
        Self::panel(top_terms::TopTerms::new(f, terms, n, topics))
    }

    /// Memory over time. `spans` are phases (name, start and end in seconds); `end` is the end of the time axis.
    #[doc(hidden)]
    pub fn memory(panels: Vec<MemoryPanel>, spans: Vec<(String, f64, f64)>, end: f64) -> Self {
        Self::panel(memory::Memory::new(panels, spans, end))
    }

    fn panel(panel: impl Panel + 'static) -> Self {
        Self::of(Body::Panel(Arc::new(panel)))
    }

    fn of(body: Body) -> Self {
        Self {
            title: None,
            options: Options::default(),
            look: Look::default(),
            body,
            depth: 0,
        }
    }

    /// Charts in a row or column. Beyond `MAX_DEPTH` the charts inside are dropped, and drawing is an error.
    fn composed(
        charts: impl IntoIterator<Item = Chart>,
        make: impl FnOnce(Vec<Chart>) -> Body,
    ) -> Self {
        let charts: Vec<Chart> = charts.into_iter().collect();
        let depth = 1 + charts.iter().map(|chart| chart.depth).max().unwrap_or(0);
        let charts = if depth > MAX_DEPTH {
            Vec::new()
        } else {
            charts
        };
        Self {
            depth,
            ..Self::of(make(charts))
        }
    }

    /// The contents of a PNG file with the picture, 1,600 pixels wide unless [`size`](Self::size) is set.
    ///
    /// ```
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the data cannot be drawn: it is empty, its lengths differ, or it contains a NaN or a negative proportion that has
    /// no place. When a setting does not apply to the kind of chart. When the picture would be higher than 32,000 pixels, or
    /// too small for its texts.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let (sharper, dpi) = self.look().resolution();
        Ok(self.png_of(sharper, dpi)?.0)
    }

    /// The picture as an SVG document, with its description as its title.
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
        self.svg()
    }

    /// Writes a PNG file. The write is atomic: on an error, an existing file stays unchanged.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
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
    /// # let _folder = topicbook::example_folder()?;
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

    /// The contents of a PDF file with the picture on one page of its size. Texts are outlines, which no program can search
    /// for or edit: for that, an SVG has them as texts.
    ///
    /// ```
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// assert!(chart.to_pdf()?.starts_with(b"%PDF-"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Chart::to_png`].
    pub fn to_pdf(&self) -> Result<Vec<u8>> {
        self.pdf()
    }

    /// Writes a PDF file, as [`to_pdf`](Self::to_pdf) makes it. The write is atomic: on an error, an existing file stays
    /// unchanged.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// let chart = topicbook::Chart::loss(&[9.0, 7.0, 6.0], &[-4.0, -3.5, -3.2]);
    /// chart.save_pdf("loss.pdf")?;
    /// assert_eq!(std::fs::read("loss.pdf").unwrap(), chart.to_pdf()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Chart::to_png`], and when the file cannot be written.
    #[doc(alias = "savefig")]
    pub fn save_pdf(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &self.to_pdf()?)
    }

    /// A description in one line.
    #[doc(hidden)]
    pub fn describe(&self) -> String {
        let what = match &self.body {
            Body::Panel(panel) => panel.describe(&self.options),
            Body::Row(charts) | Body::Column(charts) => {
                let charts: Vec<String> = charts.iter().map(Chart::describe).collect();
                format!("[{}]", charts.join("; "))
            }
        };
        match self.heading() {
            "" => what,
            heading => one_line(&format!("{heading}: {what}")).into_owned(),
        }
    }
}

/// Writes a file as a whole: on an error, an existing one stays unchanged.
pub fn save(path: &Path, content: &[u8]) -> Result<()> {
    write_atomic(path, |file| {
        file.write_all(content)
            .map_err(|error| Error::io("write", path, error))
    })
}

/// The error of too many compositions inside each other.
fn too_deep() -> Error {
    Error::drawing(format!(
        "more than {MAX_DEPTH} compositions of charts inside each other"
    ))
    .fix("compose the charts in one list, as in stack([a, b, c])")
}

/// The error of a chart without data.
fn nothing(what: &str) -> Error {
    Error::drawing(format!("nothing to draw: {what}"))
        .fix("check that the data it is made from is not empty")
}

/// The error of a chart with a number that has no position on its axis.
fn not_drawable(what: &str, value: f64, place: String) -> Error {
    Error::drawing(format!("{what} is {value}"))
        .at(place)
        .fix("charts need finite numbers, and proportions of zero or more; if a fit diverged, lower its learning rate")
}

impl fmt::Debug for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}
