//! The words of a text: runs of letters, digits and underscores.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};

/// Words of the bitmap: one bit per code point.
const BITMAP: usize = 0x11_0000 / 64;

/// The characters of words, as Python's `\w` has them: letters (general category L), numbers (N), and the underscore. Rust's
/// own `\w` also has combining marks, which split a word here.
struct WordCharacters {
    ascii: [bool; 128],
    /// One bit per code point.
    bits: Vec<u64>,
}

impl WordCharacters {
    fn get() -> &'static Self {
        static CHARACTERS: OnceLock<WordCharacters> = OnceLock::new();
        CHARACTERS.get_or_init(Self::new)
    }

    fn new() -> Self {
        let mut bits = vec![0u64; BITMAP];
        let parsed = regex_syntax::Parser::new().parse(r"[\p{L}\p{N}_]");
        if let Ok(HirKind::Class(Class::Unicode(class))) = parsed.map(|hir| hir.into_kind()) {
            for range in class.ranges() {
                for code in u32::from(range.start())..=u32::from(range.end()) {
                    bits[code as usize / 64] |= 1 << (code % 64);
                }
            }
        }
        let mut ascii = [false; 128];
        for (code, is_word) in ascii.iter_mut().enumerate() {
            *is_word = bits[code / 64] >> (code % 64) & 1 == 1;
        }
        Self { ascii, bits }
    }

    #[inline]
    fn contains(&self, character: char) -> bool {
        let code = character as usize;
        self.bits[code / 64] >> (code % 64) & 1 == 1
    }
}

/// Calls `visit` with each run of two or more word characters: the matches of scikit-learn's default pattern,
/// `(?u)\b\w\w+\b`.
pub(super) fn for_each_word<'t>(text: &'t str, visit: &mut impl FnMut(&'t str)) {
    let characters = WordCharacters::get();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut length) = (at, 0);
        // The width of the character that ends the run; 0 at the end of the text.
        let mut skipped = 0;
        while let Some(&byte) = bytes.get(at) {
            let (is_word, width) = match characters.ascii.get(usize::from(byte)) {
                Some(&is_word) => (is_word, 1),
                None => match text[at..].chars().next() {
                    Some(character) => (characters.contains(character), character.len_utf8()),
                    None => (false, 1),
                },
            };
            if !is_word {
                skipped = width;
                break;
            }
            at += width;
            length += 1;
        }
        if length >= 2 {
            visit(&text[start..at]);
        }
        at += skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, &mut |word| words.push(word));
        words
    }

    #[test]
    fn words_are_runs_of_two_or_more_word_characters() {
        for (text, expected) in [
            ("", vec![]),
            ("a", vec![]),
            ("a bc", vec!["bc"]),
            ("don't stop", vec!["don", "stop"]),
            ("x_1 é éa", vec!["x_1", "éa"]),
            ("grün-weiß,42", vec!["grün", "weiß", "42"]),
            // A combining accent splits the word, as in Python.
            ("cafe\u{301}s", vec!["cafe"]),
            ("日本語 ½½ Ⅷ", vec!["日本語", "½½"]),
            ("end of\u{a0}text", vec!["end", "of", "text"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
