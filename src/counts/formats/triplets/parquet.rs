//! Parquet, read with Polars.
//!
//! Polars allocates what a file states: a wrong length ends the process. So the footer is walked before Polars parses it, and
//! the header of each page is held against the footer, the file and the memory before Polars decodes a page.

use std::ops::Range;
use std::path::Path;

use polars::io::parquet::read::FileMetadata;
use polars::prelude::{ArrowDataType, DataFrame, ParquetReader, PolarsError, SerReader};

use crate::counts::claim::Claim;
use crate::counts::rows::OpenFile;
use crate::error::{Error, Result};
use crate::text::bytes;

use super::thrift::{Record, Stop, Walk};
use super::{COLUMNS, check_columns, check_rows};

pub(super) const NOT_PARQUET: &str =
    "the file was truncated or is not a Parquet file: write it again";

/// Groups of columns in the schema; Polars calls itself for a group in a group.
const MAX_GROUPS: u64 = 256;

/// Bytes that Polars keeps for a structure of the footer, at most.
const RECORD_BYTES: u64 = 512;

/// Bytes that a page header can have, with statistics of long texts.
const MAX_HEADER: u64 = 1 << 20;

pub(super) fn read(path: &Path, file: &OpenFile) -> Result<DataFrame> {
    use ArrowDataType::{
        Dictionary, Float32, Float64, Int32, Int64, LargeUtf8, UInt32, UInt64, Utf8, Utf8View,
    };
    let invalid = |source: PolarsError| {
        Error::format(path, format!("cannot be read as Parquet: {source}"))
            .fix(NOT_PARQUET)
            .because(source)
    };
    check_footer(file)?;
    let handle = file
        .handle
        .try_clone()
        .map_err(|source| Error::io("read", path, source))?;
    let mut reader = ParquetReader::new(handle);
    let metadata = reader.get_metadata().map_err(invalid)?.clone();
    let fields = metadata.schema_descr.fields().iter();
    check_columns(
        path,
        fields.map(|field| field.get_field_info().name.as_str()),
    )?;
    let schema = reader.schema().map_err(invalid)?;
    // Checked before Polars reads the values: it panics on types that are not enabled in its build.
    for name in COLUMNS {
        let Some(field) = schema.get(name) else {
            continue;
        };
        let dtype = match &field.dtype {
            Int32 | Int64 | UInt32 | UInt64 | Float32 | Float64 => continue,
            Utf8 | LargeUtf8 | Utf8View | Dictionary(..) => "text".to_string(),
            other => format!("{other:?}"),
        };
        return Err(Error::format(
            path,
            format!("column {name} has type {dtype}, not an integer or float of 32 or 64 bits"),
        )
        .fix(
            "write doc and term as 64-bit integers from 0, and count as 64-bit integers or floats",
        ));
    }
    check_pages(file, &metadata)?;
    let reader = reader.with_columns(Some(COLUMNS.map(String::from).to_vec()));
    reader.finish().map_err(invalid)
}

fn claim(file: &OpenFile, what: String) -> Claim<'_> {
    let held = format!("a file of {}", bytes(file.length));
    Claim::new(file.path.as_path(), what, held)
}

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
    let stated = claim(file, format!("a footer of {}", bytes(length)));
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
        return Err(Error::format(&file.path, what)
            .fix("write a table with the columns doc, term and count"));
    }
    claim(file, format!("a footer of {} structures", walk.records))
        .check_memory(walk.records.saturating_mul(RECORD_BYTES))
}

/// Checks the sizes in the footer and in the headers of the pages that will be read.
fn check_pages(file: &OpenFile, metadata: &FileMetadata) -> Result<()> {
    let groups = &metadata.row_groups;
    let stored = groups.iter().map(|group| group.compressed_size() as u64);
    let stored = stored.fold(0, u64::saturating_add);
    let rows = groups.iter().map(|group| group.num_rows() as u64);
    let rows = rows.fold(0, u64::saturating_add);
    claim(file, format!("columns of {}", bytes(stored)))
        .at("its footer")
        .check_held(stored, file.length)?;
    check_rows(file, rows.max(metadata.num_rows as u64))?;
    let mut largest = 0;
    for (number, group) in groups.iter().enumerate() {
        for name in COLUMNS {
            for column in group.columns_under_root_iter(name).into_iter().flatten() {
                let chunk = Chunk {
                    place: format!("column {name}, row group {number}"),
                    range: column.byte_range(),
                    values: column.num_values(),
                };
                if u64::try_from(chunk.values) != Ok(group.num_rows() as u64) {
                    let (values, rows) = (chunk.values, group.num_rows());
                    let what = format!("{values} values for {rows} rows");
                    return Err(damaged(file, &what, chunk.place));
                }
                largest = largest.max(chunk.largest_page(file)?);
            }
        }
    }
    // Each thread decompresses a page, and keeps the memory of the one before.
    let buffers = 2 * rayon::current_num_threads() as u64;
    claim(file, format!("a page of {}", bytes(largest)))
        .check_memory(largest.saturating_mul(buffers))
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
            claim(file, format!("a page of {}", bytes(compressed as u64)))
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
