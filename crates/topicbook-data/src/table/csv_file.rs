//! Tables in CSV files.

use std::io::Cursor;
use std::sync::{Arc, OnceLock};

use polars::prelude::{Column, CsvParseOptions, CsvReadOptions, DataFrame, DataType, SerReader};

use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::{count, counted};
use crate::{CsvHeader, CsvScan, NumberText};

use super::Table;
use super::error::attempt;

/// Bytes of a number in a column. Texts take more, truth values and nulls less.
const VALUE_BYTES: u64 = 8;

/// A CSV file whose header has been read. The rows are read on first use.
pub struct CsvFile {
    pub(super) map: MappedFile,
    /// Its header.
    pub header: CsvHeader,
    table: OnceLock<Table>,
}

impl CsvFile {
    pub(super) fn open(map: MappedFile, separator: Option<u8>) -> Result<Self> {
        Ok(Self {
            header: CsvHeader::read(map.file(), separator)?,
            map,
            table: OnceLock::new(),
        })
    }

    /// The whole table. The type of a column depends on all its values.
    pub(super) fn table(&self) -> Result<&Table> {
        if let Some(table) = self.table.get() {
            return Ok(table);
        }
        let options = CsvReadOptions::default().with_infer_schema_length(None);
        let size = |scan: CsvScan| {
            let values = format!("{} values", count(scan.values));
            (values, scan.values.saturating_mul(VALUE_BYTES))
        };
        let frame = self.read(options, size)?;
        let names = self.header.names.iter().map(String::as_str);
        let names = names.chain(std::iter::repeat(""));
        let columns = frame.columns().iter().zip(names);
        let columns = columns.filter_map(|(column, name)| match name {
            // Lines may end with a separator.
            "" if column.null_count() == column.len() => None,
            "" => Some(numbers_of(column)),
            name => Some(numbers_of(column).with_name(name.into())),
        });
        let table = Table::from_columns(columns.collect());
        Ok(self.table.get_or_init(|| table))
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
        // Without this, the error of Polars names neither row nor column of a value of another type.
        let options = CsvReadOptions::default()
            .with_ignore_errors(true)
            .with_infer_schema_length(Some(0))
            .with_dtype_overwrite(Some(Arc::new(all.collect())))
            .with_projection(Some(Arc::new(read.clone())));
        let size = |scan: CsvScan| {
            let rows = counted(scan.rows as usize, "row");
            (rows, scan.rows.saturating_mul(row_bytes))
        };
        let mut frame = self.read(options, size)?;
        let named: Vec<&String> = read.iter().map(|&at| &names[at]).collect();
        attempt(|| frame.set_column_names(&named))?;
        Ok(frame)
    }

    /// Reads the file, if memory holds its size.
    fn read(
        &self,
        options: CsvReadOptions,
        size: impl FnOnce(CsvScan) -> (String, u64),
    ) -> Result<DataFrame> {
        let (path, separator) = (self.map.path(), self.header.separator);
        let text = self.map.bytes()?;
        let read = || {
            let scan = CsvScan::new(path, text, separator)?;
            let (what, bytes) = size(scan);
            let claim = self.map.file().claim(what);
            claim.check_memory(bytes.saturating_add(scan.copied(text)))?;
            let parse = CsvParseOptions::default().with_separator(separator);
            let text = Cursor::new(scan.quoted(text, separator));
            let reader = options
                .with_parse_options(parse)
                .into_reader_with_file_handle(text);
            attempt(|| reader.finish()).map_err(|problem| {
                let what = format!("cannot be read as CSV: {}", problem.sentence);
                Error::format(path, what).fix(
                    "give each line as many values as the header has names, and put values that contain the separator in \
                     quotation marks; a file of R's write.table lacks the name of its first column: use write.csv",
                )
            })
        };
        let frame = read();
        self.map.check_unchanged()?;
        frame
    }
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
