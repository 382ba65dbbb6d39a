//! Numbers with a decimal comma, and with separators of thousands.

use crate::error::{Error, Result};

use super::NumberText;

/// The mark before the fraction of a number; the other one separates thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    /// `1234.5`.
    Point,
    /// `1234,5`.
    Comma,
}

/// What a text with commas and points says about its decimal mark.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reading {
    /// A whole number without separators, a number with an exponent, or a missing one.
    Plain,
    Only(Decimal),
    /// `1,234` and `1.234`: a fraction, or thousands; `1'234`, of which a number of the table says that it is one.
    Either,
    NoNumber,
}

/// What the texts of a column say about the decimal mark.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnMarks {
    comma: bool,
    point: bool,
    /// The place of the first text with a mark.
    example: Option<usize>,
}

impl ColumnMarks {
    /// `None` if a text is no number in either reading.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut marks = Self::default();
        for (at, text) in texts.enumerate() {
            let reading = reading(text);
            match reading {
                Reading::NoNumber => return None,
                Reading::Only(Decimal::Comma) => marks.comma = true,
                Reading::Only(Decimal::Point) => marks.point = true,
                Reading::Plain | Reading::Either => {}
            }
            if reading != Reading::Plain && marks.example.is_none() {
                marks.example = Some(at);
            }
        }
        Some(marks)
    }

    /// Whether a text has a mark.
    pub fn has_marks(&self) -> bool {
        self.example.is_some()
    }

    /// The first text of column `name` with a mark, and its number, for a card.
    pub fn shown(&self, name: &str, texts: &[impl AsRef<str>], numbers: &[f64]) -> Option<String> {
        let at = self.example?;
        let (text, number) = (texts.get(at)?.as_ref(), numbers.get(at)?);
        Some(format!("{:?} in column {name:?} is {number}", text.trim()))
    }

    /// The mark of a table: that of all columns with numbers that can be read in one way.
    pub fn shared<'a>(columns: impl Iterator<Item = &'a Self>) -> Option<Decimal> {
        let mut found = columns.filter_map(|marks| marks.own());
        let first = found.next()?;
        found.all(|mark| mark == first).then_some(first)
    }

    /// The mark of the column itself.
    fn own(&self) -> Option<Decimal> {
        match (self.comma, self.point) {
            (true, false) => Some(Decimal::Comma),
            (false, true) => Some(Decimal::Point),
            _ => None,
        }
    }

    /// The mark by which the column is read: its own, or else that of the table; no comma in a file whose values commas separate.
    pub fn mark(&self, shared: Option<Decimal>, is_comma_separated: bool) -> Option<Decimal> {
        let mark = match self.comma && self.point {
            true => None,
            false => self.own().or(shared),
        };
        mark.filter(|mark| *mark == Decimal::Point || !is_comma_separated)
    }
}

impl Decimal {
    /// The mark of a character.
    pub fn of(mark: char) -> Result<Self> {
        match mark {
            '.' => Ok(Self::Point),
            ',' => Ok(Self::Comma),
            _ => Err(Error::setting(format!("{mark:?} is no decimal mark"))
                .fix("pass '.', or ',' for numbers such as 1.234,5")),
        }
    }

    /// The number of a text, NaN where it is missing; `None` if it has another decimal mark, or is no number.
    pub fn number(self, text: &str) -> Option<f64> {
        match reading(text) {
            Reading::NoNumber => return None,
            Reading::Only(mark) if mark != self => return None,
            _ => {}
        }
        let plain: String = text
            .chars()
            .filter_map(|c| match (c, self) {
                ('.', Self::Point) | (',', Self::Comma) => Some('.'),
                ('.' | ',' | '\'' | '’' | '\u{a0}' | '\u{202f}', _) => None,
                _ => Some(c),
            })
            .collect();
        match NumberText::of(&plain) {
            NumberText::Number(number) => Some(number),
            NumberText::Missing => Some(f64::NAN),
            NumberText::Malformed | NumberText::Other => None,
        }
    }
}

/// Whether these are digits in groups of three, the first of one to three.
fn is_grouped(digits: &str, is_mark: impl Fn(char) -> bool) -> bool {
    let mut groups = digits.split(is_mark);
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().unwrap_or_default();
    let is_first = matches!(first.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.len() < 3);
    is_first && is_digits(first) && groups.all(|group| group.len() == 3 && is_digits(group))
}

