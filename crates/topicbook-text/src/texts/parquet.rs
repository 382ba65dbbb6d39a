//! Texts in a column of a Parquet file, read by row groups.

use std::io::Cursor;
use std::path::Path;

use polars::prelude::{ParquetReader, SerReader, StringChunked};

use crate::data::parquet::{self, NOT_PARQUET, check_pages, check_types, guard};
use crate::data::{Documents, Table};
use crate::error::{Error, Result};
use crate::system::{MappedFile, OpenFile};

use super::csv_shape::no_text;
use super::{BATCH_BYTES, TEXT};

/// Rows that are decoded at once, where a row group has more.
const ROWS: usize = 1 << 14;

/// A pass over the texts of a file.
pub struct ParquetTexts {
    map: MappedFile,
    column: String,
    rows: usize,
    /// Number of rows decoded so far.
    decoded: usize,
    /// The texts of the last decoded rows, and how many of them were taken. Several rows may share one text of the file.
    ready: StringChunked,
    taken: usize,
}

impl ParquetTexts {
    pub(super) fn new(path: &Path, column: Option<&str>) -> Result<Self> {
        let map = MappedFile::new(OpenFile::open(path)?)?;
        let column = column.unwrap_or(TEXT).to_owned();
        let (metadata, schema) = parquet::open(&map)?;
        if !schema.contains(&column) {
            let names: Vec<String> = schema.iter_names().map(ToString::to_string).collect();
            return Err(no_text(path, &column, &names));
        }
        let field = schema
            .iter_values()
            .filter(|field| field.name.as_str() == column);
        check_types(path, field)?;
        check_pages(map.file(), &metadata, &[&column])?;
        Ok(Self {
            rows: metadata.num_rows,
            map,
            column,
            decoded: 0,
            ready: StringChunked::default(),
            taken: 0,
        })
    }

    pub(super) fn check_unchanged(&self) -> Result<()> {
        self.map.check_unchanged()
    }

    /// The next texts, and their bytes; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Vec<String>, u64)>> {
        if self.taken == self.ready.len() {
            self.decode()?;
        }
        let (mut texts, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES && self.taken < self.ready.len() {
            let text = self.ready.get(self.taken).unwrap_or_default();
            bytes += text.len() as u64;
            texts.push(text.to_owned());
            self.taken += 1;
        }
        Ok((!texts.is_empty()).then_some((texts, bytes)))
    }

    fn decode(&mut self) -> Result<()> {
        let rows = ROWS.min(self.rows - self.decoded);
        if rows == 0 {
            return Ok(());
        }
        let path = self.map.path();
        let reader = ParquetReader::new(Cursor::new(self.map.bytes()?))
            .with_columns(Some(vec![self.column.clone()]))
            .with_slice(Some((self.decoded, rows)));
        let frame = guard(path, || reader.finish())?;
        self.map.check_unchanged()?;
        let column = guard(path, || frame.column(&self.column))?;
        let Ok(texts) = column.str() else {
            let what = format!(
                "column {:?} has type {}, not text",
                self.column,
                column.dtype()
            );
            return Err(Error::format(path, what).fix("name the column that has the text"));
        };
        if texts.len() != rows {
            let what = format!("has {} of {rows} rows", texts.len());
            return Err(Error::format(path, what).fix(NOT_PARQUET));
        }
        if let Some(row) = texts.iter().position(|text| text.is_none()) {
            return Err(Error::format(path, "a text is missing")
                .at(format!("row {} (counted from 0)", self.decoded + row))
                .fix("leave such rows out, or write an empty text there"));
        }
        self.ready = texts.clone();
        self.taken = 0;
        self.decoded += rows;
        Ok(())
    }
}

/// The documents of a file: its other columns.
pub(super) fn documents(path: &Path, column: Option<&str>) -> Result<Documents> {
    let map = MappedFile::new(OpenFile::open(path)?)?;
    let column = column.unwrap_or(TEXT);
    let (metadata, schema) = parquet::open(&map)?;
    check_types(path, schema.iter_values())?;
    let others: Vec<String> = schema
        .iter_names()
        .filter(|name| name.as_str() != column)
        .map(ToString::to_string)
        .collect();
    if others.is_empty() {
        return Documents::numbered(metadata.num_rows);
    }
    let names: Vec<&str> = others.iter().map(String::as_str).collect();
    check_pages(map.file(), &metadata, &names)?;
    let mut reader = ParquetReader::new(Cursor::new(map.bytes()?));
    reader.set_metadata(metadata);
    let frame = guard(path, || reader.with_columns(Some(others)).finish())?;
    map.check_unchanged()?;
    Documents::from_table(&Table::from(frame))
}
