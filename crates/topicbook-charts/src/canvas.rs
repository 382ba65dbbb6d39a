//! Drawing surface of charts: a few shapes and text, and their pixels by plotters.

use std::cell::RefCell;
use std::sync::OnceLock;

use plotters::backend::BitMapBackend;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, TextStyle, register_font};
use unicode_script::Script;

use crate::error::{Error, Result};

use super::fonts::is_plain;
use super::palette::Rgb;
use super::shaping::{em, shape};
use super::theme::{Theme, luminance, mix};

/// A position in pixels, from the upper left corner of the picture.
pub type Point = (i32, i32);

/// Text heights in pixels of a picture 1,600 pixels wide. Shown at 900 CSS pixels, the smaller one is 14.6 CSS pixels
/// high.
pub const SMALL: f64 = 26.0;
pub const LARGE: f64 = 36.0;

/// A rectangle in pixels, exclusive of `right` and `bottom`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl Area {
    pub fn width(self) -> i32 {
        self.right - self.left
    }

    pub fn height(self) -> i32 {
        self.bottom - self.top
    }

    /// The area without margins of these widths.
    pub fn inset(self, left: i32, top: i32, right: i32, bottom: i32) -> Self {
        Self {
            left: self.left + left,
            top: self.top + top,
            right: self.right - right,
            bottom: self.bottom - bottom,
        }
    }
}

/// Horizontal position of a text relative to its point. Vertically, all texts are centred at the point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Anchor {
    /// The text begins at the point.
    Left,
    /// The text ends at the point.
    Right,
    /// The text is centred at the point.
    Centre,
}

/// How an area is filled: a colour, and above ten topics a hatch in a second shade of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    pub colour: Rgb,
    pub hatch: Hatch,
}

impl From<Rgb> for Fill {
    fn from(colour: Rgb) -> Self {
        Self {
            colour,
            hatch: Hatch::None,
        }
    }
}

impl Fill {
    /// The colour of the hatch: darker on light colours, lighter on dark ones.
    pub fn shade(self) -> Rgb {
        match luminance(self.colour) > 0.25 {
            true => mix(self.colour, [0; 3], 0.38),
            false => mix(self.colour, [255; 3], 0.5),
        }
    }
}

/// Stripes, so that areas differ by more than their colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hatch {
    None,
    /// Stripes from the lower left to the upper right.
    Rising,
    /// Stripes from the upper left to the lower right.
    Falling,
    Level,
}

/// Distance of the stripes of a hatch, and their width.
pub const STRIPES: (i32, i32) = (18, 6);

impl Hatch {
    /// Whether a pixel lies on a stripe, with stripes this far apart.
    fn covers(self, x: i32, y: i32, distance: i32) -> bool {
        let along = match self {
            Self::None => return false,
            Self::Rising => x + y,
            Self::Falling => y - x,
            Self::Level => y,
        };
        along.rem_euclid(distance) * STRIPES.0 < STRIPES.1 * distance
    }
}

/// The shapes that charts consist of, in units that the canvas scales to pixels.
pub trait Canvas {
    /// Whether the picture consists of shapes (SVG), so that its file grows with each point, or of pixels.
    fn is_vector(&self) -> bool;
    fn theme(&self) -> &'static Theme;
    fn rectangle(&self, area: Area, fill: Fill) -> Result<()>;
    fn polygon(&self, points: Vec<Point>, fill: Fill) -> Result<()>;
    fn line(&self, points: Vec<Point>, colour: Rgb, width: u32) -> Result<()>;
    /// Draws a dot; `opacity` is from 0 to 1.
    fn dot(&self, at: Point, radius: i32, colour: Rgb, opacity: f64) -> Result<()>;
    fn text(&self, text: &str, at: Point, anchor: Anchor, height: f64, colour: Rgb) -> Result<()>;

    /// Draws the outline of an area, inside it.
    fn outline(&self, area: Area, colour: Rgb, width: u32) -> Result<()> {
        if area.width() <= 0 || area.height() <= 0 {
            return Ok(());
        }
        let half = width as i32 / 2;
        let inner = area.inset(half, half, half, half);
        let corners = vec![
            (inner.left, inner.top),
            (inner.right, inner.top),
            (inner.right, inner.bottom),
            (inner.left, inner.bottom),
            (inner.left, inner.top),
        ];
        self.line(corners, colour, width)
    }
}

