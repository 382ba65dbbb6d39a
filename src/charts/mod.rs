//! Charts: values that own their data, drawn when a cell shows them or a file is asked for.
//!
//! A chart is a tree: panels, and rows and columns of charts. A panel knows the height it needs and draws itself
//! into an area (`Panel`); everything else (titles, layout, pixels, files) is here.

mod axis;
mod canvas;
mod histogram;
mod loss;
mod memory;
mod palette;
mod pixels;
mod structure;
mod top_terms;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::drawing::IntoDrawingArea;

use crate::beside::write_beside;
use crate::display::{count, show_png, show_text};
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use canvas::{Anchor, Area, Canvas, INK, LARGE, Plotters, WHITE, fit_text};

pub(crate) use memory::{MemoryCurve, MemoryLine, MemoryPanel};
pub use palette::palette;
pub use structure::sort_documents;

/// Pixels of a picture as wide as a notebook cell; shown at 900 CSS pixels it is sharp on every screen.
const WIDTH: i64 = 1600;
/// CSS pixels at which that width is meant to be seen.
const CSS_WIDTH: f64 = 900.0;
/// The tallest picture: browsers refuse more.
const TALLEST: i64 = 32_000;
const MARGIN: i64 = 24;
/// Between charts beside or below each other.
const GAP: i64 = 36;
/// A title with the space below it.
const TITLE: i64 = 56;
/// The narrowest chart of a row; more of them go to the next line.
const NARROWEST: i64 = 480;

/// A chart: shows itself in a notebook cell and saves itself as PNG or SVG.
///
/// Charts own (or share) their data, so they can be kept, cloned cheaply and composed. They are drawn when shown
/// or saved, and that is when data that cannot be drawn is reported, as an error of kind
/// [`ErrorKind::Drawing`](crate::ErrorKind::Drawing).
///
/// Pictures are 1,600 pixels wide on a white ground; text is drawn with an embedded font, so no font needs to be
/// installed.
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
    /// The title of a chart that was given none; empty for none.
    fn title(&self) -> &str;

    /// What is drawn, in a few words with its sizes.
    fn describe(&self) -> String;

    /// The width of the picture when the panel stands alone.
    fn width(&self) -> i64 {
        WIDTH
    }

    /// The height that the panel takes at a width.
    fn height(&self, width: i64) -> i64;

    /// Draws into the area, or says which data cannot be drawn.
    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()>;
}

/// Charts beside each other, from left to right; as many as stay readable, the others on further lines.
///
/// One cell shows one picture: two charts of a cell go into one.
pub fn side_by_side(charts: impl IntoIterator<Item = Chart>) -> Chart {
    Chart {
        title: None,
        body: Body::Row(charts.into_iter().collect()),
    }
}

/// Charts below each other.
///
/// One cell shows one picture: two charts of a cell go into one.
pub fn stack(charts: impl IntoIterator<Item = Chart>) -> Chart {
    Chart {
        title: None,
        body: Body::Column(charts.into_iter().collect()),
    }
}

impl Chart {
    /// The loss of each epoch and, below it, the log-likelihood per token.
    ///
    /// `loss` is what the fit reports (mean over batches of batch sums); `log_likelihood_per_token` is in nats and
    /// does not depend on the batch size. The second panel is scaled to the last nine tenths of the epochs, so that
    /// what happens after the first steep part can be seen. Both slices have one value per epoch.
    pub fn loss(loss: &[f64], log_likelihood_per_token: &[f64]) -> Self {
        Self::panel(loss::Loss::new(loss, log_likelihood_per_token))
    }

    /// The topic proportions of every document as a stack of bars, documents in the order of [`sort_documents`].
    ///
    /// `l` has one row per document and one column per topic; rows are scaled to sum to one. Where there are more
    /// documents than columns of pixels, a column shows the mean of its documents.
    pub fn structure(l: &Matrix) -> Self {
        Self::panel(structure::Structure::new(l.clone()))
    }

