//! Tables from CSV files.

use std::io::Cursor;

use polars::prelude::{CsvParseOptions, CsvReadOptions, SerReader};

use crate::data::csv_header;
use crate::error::{Error, Result};
use crate::system::{MappedFile, OpenFile};
use crate::text::count;

use super::Table;
use super::error::attempt;

/// Bytes of a number in a column. Texts have more, truth values and nulls fewer.
const VALUE_BYTES: u64 = 8;

/// Bytes that are read at once.
const PART: usize = 1 << 20;

/// Reads a table; without a separator, by that of the header.
pub(super) fn read_csv(map: &MappedFile, separator: Option<u8>) -> Result<Table> {
    let (path, file) = (map.path(), map.file());
    let header = csv_header(file)?;
    let separator = separator.unwrap_or_else(|| separator_of(&header));
    let values = count_values(file, separator)?;
    file.claim(format!("{} values", count(values)))
        .check_memory(values.saturating_mul(VALUE_BYTES))?;
    let text = Cursor::new(map.bytes()?);
    let options = CsvReadOptions::default()
        .with_infer_schema_length(None)
        .with_parse_options(CsvParseOptions::default().with_separator(separator));
    let frame = attempt(|| options.into_reader_with_file_handle(text).finish());
    frame.map(Table::from).map_err(|problem| {
        let what = format!("cannot be read as CSV: {}", problem.sentence);
        Error::format(path, what).fix(
            "give each line as many values as the header has names, and put values that contain the separator in \
             quotation marks",
        )
    })
}

/// The first of comma, semicolon and tab that the header contains.
fn separator_of(header: &[u8]) -> u8 {
    let separators = [b',', b';', b'\t'];
    let found = separators.into_iter().find(|byte| header.contains(byte));
    found.unwrap_or(b',')
}

/// Counts the values of the file, the names in its header included: the separators and the ends of lines that are not in
/// quotes.
fn count_values(file: &OpenFile, separator: u8) -> Result<u64> {
    let (mut values, mut quoted) = (0, false);
    let mut part = vec![0; PART];
    let mut start = 0;
    while start < file.length {
        let length = (file.length - start).min(PART as u64);
        let part = &mut part[..length as usize];
        file.read_exact_at(start, part)?;
        for &byte in part.iter() {
            quoted ^= byte == b'"';
            values += u64::from((byte == separator || byte == b'\n') && !quoted);
        }
        start += length;
    }
    Ok(values)
}
