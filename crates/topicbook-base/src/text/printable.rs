//! Texts of users and files on standard output, which evcxr reads line by line.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// How lines of the protocols of evcxr and of topicbook's own kernel begin. evcxr also finds them inside a line.
const MARKERS: [&str; 2] = ["EVCXR_", "TOPICBOOK_"];

/// The text, with its line breaks and tabs. Other control characters are escaped as Rust does (`\u{1b}`), and a zero-width
/// space splits the markers of protocol lines. A term, a name or a path from a file may contain such markers.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// [`printable`] text in one line: line breaks and tabs are escaped too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// A path in one line. Bytes that are not UTF-8 become `\u{FFFD}`.
pub fn shown_path(path: &Path) -> String {
    one_line(&path.to_string_lossy()).into_owned()
}

fn escaped(text: &str, keeps: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |character: char| character.is_control() && !keeps(character);
    let is_clean = !text.contains(is_escaped);
    if is_clean && !MARKERS.iter().any(|marker| text.contains(marker)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_escaped(character) {
            // Writing to a string cannot fail.
            true => drop(write!(escaped, "{}", character.escape_default())),
            false => escaped.push(character),
        }
    }
    for marker in MARKERS {
        let (word, line) = marker.split_at(marker.len() - 1);
        escaped = escaped.replace(marker, &format!("{word}\u{200B}{line}"));
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_markers_are_escaped() {
        for (text, lines, line) in [
            ("spike", "spike", "spike"),
            ("a\tb\nc", "a\tb\nc", "a\\tb\\nc"),
            (
                "a\r\u{1b}[0m\u{1}",
                "a\\r\\u{1b}[0m\\u{1}",
                "a\\r\\u{1b}[0m\\u{1}",
            ),
            (
                "x EVCXR_END_CONTENT TOPICBOOK_UPDATE",
                "x EVCXR\u{200B}_END_CONTENT TOPICBOOK\u{200B}_UPDATE",
                "x EVCXR\u{200B}_END_CONTENT TOPICBOOK\u{200B}_UPDATE",
            ),
            ("Größe – 北京", "Größe – 北京", "Größe – 北京"),
        ] {
            assert_eq!(printable(text), lines, "{text:?}");
            assert_eq!(one_line(text), line, "{text:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_of_any_bytes_is_shown_in_one_line() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(OsStr::from_bytes(b"a\nb\xff.npy"));
        assert_eq!(shown_path(path), "a\\nb\u{FFFD}.npy");
    }
}