    /// The `n` most probable terms of each topic as bars on one common scale.
    ///
    /// `f` has one row per topic and one column per term. `terms` names the columns; without it a term is shown as
    /// its index. Costs one pass over `f`.
    pub fn top_terms(f: &Matrix, terms: Option<&[String]>, n: usize) -> Self {
        Self::panel(top_terms::TopTerms::new(f, terms, n))
    }

    /// How values are spread: a small chart. `unit` says what the values are ("tokens per document"), `counted` what
    /// has them ("documents").
    pub fn histogram(values: &[f64], unit: impl Into<String>, counted: impl Into<String>) -> Self {
        Self::panel(histogram::Histogram::new(
            values,
            unit.into(),
            counted.into(),
        ))
    }

    /// Memory over time: `spans` are what happened (name, from, to, in seconds), `end` is when it ended.
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

    /// Sets the title; an empty one leaves it out.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The picture as a PNG file's bytes.
    ///
    /// # Errors
    /// When the data cannot be drawn: nothing in it, NaN, a negative proportion.
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
    /// # Errors
    /// As [`Chart::to_png`].
    pub fn to_svg(&self) -> Result<String> {
        let (width, height) = self.size()?;
        let mut svg = String::new();
        self.draw_on(SVGBackend::with_string(&mut svg, (width, height)), true)?;
        // Drawn in the pixels of the PNG, shown at the size meant for reading.
        let (css_width, css_height) = self.css_size();
        Ok(svg.replacen(
            &format!("width=\"{width}\" height=\"{height}\""),
            &format!("width=\"{css_width}\" height=\"{css_height}\""),
            1,
        ))
    }

