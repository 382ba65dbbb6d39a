//! CSV, read with Polars.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use polars::prelude::{CsvReadOptions, DataFrame, DataType, Field, PolarsError, Schema, SerReader};
use rayon::prelude::*;

use crate::counts::rows::STAGE_BYTES;
use crate::data::csv_header;
use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::bytes;

use super::{COLUMNS, check_columns, check_rows};

/// Longest field in quotes: where more is in quotes, they are not closed.
const MAX_QUOTED: usize = 1 << 20;

pub(super) fn read(map: &MappedFile) -> Result<DataFrame> {
    let (path, text) = (map.path(), map.bytes()?);
    let invalid = |source: PolarsError| {
        Error::format(path, format!("cannot be read as CSV: {source}"))
            .fix("separate the columns by commas and name them doc, term and count")
            .because(source)
    };
    csv_header(map)?;
    check_rows(map.file(), count_lines(path, text)?)?;
    let header = CsvReadOptions::default()
        .with_n_rows(Some(0))
        .with_infer_schema_length(Some(0))
        .into_reader_with_file_handle(Cursor::new(text))
        .finish()
        .map_err(invalid)?;
    // Polars renames a second column of a name.
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

/// Counts the lines of the file, at most one more than its rows, and checks that quotes are closed: Polars takes minutes for
/// a hundred million lines in quotes.
fn count_lines(path: &Path, text: &[u8]) -> Result<u64> {
    let parts = text.par_chunks(STAGE_BYTES).map(|part| {
        let lines = part.iter().filter(|&&byte| byte == b'\n').count() as u64;
        (lines, part.contains(&b'"'))
    });
    let (lines, has_quotes) = parts.reduce(|| (0, false), |a, b| (a.0 + b.0, a.1 || b.1));
    if has_quotes {
        check_quotes(path, text)?;
    }
    Ok(lines + 1)
}

/// Fails at a text in quotes that is longer than a field can be.
fn check_quotes(path: &Path, text: &[u8]) -> Result<()> {
    // Where the quotes were opened: the byte and the line.
    let mut opened: Option<(usize, u64)> = None;
    let (mut start, mut line) = (0, 1);
    for part in text.chunks(STAGE_BYTES) {
        for (offset, &byte) in part.iter().enumerate() {
            match byte {
                b'\n' => line += 1,
                b'"' => {
                    opened = match opened {
                        None => Some((start + offset, line)),
                        Some(_) => None,
                    }
                }
                _ => {}
            }
        }
        start += part.len();
        if let Some((byte, line)) = opened
            && start - byte > MAX_QUOTED
        {
            let longest = bytes(MAX_QUOTED as u64);
            let what = format!("a text in quotes has more than {longest}");
            return Err(Error::format(path, what)
                .at(format!("the quotes opened in line {line}, at byte {byte}"))
                .fix("close the quotes, or leave out the column: doc, term and count need none"));
        }
    }
    Ok(())
}
