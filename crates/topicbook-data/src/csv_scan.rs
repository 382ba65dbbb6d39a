//! The text of a CSV file before Polars parses it: its size, and its quotation marks.

use std::borrow::Cow;
use std::path::Path;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::text::{bytes, occurrences};

use super::{CsvByte, CsvQuotes, LONGEST_QUOTED};

/// Bytes that a thread looks at in one go.
const CHUNK: usize = 1 << 20;

/// The result of a pass over a text.
#[derive(Clone, Copy, Default)]
pub struct CsvScan {
    /// Number of rows and of values, the header included.
    pub rows: u64,
    pub values: u64,
    /// Whether values have quotation marks that do not enclose them.
    stray: bool,
}

impl CsvScan {
    /// Fails at a quoted value that is too long, and at one without an end.
    pub fn new(path: &Path, text: &[u8], separator: u8) -> Result<Self> {
        let bytes_of = [b'\n', separator, b'"'];
        let [lines, separators, quotes] = text
            .par_chunks(CHUNK)
            .map(|chunk| bytes_of.map(|byte| occurrences(chunk, byte)))
            .reduce(Default::default, |a, b| {
                [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
            });
        match quotes {
            0 => Ok(Self {
                // The last line may have no end.
                rows: lines + 1,
                values: lines + separators,
                stray: false,
            }),
            _ => Self::with_quotes(path, text, separator),
        }
    }

    fn with_quotes(path: &Path, text: &[u8], separator: u8) -> Result<Self> {
        let mut quotes = CsvQuotes::new(separator);
        let mut scan = Self {
            rows: 1,
            ..Self::default()
        };
        let (mut line, mut opened) = (1u64, (0, 0));
        for (at, &byte) in text.iter().enumerate() {
            let was_open = quotes.is_open();
            match quotes.step(byte) {
                CsvByte::Quote if !was_open => opened = (at, line),
                CsvByte::End => {
                    scan.values += 1;
                    scan.rows += u64::from(byte == b'\n');
                }
                CsvByte::Stray => scan.stray = true,
                CsvByte::Value | CsvByte::Quote => {}
            }
            line += u64::from(byte == b'\n');
            if quotes.is_open() && (at - opened.0 > LONGEST_QUOTED || at + 1 == text.len()) {
                let what = match at - opened.0 > LONGEST_QUOTED {
                    true => format!(
                        "a text in quotes has more than {}",
                        bytes(LONGEST_QUOTED as u64)
                    ),
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
