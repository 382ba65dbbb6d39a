//! Sizes of charts, and where the parts of a chart are drawn.

use plotters::backend::DrawingBackend;
use plotters::drawing::IntoDrawingArea;

use crate::error::{Error, ErrorKind, Result};
use crate::text::count;

use super::canvas::{Anchor, Area, Canvas, INK, LARGE, Plotters, WHITE, fit_text};
use super::{Body, Chart, WIDTH, nothing};

/// Width at which a picture is shown, in CSS pixels: about that of a notebook cell.
const CSS_WIDTH: f64 = 900.0;
/// Largest height of a picture in pixels: browsers do not show more.
const MAX_HEIGHT: i64 = 32_000;
const MARGIN: i64 = 24;
/// Space between charts of a row or column.
const GAP: i64 = 36;
/// Height of a title with the space below it.
const TITLE_HEIGHT: i64 = 56;
/// Least width of a chart in a row; charts that do not fit go to the next line.
const MIN_WIDTH: i64 = 480;

impl Chart {
    /// The size in CSS pixels at which the picture is shown.
    pub(crate) fn css_size(&self) -> (u32, u32) {
        let width = self.own_width() + 2 * MARGIN;
        let height = self.height(self.own_width()).saturating_add(2 * MARGIN);
        let css = |pixels: i64| (pixels as f64 * CSS_WIDTH / WIDTH as f64).round() as u32;
        (css(width), css(height))
    }

    pub(super) fn heading(&self) -> &str {
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
        if self.heading().is_empty() {
            0
        } else {
            TITLE_HEIGHT
        }
    }

    /// The height of the chart at this width.
    fn height(&self, width: i64) -> i64 {
        let stacked = |heights: Vec<i64>| {
            let gaps = GAP * (heights.len() as i64 - 1).max(0);
            heights.into_iter().fold(gaps, i64::saturating_add)
        };
        let body = match &self.body {
            Body::Panel(panel) => panel.height(width),
            Body::Column(charts) => {
                stacked(charts.iter().map(|chart| chart.height(width)).collect())
            }
            Body::Row(charts) => {
                let (per_line, width) = row_layout(charts.len(), width);
                let lines = charts.chunks(per_line);
                stacked(lines.map(|line| max_height(line, width)).collect())
            }
        };
        self.title_height().saturating_add(body)
    }

    /// Width and height of the picture in pixels.
    pub(super) fn size(&self) -> Result<(u32, u32)> {
        let width = self.own_width() + 2 * MARGIN;
        let height = self.height(self.own_width()).saturating_add(2 * MARGIN);
        if height > MAX_HEIGHT {
            return Err(Error::new(
                ErrorKind::Drawing,
                format!(
                    "the picture would be {} pixels high, but browsers show at most {}",
                    count(height as u64),
                    count(MAX_HEIGHT as u64)
                ),
            )
            .fix("show fewer topics or terms, or fewer charts in one cell"));
        }
        Ok((width as u32, height as u32))
    }

    pub(super) fn draw_on<DB: DrawingBackend>(&self, backend: DB, vector: bool) -> Result<()> {
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
                Err(nothing("no charts to compose"))
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
                let (per_line, width) = row_layout(charts.len(), area.width().into());
                let mut top = area.top;
                for line in charts.chunks(per_line) {
                    let bottom = top + max_height(line, width) as i32;
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

/// Charts per line in a row of `charts` charts, and the width of each.
fn row_layout(charts: usize, width: i64) -> (usize, i64) {
    let max = ((width + GAP) / (MIN_WIDTH + GAP)).max(1) as usize;
    // Lines of equal length where possible: four charts make two lines of two, not three and one.
    let lines = charts.div_ceil(max).max(1);
    let per_line = charts.div_ceil(lines).max(1);
    let gaps = GAP * (per_line as i64 - 1);
    (per_line, (width - gaps) / per_line as i64)
}

/// The height of a line: that of its highest chart.
fn max_height(charts: &[Chart], width: i64) -> i64 {
    let heights = charts.iter().map(|chart| chart.height(width));
    heights.max().unwrap_or(0)
}
