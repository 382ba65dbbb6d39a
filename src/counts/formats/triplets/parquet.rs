//! Parquet, read with Polars behind a walk of footer and page headers.

use std::io::Cursor;

use polars::prelude::{ArrowDataType, DataFrame, ParquetReader, PolarsError, SerReader};

use crate::data::parquet::{NOT_PARQUET, check_footer, check_pages, rows};
use crate::error::{Error, Result};
use crate::system::MappedFile;

use super::{COLUMNS, check_columns, check_rows};

pub(super) fn read(map: &MappedFile) -> Result<DataFrame> {
    use ArrowDataType::{
        Dictionary, Float32, Float64, Int32, Int64, LargeUtf8, UInt32, UInt64, Utf8, Utf8View,
    };
    let (path, file) = (map.path(), map.file());
    let invalid = |source: PolarsError| {
        Error::format(path, format!("cannot be read as Parquet: {source}"))
            .fix(NOT_PARQUET)
            .because(source)
    };
    check_footer(file)?;
    let mut reader = ParquetReader::new(Cursor::new(map.bytes()?));
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
    check_rows(file, rows(&metadata))?;
    check_pages(file, &metadata, &COLUMNS)?;
    let reader = reader.with_columns(Some(COLUMNS.map(String::from).to_vec()));
    reader.finish().map_err(invalid)
}
