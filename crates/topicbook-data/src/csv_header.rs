//! The header of a CSV file: its separator, and the names of its columns.

use std::collections::HashSet;
use std::path::Path;

use crate::error::{Error, Result};
use crate::system::TextFile;
use crate::text::{bytes, counted, shown_path};

use super::{CsvRows, NumberText, TextFormat, check_names};

/// Upper bound of the memory of a column in Polars, without its values.
const COLUMN_BYTES: u64 = 512;
/// Separators, in the order in which they are taken where several fit. R's `write.table` writes spaces between quoted texts.
const SEPARATORS: [(u8, &str); 5] = [
    (b',', "commas"),
    (b';', "semicolons"),
    (b'\t', "tabs"),
    (b'|', "vertical bars"),
    (b' ', "spaces"),
];
/// Rows that a separator is tried on.
const TRIED: usize = 20;

/// The first row that is not blank.
#[derive(Clone)]
pub struct CsvHeader {
    /// The byte between two values.
    pub separator: u8,
    /// The names of the columns, without the space around them.
    pub names: Vec<String>,
    /// Bytes before it: a line such as `sep=;`, which Excel writes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Whether the rows have a value more than the file's header has names.
    pub is_short: bool,
    /// What was found about the file, in words for a card, as far as it is not what an extension says.
    pub understood: Vec<String>,
}

impl CsvHeader {
    /// Longest header, in bytes.
    const LONGEST: usize = 1 << 20;

    /// Reads the header of a file. The separator is the stated one, or that of a line `sep=;`, or the given one of the extension,
    /// or that by which header and rows have most values. Fails if the header does not end, because Polars copies it, if memory does not hold its columns, or if
    /// two have one name.
    pub fn read(path: &Path, given: Option<u8>, format: &TextFormat) -> Result<Self> {
        let file = &mut TextFile::open_as(path, format.stated_encoding())?;
        let mut start = Vec::new();
        let whole = file.append(Self::LONGEST + 1, &mut start)? <= Self::LONGEST;
        start.truncate(Self::LONGEST);
        let file = file.file();
        let (named, skipped) = named_separator(&start);
        let text = &start[skipped..];
        let mut understood = Vec::new();
        let given = format
            .stated_separator()
            .or(given.filter(|_| named.is_none()));
        let found = given.or(named);
        let separator = found.unwrap_or_else(|| likely_separator(text, whole));
        if text.contains(&b'\r') && !text.contains(&b'\n') {
            let shown = shown_path(&file.path);
            return Err(Error::format(
                &file.path,
                "has lines that end with carriage returns alone",
            )
            .fix(format!(
                "convert them: tr '\\r' '\\n' < {shown:?} > new.csv"
            )));
        }
        let mut rows = CsvRows::new(separator, text);
        let mut names: Vec<String> = match rows.next() {
            None => Vec::new(),
            Some(row) => {
                let claim = file.claim(counted(row.len(), "column"));
                claim.check_memory(row.len() as u64 * COLUMN_BYTES)?;
                row.iter().map(|name| name.trim().to_owned()).collect()
            }
        };
        let end = rows.position();
        // The last row of a truncated text may be only the start of one.
        if names.is_empty() || !(end < text.len() || whole) {
            let what = match whole || end < text.len() {
                false => format!("its first {} have no header", bytes(Self::LONGEST as u64)),
                true => "has no header".into(),
            };
            return Err(Error::format(&file.path, what)
                .at("line 1")
                .fix("begin the file with a line of the names of its columns"));
        }
        let missing = missing_name(&mut rows, separator, names.len(), text, whole);
        match missing {
            Some(Missing::First) => {
                names.insert(0, String::new());
                understood.push("the first column has no name in the header: row names".into());
            }
            Some(Missing::Last) => names.push(String::new()),
            None => {}
        }
        check_names(&file.path, names.iter().map(String::as_str))?;
        let named = SEPARATORS.iter().find(|(byte, _)| *byte == separator);
        if separator != b',' && given != Some(separator) {
            let named = named.map_or_else(
                || format!("{:?}", char::from(separator)),
                |found| found.1.into(),
            );
            understood.push(format!("values separated by {named}"));
        }
        Ok(Self {
            separator,
            names,
            start: skipped,
            end: skipped + end,
            is_short: missing.is_some(),
            understood,
        })
    }

    /// The header with all names, for a text whose own is short.
    pub fn line(&self) -> String {
        let quoted = self
            .names
            .iter()
            .map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
        let separator = char::from(self.separator).to_string();
        quoted.collect::<Vec<_>>().join(&separator) + "\n"
    }
}

/// The separator that Excel's line `sep=;` names, and the bytes of that line.
fn named_separator(text: &[u8]) -> (Option<u8>, usize) {
    let end = text.iter().position(|&byte| byte == b'\n');
    let line = &text[..end.unwrap_or(text.len())];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let bare = line
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""));
    match (bare.unwrap_or(line), end) {
        ([s @ .., separator], Some(end))
            if s.eq_ignore_ascii_case(b"sep=") && separator.is_ascii() =>
        {
            (Some(*separator), end + 1)
        }
        _ => (None, 0),
    }
}

