//! CSV, read with Polars.

use std::io::Cursor;
use std::sync::Arc;

use polars::prelude::{CsvReadOptions, DataFrame, DataType, Field, PolarsError, Schema, SerReader};
use rayon::prelude::*;

use crate::data::{CsvScan, csv_header};
use crate::error::{Error, Result};
use crate::rows::STAGE_BYTES;
use crate::system::MappedFile;

use super::{COLUMNS, check_columns, check_rows};

/// Longest quoted field: a longer one has no closing quotes. Polars takes minutes for a hundred million lines in quotes.
const MAX_QUOTED: usize = 1 << 20;

pub(super) fn read(map: &MappedFile) -> Result<DataFrame> {
    let (path, text) = (map.path(), map.bytes()?);
    let invalid = |source: PolarsError| {
        Error::format(path, format!("cannot be read as CSV: {source}"))
            .fix("separate the columns by commas and name them doc, term and count")
            .because(source)
    };
    csv_header(map)?;
    let (lines, has_quotes) = count_lines(text);
    check_rows(map.file(), lines)?;
    let text = match has_quotes {
        true => CsvScan::new(path, text, b',', MAX_QUOTED)?.quoted(text, b','),
        false => text.into(),
    };
    let text = text.as_ref();
    let header = CsvReadOptions::default()
        .with_n_rows(Some(0))
        .with_infer_schema_length(Some(0))
        .into_reader_with_file_handle(Cursor::new(text))
        .finish()
        .map_err(invalid)?;
    // Polars renames the second of two columns with one name.
    let names = header.get_column_names().into_iter().map(|name| {
        let (first, again) = name.split_once("_duplicated_").unwrap_or((name, ""));
        match COLUMNS.contains(&first) && again.parse::<usize>().is_ok() {
            true => first,
            false => name,
        }
    });
    check_columns(path, names, &COLUMNS)?;
    let schema = Schema::from_iter([
        Field::new(COLUMNS[0].into(), DataType::Int64),
        Field::new(COLUMNS[1].into(), DataType::Int64),
        Field::new(COLUMNS[2].into(), DataType::Float64),
    ]);
    // Cells that are not numbers become nulls, which `first_null` reports with their row and column; the error of
    // Polars names neither.
    CsvReadOptions::default()
        .with_infer_schema_length(Some(0))
        .with_schema_overwrite(Some(Arc::new(schema)))
        .with_columns(Some(COLUMNS.map(Into::into).into()))
        .with_ignore_errors(true)
        .into_reader_with_file_handle(Cursor::new(text))
        .finish()
        .map_err(invalid)
}

/// The number of lines of the file, at most one more than its rows, and whether it has quotation marks.
fn count_lines(text: &[u8]) -> (u64, bool) {
    let chunks = text.par_chunks(STAGE_BYTES).map(|chunk| {
        let lines = chunk.iter().filter(|&&byte| byte == b'\n').count() as u64;
        (lines, chunk.contains(&b'"'))
    });
    let (lines, has_quotes) = chunks.reduce(|| (0, false), |a, b| (a.0 + b.0, a.1 || b.1));
    (lines + 1, has_quotes)
}
