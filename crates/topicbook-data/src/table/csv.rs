//! Tables from CSV files.

use std::io::Cursor;

use polars::prelude::{Column, CsvParseOptions, CsvReadOptions, SerReader};

use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::count;
use crate::{CsvScan, NumberText, check_names, csv_header, csv_names};

use super::Table;
use super::error::attempt;

/// Bytes of a number in a column. Texts take more, truth values and nulls less.
const VALUE_BYTES: u64 = 8;
/// Longest text in quotes: longer texts mean that the quotes were not closed.
const LONGEST_QUOTED: usize = 64 << 20;

/// Reads a table; without a separator, the separator of the header is used.
pub(super) fn read_csv(map: &MappedFile, separator: Option<u8>) -> Result<Table> {
    let (path, text) = (map.path(), map.bytes()?);
    let header = csv_header(map)?;
    let separator = separator.unwrap_or_else(|| separator_of(header));
    let names = csv_names(header, separator);
    check_names(path, names.iter().map(String::as_str))?;
    let scan = CsvScan::new(path, text, separator, LONGEST_QUOTED)?;
    map.file()
        .claim(format!("{} values", count(scan.values)))
        .check_memory(scan.values.saturating_mul(VALUE_BYTES) + scan.copied(text))?;
    let options = CsvReadOptions::default()
        .with_infer_schema_length(None)
        .with_parse_options(CsvParseOptions::default().with_separator(separator));
    let frame = attempt(|| {
        options
            .into_reader_with_file_handle(Cursor::new(scan.quoted(text, separator)))
            .finish()
    });
    let frame = frame.map_err(|problem| {
        let what = format!("cannot be read as CSV: {}", problem.sentence);
        Error::format(path, what).fix(
            "give each line as many values as the header has names, and put values that contain the separator in \
             quotation marks; a file of R's write.table lacks the name of its first column: use write.csv",
        )
    })?;
    // A line break in a name ends the header that was read.
    let whole = names.len() == frame.width();
    let columns = frame
        .columns()
        .iter()
        .enumerate()
        .filter_map(|(at, column)| {
            match names.get(at).filter(|name| whole && !name.is_empty()) {
                Some(name) => Some(numbers_of(column).with_name(name.as_str().into())),
                // Lines may end with a separator.
                None if column.null_count() == column.len() => None,
                None => Some(numbers_of(column)),
            }
        });
    Ok(Table::from_columns(columns.collect()))
}

/// The first of comma, semicolon and tab that the header contains.
fn separator_of(header: &[u8]) -> u8 {
    let separators = [b',', b';', b'\t'];
    let found = separators.into_iter().find(|byte| header.contains(byte));
    found.unwrap_or(b',')
}

/// A column of numbers, if its texts are numbers and words for missing ones. These and NaN are null.
fn numbers_of(column: &Column) -> Column {
    let name = column.name().clone();
    let numbers: Option<Vec<f64>> = match (column.f64(), column.str()) {
        (Ok(numbers), _) if numbers.iter().flatten().any(f64::is_nan) => Some(
            numbers
                .iter()
                .map(|number| number.unwrap_or(f64::NAN))
                .collect(),
        ),
        (_, Ok(texts)) => NumberText::column(texts.iter().map(Option::unwrap_or_default)),
        _ => None,
    };
    let Some(numbers) = numbers else {
        return column.clone();
    };
    let given = || {
        numbers
            .iter()
            .map(|number| (!number.is_nan()).then_some(*number))
    };
    let whole = given().flatten().all(|number| number.trunc() == number);
    match whole && !column.dtype().is_float() {
        true => Column::new(
            name,
            given()
                .map(|number| Some(number? as i64))
                .collect::<Vec<_>>(),
        ),
        false => Column::new(name, given().collect::<Vec<_>>()),
    }
}
