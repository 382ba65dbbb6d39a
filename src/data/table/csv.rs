//! Tables from CSV files.

use std::io::Cursor;

use polars::prelude::{CsvParseOptions, CsvReadOptions, SerReader};

use crate::data::csv_header;
use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::count;

use super::Table;
use super::error::attempt;

/// Bytes of a number in a column. Texts have more, truth values and nulls fewer.
const VALUE_BYTES: u64 = 8;

/// Reads a table; without a separator, by that of the header.
pub(super) fn read_csv(map: &MappedFile, separator: Option<u8>) -> Result<Table> {
    let (path, text) = (map.path(), map.bytes()?);
    let header = csv_header(map)?;
    let separator = separator.unwrap_or_else(|| separator_of(header));
    let values = count_values(text, separator);
    map.file()
        .claim(format!("{} values", count(values)))
        .check_memory(values.saturating_mul(VALUE_BYTES))?;
    let options = CsvReadOptions::default()
        .with_infer_schema_length(None)
        .with_parse_options(CsvParseOptions::default().with_separator(separator));
    let frame = attempt(|| {
        options
            .into_reader_with_file_handle(Cursor::new(text))
            .finish()
    });
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

/// Counts the values of a file, the names in its header included: the separators and the ends of lines that are not in
/// quotes.
fn count_values(text: &[u8], separator: u8) -> u64 {
    let (mut values, mut quoted) = (0, false);
    for &byte in text {
        quoted ^= byte == b'"';
        values += u64::from((byte == separator || byte == b'\n') && !quoted);
    }
    values
}
