//! Notebook display of texts, vectorizers and the counts that they give.

use crate::evcxr::{show, show_card};
use crate::text::{Card, count, percent};
use crate::{Dropped, TextCounts, Texts, Vectorizer};

impl TextCounts {
    /// Shows sizes, the first terms and what was dropped below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        const SHOWN: usize = 10;
        let (counts, terms, documents) = (self.counts(), self.terms(), self.documents());
        let mut first = terms.as_slice()[..terms.len().min(SHOWN)].join(", ");
        if terms.len() > SHOWN {
            first.push_str(", …");
        }
        let mut card = Card::new("Counts of texts")
            .row("texts", self.source())
            .row("documents", count(documents.len() as u64))
            .row("terms", format!("{}: {first}", count(terms.len() as u64)))
            .row("counts in", counts.location().to_string());
        if let Some(stored) = counts.stored_counts() {
            let cells = documents.len() as f64 * terms.len() as f64;
            let share = percent(stored as f64 / cells);
            card = card.row("nonzero counts", format!("{} ({share})", count(stored)));
        }
        for (name, what) in documents.described() {
            card = card.row(format!("column {name}"), what);
        }
        for sentence in self.dropped().sentences().iter().chain(self.notes()) {
            card = card.note(format!("{sentence}."));
        }
        show_card(&card, None);
    }
}

impl Dropped {
    /// Shows the numbers below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let text = self.to_string();
        show(&crate::text::escape(&text), &text);
    }
}

impl Texts {
    /// Shows where the texts are below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        show_card(&Card::new("Texts").row("from", self.to_string()), None);
    }
}

impl Vectorizer {
    /// Shows the settings below a cell.
    #[doc(hidden)]
    pub fn evcxr_display(&self) {
        let mut card = Card::new("Vectorizer");
        for (label, value) in self.described() {
            card = card.row(label, value);
        }
        show_card(&card, None);
    }
}
