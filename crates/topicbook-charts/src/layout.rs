//! Sizes of charts, and where the parts of a chart are drawn.

use std::cell::RefCell;

use plotters::backend::BitMapBackend;
use plotters::drawing::IntoDrawingArea;
use unicode_script::Script;

use crate::error::{Error, Result};
use crate::text::count;

use super::canvas::{Anchor, Area, Canvas, LANGUAGE, LARGE, Pixels, fit_text};
use super::fonts;
use super::look::{Look, css};
use super::palette::Rgb;
use super::pdf::Pdf;
use super::svg::Svg;
use super::{Body, Chart, MAX_DEPTH, nothing, pixels, too_deep};

/// Largest width and height of a picture in pixels: browsers do not show more.
const MAX_SIDE: f64 = 32_000.0;
const MARGIN: i64 = 24;
/// Space between charts of a row or column.
const GAP: i64 = 36;
/// Height of a title with the space below it.
const TITLE_HEIGHT: i64 = 56;
/// Least width of a chart in a row; charts that do not fit go to the next line.
const MIN_WIDTH: i64 = 480;
/// Least height of the plots of a chart, as a fraction of their usual height.
const LEAST: f64 = 0.2;

/// The height of a chart in units.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heights {
    /// Texts, legends and gaps.
    pub fixed: i64,
    /// Plots, which can be stretched and compressed.
    pub plots: i64,
}

impl Heights {
    fn sum(self) -> i64 {
        self.fixed.saturating_add(self.plots)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.saturating_add(other.fixed),
            plots: self.plots.saturating_add(other.plots),
        }
    }

    /// The factor by which plots are stretched so that the whole has this height.
    fn stretch(self, height: i64) -> f64 {
        match self.plots {
            0 => 1.0,
            plots => (height - self.fixed) as f64 / plots as f64,
        }
    }

    /// The height with stretched plots.
    fn stretched(self, stretch: f64) -> i64 {
        self.fixed + (self.plots as f64 * stretch).round() as i64
    }

    /// The heights of a line of charts, taken from its highest chart.
    fn of_line(charts: &[(&Chart, Self)]) -> Self {
        let fixed = charts.iter().map(|(_, heights)| heights.fixed).max();
        let sum = charts.iter().map(|(_, heights)| heights.sum()).max();
        let fixed = fixed.unwrap_or(0);
        Self {
            fixed,
            plots: sum.unwrap_or(0) - fixed,
        }
    }
}

/// The picture: its size, and how its units become pixels.
struct Page {
    look: Look,
    /// Pixels per unit.
    scale: f64,
    /// Width and height in units.
    units: (i64, i64),
    /// Width and height in pixels.
    pixels: (u32, u32),
    /// The same in pixels of the page on which it is shown.
    shown: (u32, u32),
}

impl Chart {
    /// The size in CSS pixels at which the picture is shown.
    #[doc(hidden)]
    pub fn css_size(&self) -> Result<(u32, u32)> {
        Ok(self.page(1.0)?.shown)
    }

    pub(super) fn heading(&self) -> &str {
        match (&self.title, &self.body) {
            (Some(title), _) => title,
            (None, Body::Panel(panel)) => panel.title(),
            (None, _) => "",
        }
    }

    fn title_height(&self) -> i64 {
        if self.heading().is_empty() {
            0
        } else {
            TITLE_HEIGHT
        }
    }

    /// The heights of the chart at this width, without its own `size`.
    fn heights(&self, width: i64) -> Heights {
        let title = Heights {
            fixed: self.title_height(),
            plots: 0,
        };
        let body = match &self.body {
            Body::Panel(panel) => panel.heights(width, &self.options),
            Body::Column(charts) => stacked(charts.iter().map(|chart| chart.inner_heights(width))),
            Body::Row(charts) => {
                let (per_line, width) = row_layout(charts.len(), width);
                stacked(lines(charts, per_line, width).map(|line| Heights::of_line(&line)))
            }
        };
        title.plus(body)
    }

