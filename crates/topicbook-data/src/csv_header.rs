//! The header of a CSV file: its separator, and the names of its columns.

use crate::error::{Error, Result};
use crate::system::OpenFile;
use crate::text::{bytes, counted};

use super::{CsvRows, check_names};

/// Upper bound of the memory of a column in Polars, without its values.
const COLUMN_BYTES: u64 = 512;

/// The first row that is not blank.
pub struct CsvHeader {
    /// The byte between two values.
    pub separator: u8,
    /// The names of the columns, without the space around them.
    pub names: Vec<String>,
}

impl CsvHeader {
    /// Longest header, in bytes.
    const LONGEST: usize = 1 << 20;

    /// Reads the header of a file. Without a separator, it is the first of comma, semicolon and tab in the header's first line.
    /// Fails if the header does not end, because Polars copies it, if memory does not hold its columns, or if two have one
    /// name.
    pub fn read(file: &OpenFile, separator: Option<u8>) -> Result<Self> {
        let mut start = vec![0; Self::LONGEST.min(file.length as usize)];
        file.read_exact_at(0, &mut start)?;
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
        let mut lines = text.split(|&byte| byte == b'\n');
        let line = lines.find(|line| !matches!(line, [] | [b'\r']));
        let separator = separator.unwrap_or_else(|| {
            let mut separators = [b',', b';', b'\t'].into_iter();
            let found = separators.find(|byte| line.is_some_and(|line| line.contains(byte)));
            found.unwrap_or(b',')
        });
        let mut rows = CsvRows::new(separator, text);
        let names = match rows.next() {
            None => Vec::new(),
            Some(row) => {
                let claim = file.claim(counted(row.len(), "column"));
                claim.check_memory(row.len() as u64 * COLUMN_BYTES)?;
                row.iter().map(|name| name.trim().to_owned()).collect()
            }
        };
        // The last row of a truncated text may be only the start of one.
        let whole = rows.position() < text.len() || start.len() as u64 == file.length;
        if names.is_empty() || !whole {
            let what = match whole {
                false => format!("its first {} have no header", bytes(Self::LONGEST as u64)),
                true => "has no header".into(),
            };
            return Err(Error::format(&file.path, what)
                .at("line 1")
                .fix("begin the file with a line of the names of its columns"));
        }
        check_names(&file.path, names.iter().map(String::as_str))?;
        Ok(Self { separator, names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_line_breaks_do_not_change_a_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let read = |text: &str, separator| {
            std::fs::write(&path, text).unwrap();
            let header = CsvHeader::read(&OpenFile::open(&path).unwrap(), separator)?;
            Ok::<_, Error>((header.separator, header.names.join("|")))
        };
        for (text, separator, names) in [
            ("a,b;c\n1,2\n", b',', "a|b;c"),
            ("\n\r\n a ; b \n1,5;2\n", b';', "a|b"),
            ("\u{feff}\na\tb\n", b'\t', "a|b"),
            ("\"a\nb\",c", b',', "a\nb|c"),
            ("a", b',', "a"),
        ] {
            let found = read(text, None).unwrap();
            assert_eq!(found, (separator, names.to_string()), "{text:?}");
        }
        assert_eq!(read("a,b\n", Some(b'\t')).unwrap().1, "a,b");
        let long = "x".repeat(CsvHeader::LONGEST);
        assert_eq!(read(&long, None).unwrap().1, long);
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
