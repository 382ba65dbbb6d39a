//! How a text becomes terms: the part of the settings that a saved vocabulary needs.

use serde::{Deserialize, Serialize};

/// Settings of the words, as plain data. Fields have scikit-learn's names where it has the setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WordSettings {
    pub(super) lowercase: bool,
    pub(super) strip_accents: bool,
    /// Sorted, each once.
    pub(super) stop_words: Vec<String>,
    /// The language of the stemmer.
    pub(super) stem: Option<String>,
    pub(super) ngram_range: (usize, usize),
    /// `None`: the default pattern.
    pub(super) token_pattern: Option<String>,
}

impl Default for WordSettings {
    fn default() -> Self {
        Self {
            lowercase: true,
            strip_accents: false,
            stop_words: Vec::new(),
            stem: None,
            ngram_range: (1, 1),
            token_pattern: None,
        }
    }
}

impl WordSettings {
    pub(super) fn add_stop_words<T: Into<String>>(&mut self, words: impl IntoIterator<Item = T>) {
        self.stop_words.extend(words.into_iter().map(Into::into));
        self.stop_words.sort_unstable();
        self.stop_words.dedup();
    }
}
