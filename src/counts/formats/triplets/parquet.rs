//! Parquet, read with Polars behind a walk of footer and page headers.

use std::io::Cursor;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use polars::io::parquet::read::FileMetadata;
use polars::prelude::{ArrowDataType, DataFrame, ParquetReader, PolarsError, SerReader};

use crate::data::parquet::{NOT_PARQUET, check_footer, check_pages, rows};
use crate::error::{Error, Result};
use crate::system::MappedFile;

use super::{COLUMNS, check_columns, check_rows};

/// A file whose footer and page headers have been checked.
pub(super) struct Parquet<'a> {
    map: &'a MappedFile,
    metadata: Arc<FileMetadata>,
}

fn invalid(path: &Path, source: PolarsError) -> Error {
    Error::format(path, format!("cannot be read as Parquet: {source}"))
        .fix(NOT_PARQUET)
        .because(source)
}

impl<'a> Parquet<'a> {
    pub(super) fn open(map: &'a MappedFile) -> Result<Self> {
        use ArrowDataType::{
            Dictionary, Float32, Float64, Int32, Int64, LargeUtf8, UInt32, UInt64, Utf8, Utf8View,
        };
        let (path, file) = (map.path(), map.file());
        let invalid = |source| invalid(path, source);
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
            let what =
                format!("column {name} has type {dtype}, not an integer or float of 32 or 64 bits");
            return Err(Error::format(path, what).fix(
                "write doc and term as 64-bit integers from 0, and count as 64-bit integers or floats",
            ));
        }
        // A table is read by row groups where it is large.
        let groups = metadata
            .row_groups
            .iter()
            .map(|group| group.num_rows() as u64);
        let sum = groups.clone().fold(0, u64::saturating_add);
        let at_once = match metadata.num_rows as u64 == sum {
            true => groups.max().unwrap_or_default(),
            false => rows(&metadata),
        };
        check_rows(file, at_once)?;
        check_pages(file, &metadata, &COLUMNS)?;
        Ok(Self { map, metadata })
    }

    /// Number of rows that the footer states.
    pub(super) fn rows(&self) -> u64 {
        rows(&self.metadata)
    }

    /// The rows of the largest row group.
    pub(super) fn largest_group(&self) -> u64 {
        let groups = self.metadata.row_groups.iter();
        groups
            .map(|group| group.num_rows() as u64)
            .max()
            .unwrap_or(0)
    }

    /// The rows of each row group.
    pub(super) fn row_groups(&self) -> impl Iterator<Item = Range<usize>> {
        let mut last = 0usize;
        self.metadata.row_groups.iter().map(move |group| {
            let first = last;
            last = last.saturating_add(group.num_rows());
            first..last
        })
    }

    /// Reads rows: whole row groups.
    pub(super) fn read(&self, rows: Range<usize>) -> Result<DataFrame> {
        check_rows(self.map.file(), rows.len() as u64)?;
        let mut reader = ParquetReader::new(Cursor::new(self.map.bytes()?));
        reader.set_metadata(Arc::clone(&self.metadata));
        reader
            .with_columns(Some(COLUMNS.map(String::from).to_vec()))
            .with_slice(Some((rows.start, rows.len())))
            .finish()
            .map_err(|source| invalid(self.map.path(), source))
    }
}