/// The separator with which the header has most values, and each of the first rows as many or one more. Where commas and others
/// fit alike, the commas are in names and numbers.
fn likely_separator(text: &[u8], whole: bool) -> u8 {
    let mut best = (b',', (false, 1, false));
    for (separator, _) in SEPARATORS {
        // Only quotes tell values between spaces from words of a name.
        let is_quoted = || text.trim_ascii_start().starts_with(b"\"");
        if separator == b' ' && (best.1.0 || !is_quoted()) {
            continue;
        }
        let mut rows = CsvRows::new(separator, text);
        let Some(names) = rows.next() else { break };
        let width = names.len();
        let mut fits = width > 1;
        for _ in 0..TRIED {
            let found = rows.next().map(|row| row.len());
            // The last row may be cut.
            if whole || rows.position() < text.len() {
                fits &= found.is_none_or(|found| found == width || found == width + 1);
            }
        }
        let found = (fits, width, separator != b',');
        if found > best.1 && (fits || width > best.1.1) {
            best = (separator, found);
        }
    }
    best.0
}

/// The name that a header lacks.
#[derive(Clone, Copy)]
enum Missing {
    /// That of the first column: R's `write.table` and pandas' readers take it for the row names.
    First,
    /// That after the last separator of lines that all end with one.
    Last,
}

/// The name that the header lacks, if all rows have a value more than it has names.
fn missing_name(
    rows: &mut CsvRows<'_>,
    separator: u8,
    names: usize,
    text: &[u8],
    whole: bool,
) -> Option<Missing> {
    let (mut found, mut is_last) = (HashSet::new(), true);
    while let Some(row) = rows.next() {
        let (len, last) = (row.len(), row.iter().last().unwrap_or_default());
        let first = row.iter().next().unwrap_or_default().to_string();
        // A column of texts without quotes may have commas: where the header has one name, names of rows come before numbers.
        let is_number = |text| matches!(NumberText::of(text), NumberText::Number(_));
        let is_named = names > 1 || !is_number(&first) && is_number(last);
        if !whole && rows.position() == text.len() {
            break;
        }
        if len != names + 1 || !is_named {
            return None;
        }
        // R writes an empty text in quotes.
        let mut ends = text[..rows.position()].iter().rev();
        let end = ends.find(|byte| !matches!(byte, b'\r' | b'\n'));
        let is_empty = end == Some(&separator);
        is_last &= is_empty;
        // Row names are different in R.
        if !found.insert(first) && !is_last {
            return None;
        }
    }
    match (found.is_empty(), is_last) {
        (true, _) => None,
        (false, true) => Some(Missing::Last),
        (false, false) => Some(Missing::First),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_line_breaks_do_not_change_a_header() {
        let (_folder, path) = testkit::temp_path("a.csv");
        let read = |text: &str, separator| {
            std::fs::write(&path, text).unwrap();
            let header = CsvHeader::read(&path, separator, &TextFormat::new())?;
            Ok::<_, Error>((header.separator, header.names.join("|")))
        };
        for (text, separator, names) in [
            ("a,b;c\n1,2\n", b',', "a|b;c"),
            ("\n\r\n a ; b \n1,5;2\n", b';', "a|b"),
            ("\u{feff}\na\tb\n", b'\t', "a|b"),
            ("\"a\nb\",c", b',', "a\nb|c"),
            ("a", b',', "a"),
            // Commas inside of names, and inside of numbers.
            ("Preis, EUR;Menge\n1,5;2\n", b';', "Preis, EUR|Menge"),
            ("name;n;p\n\"a, b\";1,5;2,5\n", b';', "name|n|p"),
            ("a|b\n1|2\n", b'|', "a|b"),
            // Excel names the separator.
            ("sep=;\r\na,b;c\r\n1;2\r\n", b';', "a,b|c"),
            ("\"sep=\t\"\na\tb\n", b'\t', "a|b"),
            // Headers of R, which lack a name; lines that end with a separator.
            ("\"sea\" \"tea\"\n\"a b\" 1 2\n", b' ', "|sea|tea"),
            ("sea\ttea\na\t1\t2\nb\t3\t4\n", b'\t', "|sea|tea"),
            ("sea\na,1\nb,2\n", b',', "|sea"),
            ("sea,tea\n1,2,\n3,4,\n", b',', "sea|tea|"),
            ("sea,tea\n1,2,3\n3,4\n", b',', "sea|tea"),
            ("sea,tea\na,2,\"\"\nb,4,\"\"\n", b',', "|sea|tea"),
            ("sea\n0,5\n1,25\n", b',', "sea"),
            ("sea,tea\na,2,3\na,4,5\n", b',', "sea|tea"),
            ("a sea\nthe big sea\n", b',', "a sea"),
        ] {
            let found = read(text, None).unwrap();
            assert_eq!(found, (separator, names.to_string()), "{text:?}");
        }
        assert_eq!(read("a,b\n", Some(b'\t')).unwrap().1, "a,b");
        let long = "x".repeat(CsvHeader::LONGEST);
        assert_eq!(read(&long, None).unwrap().1, long);
        assert_eq!(read("text\na, b\nc, d\n", None).unwrap().1, "text");
        for (text, what) in [
            ("\n\n", "has no header"),
            (&format!("{long},b\n"), "have no header"),
            ("a, a\n", "two columns named \"a\""),
        ] {
            let error = read(text, None).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
