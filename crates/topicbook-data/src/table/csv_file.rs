//! Tables in CSV files.

use std::io::Cursor;
use std::sync::{Arc, OnceLock};

use polars::prelude::{
    Column, CsvParseOptions, CsvReadOptions, DataFrame, DataType, Schema, SerReader,
};

use crate::error::{Error, ErrorKind, Result};
use crate::number_text::is_wide;
use crate::system::MappedFile;
use crate::text::{count, counted, listed, quoted_list};
use crate::{CsvByte, CsvHeader, CsvQuotes, CsvRows, CsvScan, TextFormat};

use super::Table;
use super::csv_numbers::Numbers;
use super::error::attempt;
use super::file_text::{WIDE, text_of};

/// Bytes of a number in a column. Texts take more, truth values and nulls less.
const VALUE_BYTES: u64 = 8;

/// A CSV file whose header has been read. The rows are read on first use.
pub struct CsvFile {
    pub(super) map: MappedFile,
    /// Its header.
    pub header: CsvHeader,
    format: TextFormat,
    table: OnceLock<Read>,
}

/// The whole table, and what was found about the file.
struct Read {
    table: Table,
    understood: Vec<String>,
}

impl CsvFile {
    pub(super) fn open(map: MappedFile, separator: Option<u8>, format: TextFormat) -> Result<Self> {
        Ok(Self {
            header: CsvHeader::read(map.path(), separator, &format)?,
            map,
            format,
            table: OnceLock::new(),
        })
    }

    /// The whole table. The type of a column depends on all its values.
    pub(super) fn table(&self) -> Result<&Table> {
        self.read_table().map(|read| &read.table)
    }

    /// What was found about the file, in words for a card.
    pub(super) fn understood(&self) -> Result<&[String]> {
        self.read_table().map(|read| read.understood.as_slice())
    }

    fn read_table(&self) -> Result<&Read> {
        if let Some(read) = self.table.get() {
            return Ok(read);
        }
        let (text, mut understood) = text_of(&self.map, self.format.stated_encoding())?;
        understood.extend(self.header.understood.iter().cloned());
        let options = CsvReadOptions::default().with_infer_schema_length(None);
        let size = |scan: CsvScan| {
            let values = format!("{} values", count(scan.values));
            (values, scan.values.saturating_mul(VALUE_BYTES))
        };
        let texts_of = |columns: &[usize]| {
            let types = vec![DataType::String; self.header.names.len()];
            self.read_typed(text.as_bytes(), types, columns, 0)
        };
        let frame = match self.read(text.as_bytes(), options.clone(), size) {
            Err(error) if error.kind() == ErrorKind::Format => {
                // Polars takes all whole numbers for integers of 64 bits.
                let texts = texts_of(&(0..self.header.names.len()).collect::<Vec<_>>())?;
                let columns = texts.columns().iter().zip(&self.header.names);
                let wide: Vec<_> = columns.filter(|(column, _)| has_wide(column)).collect();
                let names: Vec<&String> = wide.iter().map(|(_, name)| *name).collect();
                understood.push(format!("{WIDE}: {}", quoted_list(&names, 10)));
                let types = wide
                    .iter()
                    .map(|(column, _)| (column.name().clone(), DataType::String));
                let types = Arc::new(Schema::from_iter(types));
                let options = options.with_schema_overwrite(Some(types));
                self.read(text.as_bytes(), options, size)?
            }
            read => read?,
        };
        let is_comma = self.header.separator == b',';
        let decimal = self.format.stated_decimal();
        let mut numbers = Numbers::of(&frame, &self.header.names, decimal, is_comma, texts_of)?;
        understood.append(&mut numbers.understood);
        let names = self.header.names.iter().map(String::as_str);
        let names = names.chain(std::iter::repeat(""));
        let columns = frame.columns().iter().zip(names).enumerate();
        let mut nameless = Vec::new();
        let columns = columns.filter_map(|(at, (column, name))| match name {
            // Lines may end with a separator.
            "" if column.null_count() == column.len() => None,
            "" => {
                nameless.push(at + 1);
                Some(numbers.column(at, column))
            }
            name => Some(numbers.column(at, column).with_name(name.into())),
        });
        let columns = columns.collect();
        // The first column may have row names; others without a name may be those of a line above the header.
        nameless.retain(|&at| at > 1);
        if !nameless.is_empty() {
            understood.push(format!(
                "columns without a name in the header: {}",
                listed(&nameless)
            ));
        }
        let table = Table::from_columns(columns).with_note(&understood);
        Ok(self.table.get_or_init(|| Read { table, understood }))
    }

