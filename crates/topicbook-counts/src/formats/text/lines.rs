//! The lines of a text file, compressed or not.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::system::{OpenFile, TextFile};
use crate::text::bytes;

/// Longest line, in bytes: a file without line ends would be read into memory as a whole.
const MAX_LINE: u64 = 1 << 20;
/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// Reads a file line by line, in bounded memory, and counts the lines.
pub(super) struct Lines<'a> {
    file: &'a OpenFile,
    reader: BufReader<TextFile>,
    line: Vec<u8>,
    /// The number of the last line that was read, from 1.
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a OpenFile) -> Result<Self> {
        Ok(Self {
            file,
            reader: BufReader::with_capacity(BUFFER, TextFile::open(&file.path)?),
            line: Vec::new(),
            number: 0,
        })
    }

    pub(super) fn path(&self) -> &'a Path {
        &self.file.path
    }

    pub(super) fn file(&self) -> &'a OpenFile {
        self.file
    }

    /// Most bytes of text that the file can hold.
    pub(super) fn most_bytes(&self) -> u64 {
        self.reader.get_ref().most_bytes()
    }

    /// The next line without its end and without space around it; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let read = (&mut self.reader)
            .take(MAX_LINE)
            .read_until(b'\n', &mut self.line);
        self.number += 1;
        match read {
            Err(source) => Err(self.reader.get_ref().failed(source)),
            Ok(0) => Ok(None),
            Ok(length) if length as u64 == MAX_LINE => {
                let what = format!("has a line of more than {}", bytes(MAX_LINE));
                Err(self.wrong(what).fix("is it a text file? copy it again"))
            }
            Ok(_) => Ok(Some(self.line.trim_ascii())),
        }
    }

    /// The next line that is neither blank nor starts with `comment`.
    pub(super) fn next_content(&mut self, comment: Option<u8>) -> Result<Option<&[u8]>> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some(line) if line.is_empty() || line.first().copied() == comment => {}
                Some(_) => return Ok(Some(self.line.trim_ascii())),
            }
        }
    }

    /// An error at the last line that was read.
    pub(super) fn wrong(&self, what: String) -> Error {
        Error::format(self.path(), what).at(self.place())
    }

    pub(super) fn place(&self) -> String {
        format!("line {}", self.number)
    }
}

/// A line for messages, cut to a length that fits them.
pub(super) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(60)]);
    format!("{text:?}")
}
