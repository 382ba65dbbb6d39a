//! CSV, read with Polars.

use std::io::Cursor;
use std::sync::Arc;

use polars::prelude::{CsvReadOptions, DataFrame, DataType, Field, PolarsError, Schema, SerReader};
use rayon::prelude::*;

use crate::counts::rows::STAGE_BYTES;
use crate::data::csv_header;
use crate::error::{Error, Result};
use crate::system::{MappedFile, OpenFile};
use crate::text::bytes;

use super::{COLUMNS, check_columns, check_rows};

/// Longest field in quotes: where more is in quotes, they are not closed.
const MAX_QUOTED: usize = 1 << 20;

pub(super) fn read(map: &MappedFile) -> Result<DataFrame> {
    let (path, file) = (map.path(), map.file());
    let invalid = |source: PolarsError| {
        Error::format(path, format!("cannot be read as CSV: {source}"))
            .fix("separate the columns by commas and name them doc, term and count")
            .because(source)
    };
    csv_header(file)?;
    check_rows(file, count_lines(file)?)?;
    let text = map.bytes()?;
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
    check_columns(path, names)?;
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
fn count_lines(file: &OpenFile) -> Result<u64> {
    let starts: Vec<u64> = (0..file.length).step_by(STAGE_BYTES).collect();
    let parts: Result<Vec<(u64, bool)>> = starts
        .into_par_iter()
        .map_init(Vec::new, |buffer, start| {
            let part = read_part(file, start, buffer)?;
            let lines = part.iter().filter(|&&byte| byte == b'\n').count() as u64;
            Ok((lines, part.contains(&b'"')))
        })
        .collect();
    let parts = parts?;
    if parts.iter().any(|part| part.1) {
        check_quotes(file)?;
    }
    Ok(parts.iter().map(|part| part.0).sum::<u64>() + 1)
}

fn read_part<'a>(file: &OpenFile, start: u64, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    buffer.resize((file.length - start).min(STAGE_BYTES as u64) as usize, 0);
    file.read_exact_at(start, buffer)?;
    Ok(buffer)
}

/// Fails at a text in quotes that is longer than a field can be.
fn check_quotes(file: &OpenFile) -> Result<()> {
    let mut buffer = Vec::new();
    // Where the quotes were opened: the byte and the line.
    let mut opened: Option<(u64, u64)> = None;
    let (mut start, mut line) = (0, 1);
    while start < file.length {
        let part = read_part(file, start, &mut buffer)?;
        for (offset, &byte) in part.iter().enumerate() {
            match byte {
                b'\n' => line += 1,
                b'"' => {
                    opened = match opened {
                        None => Some((start + offset as u64, line)),
                        Some(_) => None,
                    }
                }
                _ => {}
            }
        }
        start += part.len() as u64;
        if let Some((byte, line)) = opened
            && start - byte > MAX_QUOTED as u64
        {
            let longest = bytes(MAX_QUOTED as u64);
            let what = format!("a text in quotes has more than {longest}");
            return Err(Error::format(&file.path, what)
                .at(format!("the quotes opened in line {line}, at byte {byte}"))
                .fix("close the quotes, or leave out the column: doc, term and count need none"));
        }
    }
    Ok(())
}