/// A plotters drawing area as a canvas, for pixels.
pub struct Pixels<'a, 'b> {
    pub area: &'a DrawingArea<BitMapBackend<'b>, Shift>,
    pub theme: &'static Theme,
    /// Pixels per unit.
    pub scale: f64,
    /// The language whose forms Chinese characters have.
    pub language: &'static str,
    /// The texts that the embedded font alone does not draw.
    pub shaped: RefCell<String>,
    /// The scripts of characters that no font has.
    pub missing: RefCell<Vec<Script>>,
}

impl Pixels<'_, '_> {
    /// Draws a text in the fonts of its scripts.
    fn shaped(
        &self,
        text: &str,
        at: Point,
        anchor: Anchor,
        height: f64,
        colour: Rgb,
    ) -> Result<()> {
        let (shaped, em) = (shape(text, self.language), em(height));
        self.shaped.borrow_mut().push_str(text);
        self.missing.borrow_mut().extend(&shaped.missing);
        let before = match anchor {
            Anchor::Left => 0.0,
            Anchor::Right => shaped.width * em,
            Anchor::Centre => shaped.width * em / 2.0,
        };
        // The baseline of centred letters, as plotters draws them.
        let start = (
            at.0 as f32 - before,
            (f64::from(at.1) + 0.28 * height).round() as f32,
        );
        let draw = |x, y, covered: f32| {
            self.area
                .draw_pixel((x, y), &rgb(colour).mix(covered.into()))
        };
        shaped.draw(start, em, draw).map_err(failed)
    }

    fn at(&self, (x, y): Point) -> Point {
        (scaled(x, self.scale), scaled(y, self.scale))
    }

    /// Draws the stripes of a hatch over a rectangle. They continue from one rectangle to the next.
    fn stripes(&self, (left, top): Point, (right, bottom): Point, fill: Fill) -> Result<()> {
        let distance = scaled(STRIPES.0, self.scale).max(4);
        let colour = rgb(fill.shade()).filled();
        for x in left..right {
            let mut y = top;
            while y < bottom {
                let end = (y..bottom).find(|&y| !fill.hatch.covers(x, y, distance));
                let end = end.unwrap_or(bottom);
                if end > y {
                    let corners = [(x, y), (x + 1, end)];
                    self.area
                        .draw(&Rectangle::new(corners, colour))
                        .map_err(failed)?;
                }
                y = end + 1;
            }
        }
        Ok(())
    }
}

impl Canvas for Pixels<'_, '_> {
    fn is_vector(&self) -> bool {
        false
    }

    fn theme(&self) -> &'static Theme {
        self.theme
    }

    fn rectangle(&self, area: Area, fill: Fill) -> Result<()> {
        let corners = [
            self.at((area.left, area.top)),
            self.at((area.right, area.bottom)),
        ];
        if corners[0].0 >= corners[1].0 || corners[0].1 >= corners[1].1 {
            return Ok(());
        }
        self.area
            .draw(&Rectangle::new(corners, rgb(fill.colour).filled()))
            .map_err(failed)?;
        match fill.hatch {
            Hatch::None => Ok(()),
            _ => self.stripes(corners[0], corners[1], fill),
        }
    }

    fn polygon(&self, points: Vec<Point>, fill: Fill) -> Result<()> {
        let points: Vec<Point> = points.into_iter().map(|point| self.at(point)).collect();
        self.area
            .draw(&Polygon::new(points, rgb(fill.colour).filled()))
            .map_err(failed)
    }

    fn line(&self, points: Vec<Point>, colour: Rgb, width: u32) -> Result<()> {
        let points: Vec<Point> = points.into_iter().map(|point| self.at(point)).collect();
        let width = scaled(width as i32, self.scale).max(1) as u32;
        self.area
            .draw(&PathElement::new(points, rgb(colour).stroke_width(width)))
            .map_err(failed)
    }

    fn dot(&self, at: Point, radius: i32, colour: Rgb, opacity: f64) -> Result<()> {
        let radius = scaled(radius, self.scale).max(1);
        let fill = rgb(colour).mix(opacity).filled();
        self.area
            .draw(&Circle::new(self.at(at), radius, fill))
            .map_err(failed)
    }

    fn text(&self, text: &str, at: Point, anchor: Anchor, height: f64, colour: Rgb) -> Result<()> {
        let position = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Right => HPos::Right,
            Anchor::Centre => HPos::Center,
        };
        let text = measured(text);
        let height = height * self.scale;
        let at = self.at(at);
        if !is_plain(text) {
            return self.shaped(text, at, anchor, height, colour);
        }
        let colour = rgb(colour);
        // Plotters centres text by its ascent, which is a fifth of the height too high for letters.
        let at = (at.0, at.1 + (0.19 * height).round() as i32);
        let style = TextStyle::from(font(height))
            .color(&colour)
            .pos(Pos::new(position, VPos::Center));
        // The embedded font is light. Text is drawn twice, one pixel apart, to look like a regular font.
        for shift in 0..2 {
            let at = (at.0 + shift, at.1);
            self.area
                .draw(&Text::new(text.to_string(), at, style.clone()))
                .map_err(failed)?;
        }
        Ok(())
    }
}

