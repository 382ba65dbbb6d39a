//! Drawing surface of charts that writes PDF 1.4: one page of paths. Texts are the outlines of their letters, so that every script
//! is drawn as in a PNG and no font needs to be embedded.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

use ab_glyph::{OutlineCurve, Point as Place, point};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::error::{Error, Result};

use super::canvas::{Anchor, Area, Canvas, Fill, Hatch, Point, STRIPES, measured};
use super::fonts;
use super::look::{DENSITY, PIXELS_PER_INCH};
use super::palette::Rgb;
use super::shaping::{em, shape};
use super::theme::Theme;

/// Distance of the control points of a quarter of a circle, for a radius of 1.
const QUARTER: f32 = 0.552_285;

/// The operators of a page.
pub struct Pdf {
    theme: &'static Theme,
    /// The language whose forms Chinese characters have.
    language: &'static str,
    content: RefCell<String>,
    /// Opacities of dots, in percent.
    opacities: RefCell<BTreeSet<u8>>,
    /// All texts, by which the language is known.
    texts: RefCell<String>,
}

impl Pdf {
    pub fn new(theme: &'static Theme, language: &'static str) -> Self {
        Self {
            theme,
            language,
            content: RefCell::default(),
            opacities: RefCell::default(),
            texts: RefCell::default(),
        }
    }

    /// The language of the Chinese characters that have been drawn.
    pub fn language(&self) -> Option<&'static str> {
        fonts::language(&self.texts.borrow())
    }

    /// The document. `shown` is the size of the picture in CSS pixels, and `scale` the number of pixels per unit of the drawing.
    pub fn document(self, shown: (u32, u32), scale: f64, title: &str) -> Result<Vec<u8>> {
        let points = |pixels: u32| 72.0 / PIXELS_PER_INCH * f64::from(pixels);
        let (width, height) = (points(shown.0), points(shown.1));
        let unit = 72.0 / PIXELS_PER_INCH * scale / DENSITY;
        // Units count downwards, and points upwards.
        let content = format!(
            "{unit:.6} 0 0 -{unit:.6} 0 {height:.3} cm 1 j\n{}",
            self.content.into_inner()
        );
        let failed = |error| {
            Error::drawing("cannot compress the picture")
                .fix("this is a bug in topicbook: please report it")
                .because(error)
        };
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content.as_bytes()).map_err(failed)?;
        let content = encoder.finish().map_err(failed)?;
        let states = self.opacities.into_inner().into_iter();
        let states = states
            .map(|percent| format!("/O{percent} << /ca {:.2} >> ", f64::from(percent) / 100.0));
        let title: String = title
            .encode_utf16()
            .map(|unit| format!("{unit:04X}"))
            .collect();
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".into(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3} {height:.3}] /Contents 5 0 R \
                 /Resources << /ExtGState << {}>> >> >>",
                states.collect::<String>()
            ),
            format!("<< /Title <FEFF{title}> /Producer (topicbook) >>"),
            format!("<< /Length {} /Filter /FlateDecode >>", content.len()),
        ];
        let mut file = b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n".to_vec();
        let mut places = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            places.push(format!("{:010} 00000 n \n", file.len()));
            file.extend(format!("{} 0 obj\n{object}\n", index + 1).bytes());
            if index + 1 == objects.len() {
                file.extend(b"stream\n");
                file.extend(&content);
                file.extend(b"\nendstream\n");
            }
            file.extend(b"endobj\n");
        }
        let table = file.len();
        let end = format!(
            "xref\n0 {0}\n0000000000 65535 f \n{1}trailer\n<< /Size {0} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{table}\n%%EOF\n",
            objects.len() + 1,
            places.concat()
        );
        file.extend(end.bytes());
        Ok(file)
    }

    fn add(&self, operators: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = self.content.borrow_mut().write_fmt(operators);
    }

    /// Adds a path through these points.
    fn path(&self, points: &[Point]) {
        for (index, (x, y)) in points.iter().enumerate() {
            let operator = if index == 0 { "m" } else { "l" };
            self.add(format_args!("{x} {y} {operator} "));
        }
    }

    /// Adds closed curves as a path.
    fn curves(&self, curves: &[OutlineCurve]) {
        let mut at: Option<Place> = None;
        for curve in curves {
            let (from, to) = match curve {
                OutlineCurve::Line(from, to)
                | OutlineCurve::Quad(from, _, to)
                | OutlineCurve::Cubic(from, _, _, to) => (*from, *to),
            };
            if at != Some(from) {
                self.add(format_args!("{:.2} {:.2} m ", from.x, from.y));
            }
            // A quadratic curve has the same form as a cubic one with these control points.
            let toward = |end: Place, middle: Place| {
                let by = middle - end;
                end + point(by.x * 2.0 / 3.0, by.y * 2.0 / 3.0)
            };
            let control = match *curve {
                OutlineCurve::Line(..) => None,
                OutlineCurve::Quad(_, middle, _) => {
                    Some((toward(from, middle), toward(to, middle)))
                }
                OutlineCurve::Cubic(_, first, second, _) => Some((first, second)),
            };
            if let Some((a, b)) = control {
                self.add(format_args!("{:.2} {:.2} {:.2} {:.2} ", a.x, a.y, b.x, b.y));
            }
            let operator = if control.is_some() { "c" } else { "l" };
            self.add(format_args!("{:.2} {:.2} {operator} ", to.x, to.y));
            at = Some(to);
        }
    }

    fn fill(&self, colour: Rgb) {
        self.add(format_args!("{} rg ", numbers(colour)));
    }

    fn stroke(&self, colour: Rgb, width: f64) {
        self.add(format_args!("{} RG {width} w ", numbers(colour)));
    }

    /// Draws the stripes of a hatch over an area. They continue from one area to the next.
    fn stripes(&self, area: Area, fill: Fill) {
        let (distance, width) = STRIPES;
        // On a stripe, these sums of coordinates are constant.
        let sum = |(x, y): Point| match fill.hatch {
            Hatch::Rising => x + y,
            Hatch::Falling => y - x,
            Hatch::Level | Hatch::None => y,
        };
        let sums = corners(area).map(sum);
        let (low, high) = (sums.iter().min().copied(), sums.iter().max().copied());
        let first = low.unwrap_or(0).div_euclid(distance);
        let last = high.unwrap_or(0).div_euclid(distance);
        let slant = if fill.hatch == Hatch::Level {
            1.0
        } else {
            std::f64::consts::SQRT_2
        };
        self.stroke(fill.shade(), f64::from(width) / slant);
        for stripe in first..=last {
            let along = stripe * distance + width / 2;
            let end = |x: i32| (x, along - sum((x, 0)));
            self.path(&[end(area.left), end(area.right)]);
        }
        self.add(format_args!("S\n"));
    }
}

