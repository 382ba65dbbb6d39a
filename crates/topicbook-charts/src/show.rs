//! Notebook display of charts.

use crate::Chart;
use crate::evcxr::{Picture, show_error, show_picture, show_png};
use crate::fonts::note;

impl Chart {
    /// Shows the picture below a cell, or the error if it cannot be drawn.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        match self.png().map(|(png, missing)| (png, note(&missing))) {
            Ok((png, None)) => show_png(&png, &self.describe()),
            Ok((png, note)) => show_picture(&self.picture_of(png, note)),
            Err(error) => show_error(&error),
        }
    }

    /// The picture below a card; `None` if it cannot be drawn, so that the values are shown.
    #[doc(hidden)]
    pub fn picture(&self) -> Option<Picture> {
        let (png, missing) = self.png().ok()?;
        Some(self.picture_of(png, note(&missing)))
    }

    fn picture_of(&self, png: Vec<u8>, note: Option<String>) -> Picture {
        Picture {
            png,
            size: self.css_size().unwrap_or_default(),
            description: self.describe(),
            note,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Chart;
    use crate::evcxr::card_html;
    use crate::text::Card;

    #[test]
    fn one_note_is_below_a_picture_with_characters_that_no_font_has() {
        let picture = |text: &str| Chart::bars([(text, 1), (text, 2)]).picture().unwrap();
        let missing = picture("\u{10FFFD}");
        assert!(missing.note.unwrap().contains("characters of some symbols"));
        assert!(missing.description.contains('\u{10FFFD}'));
        assert_eq!(picture("письмо 🚢").note, None);
    }

    #[test]
    fn a_card_shows_its_values_if_its_chart_cannot_be_drawn() {
        let card = Card::new("Empty").row("documents", "0");
        let html = card_html(&card, Chart::histogram([0.0; 0]).picture());
        assert!(html.contains("documents"));
        assert!(!html.contains("<img"));
    }
}