fn scaled(units: i32, scale: f64) -> i32 {
    (f64::from(units) * scale).round() as i32
}

fn rgb([red, green, blue]: Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::drawing(format!("cannot draw: {error}"))
        .fix("this is a bug in topicbook or plotters: please report it")
}

/// Name of the embedded font. It also is the font family of an SVG, where browsers fall back to the other names.
pub const FAMILY: &str = "Ubuntu, Helvetica Neue, Helvetica, Arial, sans-serif";

fn font(height: f64) -> FontDesc<'static> {
    static REGISTERED: OnceLock<()> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        // If plotters rejects the font, drawing text reports the error.
        let _ = register_font(
            FAMILY,
            FontStyle::Normal,
            epaint_default_fonts::UBUNTU_LIGHT,
        );
    });
    FontDesc::new(FontFamily::Name(FAMILY), height, FontStyle::Normal)
}

/// The most letters of a text that are measured: more than the widest picture has room for. A text may be a whole file.
const MEASURED: usize = 8192;

/// The letters of a text that are measured and drawn.
pub fn measured(text: &str) -> &str {
    let end = text.char_indices().nth(MEASURED);
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// The language of Chinese characters in a picture without kana and Hangul. Their widths are the same in all languages.
pub const LANGUAGE: &str = "zh";

/// Width of a text in pixels.
pub fn text_width(text: &str, height: f64) -> i32 {
    let text = measured(text);
    if !is_plain(text) {
        return (shape(text, LANGUAGE).width * em(height)).round() as i32;
    }
    font(height)
        .layout_box(text)
        .map(|((left, _), (right, _))| right - left)
        .unwrap_or(0)
}

/// The text if it fits into `max_width` pixels, otherwise as much of it as fits with an ellipsis.
pub fn fit_text(text: &str, height: f64, max_width: i32) -> String {
    let letters: Vec<char> = text.chars().take(MEASURED + 1).collect();
    if letters.len() <= MEASURED && text_width(text, height) <= max_width {
        return text.into();
    }
    let shortened = |kept: usize| {
        let kept: String = letters[..kept].iter().collect();
        kept.trim_end().to_owned() + "…"
    };
    // The largest number of letters that fits, by bisection.
    let (mut fits, mut too_many) = (None, letters.len());
    while fits.map_or(0, |fits| fits + 1) < too_many {
        let middle = (fits.unwrap_or(0) + too_many) / 2;
        match text_width(&shortened(middle), height) <= max_width {
            true => fits = Some(middle),
            false => too_many = middle,
        }
    }
    fits.map(shortened).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortened by one letter at a time.
    fn slow_fit(text: &str, height: f64, max_width: i32) -> String {
        if text_width(text, height) <= max_width {
            return text.into();
        }
        let mut kept: Vec<char> = text.chars().collect();
        while kept.pop().is_some() {
            let shortened = kept.iter().collect::<String>().trim_end().to_string() + "…";
            if text_width(&shortened, height) <= max_width {
                return shortened;
            }
        }
        String::new()
    }

    #[test]
    fn a_text_is_cut_where_it_no_longer_fits() {
        for text in [
            "",
            "a",
            "neuron",
            "ä ö ü",
            "many words and some more",
            "WWWWiiii",
        ] {
            for width in [-1, 0, 3, 10, 11, 12, 30, 47, 100, 1000] {
                assert_eq!(
                    fit_text(text, SMALL, width),
                    slow_fit(text, SMALL, width),
                    "{text} {width}"
                );
            }
        }
    }

    #[test]
    fn a_text_as_long_as_a_file_is_cut() {
        let text = "spike ".repeat(200_000);
        let cut = fit_text(&text, SMALL, 300);
        assert!(
            cut.starts_with("spike") && cut.ends_with('…') && cut.len() < 200,
            "{cut}"
        );
    }
}
