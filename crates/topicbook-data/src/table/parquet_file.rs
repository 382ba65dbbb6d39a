//! Tables in Parquet files, read some rows and columns at a time.

use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;

use polars::io::parquet::read::FileMetadata;
use polars::prelude::{ArrowSchema, ParquetReader, SerReader};

use crate::error::{Error, Result};
use crate::parquet::{self, NOT_PARQUET, check_pages, check_types, guard};
use crate::system::MappedFile;

use super::Table;

/// A Parquet file whose footer has been read and checked.
pub struct ParquetFile {
    /// Its bytes.
    pub map: MappedFile,
    /// What its footer states.
    pub metadata: Arc<FileMetadata>,
    /// The types of its columns.
    pub schema: Arc<ArrowSchema>,
}

impl ParquetFile {
    pub(super) fn open(map: MappedFile) -> Result<Self> {
        let (metadata, schema) = parquet::open(&map)?;
        Ok(Self {
            map,
            metadata,
            schema,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        parquet::rows(&self.metadata)
    }

    /// Checks these columns, which is required before they are read. Returns the number of their values, including the values
    /// of lists.
    pub fn check(&self, columns: &[&str]) -> Result<u64> {
        let fields = columns.iter().filter_map(|name| self.schema.get(name));
        check_types(self.map.path(), fields)?;
        check_pages(self.map.file(), &self.metadata, columns)
    }

    /// Reads rows of these columns.
    pub fn read(&self, columns: &[&str], rows: Range<usize>) -> Result<Table> {
        let (path, bytes) = (self.map.path(), Cursor::new(self.map.bytes()?));
        let frame = guard(path, || {
            let mut reader = ParquetReader::new(bytes);
            reader.set_metadata(Arc::clone(&self.metadata));
            reader
                .with_columns(Some(columns.iter().map(ToString::to_string).collect()))
                .with_slice(Some((rows.start, rows.len())))
                .finish()
        });
        self.map.check_unchanged()?;
        let frame = frame?;
        // Polars does not compare the lengths of the columns of a damaged file.
        let mut found = frame.columns().iter();
        match found.find(|column| column.len() != rows.len()) {
            None => Ok(frame.into()),
            Some(column) => {
                let (name, found, height) = (column.name(), column.len(), rows.len());
                let what = format!("column {name} has {found} of {height} rows");
                Err(Error::format(path, what).fix(NOT_PARQUET))
            }
        }
    }

    /// The columns that were the index of a pandas frame; pandas writes their names into the file.
    pub(super) fn pandas_index(&self) -> Vec<String> {
        let keys = self.metadata.key_value_metadata.iter().flatten();
        let note = keys
            .filter(|pair| pair.key == "pandas")
            .find_map(|pair| pair.value.as_deref());
        let note: serde_json::Value = note
            .and_then(|note| serde_json::from_str(note).ok())
            .unwrap_or_default();
        let index = note["index_columns"].as_array().into_iter().flatten();
        index
            .filter_map(|name| name.as_str().map(str::to_string))
            .collect()
    }
}
