//! A walk of a Parquet file's footer and page headers before Polars reads it.
//!
//! Polars allocates what a file states, so a wrong length ends the process. Therefore the footer is walked before Polars
//! parses it. The header of each page is checked against the footer, the file and the memory before Polars decodes a page.

mod schema;
mod thrift;

use std::ops::Range;
use std::path::Path;

use polars::io::parquet::read::FileMetadata;
use polars::prelude::PolarsResult;

use crate::error::{Error, Result};
use crate::polars_input::guard_as;
use crate::system::OpenFile;
use crate::text::bytes;

pub use schema::open;
use thrift::{Record, Stop, Walk};

/// The remedy for a file that is not a Parquet file, or is damaged.
pub const NOT_PARQUET: &str = "the file was truncated or is not a Parquet file: write it again";

/// Maximum number of groups of columns in the schema; Polars recurses for a group in a group.
const MAX_GROUPS: u64 = 256;

/// Upper bound of the bytes that Polars keeps for a structure of the footer.
const RECORD_BYTES: u64 = 512;

/// Upper bound of the bytes of a page header with statistics of long texts.
const MAX_HEADER: u64 = 1 << 20;

fn damaged(file: &OpenFile, what: &str, place: String) -> Error {
    Error::format(&file.path, format!("is damaged: {what}"))
        .at(place)
        .fix(NOT_PARQUET)
}

fn stopped(file: &OpenFile, stop: Stop, place: String) -> Error {
    match stop {
        Stop::Truncated => damaged(file, "a structure has no end", place),
        Stop::Damaged(what) => damaged(file, &what, place),
    }
}

/// Checks the structures of the footer, which the last 8 bytes locate: its length, and `PAR1`.
fn check_footer(file: &OpenFile) -> Result<()> {
    let not_parquet =
        || Error::format(&file.path, "does not start and end like a Parquet file").fix(NOT_PARQUET);
    let end = file.length.checked_sub(8).ok_or_else(not_parquet)?;
    let mut tail = [0; 8];
    file.read_exact_at(end, &mut tail)?;
    let [length @ .., b'P', b'A', b'R', b'1'] = tail else {
        return Err(not_parquet());
    };
    let length = u64::from(u32::from_le_bytes(length));
    let stated = file.claim(format!("a footer of {}", bytes(length)));
    stated.check_held(length, end)?;
    stated.check_memory(length)?;
    let mut footer = vec![0; length as usize];
    file.read_exact_at(end - length, &mut footer)?;
    let mut groups = 0;
    let mut walk = Walk::new(&footer);
    walk.record(Record::File, &mut |record, field, value| {
        /// Number of children in the schema.
        const CHILDREN: i16 = 5;
        groups += u64::from((record, field) == (Record::Schema, CHILDREN) && value > 0);
    })
    .map_err(|stop| stopped(file, stop, "its footer".into()))?;
    if groups > MAX_GROUPS {
        let what = format!("its schema has {groups} groups of columns, more than {MAX_GROUPS}");
        return Err(Error::format(&file.path, what).fix("write a table with fewer nested columns"));
    }
    file.claim(format!("a footer of {} structures", walk.records))
        .check_memory(walk.records.saturating_mul(RECORD_BYTES))
}

/// Calls Polars; its errors and panics become errors that name the file. The walk checks only sizes, and Polars panics on some
/// damaged values, such as lengths of texts that exceed their page.
pub fn guard<T>(path: &Path, read: impl FnOnce() -> PolarsResult<T>) -> Result<T> {
    guard_as("Parquet", NOT_PARQUET, path, read)
}

/// The number of rows that the footer states: its own total or the sum over its row groups, whichever is larger.
pub fn rows(metadata: &FileMetadata) -> u64 {
    let groups = metadata.row_groups.iter();
    let rows = groups.map(|group| group.num_rows() as u64);
    rows.fold(0, u64::saturating_add)
        .max(metadata.num_rows as u64)
}

/// Checks the sizes in the footer and in the headers of the pages of these columns. Returns the number of their values.
pub fn check_pages(file: &OpenFile, metadata: &FileMetadata, columns: &[&str]) -> Result<u64> {
    let groups = &metadata.row_groups;
    let stored = groups.iter().map(|group| group.compressed_size() as u64);
    let stored = stored.fold(0, u64::saturating_add);
    file.claim(format!("columns of {}", bytes(stored)))
        .at("its footer")
        .check_held(stored, file.length)?;
    let (mut largest, mut values) = (0, 0u64);
    for (number, group) in groups.iter().enumerate() {
        for name in columns {
            for column in group.columns_under_root_iter(name).into_iter().flatten() {
                let chunk = Chunk {
                    place: format!("column {name}, row group {number}"),
                    range: column.byte_range(),
                    values: column.num_values(),
                };
                // A row of lists has as many values as its list.
                let lists = column.descriptor().descriptor.max_rep_level > 0;
                match u64::try_from(chunk.values) {
                    Ok(found) if lists || found == group.num_rows() as u64 => {
                        values = values.saturating_add(found);
                    }
                    _ => {
                        let (values, rows) = (chunk.values, group.num_rows());
                        let what = format!("{values} values for {rows} rows");
                        return Err(damaged(file, &what, chunk.place));
                    }
                }
                largest = largest.max(chunk.largest_page(file)?);
            }
        }
    }
    // Each thread decompresses a page, and keeps the memory of the previous page.
    let buffers = 2 * rayon::current_num_threads() as u64;
    file.claim(format!("a page of {}", bytes(largest)))
        .check_memory(largest.saturating_mul(buffers))?;
    Ok(values)
}

