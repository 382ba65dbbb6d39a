//! Drawing surface of charts that writes SVG.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;

use crate::error::Result;
use crate::text::escape;

use super::canvas::{Anchor, Area, Canvas, FAMILY, Fill, Hatch, Point, STRIPES};
use super::fonts::language;
use super::palette::Rgb;
use super::plain::brief;
use super::shaping::is_right_to_left;
use super::theme::Theme;

/// The elements of an SVG document.
pub struct Svg {
    theme: &'static Theme,
    elements: RefCell<String>,
    /// Hatched fills that the elements use.
    fills: RefCell<BTreeSet<(Rgb, Hatch)>>,
    /// The texts with letters beyond ASCII, by which a browser is told their language.
    texts: RefCell<String>,
}

impl Svg {
    pub fn new(theme: &'static Theme) -> Self {
        Self {
            theme,
            elements: RefCell::default(),
            fills: RefCell::default(),
            texts: RefCell::default(),
        }
    }

    /// The document. `shown` is its size in CSS pixels. `pixels` is the size of the PNG, whose pixels are the units of the
    /// view box, and `scale` is their number per unit of the drawing.
    pub fn document(
        self,
        shown: (u32, u32),
        pixels: (u32, u32),
        scale: f64,
        description: &str,
    ) -> String {
        let description = escape(description);
        let language = language(&self.texts.into_inner());
        let language = language.map_or(String::new(), |language| format!(" lang=\"{language}\""));
        let mut svg = format!(
            "<svg{language} width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" xmlns=\"http://www.w3.org/2000/svg\" \
             role=\"img\" aria-label=\"{description}\">\n<title>{description}</title>\n",
            shown.0, shown.1, pixels.0, pixels.1
        );
        let fills = self.fills.into_inner();
        if !fills.is_empty() {
            svg.push_str("<defs>\n");
            for (colour, hatch) in fills {
                svg.push_str(&pattern(Fill { colour, hatch }));
            }
            svg.push_str("</defs>\n");
        }
        let elements = self.elements.into_inner();
        match scale == 1.0 {
            true => svg.push_str(&elements),
            false => svg.push_str(&format!(
                "<g transform=\"scale({scale:.5})\">\n{elements}</g>\n"
            )),
        }
        svg + "</svg>\n"
    }

    fn add(&self, element: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = self.elements.borrow_mut().write_fmt(element);
    }

    /// The value of the attribute `fill`.
    fn fill(&self, fill: Fill) -> String {
        match fill.hatch {
            Hatch::None => hex(fill.colour),
            hatch => {
                self.fills.borrow_mut().insert((fill.colour, hatch));
                format!("url(#{})", name(fill))
            }
        }
    }
}

impl Canvas for Svg {
    fn is_vector(&self) -> bool {
        true
    }

    fn theme(&self) -> &'static Theme {
        self.theme
    }

    fn rectangle(&self, area: Area, fill: Fill) -> Result<()> {
        if area.width() > 0 && area.height() > 0 {
            let fill = self.fill(fill);
            self.add(format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>\n",
                area.left,
                area.top,
                area.width(),
                area.height()
            ));
        }
        Ok(())
    }

    fn polygon(&self, points: Vec<Point>, fill: Fill) -> Result<()> {
        let fill = self.fill(fill);
        let points = joined(&points);
        self.add(format_args!(
            "<polygon fill=\"{fill}\" points=\"{points}\"/>\n"
        ));
        Ok(())
    }

    fn line(&self, points: Vec<Point>, colour: Rgb, width: u32) -> Result<()> {
        if points.len() > 1 {
            self.add(format_args!(
                "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" points=\"{}\"/>\n",
                hex(colour),
                joined(&points)
            ));
        }
        Ok(())
    }

    fn dot(&self, (x, y): Point, radius: i32, colour: Rgb, opacity: f64) -> Result<()> {
        let opacity = match opacity < 1.0 {
            true => format!(" fill-opacity=\"{}\"", brief(opacity)),
            false => String::new(),
        };
        self.add(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{}\"{opacity}/>\n",
            hex(colour)
        ));
        Ok(())
    }

    fn text(&self, text: &str, at: Point, anchor: Anchor, height: f64, colour: Rgb) -> Result<()> {
        if !text.is_ascii() {
            self.texts.borrow_mut().push_str(text);
        }
        let is_rtl = !text.is_ascii() && is_right_to_left(text);
        let anchor = match anchor {
            Anchor::Centre => "middle",
            // A text from right to left starts at its right end.
            Anchor::Left if !is_rtl => "start",
            Anchor::Right if is_rtl => "start",
            Anchor::Left | Anchor::Right => "end",
        };
        let direction = match is_rtl {
            true => " direction=\"rtl\" unicode-bidi=\"embed\"",
            false => "",
        };
        // The baseline of centred letters.
        let y = at.1 + (0.3 * height).round() as i32;
        self.add(format_args!(
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"{anchor}\"{direction} font-family=\"{FAMILY}\" font-size=\"{:.0}\" \
             fill=\"{}\">{}</text>\n",
            at.0,
            // The same height as in a bitmap, where the font's ascent and descent together are the height.
            0.81 * height,
            hex(colour),
            escape(text)
        ));
        Ok(())
    }
}

pub(super) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

fn name(fill: Fill) -> String {
    format!("{:?}-{}", fill.hatch, &hex(fill.colour)[1..])
}

/// The definition of a hatched fill.
fn pattern(fill: Fill) -> String {
    let (distance, width) = STRIPES;
    // The tile is rotated, so vertical stripes become slanted or horizontal.
    let (turn, distance) = match fill.hatch {
        Hatch::Rising => (45, f64::from(distance) / 2f64.sqrt()),
        Hatch::Falling => (-45, f64::from(distance) / 2f64.sqrt()),
        Hatch::Level | Hatch::None => (90, f64::from(distance)),
    };
    let stripe = f64::from(width) * distance / f64::from(STRIPES.0);
    format!(
        "<pattern id=\"{}\" patternUnits=\"userSpaceOnUse\" width=\"{distance:.2}\" height=\"{distance:.2}\" \
         patternTransform=\"rotate({turn})\"><rect width=\"{distance:.2}\" height=\"{distance:.2}\" fill=\"{}\"/>\
         <rect width=\"{stripe:.2}\" height=\"{distance:.2}\" fill=\"{}\"/></pattern>\n",
        name(fill),
        hex(fill.colour),
        hex(fill.shade())
    )
}

fn joined(points: &[Point]) -> String {
    let mut text = String::with_capacity(9 * points.len());
    for (index, (x, y)) in points.iter().enumerate() {
        let space = if index > 0 { " " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}{x},{y}");
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::Chart;

    #[test]
    fn a_browser_is_told_direction_and_language() {
        let chart = Chart::bars([("رسالة", 1), ("お茶", 2), ("海", 3)]).title("מכתב");
        let svg = chart.to_svg().unwrap();
        assert!(svg.starts_with("<svg lang=\"ja\" width"));
        let element = |text: &str| {
            svg.lines()
                .find(|line| line.contains(&format!(">{text}</text>")))
        };
        // A title begins at the left, where a text from right to left ends.
        assert!(element("מכתב").is_some_and(|title| title.contains("\"end\" direction=\"rtl\"")));
        assert!(element("رسالة").is_some_and(|name| name.contains("\"middle\" direction=\"rtl\"")));
        assert!(!element("お茶").is_some_and(|name| name.contains("direction")));
    }
}