impl Canvas for Pdf {
    fn is_vector(&self) -> bool {
        true
    }

    fn theme(&self) -> &'static Theme {
        self.theme
    }

    fn rectangle(&self, area: Area, fill: Fill) -> Result<()> {
        if area.width() > 0 && area.height() > 0 {
            self.polygon(corners(area).to_vec(), fill)?;
        }
        Ok(())
    }

    fn polygon(&self, points: Vec<Point>, fill: Fill) -> Result<()> {
        self.fill(fill.colour);
        self.path(&points);
        self.add(format_args!("f\n"));
        if fill.hatch != Hatch::None {
            let ends = |value: fn(&Point) -> i32| {
                let values = points.iter().map(value);
                (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
            };
            let ((left, right), (top, bottom)) = (ends(|point| point.0), ends(|point| point.1));
            self.add(format_args!("q "));
            self.path(&points);
            self.add(format_args!("W n "));
            self.stripes(
                Area {
                    left,
                    top,
                    right,
                    bottom,
                },
                fill,
            );
            self.add(format_args!("Q\n"));
        }
        Ok(())
    }

    fn line(&self, points: Vec<Point>, colour: Rgb, width: u32) -> Result<()> {
        if points.len() > 1 {
            self.stroke(colour, width.into());
            self.path(&points);
            self.add(format_args!("S\n"));
        }
        Ok(())
    }

    fn dot(&self, (x, y): Point, radius: i32, colour: Rgb, opacity: f64) -> Result<()> {
        let percent = (100.0 * opacity).round().clamp(1.0, 100.0) as u8;
        if percent < 100 {
            self.opacities.borrow_mut().insert(percent);
            self.add(format_args!("q /O{percent} gs "));
        }
        let (x, y, radius) = (x as f32, y as f32, radius as f32);
        let at = |along: f32, across: f32| point(x + along * radius, y + across * radius);
        let quarters =
            [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)].map(|(a, b): (f32, f32)| {
                // From one end to the next, a quarter of a turn away.
                OutlineCurve::Cubic(
                    at(a, b),
                    at(a - QUARTER * b, b + QUARTER * a),
                    at(QUARTER * a - b, QUARTER * b + a),
                    at(-b, a),
                )
            });
        self.fill(colour);
        self.curves(&quarters);
        self.add(format_args!("f\n"));
        if percent < 100 {
            self.add(format_args!("Q\n"));
        }
        Ok(())
    }

    fn text(&self, text: &str, at: Point, anchor: Anchor, height: f64, colour: Rgb) -> Result<()> {
        let text = measured(text);
        self.texts.borrow_mut().push_str(text);
        let (shaped, em) = (shape(text, self.language), em(height));
        let before = match anchor {
            Anchor::Left => 0.0,
            Anchor::Right => shaped.width * em,
            Anchor::Centre => shaped.width * em / 2.0,
        };
        let start = (at.0 as f32 - before, at.1 as f32 + 0.28 * height as f32);
        self.fill(colour);
        // The embedded font is light; an outline of half a unit makes it regular.
        self.stroke(colour, 0.02 * height);
        shaped.outlines(start, em, |curves, is_light| {
            self.curves(curves);
            self.add(format_args!("{}\n", if is_light { "b" } else { "f" }));
        });
        Ok(())
    }
}

fn corners(area: Area) -> [Point; 4] {
    let Area {
        left,
        top,
        right,
        bottom,
    } = area;
    [(left, top), (right, top), (right, bottom), (left, bottom)]
}

/// Red, green and blue from 0 to 1.
fn numbers(colour: Rgb) -> String {
    let [red, green, blue] = colour.map(|channel| f64::from(channel) / 255.0);
    format!("{red:.3} {green:.3} {blue:.3}")
}
