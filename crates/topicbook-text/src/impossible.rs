//! Terms and stop words that no text can give, because the settings of the words never make them.

use crate::error::Result;
use crate::text::quoted_list;

use super::interner::Interner;
use super::settings::WordSettings;
use super::texts::Text;
use super::tokenizer::{Scratch, Tokenizer};

/// Words that a note lists.
const LISTED: usize = 10;

/// A sentence on the terms of a vocabulary, and one on the stop words.
pub(super) fn notes(
    settings: &WordSettings,
    tokenizer: &Tokenizer,
    vocabulary: Option<&Interner>,
) -> Result<Vec<String>> {
    if settings.tokenizer.is_some() {
        // Its words can depend on those around them.
        return Ok(Vec::new());
    }
    let mut scratch = Scratch::default();
    let mut terms_of = |tokenizer: &Tokenizer, text: &str| {
        let mut terms = Vec::new();
        tokenizer.for_each_term(Text::Whole(text), &mut scratch, &mut |term| {
            terms.push(term.to_string())
        });
        terms
    };
    let mut notes = Vec::new();
    // Stems of stems may be others: whether a text gives them is not known.
    if let Some(known) = vocabulary.filter(|_| settings.stem.is_none()) {
        let never = |term: &&str| !terms_of(tokenizer, term).iter().any(|found| found == term);
        let never: Vec<&str> = known.iter().filter(never).collect();
        if !never.is_empty() {
            notes.push(format!(
                "{} of {} terms of the vocabulary can occur in no text: {}. Terms are counted as the settings make them: in \
                 lower case unless lowercase(false) is set, and in pairs only with ngram_range(1, 2)",
                never.len(),
                known.len(),
                quoted_list(&never, LISTED)
            ));
        }
    }
    let words = Tokenizer::new(&WordSettings {
        stop_words: Vec::new(),
        stem: None,
        ngram_range: (1, 1),
        ..settings.clone()
    })?;
    // NLTK's lists have "isn't", and the "isn" that it becomes.
    let never = |word: &&String| {
        let found = terms_of(&words, word);
        !found.iter().all(|found| tokenizer.is_stop_word(found))
    };
    let never: Vec<&String> = settings.stop_words.iter().filter(never).collect();
    if !never.is_empty() {
        notes.push(format!(
            "Stop words that no word of a text can be, because the token pattern divides them: {}",
            quoted_list(&never, LISTED)
        ));
    }
    Ok(notes)
}
