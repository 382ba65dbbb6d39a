//! Colours of backgrounds, texts and lines, and the contrast between them.

use super::palette::{Rgb, to_lab, to_rgb};

/// Least contrast of lines, points and outlines with the background: WCAG 2.2, success criterion 1.4.11.
pub const GRAPHICS: f64 = 3.0;
/// Least contrast of texts with the background: WCAG 2.2, success criterion 1.4.3.
pub const TEXT: f64 = 4.5;

/// The colours of a chart, except for its data.
#[derive(Debug, PartialEq)]
pub struct Theme {
    pub background: Rgb,
    /// Text.
    pub ink: Rgb,
    /// Titles and labels of axes, and axis lines.
    pub soft_ink: Rgb,
    /// Grid lines.
    pub faint: Rgb,
    /// Areas without a value.
    pub surface: Rgb,
    /// Topics that are not shown.
    pub rest: Rgb,
}

pub static LIGHT: Theme = Theme {
    background: [255, 255, 255],
    ink: [0x1F, 0x23, 0x28],
    soft_ink: [0x4A, 0x50, 0x58],
    faint: [0xE2, 0xE5, 0xE9],
    surface: [0xF6, 0xF7, 0xF8],
    rest: [0xE9, 0xEB, 0xEE],
};

/// The background is the background of JupyterLab's dark theme.
pub static DARK: Theme = Theme {
    background: [0x11, 0x11, 0x11],
    ink: [0xEC, 0xEE, 0xF1],
    soft_ink: [0xB6, 0xBC, 0xC4],
    faint: [0x35, 0x39, 0x3F],
    surface: [0x1D, 0x1F, 0x22],
    rest: [0x2B, 0x2E, 0x33],
};

impl Theme {
    /// The colour, lightened or darkened until lines and points in it can be told from the background.
    pub fn line(&self, colour: Rgb) -> Rgb {
        legible(colour, self.background, GRAPHICS)
    }

    /// The colour, lightened or darkened until text in it can be read.
    pub fn text(&self, colour: Rgb) -> Rgb {
        legible(colour, self.background, TEXT)
    }

    /// Mixes a colour with the background; `weight` is the weight of the colour.
    pub fn pale(&self, colour: Rgb, weight: f64) -> Rgb {
        mix(self.background, colour, weight)
    }

    pub fn is_dark(&self) -> bool {
        luminance(self.background) < 0.2
    }
}

/// The colour between two others; `weight` is the weight of the second.
pub fn mix(first: Rgb, second: Rgb, weight: f64) -> Rgb {
    std::array::from_fn(|channel| {
        let (a, b) = (f64::from(first[channel]), f64::from(second[channel]));
        (a + weight * (b - a)).round() as u8
    })
}

/// The relative luminance of WCAG 2, from 0 (black) to 1 (white).
pub fn luminance(colour: Rgb) -> f64 {
    let [red, green, blue] = colour.map(|channel| {
        let c = f64::from(channel) / 255.0;
        match c > 0.04045 {
            true => ((c + 0.055) / 1.055).powf(2.4),
            false => c / 12.92,
        }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The contrast ratio of WCAG 2, from 1 to 21.
pub fn contrast(first: Rgb, second: Rgb) -> f64 {
    let (a, b) = (luminance(first), luminance(second));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The colour with its lightness (CIELAB) changed, by no more than is needed for this contrast with the background.
fn legible(colour: Rgb, background: Rgb, ratio: f64) -> Rgb {
    let step = match luminance(background) < 0.2 {
        true => 1.0,
        false => -1.0,
    };
    let [mut lightness, a, b] = to_lab(colour);
    let mut found = colour;
    while contrast(found, background) < ratio && (0.0..=100.0).contains(&lightness) {
        lightness += step;
        found = to_rgb([lightness, a, b]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::palette::colours;
    use super::*;

    #[test]
    fn contrasts_are_those_of_the_standard() {
        assert_eq!(contrast([0; 3], [255; 3]), 21.0);
        // The contrasts that the report measured on white.
        for (colour, expected) in [([0xEF, 0xB1, 0x18], 1.9), ([0xFF, 0x8A, 0xB7], 2.2)] {
            assert!((contrast(colour, [255; 3]) - expected).abs() < 0.05);
        }
    }

    #[test]
    fn lines_and_texts_of_all_topics_are_legible_on_both_backgrounds() {
        for theme in [&LIGHT, &DARK] {
            for k in 1..=30 {
                for colour in colours(k) {
                    assert!(contrast(theme.line(colour), theme.background) >= GRAPHICS);
                    assert!(contrast(theme.text(colour), theme.background) >= TEXT);
                }
            }
            assert!(contrast(theme.ink, theme.background) >= 7.0);
            assert!(contrast(theme.soft_ink, theme.background) >= TEXT);
            assert!(contrast(theme.ink, theme.surface) >= TEXT);
            assert!(contrast(theme.ink, theme.rest) >= TEXT);
        }
    }

    #[test]
    fn ten_lines_have_ten_colours() {
        for theme in [&LIGHT, &DARK] {
            let lines: Vec<Rgb> = colours(10)
                .iter()
                .map(|&colour| theme.line(colour))
                .collect();
            for (index, &first) in lines.iter().enumerate() {
                for &second in &lines[..index] {
                    let (a, b) = (to_lab(first), to_lab(second));
                    let distance: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                    assert!(distance.sqrt() > 15.0, "{first:?} and {second:?}");
                }
            }
        }
    }
}
