//! Classifies the texts of a column that may have numbers.

/// Whole numbers below this size are exact as `f64`.
const EXACT: f64 = (1u64 << 53) as f64;
/// Words for a missing number in lower case: those of pandas, and of Excel (`-`), Stata (`.`) and MySQL (`\N`).
#[rustfmt::skip]
const MISSING: [&str; 18] = [
    "", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "-", ".", "\\n", "#na", "#n/a n/a", "-nan", "1.#ind", "-1.#ind", "1.#qnan",
    "-1.#qnan",
];

/// Whether a text is a whole number that no signed integer of 64 bits holds.
pub fn is_wide(text: &str) -> bool {
    let text = text.trim();
    text.len() > 18
        && text
            .trim_start_matches('-')
            .bytes()
            .all(|byte| byte.is_ascii_digit())
        && text.parse::<i64>().is_err()
}

/// A text in a column that may have numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumberText {
    /// A number in decimal digits, with a sign or an exponent or without.
    Number(f64),
    /// A word for a missing number, such as `NA`.
    Missing,
    /// Neither a number nor a word, such as `1,000` or `5?`.
    Malformed,
    /// Words, dates, and codes such as `007`.
    Other,
}

impl NumberText {
    /// The kind of number that `text` is.
    pub fn of(text: &str) -> Self {
        let text = text.trim();
        if MISSING.iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Self::Missing;
        }
        let digits = text.trim_start_matches(['-', '+']);
        let is_code = digits.len() > 1
            && digits.starts_with('0')
            && digits.as_bytes()[1].is_ascii_alphanumeric();
        if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && let Ok(number) = text.parse::<f64>()
        {
            return match !is_code && number.abs() < EXACT {
                true => Self::Number(number),
                false => Self::Other,
            };
        }
        // A sign may stand first, and a number with several points is a date, a version or an address.
        let is_word = digits.contains(|c: char| c.is_alphabetic() || "-/:".contains(c));
        let is_grouped = digits.split('.').skip(1).all(|group| group.len() == 3);
        match is_word || is_code || !(is_grouped || digits.matches('.').count() < 2) {
            true => Self::Other,
            false => Self::Malformed,
        }
    }

    /// The numbers of a column, NaN where one is missing; `None` if it has none, or another text.
    pub fn column<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Vec<f64>> {
        let number = |text| match Self::of(text) {
            Self::Number(number) => Some(number),
            Self::Missing => Some(f64::NAN),
            Self::Malformed | Self::Other => None,
        };
        let numbers: Vec<f64> = texts.map(number).collect::<Option<_>>()?;
        numbers
            .iter()
            .any(|number| !number.is_nan())
            .then_some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::NumberText::{self, Malformed, Missing, Number, Other};

    #[test]
    fn texts_are_numbers_missing_malformed_or_others() {
        let cases = [
            ("3", Number(3.0)),
            (" +3 ", Number(3.0)),
            ("-0.5", Number(-0.5)),
            ("1e3", Number(1000.0)),
            ("0", Number(0.0)),
            ("", Missing),
            ("NA", Missing),
            ("n/a", Missing),
            ("1,000", Malformed),
            ("1.000.000", Malformed),
            ("5?", Malformed),
            ("-", Missing),
            (".", Missing),
            ("\\N", Missing),
            ("-1.#IND", Missing),
            ("007", Other),
            ("9007199254740993", Other),
            ("1e999", Other),
            ("inf", Other),
            ("28.1.1813", Other),
            ("2026-11-28", Other),
            ("sea", Other),
        ];
        for (text, expected) in cases {
            assert_eq!(NumberText::of(text), expected, "{text:?}");
        }
    }
}