    /// These columns, each of a type: other values become null. A row takes `row_bytes` of memory while the table is used.
    pub fn read_as(&self, types: &[(&str, DataType)], row_bytes: u64) -> Result<DataFrame> {
        let names = &self.header.names;
        let typed = |name: &String| types.iter().find(|(typed, _)| typed == name);
        let all = names.iter().map(|name| match typed(name) {
            Some((_, dtype)) => dtype.clone(),
            None => DataType::String,
        });
        let read: Vec<usize> = (0..names.len())
            .filter(|&at| typed(&names[at]).is_some())
            .collect();
        let (text, _) = text_of(&self.map, self.format.stated_encoding())?;
        let mut frame = self.read_typed(text.as_bytes(), all.collect(), &read, row_bytes)?;
        let named: Vec<&String> = read.iter().map(|&at| &names[at]).collect();
        attempt(|| frame.set_column_names(&named))?;
        Ok(frame)
    }

    /// These columns of a text, in these types.
    fn read_typed(
        &self,
        text: &[u8],
        types: Vec<DataType>,
        columns: &[usize],
        row_bytes: u64,
    ) -> Result<DataFrame> {
        // Without this, the error of Polars names neither row nor column of a value of another type.
        let options = CsvReadOptions::default()
            .with_ignore_errors(true)
            .with_infer_schema_length(Some(0))
            .with_dtype_overwrite(Some(Arc::new(types)))
            .with_projection(Some(Arc::new(columns.to_vec())));
        let size = |scan: CsvScan| {
            let rows = counted(scan.rows as usize, "row");
            (rows, scan.rows.saturating_mul(row_bytes))
        };
        self.read(text, options, size)
    }

    /// Reads the text of the file, if memory holds its size.
    fn read(
        &self,
        text: &[u8],
        options: CsvReadOptions,
        size: impl FnOnce(CsvScan) -> (String, u64),
    ) -> Result<DataFrame> {
        let (path, header) = (self.map.path(), &self.header);
        let read = || {
            let rows = match header.is_short {
                false => &text[header.start..],
                true => after_blank_lines(&text[header.end..]),
            };
            let scan = CsvScan::new(path, rows, header.separator)?;
            let (what, bytes) = size(scan);
            let claim = self.map.file().claim(what);
            let copied = match header.is_short {
                true => rows.len() as u64,
                false => scan.copied(rows),
            };
            claim.check_memory(bytes.saturating_add(copied))?;
            let parse = CsvParseOptions::default().with_separator(header.separator);
            let mut whole = scan.quoted(rows, header.separator);
            if header.is_short {
                whole = [header.line().as_bytes(), &whole].concat().into();
            }
            let options = options.with_parse_options(parse);
            let parsed = |text: &[u8]| {
                let reader = options
                    .clone()
                    .into_reader_with_file_handle(Cursor::new(text));
                attempt(|| reader.finish())
            };
            let mut frame = parsed(&whole);
            // Polars reads a blank line as a row of nulls.
            let has_nulls = |frame: &DataFrame| {
                let mut columns = frame.columns().iter();
                columns.all(|column| column.null_count() > 0)
            };
            if header.names.len() > 1 && frame.as_ref().is_ok_and(has_nulls) {
                claim.check_memory(whole.len() as u64)?;
                let filled = without_blank_lines(&whole, header.separator);
                if filled.len() < whole.len() {
                    frame = parsed(&filled);
                }
            }
            frame.map_err(|problem| {
                let error = Error::format(path, format!("cannot be read as CSV: {}", problem.sentence));
                wide_row(error, rows, header).fix(
                    "give each line as many values as the header has names, put values that contain the separator in quotation \
                     marks, and delete lines above the header",
                )
            })
        };
        let frame = read();
        self.map.check_unchanged()?;
        frame
    }
}

/// Whether a column of texts has a whole number that no integer of 64 bits holds.
fn has_wide(column: &Column) -> bool {
    let mut texts = column.str().into_iter().flat_map(|texts| texts.iter());
    texts.any(|text| text.is_some_and(is_wide))
}

/// A text without its blank lines. Those inside of quotes stay.
fn without_blank_lines(text: &[u8], separator: u8) -> Vec<u8> {
    let mut quotes = CsvQuotes::new(separator);
    let (mut filled, mut start) = (Vec::with_capacity(text.len()), 0);
    for (at, &byte) in text.iter().enumerate() {
        if quotes.step(byte) == CsvByte::End && byte == b'\n' {
            let row = &text[start..=at];
            if !matches!(row, b"\n" | b"\r\n") {
                filled.extend_from_slice(row);
            }
            start = at + 1;
        }
    }
    filled.extend_from_slice(&text[start..]);
    filled
}

/// A text without the line ends that it begins with.
fn after_blank_lines(text: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let blank = text.iter().take_while(|byte| is_end(byte)).count();
    &text[blank..]
}

/// An error with the place of the first row that has more values than the header has names.
fn wide_row(error: Error, text: &[u8], header: &CsvHeader) -> Error {
    let mut rows = CsvRows::new(header.separator, text);
    let names = header.names.len();
    while let Some(row) = rows.next() {
        if row.len() > names {
            let lines = u64::from(header.is_short) + u64::from(header.start > 0);
            let place = format!(
                "line {}: {} for {}",
                row.line + lines,
                counted(row.len(), "value"),
                counted(names, "name")
            );
            return error.at(place);
        }
    }
    error
}
