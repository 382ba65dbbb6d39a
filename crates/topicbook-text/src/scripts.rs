//! Scripts whose words the default pattern damages, found in a sample of the texts.

use crate::text::percent;

use super::words::for_each_word;

/// Bytes of a batch that are looked at.
const LOOKED_AT: usize = 16 << 10;
/// Letters of a word on average from which it is taken for a clause: words of German and Finnish have seven.
const CLAUSE: u64 = 15;
/// Letters from which an average says something.
const ENOUGH: u64 = 200;

/// A script: its characters, its name, a language of it, and whether it is written without spaces.
struct Script(&'static [(char, char)], &'static str, &'static str, bool);

const SCRIPTS: [Script; 16] = [
    Script(HAN, "Chinese", "chinese", true),
    Script(KANA, "Japanese", "japanese", true),
    Script(&[('\u{e00}', '\u{e7f}')], "Thai", "thai", true),
    Script(&[('\u{e80}', '\u{eff}')], "Lao", "lao", true),
    Script(&[('\u{1000}', '\u{109f}')], "Burmese", "burmese", true),
    Script(&[('\u{1780}', '\u{17ff}')], "Khmer", "khmer", true),
    Script(&[('\u{900}', '\u{97f}')], "Devanagari", "hindi", false),
    Script(&[('\u{980}', '\u{9ff}')], "Bengali", "bengali", false),
    Script(&[('\u{a00}', '\u{a7f}')], "Gurmukhi", "punjabi", false),
    Script(&[('\u{a80}', '\u{aff}')], "Gujarati", "gujarati", false),
    Script(&[('\u{b00}', '\u{b7f}')], "Odia", "odia", false),
    Script(&[('\u{b80}', '\u{bff}')], "Tamil", "tamil", false),
    Script(&[('\u{c00}', '\u{c7f}')], "Telugu", "telugu", false),
    Script(&[('\u{c80}', '\u{cff}')], "Kannada", "kannada", false),
    Script(&[('\u{d00}', '\u{d7f}')], "Malayalam", "malayalam", false),
    Script(&[('\u{d80}', '\u{dff}')], "Sinhala", "sinhala", false),
];
const HAN: &[(char, char)] = &[
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{20000}', '\u{323af}'),
];
const KANA: &[(char, char)] = &[('\u{3041}', '\u{30ff}'), ('\u{ff66}', '\u{ff9f}')];

/// Whether a language is written without spaces.
#[cfg(not(feature = "languages"))]
pub(super) fn is_without_spaces(language: &str) -> bool {
    SCRIPTS
        .iter()
        .any(|&Script(_, _, name, is_without_spaces)| is_without_spaces && name == language)
}

/// What a sample of the texts has.
#[derive(Default)]
pub(super) struct Sample {
    bytes: usize,
    letters: u64,
    by_script: [u64; SCRIPTS.len()],
    words: u64,
    in_words: u64,
}

impl Sample {
    /// Looks at the beginning of a text, unless the batch has been looked at enough.
    pub(super) fn add(&mut self, text: &str) {
        let text = &text[..text.floor_char_boundary(LOOKED_AT.saturating_sub(self.bytes))];
        self.bytes += text.len();
        for character in text.chars().filter(|c| c.is_alphabetic()) {
            self.letters += 1;
            if character >= '\u{900}' {
                let is_of = |&(first, last): &(char, char)| (first..=last).contains(&character);
                let script = SCRIPTS.iter().position(|script| script.0.iter().any(is_of));
                self.by_script[script.unwrap_or_default()] += u64::from(script.is_some());
            }
        }
        for_each_word(text, &mut |word| {
            self.words += 1;
            self.in_words += word.chars().count() as u64;
        });
    }

    /// Adds the sample of another batch.
    pub(super) fn join(&mut self, other: &Self) {
        self.letters += other.letters;
        self.words += other.words;
        self.in_words += other.in_words;
        for (sum, more) in self.by_script.iter_mut().zip(other.by_script) {
            *sum += more;
        }
    }

    /// What the default pattern does to the texts, where more than a tenth of the letters are of such a script, or where words
    /// are as long as clauses.
    pub(super) fn note(&self) -> Option<String> {
        let mut found = self.by_script;
        // Japanese has Chinese characters, too.
        if found[1] * 10 > found[0] {
            found[1] += std::mem::take(&mut found[0]);
        }
        let all: u64 = found.iter().sum();
        let (most, script) = found
            .iter()
            .zip(&SCRIPTS)
            .max_by_key(|(letters, _)| **letters)?;
        let share = percent(*most as f64 / self.letters.max(1) as f64);
        let Script(_, name, language, is_without_spaces) = script;
        let is_clause = self.in_words > CLAUSE * self.words && self.in_words >= ENOUGH;
        match all * 10 > self.letters {
            true => Some(format!(
                "{share} of the letters are {name}, {} {}",
                match is_without_spaces {
                    true => "which is written without spaces: a term is a clause.",
                    false => "whose marks end a word in the default token pattern: terms are pieces of words.",
                },
                match *is_without_spaces && !cfg!(feature = "languages") {
                    true => "Set .tokenizer(..) with a function that divides the texts: this build has no dictionaries \
                             (feature `languages`)"
                        .into(),
                    false => format!("Set .language({language:?})"),
                }
            )),
            false => is_clause.then(|| {
                format!(
                    "A word has {} letters on average, as a clause has: set .token_pattern(..), or .tokenizer(..) with a \
                     function that divides the texts",
                    self.in_words / self.words
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages;

    #[test]
    fn each_script_has_a_language() {
        for Script(_, _, language, _) in &SCRIPTS {
            assert_eq!(languages::language(language).unwrap(), *language);
        }
    }
}
