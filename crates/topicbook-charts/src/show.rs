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
    use crate::evcxr::card_html;
    use crate::text::Card;

    #[test]
    fn a_card_shows_its_values_if_its_chart_cannot_be_drawn() {
        let card = Card::new("Empty").row("documents", "0");
        let html = card_html(&card, Chart::histogram([0.0; 0]).picture());
        assert!(html.contains("documents"));
        assert!(!html.contains("<img"));
    }
}