fn reading(text: &str) -> Reading {
    let text = text.trim();
    let is_group = |c: char| matches!(c, '\'' | '’' | '\u{a0}' | '\u{202f}');
    if !text.contains(|c: char| c == ',' || c == '.' || is_group(c)) {
        return match NumberText::of(text) {
            NumberText::Number(_) | NumberText::Missing => Reading::Plain,
            NumberText::Malformed | NumberText::Other => Reading::NoNumber,
        };
    }
    let (text, has_exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => match exponent.parse::<i16>() {
            Ok(_) => (number, true),
            Err(_) => return Reading::NoNumber,
        },
        None => (text, false),
    };
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(at) = text.rfind([',', '.']) else {
        return match is_grouped(text, is_group) {
            true => Reading::Either,
            false => Reading::NoNumber,
        };
    };
    let (whole, mark, fraction) = (&text[..at], &text[at..=at], &text[at + 1..]);
    let (decimal, other) = match mark {
        "," => (Decimal::Comma, Decimal::Point),
        _ => (Decimal::Point, Decimal::Comma),
    };
    if !is_digits(fraction) || whole.is_empty() && fraction.is_empty() {
        return Reading::NoNumber;
    }
    if whole.contains(mark) {
        let grouped = is_grouped(text, |c| mark.starts_with(c));
        return match grouped && !has_exponent {
            true => Reading::Only(other),
            false => Reading::NoNumber,
        };
    }
    let is_code = whole.len() > 1 && whole.starts_with('0');
    if is_digits(whole) && !is_code {
        let may_be_group = fraction.len() == 3 && (1..=3).contains(&whole.len()) && whole != "0";
        return match may_be_group && !has_exponent {
            true => Reading::Either,
            false => Reading::Only(decimal),
        };
    }
    let one_mark = |mark: char| whole.chars().all(|c| c == mark || c.is_ascii_digit());
    let marks = [',', '.', '\'', '’', '\u{a0}', '\u{202f}'];
    match marks.into_iter().any(one_mark) && is_grouped(whole, |c| marks.contains(&c)) {
        true => Reading::Only(decimal),
        false => Reading::NoNumber,
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal::{Comma, Point};
    use super::*;

    #[test]
    fn marks_are_those_of_the_column_or_of_the_table() {
        // The texts, the mark of the column alone, and the first number by each mark.
        for (texts, own, by_comma, by_point) in [
            ("1.234,5|3", Some(Comma), Some(1234.5), None),
            ("1,234.5|3", Some(Point), None, Some(1234.5)),
            ("1,234|5", None, Some(1.234), Some(1234.0)),
            ("1.234|NA", None, Some(1234.0), Some(1.234)),
            ("1,234|0,5", Some(Comma), Some(1.234), Some(1234.0)),
            ("1.234|1,5", Some(Comma), Some(1234.0), Some(1.234)),
            ("1,234,567", Some(Point), None, Some(1_234_567.0)),
            ("1.234.567", Some(Comma), Some(1_234_567.0), None),
            ("1\u{202f}234,567", Some(Comma), Some(1234.567), None),
            ("1'234.5", Some(Point), None, Some(1234.5)),
            ("1’234", None, Some(1234.0), Some(1234.0)),
            ("1,5E+03", Some(Comma), Some(1500.0), None),
            (",5", Some(Comma), Some(0.5), None),
            ("-0,125", Some(Comma), Some(-0.125), None),
            ("1234,567", Some(Comma), Some(1234.567), None),
        ] {
            let marks = ColumnMarks::of(texts.split('|')).unwrap();
            assert_eq!(marks.own(), own, "{texts}");
            let first = texts.split('|').next().unwrap();
            assert_eq!(Comma.number(first), by_comma, "{first}");
            assert_eq!(Point.number(first), by_point, "{first}");
        }
        for text in [
            "28.1.1813",
            "1.23.456",
            "12,34,567",
            "1,2,3",
            "a,5",
            "5?",
            ",",
            "007,5",
            "1 234",
            "1.234,567.8",
            "1,234e3,5",
            "",
        ] {
            let marks = ColumnMarks::of([text].into_iter());
            assert_eq!(marks.is_none(), !text.is_empty(), "{text}");
        }
        let marks = |texts: &str| ColumnMarks::of(texts.split('|')).unwrap();
        let (comma, point, either) = (marks("1,5"), marks("1.5"), marks("1.234"));
        let both = marks("1,5|1.5");
        assert_eq!(
            ColumnMarks::shared([&comma, &either].into_iter()),
            Some(Comma)
        );
        assert_eq!(ColumnMarks::shared([&comma, &point].into_iter()), None);
        assert_eq!(either.mark(Some(Comma), false), Some(Comma));
        assert_eq!(either.mark(Some(Comma), true), None);
        assert_eq!(point.mark(Some(Comma), false), Some(Point));
        assert_eq!(both.mark(Some(Comma), false), None);
    }
}
