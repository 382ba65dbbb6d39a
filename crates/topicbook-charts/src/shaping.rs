//! Texts of any script as glyphs: pieces in the order of the Unicode bidirectional algorithm, each in a font that has its
//! characters, shaped by rustybuzz.

use std::ops::Range;

use ab_glyph::{Font as _, GlyphId, OutlineCurve, Point, point};
use rustybuzz::{Direction, UnicodeBuffer};
use unicode_bidi::BidiInfo;
use unicode_script::{Script, UnicodeScript};

use super::fonts::{Font, embedded, font_of};

/// A text as glyphs. Lengths are in em.
pub struct Shaped {
    glyphs: Vec<Glyph>,
    pub width: f32,
    /// The scripts of characters that no font has; they are boxes.
    pub missing: Vec<Script>,
}

struct Glyph {
    font: Font,
    id: GlyphId,
    /// The position from the beginning of the baseline, upwards.
    at: Point,
}

/// A part of a text in one script and direction, and its font, or the script that lacks one.
struct Piece {
    range: Range<usize>,
    script: Script,
    font: Result<Font, Script>,
    direction: Direction,
}

/// Pixels per em for a text of this height, which is the ascent and descent of the embedded font.
pub fn em(height: f64) -> f32 {
    let font = &embedded().outlines;
    height as f32 * font.units_per_em().unwrap_or(1000.0) / font.height_unscaled()
}

/// Whether a text begins at the right.
pub fn is_right_to_left(text: &str) -> bool {
    let paragraphs = BidiInfo::new(text, None).paragraphs;
    paragraphs.first().is_some_and(|first| first.level.is_rtl())
}

/// The glyphs of a text, with Chinese characters in the forms of a language.
pub fn shape(text: &str, language: &'static str) -> Shaped {
    let mut shaped = Shaped {
        glyphs: Vec::new(),
        width: 0.0,
        missing: Vec::new(),
    };
    for piece in pieces(text, &|c| font_of(c, language)) {
        let font = piece.font.unwrap_or_else(|script| {
            shaped.missing.push(script);
            embedded()
        });
        let mut buffer = UnicodeBuffer::new();
        buffer.push_str(&text[piece.range]);
        buffer.set_direction(piece.direction);
        buffer.guess_segment_properties();
        let glyphs = rustybuzz::shape(&font.shaper, &[], buffer);
        let em = |units: i32| units as f32 / font.shaper.units_per_em() as f32;
        for (glyph, place) in glyphs.glyph_infos().iter().zip(glyphs.glyph_positions()) {
            shaped.glyphs.push(Glyph {
                font,
                id: GlyphId(glyph.glyph_id as u16),
                at: point(shaped.width + em(place.x_offset), em(place.y_offset)),
            });
            shaped.width += em(place.x_advance);
        }
    }
    shaped
}

/// The pieces of a text from left to right.
fn pieces(text: &str, font_of: &dyn Fn(char) -> Result<Font, Script>) -> Vec<Piece> {
    let bidi = BidiInfo::new(text, None);
    let mut pieces: Vec<Piece> = Vec::new();
    for paragraph in &bidi.paragraphs {
        let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
        for run in runs {
            let first = pieces.len();
            let is_rtl = levels[run.start].is_rtl();
            let direction = match is_rtl {
                true => Direction::RightToLeft,
                false => Direction::LeftToRight,
            };
            for (at, c) in text[run.clone()].char_indices() {
                let range = run.start + at..run.start + at + c.len_utf8();
                // Marks belong to the letter before them, and spaces to the script of the word before them.
                let belongs = |last: &Piece| match c.script() {
                    Script::Inherited => true,
                    Script::Common if !c.is_alphanumeric() && last.script != Script::Common => {
                        last.font.is_ok_and(|font| font.has(c))
                    }
                    _ => false,
                };
                let last = pieces[first..].last_mut();
                let (script, font) = match &last {
                    Some(last) if belongs(last) => (last.script, last.font),
                    _ => (c.script(), font_of(c)),
                };
                match last {
                    Some(last) if (last.script, last.font) == (script, font) => {
                        last.range.end = range.end
                    }
                    _ => pieces.push(Piece {
                        range,
                        script,
                        font,
                        direction,
                    }),
                }
            }
            if is_rtl {
                pieces[first..].reverse();
            }
        }
    }
    pieces
}

