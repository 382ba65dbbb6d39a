//! The text of a CSV file before Polars parses it: its header, its size, and its quotation marks.

use std::borrow::Cow;
use std::path::Path;

use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::{bytes, counted};

use super::{CsvByte, CsvQuotes, CsvRows};

/// Longest header, in bytes.
const LONGEST: usize = 1 << 20;
/// Upper bound of the memory of a column in Polars, without its values.
const COLUMN_BYTES: u64 = 512;

/// The first line that is not blank, without its end. Fails if it does not end, because Polars copies it, or if memory does
/// not hold its columns.
pub fn csv_header(map: &MappedFile) -> Result<&[u8]> {
    let text = map.bytes()?;
    let mut lines = text[..text.len().min(LONGEST)].split(|&byte| byte == b'\n');
    let line = lines.by_ref().find(|line| !line.trim_ascii().is_empty());
    match line {
        // The last piece of a truncated text may be only the start of a line.
        Some(line) if lines.next().is_some() || text.len() <= LONGEST => {
            let ends = line
                .iter()
                .filter(|byte| matches!(byte, b',' | b';' | b'\t'));
            let columns = ends.count() + 1;
            let claim = map.file().claim(counted(columns, "column"));
            claim.check_memory(columns as u64 * COLUMN_BYTES)?;
            Ok(line)
        }
        None if text.len() <= LONGEST => Ok(&[]),
        _ => {
            let what = format!("its first {} have no header", bytes(LONGEST as u64));
            Err(Error::format(map.path(), what)
                .at("line 1")
                .fix("begin the file with a line of the names of its columns"))
        }
    }
}

/// The names in a header, without the space around them.
pub fn csv_names(header: &[u8], separator: u8) -> Vec<String> {
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
    let mut rows = CsvRows::new(separator, header);
    let names = rows.next();
    names.map_or_else(Vec::new, |row| {
        row.iter().map(|name| name.trim().to_owned()).collect()
    })
}

/// The result of a pass over a text.
pub struct CsvScan {
    /// Number of values, the names in the header included.
    pub values: u64,
    /// Whether values have quotation marks that do not enclose them.
    stray: bool,
}

impl CsvScan {
    /// Fails at a quoted value of more than `longest` bytes, and at one without an end.
    pub fn new(path: &Path, text: &[u8], separator: u8, longest: usize) -> Result<Self> {
        let mut quotes = CsvQuotes::new(separator);
        let mut scan = Self {
            values: 0,
            stray: false,
        };
        let (mut line, mut opened) = (1u64, (0, 0));
        for (at, &byte) in text.iter().enumerate() {
            let was_open = quotes.is_open();
            match quotes.step(byte) {
                CsvByte::Quote if !was_open => opened = (at, line),
                CsvByte::End => scan.values += 1,
                CsvByte::Stray => scan.stray = true,
                CsvByte::Value | CsvByte::Quote => {}
            }
            line += u64::from(byte == b'\n');
            if quotes.is_open() && (at - opened.0 > longest || at + 1 == text.len()) {
                let what = match at - opened.0 > longest {
                    true => format!("a text in quotes has more than {}", bytes(longest as u64)),
                    false => "a text in quotes continues to the end of the file".into(),
                };
                let (at, line) = opened;
                return Err(Error::format(path, what)
                    .at(format!("the quotes opened in line {line}, at byte {at}"))
                    .fix("close the quotes, and double the quotation marks inside a quoted text: \"he said \"\"no\"\"\""));
            }
        }
        Ok(scan)
    }

    /// The text for Polars, which treats each quotation mark as one that opens or closes a quoted value: values with other
    /// quotation marks are put in quotes.
    pub fn quoted<'a>(&self, text: &'a [u8], separator: u8) -> Cow<'a, [u8]> {
        if !self.stray {
            return text.into();
        }
        let mut quotes = CsvQuotes::new(separator);
        let mut copy = Vec::with_capacity(text.len() + text.len() / 8);
        // The value so far with its quotation marks doubled, and where it begins.
        let (mut value, mut stray, mut first) = (Vec::new(), false, 0);
        let end = &b"\n"[..usize::from(!text.ends_with(b"\n"))];
        for (at, &byte) in text.iter().chain(end).enumerate() {
            match quotes.step(byte) {
                CsvByte::Quote => {}
                CsvByte::End => {
                    if stray {
                        let end = value.len() - usize::from(value.ends_with(b"\r"));
                        copy.push(b'"');
                        copy.extend_from_slice(&value[..end]);
                        copy.push(b'"');
                        copy.extend_from_slice(&value[end..]);
                    } else {
                        copy.extend_from_slice(&text[first..at]);
                    }
                    copy.push(byte);
                    (stray, first) = (false, at + 1);
                    value.clear();
                }
                is => {
                    stray |= is == CsvByte::Stray;
                    value.extend_from_slice(if byte == b'"' {
                        b"\"\""
                    } else {
                        std::slice::from_ref(&byte)
                    });
                }
            }
        }
        copy.into()
    }

    /// Approximate size in bytes of the copy that [`quoted`](Self::quoted) makes.
    pub fn copied(&self, text: &[u8]) -> u64 {
        if self.stray { text.len() as u64 } else { 0 }
    }
}