    /// The heights of a chart in a composition, where the height that is set for it holds.
    fn inner_heights(&self, width: i64) -> Heights {
        let heights = self.heights(width);
        match self.look.height() {
            None => heights,
            Some(height) => Heights {
                plots: (height as i64 - 2 * MARGIN - heights.fixed).max(1),
                ..heights
            },
        }
    }

    /// The page of a picture with `sharper` times as many pixels as usual.
    fn page(&self, sharper: f64) -> Result<Page> {
        let look = self.look();
        look.check()?;
        let scale = look.scale();
        let width = look.width();
        let units = (width / scale).round() as i64;
        let heights = self.heights((units - 2 * MARGIN).max(1)).plus(Heights {
            fixed: 2 * MARGIN,
            plots: 0,
        });
        let height = match look.height() {
            Some(height) => (height / scale).round() as i64,
            None => heights.sum(),
        };
        let least = heights.stretched(LEAST);
        if height < least || units < 8 * MARGIN {
            let (width, height) = look.size.unwrap_or_default();
            let (least_width, least_height) = (
                css(8.0 * MARGIN as f64 * scale),
                css(least as f64 * scale).max(1),
            );
            return Err(Error::drawing(format!(
                    "a size of {width} x {height} pixels, but this chart needs at least {least_width} x {least_height}"
                ))
            .fix("call `size` with a larger height, `font_size` with a smaller font, or show less"));
        }
        let usual = (width, height as f64 * scale);
        let pixels = (sharper * usual.0, sharper * usual.1);
        if let Some(side) = [pixels.0, pixels.1]
            .into_iter()
            .find(|&side| side > MAX_SIDE)
        {
            return Err(Error::drawing(format!(
                "the picture would be {} pixels {}, but browsers show at most {}",
                count(side as u64),
                if side == pixels.0 { "wide" } else { "high" },
                count(MAX_SIDE as u64)
            ))
            .fix(match sharper > 1.0 {
                true => "call `dpi` with a smaller number",
                false => "show fewer topics or terms, or fewer charts in one cell",
            }));
        }
        Ok(Page {
            scale: sharper * scale,
            shown: (css(usual.0), css(usual.1)),
            units: (units, height),
            pixels: (pixels.0.round() as u32, pixels.1.round() as u32),
            look,
        })
    }

    /// The picture below a cell as a PNG file, and the scripts of its characters that no font has.
    pub(super) fn png(&self) -> Result<(Vec<u8>, Vec<Script>)> {
        self.png_of(1.0, None)
    }

    /// The picture with `sharper` times as many pixels; the file states its dots per inch.
    pub(super) fn png_of(&self, sharper: f64, dpi: Option<f64>) -> Result<(Vec<u8>, Vec<Script>)> {
        let page = self.page(sharper)?;
        let (width, height) = page.pixels;
        let on = |backdrop| self.pixels(&page, backdrop, LANGUAGE);
        let is_transparent = page.look.is_transparent();
        let (pixels, missing) = on(match is_transparent {
            true => [255; 3],
            false => page.look.theme().background,
        })?;
        let file = match is_transparent {
            true => pixels::encode_transparent(&pixels, &on([0; 3])?.0, (width, height), dpi),
            false => pixels::encode(&pixels, (width, height), dpi),
        };
        Ok((file?, missing))
    }

    /// The picture on a backdrop, as red, green and blue values row by row, and the scripts of its characters that no font has.
    fn pixels(
        &self,
        page: &Page,
        backdrop: Rgb,
        language: &'static str,
    ) -> Result<(Vec<u8>, Vec<Script>)> {
        let (width, height) = page.pixels;
        let mut pixels = backdrop.repeat(width as usize * height as usize);
        let area = BitMapBackend::with_buffer(&mut pixels, page.pixels).into_drawing_area();
        let canvas = Pixels {
            area: &area,
            theme: page.look.theme(),
            scale: page.scale,
            language,
            shaped: RefCell::default(),
            missing: RefCell::default(),
        };
        self.draw(&canvas, page.inside())?;
        let missing = canvas.missing.take();
        // The language of Chinese characters is known once all texts are.
        let found = fonts::language(&canvas.shaped.take()).unwrap_or(language);
        drop(area);
        match found == language {
            true => Ok((pixels, missing)),
            false => self.pixels(page, backdrop, found),
        }
    }

