//! Sizes that a file states, checked before memory of that size is allocated.

use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::text::{bytes, shown_path};

use super::memory::free_memory;

/// Memory that is allocated without a check of the free memory, which takes a tenth of a millisecond.
const SMALL: u64 = 16 << 20;

/// Upper bound of the memory of a parsed JSON text: its texts, a value in a list of capacity four for each bracket and comma,
/// and a map of capacity eleven for each brace.
pub fn parsed_json(json: &[u8]) -> u64 {
    let of = |byte: &u8| match byte {
        b'{' => 640,
        b'[' | b',' => 192,
        _ => 4,
    };
    json.iter().map(of).sum()
}

/// A size that a file states, or that follows from the numbers in it.
pub struct Claim<'a> {
    /// The file; `None` for counts in memory.
    path: Option<&'a Path>,
    /// What is stated: "6 documents × 4,294,967,295 terms".
    what: String,
    /// What the file holds, or can hold at most: "12 stored counts", "a file of 3.1 KiB".
    held: String,
    place: Option<String>,
}

impl<'a> Claim<'a> {
    pub fn new(
        path: impl Into<Option<&'a Path>>,
        what: impl Into<String>,
        held: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            what: what.into(),
            held: held.into(),
            place: None,
        }
    }

    /// Sets the place of the claim in the file: an entry, a column, a page.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Fails if `claimed` is more than the file can hold.
    pub fn check_held(&self, claimed: u64, most: u64) -> Result<()> {
        if claimed <= most {
            return Ok(());
        }
        Err(self.error(
            ErrorKind::Format,
            format!("; {} of memory are free", bytes(free_memory())),
            "the file was truncated or damaged: copy it again, or write it again",
        ))
    }

    /// Fails if `needed` bytes are more than nine tenths of the free memory; the rest of the process keeps a tenth.
    pub fn check_memory(&self, needed: u64) -> Result<()> {
        if needed <= SMALL {
            return Ok(());
        }
        let free = free_memory();
        if needed <= free - free / 10 {
            return Ok(());
        }
        Err(self.error(
            ErrorKind::Space,
            format!(
                "; that needs {} of memory, and {} are free",
                bytes(needed),
                bytes(free)
            ),
            "look for a wrong id or a damaged header where the size surprises you; otherwise free some memory, or use fewer documents or terms",
        ))
    }

    fn error(&self, kind: ErrorKind, memory: String, fix: &str) -> Error {
        let Self { what, held, .. } = self;
        let file = match self.path {
            Some(path) => format!("{}: ", shown_path(path)),
            None => String::new(),
        };
        let error = Error::new(kind, format!("{file}{what} for {held}{memory}")).fix(fix);
        match &self.place {
            Some(place) => error.at(place),
            None => error,
        }
    }
}