    /// Writes a PNG file, which appears whole or not at all.
    ///
    /// # Errors
    /// As [`Chart::to_png`], and when the file cannot be written.
    pub fn save_png(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &self.to_png()?)
    }

    /// Writes an SVG file, which appears whole or not at all.
    ///
    /// # Errors
    /// As [`Chart::to_png`], and when the file cannot be written.
    pub fn save_svg(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), self.to_svg()?.as_bytes())
    }

    /// Shows the picture in a notebook cell, or says why it could not be drawn. Called by evcxr.
    pub fn evcxr_display(&self) {
        match self.to_png() {
            Ok(png) => show_png(&png, &self.describe()),
            Err(error) => show_text(&format!("{}: {error}", self.describe())),
        }
    }

    /// One line that says what is drawn.
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

    /// The size in CSS pixels at which the picture is meant to be seen.
    pub(crate) fn css_size(&self) -> (u32, u32) {
        let width = self.own_width() + 2 * MARGIN;
        let height = self.height(self.own_width()).saturating_add(2 * MARGIN);
        let css = |pixels: i64| (pixels as f64 * CSS_WIDTH / WIDTH as f64).round() as u32;
        (css(width), css(height))
    }

    fn heading(&self) -> &str {
        match (&self.title, &self.body) {
            (Some(title), _) => title,
            (None, Body::Panel(panel)) => panel.title(),
            (None, _) => "",
        }
    }

    /// The width of the picture without its margins.
    fn own_width(&self) -> i64 {
        match &self.body {
            Body::Panel(panel) => panel.width() - 2 * MARGIN,
            Body::Row(_) | Body::Column(_) => WIDTH - 2 * MARGIN,
        }
    }

    fn title_height(&self) -> i64 {
        if self.heading().is_empty() { 0 } else { TITLE }
    }

    /// The height that the chart takes at a width.
    fn height(&self, width: i64) -> i64 {
        let below = |heights: Vec<i64>| {
            let gaps = GAP * (heights.len() as i64 - 1).max(0);
            heights.into_iter().fold(gaps, i64::saturating_add)
        };
        let body = match &self.body {
            Body::Panel(panel) => panel.height(width),
            Body::Column(charts) => below(charts.iter().map(|chart| chart.height(width)).collect()),
            Body::Row(charts) => {
                let (per_line, width) = line(charts.len(), width);
                let lines = charts.chunks(per_line);
                below(lines.map(|line| tallest(line, width)).collect())
            }
        };
        self.title_height().saturating_add(body)
    }

    fn size(&self) -> Result<(u32, u32)> {
        let width = self.own_width() + 2 * MARGIN;
        let height = self.height(self.own_width()).saturating_add(2 * MARGIN);
        if height > TALLEST {
            return Err(Error::new(
                ErrorKind::Drawing,
                format!(
                    "the picture would be {} pixels high, the most that browsers show is {}",
                    count(height as u64),
                    count(TALLEST as u64)
                ),
            )
            .fix("show fewer topics or terms, or fewer charts in one cell"));
        }
        Ok((width as u32, height as u32))
    }

    fn draw_on<DB: DrawingBackend>(&self, backend: DB, vector: bool) -> Result<()> {
        let area = backend.into_drawing_area();
        let (width, height) = area.dim_in_pixel();
        let canvas = Plotters {
            area: &area,
            vector,
        };
        let all = Area {
            left: 0,
            top: 0,
            right: width as i32,
            bottom: height as i32,
        };
        canvas.rectangle(all, WHITE)?;
        let margin = MARGIN as i32;
        self.draw(&canvas, all.inset(margin, margin, margin, margin))
    }

    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()> {
        let title_height = self.title_height() as i32;
        if title_height > 0 {
            let heading = fit_text(self.heading(), LARGE, area.width());
            let middle = (area.left, area.top + title_height / 2 - 10);
            canvas.text(&heading, middle, Anchor::Left, LARGE, INK)?;
        }
        let area = area.inset(0, title_height, 0, 0);
        match &self.body {
            Body::Panel(panel) => panel.draw(canvas, area),
            Body::Column(charts) | Body::Row(charts) if charts.is_empty() => {
                Err(nothing("no charts to put together"))
            }
            Body::Column(charts) => {
                let mut top = area.top;
                for chart in charts {
                    let bottom = top + chart.height(area.width().into()) as i32;
                    chart.draw(
                        canvas,
                        Area {
                            top,
                            bottom,
                            ..area
                        },
                    )?;
                    top = bottom + GAP as i32;
                }
                Ok(())
            }
            Body::Row(charts) => {
                let (per_line, width) = line(charts.len(), area.width().into());
                let mut top = area.top;
                for line in charts.chunks(per_line) {
                    let bottom = top + tallest(line, width) as i32;
                    let mut left = area.left;
                    for chart in line {
                        let right = left + width as i32;
                        chart.draw(
                            canvas,
                            Area {
                                left,
                                top,
                                right,
                                bottom,
                            },
                        )?;
                        left = right + GAP as i32;
                    }
                    top = bottom + GAP as i32;
                }
                Ok(())
            }
        }
    }
}

/// Charts per line of a row of so many at a width, and the width of each.
fn line(charts: usize, width: i64) -> (usize, i64) {
    let most = ((width + GAP) / (NARROWEST + GAP)).max(1) as usize;
    // As even as the number of lines allows: four charts make two lines of two, not three and one.
    let lines = charts.div_ceil(most).max(1);
    let per_line = charts.div_ceil(lines).max(1);
    let gaps = GAP * (per_line as i64 - 1);
    (per_line, (width - gaps) / per_line as i64)
}

fn tallest(charts: &[Chart], width: i64) -> i64 {
    let heights = charts.iter().map(|chart| chart.height(width));
    heights.max().unwrap_or(0)
}

fn save(path: &Path, content: &[u8]) -> Result<()> {
    write_beside(path, |file| {
        file.write_all(content)
            .map_err(|error| Error::io("write", path, error))
    })
}

/// The error of a chart without data.
fn nothing(what: &str) -> Error {
    Error::new(ErrorKind::Drawing, format!("nothing to draw: {what}"))
        .fix("check that the data it is made from is not empty")
}

/// The error of a chart of numbers that have no place on an axis.
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
