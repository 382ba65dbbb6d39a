//! Collects the entries of a sparse matrix, one per line, as CSR.

use crate::csr::{Csr, CsrDefect};
use crate::error::{Error, Result};
use crate::formats::invalid_value;
use crate::text::counted;
use crate::{Counts, Location};

use super::lines::{Lines, shown};

/// Fewest bytes of an entry: two numbers of one digit, the space between them and the end of the line.
const MIN_ENTRY: u64 = 4;
/// Bytes of an entry in CSR.
const ENTRY_BYTES: u64 = 8;
/// Additional bytes of an entry if entries are not in order: its row, and its position and its values once more during the
/// sort.
const UNSORTED_BYTES: u64 = 4 + 8 + ENTRY_BYTES;

/// What the head of a file states.
pub(super) struct Head {
    pub(super) documents: u64,
    pub(super) terms: u64,
    pub(super) entries: u64,
    /// Whether the first number of a line is the term.
    pub(super) transposed: bool,
    /// Whether lines have no third number: every entry is a count of 1.
    pub(super) pattern: bool,
    /// The remedy where the file is wrong.
    pub(super) fix: &'static str,
}

/// Entries by rows as long as they come in order of the rows; otherwise with the row of each.
struct Entries {
    /// Number of entries of row `i` at `i + 1`.
    lengths: Vec<u64>,
    /// The row of each entry, from the first one that is out of order on.
    rows: Option<Vec<u32>>,
    last: usize,
    columns: Vec<u32>,
    counts: Vec<f32>,
}

/// Reads all entries. The head has been read.
pub(super) fn read(mut lines: Lines<'_>, head: &Head) -> Result<Counts> {
    let most = u64::from(u32::MAX);
    if head.documents >= most || head.terms >= most {
        let (n, m) = (head.documents, head.terms);
        return Err(lines
            .wrong(format!(
                "a shape of {n} × {m} is out of range: below {most} each"
            ))
            .fix(head.fix));
    }
    let (documents, terms) = (head.documents as usize, head.terms as usize);
    let claim = lines
        .file()
        .claim(format!(
            "{} × {} with {}",
            counted(documents, "document"),
            counted(terms, "term"),
            counted(head.entries as usize, "count")
        ))
        .at(lines.place());
    claim.check_held(
        head.entries.saturating_mul(MIN_ENTRY),
        lines.most_bytes() + 1,
    )?;
    claim.check_memory((head.documents + 2) * 8 + head.entries.saturating_mul(ENTRY_BYTES))?;
    let mut entries = Entries {
        lengths: vec![0; documents + 1],
        rows: None,
        last: 0,
        columns: Vec::with_capacity(head.entries as usize),
        counts: Vec::with_capacity(head.entries as usize),
    };
    let path = lines.path();
    let mut found = 0;
    while let Some(line) = lines.next_content(None)? {
        if found == head.entries {
            let what = format!("has more than the {found} entries that its head states");
            return Err(lines.wrong(what).fix(head.fix));
        }
        found += 1;
        let (row, column, count) = match parse(line, head) {
            Ok(entry) => entry,
            Err(what) => {
                let what = format!("{what}: {}", shown(line));
                return Err(lines.wrong(what).fix(head.fix));
            }
        };
        if !invalid_value::is_sparse_count(count) {
            let error = invalid_value::no_sparse_count(count, row, column, Some(path));
            let place = invalid_value::place(row, column);
            return Err(error.at(format!("{place}; {}", lines.place())));
        }
        if count != 0.0 {
            if row < entries.last && entries.rows.is_none() {
                claim.check_memory(head.entries.saturating_mul(UNSORTED_BYTES))?;
            }
            entries.push(row, column as u32, count as f32);
        }
    }
    if found < head.entries {
        let what = format!(
            "has {found} of the {} entries that its head states",
            head.entries
        );
        return Err(lines.wrong(what).fix(head.fix));
    }
    lines.file().check_unchanged()?;
    let csr = entries
        .finish(documents, terms)
        .map_err(|problem| problem.in_file(path))?;
    Counts::from_csr(documents, terms, csr, Location::Loaded(path.to_path_buf()))
}

