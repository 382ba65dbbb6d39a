//! Notebook display of charts.

use crate::Chart;
use crate::evcxr::{Picture, show_png, show_text};

impl Chart {
    /// Shows the picture below a cell, or the error if it cannot be drawn.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        match self.to_png() {
            Ok(png) => show_png(&png, &self.describe()),
            Err(error) => show_text(&format!("{}: {error}", self.describe())),
        }
    }

    /// The picture below a card; `None` if it cannot be drawn, so that the values are shown.
    #[doc(hidden)]
    pub fn picture(&self) -> Option<Picture> {
        Some(Picture {
            png: self.to_png().ok()?,
            size: self.css_size().ok()?,
            description: self.describe(),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Chart;

    #[test]
    fn a_chart_that_cannot_be_drawn_is_no_picture() {
        assert!(Chart::histogram([0.0; 0]).picture().is_none());
    }
}
