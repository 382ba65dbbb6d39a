//! The texts of documents that were counted, read once more, and the terms in them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};

use super::Vectorizer;
use super::interner::Interner;
use super::texts::Texts;
use super::tokenizer::Tokenizer;

/// Where the texts of documents are, and which of them the rows of their counts are.
#[derive(Clone)]
pub struct DocumentTexts {
    pub(super) texts: Texts,
    /// The number of the text of each row, if texts were left out.
    pub(super) rows: Option<Arc<[usize]>>,
}

impl DocumentTexts {
    /// The whole texts of these rows, in this order: one pass over the texts, to the last of them.
    ///
    /// # Errors
    /// When the texts cannot be read, or there are fewer of them than when they were counted.
    pub fn read(&self, rows: impl IntoIterator<Item = usize>) -> Result<Vec<String>> {
        let number = |row: usize| self.rows.as_ref().map_or(row, |rows| rows[row]);
        let wanted: Vec<usize> = rows.into_iter().map(number).collect();
        let mut found: BTreeMap<usize, String> = wanted
            .iter()
            .map(|&number| (number, String::new()))
            .collect();
        let last = found.keys().next_back().map_or(0, |last| last + 1);
        let (mut reader, mut at) = (self.texts.reader()?, 0);
        while at < last {
            let Some(batch) = reader.next()? else {
                let what = format!("{} have no text {at} any more", self.texts);
                return Err(
                    Error::value(what).fix("count them and fit again: the texts have changed")
                );
            };
            batch.for_each_text(None, &mut |text| {
                if let Some(found) = found.get_mut(&at) {
                    *found = text.beginning(usize::MAX);
                }
                at += 1;
            })?;
        }
        Ok(wanted.iter().map(|number| found[number].clone()).collect())
    }
}

impl fmt::Debug for DocumentTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DocumentTexts({})", self.texts)
    }
}

/// A term of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct LocatedTerm {
    /// Its column in the counts.
    pub column: usize,
    /// The bytes of the text that it stands for.
    pub bytes: Range<usize>,
}

/// Finds the terms of a vectorizer in texts.
pub struct TermFinder {
    tokenizer: Tokenizer,
    vocabulary: Arc<Interner>,
}

impl TermFinder {
    /// # Errors
    /// When the vectorizer has no vocabulary, or a setting is out of its range.
    pub fn new(vectorizer: &Vectorizer) -> Result<Self> {
        let vocabulary = vectorizer.vocabulary.clone();
        Ok(Self {
            tokenizer: Tokenizer::new(&vectorizer.words)?,
            vocabulary: vocabulary
                .ok_or_else(|| Error::setting("the vectorizer has not seen any texts"))?,
        })
    }

    /// The terms of a text, as often as the counts have them.
    pub fn find(&self, text: &str) -> Vec<LocatedTerm> {
        let mut terms = Vec::new();
        self.tokenizer
            .for_each_located_term(text, &mut |bytes, term| {
                if let Some(column) = self.vocabulary.find(term) {
                    terms.push(LocatedTerm { column, bytes });
                }
            });
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts whose bytes change when they are prepared: in lower case, without marks, as stems, as pairs and phrases.
    const TEXTS: [&str; 5] = [
        "The Cafés\u{301} of ΟΔΟΣ were running, RUNNING!",
        "İstanbul'da İKİ Straße — ﬁne New York, new york",
        "नमस्ते दुनिया 東京へ行きます and 中文分词",
        "",
        "a b of the",
    ];

    #[test]
    fn the_terms_that_are_found_are_those_that_are_counted() {
        let settings = [
            Vectorizer::new(),
            Vectorizer::new().lowercase(false).ngram_range(1, 3),
            Vectorizer::new().strip_accents(true).stem("english"),
            Vectorizer::new().stop_words("english").ngram_range(2, 2),
            Vectorizer::new().token_pattern("([a-z]+)[a-z]"),
            Vectorizer::new().phrases(1, -1.0).strip_accents(true),
            Vectorizer::new().tokenizer(|text| text.split(' ').map(String::from).collect()),
            #[cfg(feature = "languages")]
            Vectorizer::new().language("japanese"),
        ];
        for (case, vectorizer) in settings.into_iter().enumerate() {
            let counted = vectorizer.fit_transform(TEXTS).unwrap();
            let finder = TermFinder::new(&counted.vectorizer()).unwrap();
            let texts = counted.texts().read([4, 0, 1, 2, 3]).unwrap();
            assert_eq!(texts[..2], [TEXTS[4], TEXTS[0]], "case {case}");
            for (row, text) in TEXTS.iter().enumerate() {
                let mut found = vec![0.0; counted.terms().len()];
                let mut expected = found.clone();
                counted.counts().fill_rows(&[row], &mut expected).unwrap();
                for term in finder.find(text) {
                    found[term.column] += 1.0;
                    assert!(
                        !text[term.bytes.clone()].is_empty(),
                        "case {case}: {term:?}"
                    );
                }
                assert_eq!(found, expected, "case {case}: {text}");
            }
        }
    }

    #[test]
    fn a_term_stands_for_the_characters_that_it_was_made_of() {
        let vectorizer = Vectorizer::new()
            .strip_accents(true)
            .stem("english")
            .ngram_range(1, 2);
        let text = "Ünïcode-cafe\u{301}s running";
        let counted = vectorizer.fit_transform([text]).unwrap();
        let finder = TermFinder::new(&counted.vectorizer()).unwrap();
        let terms = counted.terms();
        let found: Vec<(&str, &str)> = finder
            .find(text)
            .iter()
            .map(|term| {
                (
                    terms.as_slice()[term.column].as_str(),
                    &text[term.bytes.clone()],
                )
            })
            .collect();
        let expected = [
            ("unicod", "Ünïcode"),
            ("cafe", "cafe\u{301}s"),
            ("run", "running"),
            ("unicod cafe", "Ünïcode-cafe\u{301}s"),
            ("cafe run", "cafe\u{301}s running"),
        ];
        assert_eq!(found, expected);
    }
}