impl Entries {
    fn push(&mut self, row: usize, column: u32, count: f32) {
        if row < self.last && self.rows.is_none() {
            let mut rows = Vec::with_capacity(self.columns.capacity());
            for (row, &length) in self.lengths[1..].iter().enumerate() {
                rows.extend(std::iter::repeat_n(row as u32, length as usize));
            }
            self.rows = Some(rows);
        }
        match &mut self.rows {
            Some(rows) => rows.push(row as u32),
            None => {
                self.last = row;
                self.lengths[row + 1] += 1;
            }
        }
        self.columns.push(column);
        self.counts.push(count);
    }

    fn finish(self, documents: usize, terms: usize) -> std::result::Result<Csr, CsrDefect> {
        let (mut indptr, columns, counts) = (self.lengths, self.columns, self.counts);
        match self.rows {
            Some(rows) => Csr::from_triplets(documents, &rows, &columns, &counts, |entry| {
                format!("entry {}", entry + 1)
            }),
            None => {
                for row in 0..documents {
                    indptr[row + 1] += indptr[row];
                }
                Csr::new(documents, terms, indptr, columns, counts)
            }
        }
    }
}

/// The document, term (both from 0) and count of a line; what is wrong with it otherwise.
fn parse(line: &[u8], head: &Head) -> std::result::Result<(usize, usize, f64), String> {
    let mut fields = line
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty());
    let (first, second) = (fields.next(), fields.next());
    let expected = if head.pattern { 2 } else { 3 };
    let count = match head.pattern {
        true => Some(1.0),
        false => fields.next().and_then(number),
    };
    let (Some(first), Some(second), Some(count), None) = (
        first.and_then(index),
        second.and_then(index),
        count,
        fields.next(),
    ) else {
        return Err(format!("a line should have {expected} numbers"));
    };
    let (document, term) = match head.transposed {
        true => (second, first),
        false => (first, second),
    };
    for (id, size, what) in [
        (document, head.documents, "document"),
        (term, head.terms, "term"),
    ] {
        if id == 0 {
            return Err(format!("{what} 0 of a format whose numbers start at 1"));
        }
        if id > size {
            return Err(format!("{what} {id} of {size}"));
        }
    }
    Ok((document as usize - 1, term as usize - 1, count))
}

/// A whole number without a sign.
pub(super) fn whole(field: &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!field.is_empty()).then_some(number)
}

/// A whole number, which R writes as `1e+05` where that is shorter.
fn index(field: &[u8]) -> Option<u64> {
    let rounded = || {
        number(field).filter(|&number| {
            number >= 0.0 && number < u64::from(u32::MAX) as f64 && number.trunc() == number
        })
    };
    whole(field).or_else(|| rounded().map(|number| number as u64))
}

fn number(field: &[u8]) -> Option<f64> {
    match whole(field) {
        Some(number) => Some(number as f64),
        None => std::str::from_utf8(field).ok()?.parse().ok(),
    }
}

/// The whole numbers of a line of the head.
pub(super) fn numbers<const N: usize>(line: &[u8]) -> Option<[u64; N]> {
    let mut found = [0; N];
    let mut fields = line
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty());
    for number in &mut found {
        *number = index(fields.next()?)?;
    }
    fields.next().is_none().then_some(found)
}

/// The error for a head that has not the numbers that it should have.
pub(super) fn wrong_head(lines: &Lines<'_>, line: Option<&str>, what: &str, fix: &str) -> Error {
    let what = match line {
        Some(line) => format!("{what}: {line}"),
        None => format!("{what}, and the file ends"),
    };
    lines.wrong(what).fix(fix)
}
