//! The terms of a text: its words after lower case, accents, stop words and stemming, and their n-grams.

mod located;

use std::borrow::Cow;

use hashbrown::HashSet;
use regex::Regex;
use rust_stemmers::Stemmer;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use crate::error::{Error, Result};

use super::languages;
use super::segment::Segmenter;
use super::settings::{OwnTokenizer, WordSettings};
use super::texts::Text;
use super::words::for_each_word;

/// The default pattern of scikit-learn.
pub(super) const DEFAULT_PATTERN: &str = r"(?u)\b\w\w+\b";
/// Longest n-grams.
const LONGEST_NGRAM: usize = 10;

/// Splits texts into terms. Shared by the threads.
pub(super) struct Tokenizer {
    lowercase: bool,
    strip_accents: bool,
    stop_words: HashSet<String>,
    stemmer: Option<Stemmer>,
    ngrams: (usize, usize),
    /// Stands between the words of an n-gram.
    between: char,
    /// Pairs that are one term, with a space between the words.
    phrases: HashSet<String>,
    words: Words,
}

/// How the words of a text are found.
enum Words {
    /// scikit-learn's default pattern.
    Default,
    Pattern(Regex),
    /// By the rules of a language: runs of characters, and what divides those of scripts without spaces.
    Language {
        runs: Regex,
        segmenter: Segmenter,
    },
    Own(OwnTokenizer),
}

/// Characters of the scripts that are written without spaces.
const WITHOUT_SPACES: [&str; 5] = [
    r"[\p{Han}\p{Hiragana}\p{Katakana}ーｰ&&[\p{L}\p{M}\p{Nl}]]",
    r"[\p{Thai}&&[\p{L}\p{M}]]",
    r"[\p{Lao}&&[\p{L}\p{M}]]",
    r"[\p{Khmer}&&[\p{L}\p{M}]]",
    r"[\p{Myanmar}&&[\p{L}\p{M}]]",
];

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    /// The text in lower case.
    lower: String,
    /// The text without accents.
    plain: String,
    /// The words of a text, separated by spaces, for n-grams.
    joined: String,
    /// Where each word begins and ends in `joined`.
    spans: Vec<(usize, usize)>,
}

impl Tokenizer {
    /// # Errors
    /// When a setting is out of its range.
    pub(super) fn new(settings: &WordSettings) -> Result<Self> {
        let (shortest, longest) = settings.ngram_range;
        if shortest == 0 || shortest > longest || longest > LONGEST_NGRAM {
            return Err(Error::setting(format!(
                "n-grams of {shortest} to {longest} words"
            ))
            .fix(format!(
                "pass the shortest and the longest, as ngram_range(1, 2); at most {LONGEST_NGRAM} words"
            )));
        }
        let stemmer = settings
            .stem
            .as_deref()
            .map(languages::stemmer)
            .transpose()?;
        Ok(Self {
            lowercase: settings.lowercase,
            strip_accents: settings.strip_accents,
            stop_words: settings
                .stop_words
                .iter()
                .map(|word| compared(settings, word))
                .collect(),
            stemmer: stemmer.map(Stemmer::create),
            ngrams: settings.ngram_range,
            between: ' ',
            phrases: settings.phrases.iter().cloned().collect(),
            words: Words::new(settings)?,
        })
    }

    /// The same, with this character between the words of an n-gram.
    pub(super) fn with_between(self, between: char) -> Self {
        Self { between, ..self }
    }

    /// Calls `visit` with each term of a text, once for each time that it occurs.
    pub(super) fn for_each_term(
        &self,
        text: Text<'_>,
        scratch: &mut Scratch,
        visit: &mut impl FnMut(&str),
    ) {
        let Scratch {
            lower,
            plain,
            joined,
            spans,
        } = scratch;
        if self.ngrams.1 == 1 && self.phrases.is_empty() {
            self.for_each_token(text, (lower, plain), visit);
            return;
        }
        joined.clear();
        spans.clear();
        self.for_each_token(text, (lower, plain), &mut |token| {
            if !spans.is_empty() {
                joined.push(self.between);
            }
            let start = joined.len();
            joined.push_str(token);
            spans.push((start, joined.len()));
        });
        self.for_each_ngram(joined, spans, &mut |joined, (start, end)| {
            visit(&joined[start..end]);
        });
    }

