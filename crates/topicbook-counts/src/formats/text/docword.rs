//! Bags of words as the UCI machine learning repository ships them: `docword.*.txt`.

use std::path::Path;

use crate::Counts;
use crate::error::Result;
use crate::system::OpenFile;

use super::entries::{Head, numbers, read, wrong_head};
use super::lines::{Lines, shown};

const FIX: &str = "a .txt file of counts is UCI's docword: three lines with the numbers of documents, terms and entries, then lines with document, term and count, numbered from 1. Copy it again where it was truncated; texts themselves are no counts yet";

/// Reads a file into memory.
pub fn open(path: &Path) -> Result<Counts> {
    let file = OpenFile::open(path)?;
    let mut lines = Lines::new(&file)?;
    let mut sizes = [0; 3];
    for (size, what) in sizes.iter_mut().zip(["documents", "terms", "entries"]) {
        let line = lines.next_content(None)?;
        let (number, line) = (line.and_then(numbers::<1>), line.map(shown));
        let Some([number]) = number else {
            let what = format!("should state the number of {what}");
            return Err(wrong_head(&lines, line.as_deref(), &what, FIX));
        };
        *size = number;
    }
    let [documents, terms, entries] = sizes;
    let head = Head {
        documents,
        terms,
        entries,
        transposed: false,
        pattern: false,
        fix: FIX,
    };
    read(lines, &head)
}