    /// The picture as an SVG document.
    pub(super) fn svg(&self) -> Result<String> {
        let page = self.page(1.0)?;
        let canvas = Svg::new(page.look.theme());
        self.draw_on(&canvas, &page)?;
        Ok(canvas.document(page.shown, page.pixels, page.scale, &self.describe()))
    }

    /// The picture as a PDF document.
    pub(super) fn pdf(&self) -> Result<Vec<u8>> {
        let page = self.page(1.0)?;
        let draw = |language| -> Result<Pdf> {
            let canvas = Pdf::new(page.look.theme(), language);
            self.draw_on(&canvas, &page)?;
            Ok(canvas)
        };
        let canvas = draw(LANGUAGE)?;
        // The language of Chinese characters is known once all texts are.
        let canvas = match canvas.language() {
            Some(language) if language != LANGUAGE => draw(language)?,
            _ => canvas,
        };
        canvas.document(page.shown, page.scale, &self.describe())
    }

    /// Draws the whole picture with its background.
    fn draw_on(&self, canvas: &dyn Canvas, page: &Page) -> Result<()> {
        if !page.look.is_transparent() {
            canvas.rectangle(page.all(), page.look.theme().background.into())?;
        }
        self.draw(canvas, page.inside())
    }

    /// Draws the chart into an area, whose height its plots fill.
    fn draw(&self, canvas: &dyn Canvas, area: Area) -> Result<()> {
        let title_height = self.title_height() as i32;
        if title_height > 0 {
            let heading = fit_text(self.heading(), LARGE, area.width());
            let middle = (area.left, area.top + title_height / 2 - 10);
            canvas.text(&heading, middle, Anchor::Left, LARGE, canvas.theme().ink)?;
        }
        let stretch = self
            .heights(area.width().into())
            .stretch(area.height().into());
        let area = area.inset(0, title_height, 0, 0);
        match &self.body {
            Body::Panel(panel) => {
                self.options.check(panel.kind(), panel.takes())?;
                panel.draw(canvas, area, &self.options)
            }
            Body::Column(_) | Body::Row(_) if self.depth > MAX_DEPTH => Err(too_deep()),
            Body::Column(charts) | Body::Row(charts) if charts.is_empty() => {
                Err(nothing("no charts to compose"))
            }
            Body::Column(charts) => {
                self.options.check("a composition of charts", &[])?;
                let mut top = area.top;
                for chart in charts {
                    let heights = chart.inner_heights(area.width().into());
                    let bottom = top + heights.stretched(stretch) as i32;
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
                self.options.check("a composition of charts", &[])?;
                let (per_line, width) = row_layout(charts.len(), area.width().into());
                let mut top = area.top;
                for line in lines(charts, per_line, width) {
                    let mut left = area.left;
                    let mut below = top;
                    for (chart, heights) in line {
                        let right = left + width as i32;
                        let bottom = top + heights.stretched(stretch) as i32;
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
                        below = below.max(bottom);
                    }
                    top = below + GAP as i32;
                }
                Ok(())
            }
        }
    }
}

impl Page {
    fn all(&self) -> Area {
        Area {
            left: 0,
            top: 0,
            right: self.units.0 as i32,
            bottom: self.units.1 as i32,
        }
    }

    /// The area inside the margins.
    fn inside(&self) -> Area {
        let margin = MARGIN as i32;
        self.all().inset(margin, margin, margin, margin)
    }
}

fn stacked(parts: impl ExactSizeIterator<Item = Heights>) -> Heights {
    let gaps = Heights {
        fixed: GAP * (parts.len() as i64 - 1).max(0),
        plots: 0,
    };
    parts.fold(gaps, Heights::plus)
}

/// The lines of a row, each with the heights of its charts.
fn lines(
    charts: &[Chart],
    per_line: usize,
    width: i64,
) -> impl ExactSizeIterator<Item = Vec<(&Chart, Heights)>> {
    charts.chunks(per_line).map(move |line| {
        let heights = line.iter().map(|chart| (chart, chart.inner_heights(width)));
        heights.collect()
    })
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
