//! Files of lines, JSON lines and CSV records, read in blocks that end with a record.

use std::path::Path;
use std::sync::Arc;

use crate::data::{CsvByte, CsvHeader, CsvQuotes, LONGEST_QUOTED};
use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::system::{Encoding, TextFile, line_of, not_utf8};
use crate::text::{bytes as in_words, shown_path};

use super::{BATCH_BYTES, Remarks};

/// What the records of a file are.
#[derive(Clone)]
pub(super) enum Split {
    /// Lines, each a text.
    Lines,
    /// Lines, each an object with the text in this field.
    Json(Arc<str>),
    /// Rows of values, of which this column is the text.
    Csv(Arc<CsvHeader>, usize),
}

/// Whole records of a file.
pub struct Records {
    pub(super) bytes: Vec<u8>,
    /// Bytes of the file that they were read from, which may be compressed.
    pub(super) read: u64,
    /// Where they begin in the text of the file.
    pub(super) offset: u64,
    /// The first line, counted from 1.
    pub(super) line: u64,
    pub(super) path: Arc<Path>,
    pub(super) split: Split,
}

/// Reads a file in blocks of whole records.
pub struct RecordReader {
    file: TextFile,
    path: Arc<Path>,
    remarks: Remarks,
    /// Bytes of the file that earlier blocks were read from.
    position: u64,
    split: Split,
    /// Bytes that were read and belong to the next block.
    rest: Vec<u8>,
    offset: u64,
    line: u64,
}

impl RecordReader {
    pub(super) fn new(
        path: &Path,
        split: Split,
        encoding: Option<Encoding>,
        remarks: &Remarks,
    ) -> Result<Self> {
        let mut file = TextFile::open_as(path, encoding)?;
        let (mut offset, mut line) = (0, 1);
        if let Split::Csv(header, _) = &split {
            remarks.add(path, &header.understood);
            // The line in which Excel names the separator.
            offset = header.start as u64;
            line += u64::from(offset > 0);
            file.append(header.start, &mut Vec::new())?;
        }
        Ok(Self {
            file,
            path: path.into(),
            remarks: remarks.clone(),
            position: 0,
            split,
            rest: Vec::new(),
            offset,
            line,
        })
    }

    pub(super) fn check_unchanged(&self) -> Result<()> {
        self.file.file().check_unchanged()
    }

    /// The next records; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Records>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut ends = RecordEnds::new(&self.split);
        loop {
            let read = self.file.append(BATCH_BYTES as usize, &mut bytes)?;
            let end = ends.last(&bytes);
            if (read as u64) < BATCH_BYTES {
                self.remarks.add(&self.path, &self.file.understood());
                if let Some(quote) = ends.open_quote {
                    return Err(self.not_closed(&bytes, quote, "the end of the file"));
                }
                return Ok((!bytes.is_empty()).then(|| self.block(bytes)));
            }
            if end > 0 {
                self.rest = bytes.split_off(end);
                return Ok(Some(self.block(bytes)));
            }
            if let Some(quote) = ends.open_quote
                && bytes.len() - quote > LONGEST_QUOTED
            {
                let limit = format!("the next {}", in_words(LONGEST_QUOTED as u64));
                return Err(self.not_closed(&bytes, quote, &limit));
            }
            // A record longer than a batch. It is read, tokenised and lower-cased: three copies.
            let what = format!("a text of {} in one line", in_words(bytes.len() as u64));
            check_free(bytes.len() as u64 * 3, &what)?;
        }
    }

    fn block(&mut self, bytes: Vec<u8>) -> Records {
        let before = std::mem::replace(&mut self.position, self.file.position());
        let records = Records {
            read: self.position - before,
            offset: self.offset,
            line: self.line,
            path: self.path.clone(),
            split: self.split.clone(),
            bytes,
        };
        self.offset += records.bytes.len() as u64;
        self.line += records.bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        records
    }

    fn not_closed(&self, bytes: &[u8], quote: usize, until: &str) -> Error {
        let lines = bytes[..quote].iter().filter(|&&byte| byte == b'\n').count();
        Error::format(
            &self.path,
            format!("a quotation mark is not closed until {until}"),
        )
        .at(format!(
            "byte {} (counted from 0), in line {}",
            self.offset + quote as u64,
            self.line + lines as u64
        ))
        .fix(
            "close it, and double the quotation marks inside a quoted text: \"he said \"\"no\"\"\"",
        )
    }
}

/// Looks for the ends of records in a growing buffer.
struct RecordEnds {
    /// Set for CSV, whose quoted values may contain line ends.
    quotes: Option<CsvQuotes>,
    scanned: usize,
    end: usize,
    /// The quotation mark that is open at the end of the scanned bytes.
    open_quote: Option<usize>,
}

impl RecordEnds {
    fn new(split: &Split) -> Self {
        Self {
            quotes: match split {
                Split::Csv(header, _) => Some(CsvQuotes::new(header.separator)),
                Split::Lines | Split::Json(_) => None,
            },
            scanned: 0,
            end: 0,
            open_quote: None,
        }
    }

    /// The end of the last whole record in the buffer; 0 where there is none.
    fn last(&mut self, bytes: &[u8]) -> usize {
        let new = &bytes[self.scanned..];
        let Some(quotes) = &mut self.quotes else {
            let last = new.iter().rposition(|&byte| byte == b'\n');
            self.end = last.map_or(self.end, |at| self.scanned + at + 1);
            self.scanned = bytes.len();
            return self.end;
        };
        for (at, &byte) in (self.scanned..).zip(new) {
            let is = quotes.step(byte);
            self.open_quote = quotes.is_open().then(|| self.open_quote.unwrap_or(at));
            if is == CsvByte::End && byte == b'\n' {
                self.end = at + 1;
            }
        }
        self.scanned = bytes.len();
        self.end
    }
}

impl Records {
    /// The records as text.
    pub(super) fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.bytes).map_err(|source| {
            let valid = source.valid_up_to();
            let line = self.line + line_of(&self.bytes, valid) - 1;
            not_utf8(&self.path, self.offset + valid as u64, line).because(source)
        })
    }

    /// An error in a line of the file.
    pub(super) fn wrong_line(&self, line: u64, what: impl std::fmt::Display) -> Error {
        Error::format(&self.path, what).at(format!("line {line}"))
    }

    pub(super) fn shown_path(&self) -> String {
        shown_path(&self.path)
    }
}