    /// Joins the phrases among the words of a text, and calls `visit` with where each of its terms stands.
    fn for_each_ngram(
        &self,
        joined: &mut String,
        spans: &mut Vec<(usize, usize)>,
        visit: &mut impl FnMut(&str, (usize, usize)),
    ) {
        if !self.phrases.is_empty() {
            self.join_phrases(joined, spans);
        }
        let (shortest, longest) = self.ngrams;
        for n in shortest..=longest {
            for words in spans.windows(n) {
                visit(joined, (words[0].0, words[n - 1].1));
            }
        }
    }

    /// Makes one word of the two words of each phrase, from the left.
    fn join_phrases(&self, joined: &mut String, spans: &mut Vec<(usize, usize)>) {
        let mut kept = 0;
        for at in 0..spans.len() {
            let (start, end) = spans[at];
            // A word that is joined already ends behind its second word.
            if kept > 0 && start < spans[kept - 1].1 {
                continue;
            }
            spans[kept] = match spans.get(at + 1) {
                Some(&(_, last)) if self.phrases.contains(&joined[start..last]) => {
                    joined.replace_range(end..end + 1, "_");
                    (start, last)
                }
                _ => (start, end),
            };
            kept += 1;
        }
        spans.truncate(kept);
    }

    /// Whether a word of a text is left out.
    pub(super) fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(word)
    }

    /// Calls `visit` with each word that is no stop word, stemmed.
    fn for_each_token(
        &self,
        text: Text<'_>,
        (lower, plain): (&mut String, &mut String),
        visit: &mut impl FnMut(&str),
    ) {
        let mut keep = |word: &str| {
            if let Some(token) = self.token(word) {
                visit(&token);
            }
        };
        match text {
            Text::Whole(text) => {
                self.words
                    .for_each(self.prepared(text, lower, plain), &mut keep);
            }
            Text::Tokens(tokens) => {
                for token in tokens {
                    keep_word(self.prepared(token, lower, plain), &mut keep);
                }
            }
        }
    }

    /// A word as it is counted, stemmed; `None` for a stop word.
    fn token<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        if !self.stop_words.is_empty() && self.stop_words.contains(word) {
            return None;
        }
        Some(match &self.stemmer {
            Some(stemmer) => stemmer.stem(word),
            None => Cow::Borrowed(word),
        })
    }

    /// A text in lower case and without accents, where the settings say so.
    fn prepared<'t>(
        &self,
        mut text: &'t str,
        lower: &'t mut String,
        plain: &'t mut String,
    ) -> &'t str {
        if self.lowercase {
            lowercase(text, lower);
            text = lower;
        }
        if self.strip_accents && !text.is_ascii() {
            plain.clear();
            plain.extend(without_accents(text));
            text = plain;
        }
        text
    }
}

impl Words {
    fn new(settings: &WordSettings) -> Result<Self> {
        let WordSettings {
            token_pattern,
            language,
            tokenizer,
            ..
        } = settings;
        match (token_pattern, language, tokenizer) {
            (None, None, None) => Ok(Self::Default),
            (Some(pattern), None, None) => Ok(Self::Pattern(compiled(pattern)?)),
            (None, Some(language), None) => {
                let scripts = WITHOUT_SPACES.join("");
                // With the marks and joiners inside of words.
                let word = format!(
                    r"[\p{{L}}\p{{N}}_--[{scripts}]][\p{{L}}\p{{N}}\p{{M}}_\x{{200c}}\x{{200d}}--[{scripts}]]+"
                );
                let runs = WITHOUT_SPACES.map(|script| format!("{script}+"));
                Ok(Self::Language {
                    runs: compiled(&format!("{word}|{}", runs.join("|")))?,
                    segmenter: Segmenter::new(&languages::language(language)?)?,
                })
            }
            (None, None, Some(function)) => Ok(Self::Own(function.clone())),
            _ => Err(Error::setting(
                "two settings say what a word is, of token_pattern, language and tokenizer",
            )
            .fix("keep one of them")),
        }
    }

    /// Calls `keep` with each word of a text.
    fn for_each(&self, text: &str, keep: &mut impl FnMut(&str)) {
        match self {
            Self::Default => for_each_word(text, keep),
            Self::Pattern(pattern) if pattern.captures_len() == 1 => {
                for found in pattern.find_iter(text) {
                    keep_word(found.as_str(), keep);
                }
            }
            // As in Python's findall: the group is the token.
            Self::Pattern(pattern) => {
                for found in pattern.captures_iter(text) {
                    keep_word(found.get(1).map_or("", |group| group.as_str()), keep);
                }
            }
            Self::Language { runs, segmenter } => {
                for found in runs.find_iter(text) {
                    segmenter.for_each_word(found.as_str(), keep);
                }
            }
            Self::Own(function) => {
                for word in function.0(text) {
                    keep_word(&word, keep);
                }
            }
        }
    }
}

