//! Tables in Parquet files, read some rows and columns at a time.

use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;

use polars::io::parquet::read::FileMetadata;
use polars::prelude::{ArrowSchema, ParquetReader, SerReader};

use crate::error::{Error, Result};
use crate::parquet::{self, NOT_PARQUET, check_pages, guard};
use crate::polars_input::check_types;
use crate::system::MappedFile;

use super::Table;
use super::row_groups::RowGroups;

/// A Parquet file whose footer has been read and checked.
pub struct ParquetFile {
    map: MappedFile,
    /// What its footer states.
    metadata: Arc<FileMetadata>,
    schema: Arc<ArrowSchema>,
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
}

impl RowGroups for ParquetFile {
    fn map(&self) -> &MappedFile {
        &self.map
    }

    fn schema(&self) -> &ArrowSchema {
        &self.schema
    }

    fn rows(&self) -> u64 {
        parquet::rows(&self.metadata)
    }

    fn groups(&self) -> Vec<usize> {
        let groups = self.metadata.row_groups.iter();
        groups.map(|group| group.num_rows()).collect()
    }

    fn values(&self, group: usize, column: &str) -> Result<u64> {
        let chunks = self.metadata.row_groups[group].columns_under_root_iter(column);
        let values = chunks
            .into_iter()
            .flatten()
            .map(|chunk| chunk.num_values().max(0) as u64);
        Ok(values.max().unwrap_or_default())
    }

    fn bytes_of(&self, group: usize, column: &str) -> Range<u64> {
        let chunks = self.metadata.row_groups[group].columns_under_root_iter(column);
        let mut chunks = chunks.into_iter().flatten();
        chunks.next().map_or(0..0, |chunk| chunk.byte_range())
    }

    fn check(&self, columns: &[&str]) -> Result<u64> {
        let fields = columns.iter().filter_map(|name| self.schema.get(name));
        check_types(self.map.path(), fields)?;
        check_pages(self.map.file(), &self.metadata, columns)
    }

    fn read(&self, columns: &[&str], rows: Range<usize>) -> Result<Table> {
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

    fn pandas_note(&self) -> Option<&str> {
        let keys = self.metadata.key_value_metadata.iter().flatten();
        keys.filter(|pair| pair.key == "pandas")
            .find_map(|pair| pair.value.as_deref())
    }
}
