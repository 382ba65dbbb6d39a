//! The rows of CSV records in memory, and the names in a header.

use std::collections::HashMap;
use std::path::Path;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::error::{Error, Result};

/// Reads row after row, into buffers that are reused.
pub struct CsvRows<'a> {
    core: Reader,
    bytes: &'a [u8],
    at: usize,
    /// The line in which the row begins, counted from 1.
    line: u64,
    counted: usize,
    values: Vec<u8>,
    ends: Vec<usize>,
}

/// The values of a row.
pub struct CsvRow<'r> {
    pub line: u64,
    values: &'r [u8],
    ends: &'r [usize],
}

impl CsvRow<'_> {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The values of UTF-8 text, which are UTF-8 themselves: separators and quotes are ASCII characters.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let values = starts
            .zip(self.ends)
            .map(|(start, &end)| &self.values[start..end]);
        values.map(|value| std::str::from_utf8(value).unwrap_or_default())
    }
}

impl<'a> CsvRows<'a> {
    /// The rows of `bytes`.
    pub fn new(separator: u8, bytes: &'a [u8]) -> Self {
        Self {
            core: ReaderBuilder::new().delimiter(separator).build(),
            bytes,
            at: 0,
            line: 1,
            counted: 0,
            values: vec![0; 1 << 10],
            ends: vec![0; 16],
        }
    }

    /// The next row that is not blank; `None` at the end.
    pub fn next(&mut self) -> Option<CsvRow<'_>> {
        while let Some(b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let skipped = &self.bytes[self.counted..self.at];
        self.line += skipped.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.counted = self.at;
        let (mut length, mut columns) = (0, 0);
        loop {
            let (result, read, written, ended) = self.core.read_record(
                &self.bytes[self.at..],
                &mut self.values[length..],
                &mut self.ends[columns..],
            );
            (self.at, length, columns) = (self.at + read, length + written, columns + ended);
            match result {
                // csv-core needs a final empty input to end the last row.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.values.resize(self.values.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::End => return None,
                ReadRecordResult::Record => break,
            }
        }
        Some(CsvRow {
            line: self.line,
            values: &self.values[..length],
            ends: &self.ends[..columns],
        })
    }

    /// Bytes that were read.
    pub fn position(&self) -> usize {
        self.at
    }
}

/// Fails if two columns of a table have one name.
pub fn check_names<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (second, name) in names.enumerate() {
        match places.insert(name, second) {
            Some(first) if !name.is_empty() => {
                let what = format!("has two columns named {name:?}");
                let place = format!("columns {} and {} (counted from 1)", first + 1, second + 1);
                return Err(Error::format(path, what)
                    .at(place)
                    .fix("rename one of them in the file, or add the two columns"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_their_values_and_lines() {
        let text = "a,b\r\n\r\n\"x\n\"\"y\"\"\",\n1,2,3\n\nlast";
        let mut rows = CsvRows::new(b',', text.as_bytes());
        let mut found = Vec::new();
        while let Some(row) = rows.next() {
            found.push((row.line, row.iter().collect::<Vec<_>>().join("|")));
        }
        let expected = [(1, "a|b"), (3, "x\n\"y\"|"), (5, "1|2|3"), (7, "last")];
        assert_eq!(found, expected.map(|(line, row)| (line, row.to_string())));
        let long = format!("{}\n", vec!["value"; 5_000].join(";"));
        let mut rows = CsvRows::new(b';', long.as_bytes());
        assert_eq!(rows.next().map(|row| row.len()), Some(5_000));
        assert!(rows.next().is_none());
    }
}