/// A stop word as the words of texts are: in lower case and without accents, where the settings say so.
fn compared(settings: &WordSettings, word: &str) -> String {
    let word = match settings.lowercase {
        true => word.to_lowercase(),
        false => word.to_string(),
    };
    match settings.strip_accents {
        true => without_accents(&word).collect(),
        false => word,
    }
}

/// A pattern can match nothing, or white space: neither is a word.
fn keep_word(found: &str, keep: &mut impl FnMut(&str)) {
    if !found.trim().is_empty() {
        keep(found);
    }
}

/// A text without accents: decomposed (NFKD), without combining characters, as scikit-learn's `strip_accents="unicode"`.
pub(super) fn without_accents(text: &str) -> impl Iterator<Item = char> {
    let decomposed = text.nfkd();
    decomposed.filter(|&character| canonical_combining_class(character) == 0)
}

/// Writes the lower case of a text. Runs of ASCII are converted at once; only the capital sigma depends on the characters
/// around it, at the end of a word, and leaves the whole text to the standard library.
fn lowercase(text: &str, lower: &mut String) {
    lower.clear();
    if text.contains('\u{3a3}') {
        *lower = text.to_lowercase();
        return;
    }
    let mut rest = text;
    loop {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii());
        let (run, others) = rest.split_at(ascii.unwrap_or(rest.len()));
        let start = lower.len();
        lower.push_str(run);
        lower[start..].make_ascii_lowercase();
        let mut characters = others.chars();
        let Some(character) = characters.next() else {
            return;
        };
        lower.extend(character.to_lowercase());
        rest = characters.as_str();
    }
}

fn compiled(pattern: &str) -> Result<Regex> {
    let regex = Regex::new(pattern).map_err(|source| {
        Error::setting(format!("{pattern:?} is no pattern of tokens"))
            .at(source.to_string())
            .fix("write it in the syntax of the crate regex, such as [a-z]{3,20}")
            .because(source)
    })?;
    match regex.captures_len() {
        1 | 2 => Ok(regex),
        groups => Err(Error::setting(format!(
            "the pattern {pattern:?} has {} groups in parentheses",
            groups - 1
        ))
        .fix("write all but one as (?:...): the group is the token")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(settings: &WordSettings, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        Tokenizer::new(settings).unwrap().for_each_term(
            Text::Whole(text),
            &mut Scratch::default(),
            &mut |term| {
                terms.push(term.to_owned());
            },
        );
        terms
    }

    #[test]
    fn settings_change_the_terms() {
        let settings = WordSettings::default;
        let text = "The Cafés\u{301} of ΟΔΟΣ were running";
        assert_eq!(
            terms(&settings(), text),
            ["the", "cafés", "of", "οδος", "were", "running"]
        );
        let mut stemmed = settings();
        stemmed.strip_accents = true;
        stemmed.stem = Some("english".into());
        stemmed.add_stop_words(["the", "of"]);
        assert_eq!(terms(&stemmed, text), ["cafe", "οδος", "were", "run"]);
        let mut pairs = settings();
        pairs.ngram_range = (1, 2);
        pairs.lowercase = false;
        assert_eq!(
            terms(&pairs, "One two three"),
            ["One", "two", "three", "One two", "two three"]
        );
        let mut pattern = settings();
        pattern.token_pattern = Some("#([a-z]+)".into());
        assert_eq!(terms(&pattern, "a #Tag and #more"), ["tag", "more"]);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let with = |change: fn(&mut WordSettings)| {
            let mut settings = WordSettings::default();
            change(&mut settings);
            Tokenizer::new(&settings).err().unwrap()
        };
        for error in [
            with(|settings| settings.ngram_range = (0, 1)),
            with(|settings| settings.ngram_range = (2, 1)),
            with(|settings| settings.ngram_range = (1, 99)),
            with(|settings| settings.token_pattern = Some("[a-".into())),
            with(|settings| settings.token_pattern = Some("(a)(b)".into())),
            with(|settings| settings.stem = Some("klingon".into())),
        ] {
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}
