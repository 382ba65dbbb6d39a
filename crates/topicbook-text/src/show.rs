//! Notebook display of texts, vectorizers and the counts that they give.

use crate::evcxr::{show, show_card};
use crate::text::{Card, count, counted, percent, quoted_list, shown_path};
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

    /// The settings in words, for the card.
    #[doc(hidden)]
    pub fn described(&self) -> Vec<(&'static str, String)> {
        let words = &self.words;
        let (shortest, longest) = words.ngram_range;
        let mut case = match words.lowercase {
            true => "lower case".to_string(),
            false => "as written".into(),
        };
        if words.strip_accents {
            case.push_str(", without accents");
        }
        let mut rows = vec![("words", case)];
        if let Some(pattern) = &words.token_pattern {
            rows.push(("token pattern", pattern.clone()));
        }
        if let Some(language) = &words.language {
            rows.push(("language", language.clone()));
        }
        if words.tokenizer.is_some() {
            rows.push(("tokenizer", "a function".into()));
        }
        if !words.stop_words.is_empty() {
            rows.push(("stop words", count(words.stop_words.len() as u64)));
        }
        if let Some(language) = &words.stem {
            rows.push(("stems", language.clone()));
        }
        if let Some(rule) = &self.phrases {
            let times = counted(rule.min_count, "time");
            let rule = format!(
                "pairs of words that occur {times}, NPMI above {}",
                rule.threshold
            );
            rows.push(("phrases", rule));
        }
        if !words.phrases.is_empty() {
            let found = count(words.phrases.len() as u64);
            let list = quoted_list(&words.phrases, 5);
            rows.push(("phrases", format!("{found}: {list}")));
        }
        if longest > 1 {
            rows.push(("terms", format!("{shortest} to {longest} words")));
        }
        match &self.vocabulary {
            Some(known) => {
                rows.push(("vocabulary", format!("{} terms", count(known.len() as u64))))
            }
            None => {
                rows.push(("min_df", self.min_df.to_string()));
                rows.push(("max_df", self.max_df.to_string()));
                if let Some(most) = self.max_terms {
                    rows.push(("max_terms", count(most as u64)));
                }
            }
        }
        if let Some(path) = &self.out {
            rows.push(("out", shown_path(path)));
        }
        rows
    }
}