impl Shaped {
    /// Calls `draw` with the pixels of the glyphs and how much of each is covered. The baseline begins at `(x, y)`, with `em`
    /// pixels per em.
    pub fn draw<E>(
        &self,
        (x, y): (f32, f32),
        em: f32,
        mut draw: impl FnMut(i32, i32, f32) -> Result<(), E>,
    ) -> Result<(), E> {
        for glyph in &self.glyphs {
            let font = &glyph.font.outlines;
            let height = em * font.height_unscaled() / font.units_per_em().unwrap_or(1000.0);
            let at = point(x + glyph.at.x * em, y - glyph.at.y * em);
            let Some(outline) = font.outline_glyph(glyph.id.with_scale_and_position(height, at))
            else {
                continue;
            };
            let bounds = outline.px_bounds();
            // No letter is that large; the font is damaged.
            if bounds.width().max(bounds.height()) > 32.0 * em {
                continue;
            }
            let (left, top) = (bounds.min.x as i32, bounds.min.y as i32);
            let mut pixels = Vec::new();
            outline.draw(|x, y, covered| {
                pixels.push((left + x as i32, top + y as i32, covered.min(1.0)))
            });
            // The embedded font is light, and is drawn twice, as in texts of it alone.
            for shift in 0..=i32::from(glyph.font == embedded()) {
                for &(x, y, covered) in pixels.iter().filter(|pixel| pixel.2 > 0.0) {
                    draw(x + shift, y, covered)?;
                }
            }
        }
        Ok(())
    }
}

impl Shaped {
    /// Calls `draw` with the curves of each glyph, and whether it is of the embedded font, which is light. The baseline begins
    /// at `(x, y)`, with `em` units per em.
    pub fn outlines(
        &self,
        (x, y): (f32, f32),
        em: f32,
        mut draw: impl FnMut(&[OutlineCurve], bool),
    ) {
        for glyph in &self.glyphs {
            let font = &glyph.font.outlines;
            let Some(outline) = font.outline(glyph.id) else {
                continue;
            };
            let unit = em / font.units_per_em().unwrap_or(1000.0);
            let (left, base) = (x + glyph.at.x * em, y - glyph.at.y * em);
            let at = |p: &Point| point(left + p.x * unit, base - p.y * unit);
            let curves = outline.curves.iter().map(|curve| match curve {
                OutlineCurve::Line(a, b) => OutlineCurve::Line(at(a), at(b)),
                OutlineCurve::Quad(a, b, c) => OutlineCurve::Quad(at(a), at(b), at(c)),
                OutlineCurve::Cubic(a, b, c, d) => OutlineCurve::Cubic(at(a), at(b), at(c), at(d)),
            });
            draw(&curves.collect::<Vec<_>>(), glyph.font == embedded());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text, all in the embedded font.
    fn split(text: &str) -> Vec<&str> {
        let pieces = pieces(text, &|_| Ok(embedded()));
        pieces.into_iter().map(|piece| &text[piece.range]).collect()
    }

    #[test]
    fn pieces_are_in_the_order_of_the_eye() {
        assert_eq!(split("ab אב גד cd"), ["ab ", "אב גד", " ", "cd"]);
        assert_eq!(split("אב (12) cd"), ["cd", ") ", "12", "אב ("]);
        assert_eq!(split("お茶e\u{301}a"), ["お", "茶", "e\u{301}a"]);
        assert!(is_right_to_left("12 אב") && !is_right_to_left("a אב"));
    }

    #[test]
    fn each_character_has_a_font_that_has_it() {
        let pieces = pieces("letter 🚢 ship", &|c| font_of(c, "zh"));
        let plain: Vec<bool> = pieces
            .iter()
            .map(|piece| piece.font == Ok(embedded()))
            .collect();
        assert_eq!(plain, [true, false, true, true]);
        let shaped = shape("a\u{10FFFD}", "zh");
        assert_eq!(
            (shaped.glyphs.len(), shaped.missing),
            (2, vec![Script::Unknown])
        );
    }

    #[test]
    fn scripts_are_shaped_in_fonts_of_the_system() {
        for (text, glyphs) in [
            ("海", 1),
            ("편지", 2),
            ("رسالة", 5),
            ("पत्र", 2),
            ("ที่", 3),
            ("מכתב", 4),
        ] {
            let shaped = shape(text, "zh");
            if !shaped.missing.is_empty() {
                println!("SKIPPED: no font on this computer has the characters of {text}");
                continue;
            }
            // Letters that merge are one glyph, and letters that join are narrower.
            assert_eq!(shaped.glyphs.len(), glyphs, "{text}");
            let apart: f32 = text
                .chars()
                .map(|c| shape(&c.to_string(), "zh").width)
                .sum();
            assert!(
                shaped.width <= apart + 0.01 && (text != "رسالة" || shaped.width < 0.95 * apart)
            );
            let mut pixels = 0;
            let count = |_, _, _| -> Result<(), ()> {
                pixels += 1;
                Ok(())
            };
            shaped.draw((0.0, 20.0), 20.0, count).unwrap();
            assert!(pixels > 20, "{text}");
        }
    }
}
