//! How a chart looks: its size, font, background and resolution.

use crate::error::{Error, Result};

use super::theme::{DARK, LIGHT, Theme};
use super::{Body, Chart};

/// Width at which a picture is shown by default, in CSS pixels: about the width of a notebook cell.
pub const CSS_WIDTH: u32 = 900;
/// Height of the small texts at that width, in CSS pixels.
const CSS_FONT: f64 = 14.625;
/// Pixels of a picture per CSS pixel, so that it is sharp on high-resolution screens.
pub const DENSITY: f64 = 16.0 / 9.0;
/// Pixels of a page in an inch, as CSS defines them.
pub const PIXELS_PER_INCH: f64 = 96.0;

/// How a chart looks. In a composition its own settings apply, or else the settings of its first chart that has some.
#[derive(Clone, Default)]
pub struct Look {
    /// Width and height in CSS pixels.
    pub size: Option<(u32, u32)>,
    /// Height of the small texts in CSS pixels.
    font: Option<f64>,
    dark: Option<bool>,
    transparent: Option<bool>,
    /// Pixels of a PNG file per inch.
    dpi: Option<f64>,
}

impl Look {
    pub fn theme(&self) -> &'static Theme {
        match self.dark {
            Some(true) => &DARK,
            _ => &LIGHT,
        }
    }

    /// Sets the theme, and a background.
    pub(super) fn set_dark(&mut self, dark: bool) {
        (self.dark, self.transparent) = (Some(dark), Some(false));
    }

    pub fn is_transparent(&self) -> bool {
        self.transparent == Some(true)
    }

    /// Pixels of the picture per unit of the drawing.
    pub fn scale(&self) -> f64 {
        self.font.unwrap_or(CSS_FONT) / CSS_FONT
    }

    /// The width of the picture in pixels.
    pub fn width(&self) -> f64 {
        f64::from(self.size.map_or(CSS_WIDTH, |(width, _)| width)) * DENSITY
    }

    /// The height of the picture in pixels, if it is set.
    pub fn height(&self) -> Option<f64> {
        self.size.map(|(_, height)| f64::from(height) * DENSITY)
    }

    /// Pixels of a PNG file per pixel of the picture and, if it is set, per inch.
    pub fn resolution(&self) -> (f64, Option<f64>) {
        let sharper = |dpi: f64| dpi / (PIXELS_PER_INCH * DENSITY);
        (self.dpi.map_or(1.0, sharper), self.dpi)
    }

    pub fn check(&self) -> Result<()> {
        if let Some(dpi) = self.dpi.filter(|dpi| !(36.0..=2_400.0).contains(dpi)) {
            return Err(Error::drawing(format!("a resolution of {dpi} dpi"))
                .fix("choose from 36 to 2,400; 300 is usual in print"));
        }
        if let Some(font) = self.font
            && !(4.0..=200.0).contains(&font)
        {
            return Err(Error::drawing(format!("a font size of {font} pixels")).fix(
                "choose a size from 4 to 200 pixels; 14.6 is the default, 22 is for a lecture",
            ));
        }
        Ok(())
    }

    /// These settings; what is not set here is taken from `other`.
    fn or(self, other: Self) -> Self {
        Self {
            size: self.size,
            font: self.font.or(other.font),
            dark: self.dark.or(other.dark),
            transparent: self.transparent.or(other.transparent),
            dpi: self.dpi.or(other.dpi),
        }
    }
}

/// CSS pixels of a number of pixels of a picture.
pub fn css(pixels: f64) -> u32 {
    (pixels / DENSITY).round() as u32
}

impl Chart {
    /// How the whole picture looks.
    pub(super) fn look(&self) -> Look {
        let inner = match &self.body {
            Body::Panel(_) => Look::default(),
            Body::Row(charts) | Body::Column(charts) => charts
                .iter()
                .map(Chart::look)
                .fold(Look::default(), Look::or),
        };
        self.look.clone().or(inner)
    }

    /// Sets the width and the height in pixels of the page. 900 is the default width, and each kind of chart has its own
    /// height; texts keep their size. A PNG has 16/9 times as many pixels, so that it is sharp on high-resolution screens.
    ///
    /// In a composition, the height of a chart inside is kept; the width is divided among the charts.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).size(450, 300);
    /// assert!(chart.to_svg()?.contains("width=\"450\" height=\"300\""));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// A height that is too small for the texts is reported when the chart is drawn.
    #[doc(alias("figsize", "width", "height"))]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.look.size = Some((width, height));
        self
    }

    /// Sets the height of the texts in pixels of the page, 14.6 by default. Lines, points and margins grow with it.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).font_size(20);
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "fontsize")]
    pub fn font_size(mut self, pixels: impl Into<f64>) -> Self {
        self.look.font = Some(pixels.into());
        self
    }

    /// For a lecture: texts, lines and points half as large again. It is [`font_size(22)`](Self::font_size).
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).large();
    /// assert!(chart.to_png()?.starts_with(b"\x89PNG"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn large(self) -> Self {
        self.font_size(22.0)
    }

    /// Draws light texts and lines on a dark background, for dark pages and slides.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).dark();
    /// assert!(chart.to_svg()?.contains("#111111"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn dark(mut self) -> Self {
        self.look.dark = Some(true);
        self
    }

    /// Leaves the background out. Texts are dark, for light pages; with [`dark`](Self::dark) they are light, for dark pages.
    ///
    /// ```
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).transparent();
    /// assert!(!chart.to_svg()?.contains("#FFFFFF"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn transparent(mut self) -> Self {
        self.look.transparent = Some(true);
        self
    }

    /// Sets the resolution of a PNG file in dots per inch, from 36 to 2,400. An inch is 96 pixels of the page, so that the
    /// default width of 900 is 9.4 inches, or 23.8 cm, and by default a file has 171 dots per inch. The picture below a cell
    /// stays as it is, and SVG and PDF files are sharp at every size.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// // A column of a journal is 8.9 cm, 3.5 inches or 336 pixels of the page wide.
    /// let chart = topicbook::Chart::lines([9.0, 7.0, 6.0]).size(336, 250).font_size(10);
    /// chart.dpi(300).save_png("loss.png")?; // 1,050 pixels wide
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "resolution")]
    pub fn dpi(mut self, dots: impl Into<f64>) -> Self {
        self.look.dpi = Some(dots.into());
        self
    }
}