/// A column of a row group.
struct Chunk {
    place: String,
    /// Bytes in the file.
    range: Range<u64>,
    /// Number of values, nulls included.
    values: i64,
}

/// Numbers in the header of a page; -1 where they are missing.
#[derive(Clone, Copy)]
struct Page {
    kind: i64,
    compressed: i64,
    uncompressed: i64,
    /// By the kind of page: data, dictionary, data of version 2.
    values: [i64; 3],
    levels: [i64; 2],
}

impl Chunk {
    /// Checks the headers of all pages. Returns the bytes of the largest page, decompressed.
    fn largest_page(&self, file: &OpenFile) -> Result<u64> {
        if self.range.start > self.range.end || self.range.end > file.length {
            let Range { start, end } = self.range;
            let what = format!("its pages are said to be at bytes {start} to {end}");
            return Err(damaged(file, &what, self.place.clone()));
        }
        let (mut seen, mut at, mut largest) = (0, self.range.start, 0);
        while seen < self.values {
            let place = || format!("{}, page at byte {at}", self.place);
            let (page, header) = self.page(file, at)?;
            let body = at + header;
            let sizes = [page.compressed, page.uncompressed].map(i32::try_from);
            let [Ok(compressed @ 0..), Ok(uncompressed @ 0..)] = sizes else {
                return Err(damaged(file, "a size of a page is out of range", place()));
            };
            file.claim(format!("a page of {}", bytes(compressed as u64)))
                .at(place())
                .check_held(compressed as u64, self.range.end.saturating_sub(body))?;
            let [data, dictionary, data_v2] = page.values;
            let (values, most) = match page.kind {
                0 => (data, self.values - seen),
                // Values of a dictionary have 4 bytes or 8.
                2 => (dictionary, i64::from(uncompressed) / 4),
                3 => (data_v2, self.values - seen),
                _ => (-1, 0),
            };
            if !(0..=most).contains(&values) {
                let what = format!("a page states {values} values, and there are {most} at most");
                return Err(damaged(file, &what, place()));
            }
            if page.kind == 3 {
                let longest = i64::from(compressed.min(uncompressed));
                let [definition, repetition] = page.levels;
                let held = 0..=longest;
                if !(held.contains(&definition)
                    && held.contains(&repetition)
                    && held.contains(&(definition + repetition)))
                {
                    return Err(damaged(file, "levels longer than their page", place()));
                }
            }
            if page.kind != 2 {
                seen += values;
            }
            largest = largest.max(uncompressed as u64);
            at = body + compressed as u64;
        }
        Ok(largest)
    }

    /// Reads the header of the page at byte `at`. Returns it with its length.
    fn page(&self, file: &OpenFile, at: u64) -> Result<(Page, u64)> {
        let most = self.range.end.saturating_sub(at).min(MAX_HEADER);
        let mut length = most.min(1 << 10);
        loop {
            let mut header = vec![0; length as usize];
            file.read_exact_at(at, &mut header)?;
            let mut page = Page {
                kind: -1,
                compressed: -1,
                uncompressed: -1,
                values: [-1; 3],
                levels: [-1; 2],
            };
            let mut walk = Walk::new(&header);
            let walked = walk.record(Record::Page, &mut |record, field, value| {
                let number = match (record, field) {
                    (Record::Page, 1) => &mut page.kind,
                    (Record::Page, 2) => &mut page.uncompressed,
                    (Record::Page, 3) => &mut page.compressed,
                    (Record::DataPage, 1) => &mut page.values[0],
                    (Record::DictionaryPage, 1) => &mut page.values[1],
                    (Record::DataPageV2, 1) => &mut page.values[2],
                    (Record::DataPageV2, 5) => &mut page.levels[0],
                    (Record::DataPageV2, 6) => &mut page.levels[1],
                    _ => return,
                };
                *number = value;
            });
            match walked {
                Ok(()) => return Ok((page, walk.position() as u64)),
                Err(Stop::Truncated) if length < most => length = most.min(length << 5),
                Err(stop) => {
                    let place = format!("{}, header of the page at byte {at}", self.place);
                    return Err(stopped(file, stop, place));
                }
            }
        }
    }
}
