//! Drawing surface of charts: a few shapes and text in pixels, on any plotters backend.

use std::sync::OnceLock;

use plotters::backend::DrawingBackend;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, TextStyle, register_font};

use crate::error::{Error, ErrorKind, Result};

use super::palette::Rgb;

/// A position in pixels, from the upper left corner of the picture.
pub(crate) type Point = (i32, i32);

pub(crate) const WHITE: Rgb = [255, 255, 255];
/// Text and axes.
pub(crate) const INK: Rgb = [0x1F, 0x23, 0x28];
/// Titles and labels of axes, and axis lines.
pub(crate) const SOFT_INK: Rgb = [0x4A, 0x50, 0x58];
/// Grid lines.
pub(crate) const FAINT: Rgb = [0xE2, 0xE5, 0xE9];

/// Text heights in pixels of a picture 1,600 pixels wide. Shown at 900 CSS pixels, the smaller one is 14.6 CSS pixels
/// high.
pub(crate) const SMALL: f64 = 26.0;
pub(crate) const LARGE: f64 = 36.0;

/// A rectangle in pixels, exclusive of `right` and `bottom`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
}

impl Area {
    pub(crate) fn width(self) -> i32 {
        self.right - self.left
    }

    pub(crate) fn height(self) -> i32 {
        self.bottom - self.top
    }

    /// The area without margins of these widths.
    pub(crate) fn inset(self, left: i32, top: i32, right: i32, bottom: i32) -> Self {
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
pub(crate) enum Anchor {
    /// The text begins at the point.
    Left,
    /// The text ends at the point.
    Right,
    /// The text is centred at the point.
    Centre,
}

/// The shapes that charts consist of.
pub(crate) trait Canvas {
    /// Whether the picture consists of shapes (SVG), whose file grows with each point, or of pixels.
    fn is_vector(&self) -> bool;
    fn rectangle(&self, area: Area, colour: Rgb) -> Result<()>;
    fn polygon(&self, points: Vec<Point>, colour: Rgb) -> Result<()>;
    fn line(&self, points: Vec<Point>, colour: Rgb, width: u32) -> Result<()>;
    fn dot(&self, at: Point, radius: i32, colour: Rgb) -> Result<()>;
    fn text(&self, text: &str, at: Point, anchor: Anchor, height: f64, colour: Rgb) -> Result<()>;
}

/// A plotters drawing area as a canvas.
pub(crate) struct Plotters<'a, DB: DrawingBackend> {
    pub area: &'a DrawingArea<DB, Shift>,
    pub vector: bool,
}

impl<DB: DrawingBackend> Canvas for Plotters<'_, DB> {
    fn is_vector(&self) -> bool {
        self.vector
    }

    fn rectangle(&self, area: Area, colour: Rgb) -> Result<()> {
        if area.width() <= 0 || area.height() <= 0 {
            return Ok(());
        }
        let corners = [(area.left, area.top), (area.right, area.bottom)];
        self.area
            .draw(&Rectangle::new(corners, rgb(colour).filled()))
            .map_err(failed)
    }

    fn polygon(&self, points: Vec<Point>, colour: Rgb) -> Result<()> {
        self.area
            .draw(&Polygon::new(points, rgb(colour).filled()))
            .map_err(failed)
    }

    fn line(&self, points: Vec<Point>, colour: Rgb, width: u32) -> Result<()> {
        self.area
            .draw(&PathElement::new(points, rgb(colour).stroke_width(width)))
            .map_err(failed)
    }

    fn dot(&self, at: Point, radius: i32, colour: Rgb) -> Result<()> {
        self.area
            .draw(&Circle::new(at, radius, rgb(colour).filled()))
            .map_err(failed)
    }

    fn text(&self, text: &str, at: Point, anchor: Anchor, height: f64, colour: Rgb) -> Result<()> {
        let position = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Right => HPos::Right,
            Anchor::Centre => HPos::Center,
        };
        let colour = rgb(colour);
        // In bitmaps plotters centres text by its ascent, which is a fifth of the height too high for letters.
        let lower = if self.vector { 0.03 } else { 0.19 } * height;
        let at = (at.0, at.1 + lower.round() as i32);
        let style = TextStyle::from(font(height))
            .color(&colour)
            .pos(Pos::new(position, VPos::Center));
        // The embedded font is light. In bitmaps text is drawn twice, one pixel apart, to look like a regular font.
        let times = if self.vector { 1 } else { 2 };
        for shift in 0..times {
            let at = (at.0 + shift, at.1);
            self.area
                .draw(&Text::new(text.to_string(), at, style.clone()))
                .map_err(failed)?;
        }
        Ok(())
    }
}

fn rgb([red, green, blue]: Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Drawing, format!("cannot draw: {error}"))
        .fix("this is a bug in topicbook or plotters: please report it")
}

/// Name of the embedded font. It also is the font family of an SVG, where browsers fall back to the other names.
const FAMILY: &str = "Ubuntu, Helvetica Neue, Helvetica, Arial, sans-serif";

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

/// Width of a text in pixels.
pub(crate) fn text_width(text: &str, height: f64) -> i32 {
    font(height)
        .layout_box(text)
        .map(|((left, _), (right, _))| right - left)
        .unwrap_or(0)
}

/// The text if it fits into `max_width` pixels, otherwise as much of it as fits with an ellipsis.
pub(crate) fn fit_text(text: &str, height: f64, max_width: i32) -> String {
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
