//! Tables in files, read some rows at a time.

use std::io::Cursor;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use polars::io::parquet::read::FileMetadata;
use polars::prelude::{ArrowSchema, DataType, ParquetReader, SerReader};

use crate::error::{Error, Result};
use crate::parquet::{self, NOT_PARQUET, check_pages, check_types, guard, rows};
use crate::system::MappedFile;

use super::Table;
use super::error::attempt;

/// A Parquet file whose footer and page headers have been checked.
pub struct ParquetTable {
    map: MappedFile,
    metadata: Arc<FileMetadata>,
    schema: Arc<ArrowSchema>,
    /// Number of values, including the values of lists.
    pub(super) values: u64,
}

/// A table's file: Parquet, whose rows can be read in parts, or a file that has been read.
pub enum TableParts {
    /// Row groups of a Parquet file.
    Parquet(ParquetTable),
    /// A table in memory.
    Whole(Table),
}

impl ParquetTable {
    pub(super) fn open(map: MappedFile) -> Result<Self> {
        let (metadata, schema) = parquet::open(&map)?;
        check_types(map.path(), schema.iter_values())?;
        let names: Vec<&str> = schema.iter_values().map(|field| &*field.name).collect();
        let values = check_pages(map.file(), &metadata, &names)?;
        Ok(Self {
            map,
            metadata,
            schema,
            values,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.map.path()
    }

    pub(super) fn map(&self) -> &MappedFile {
        &self.map
    }

    /// Number of rows and columns.
    pub(super) fn shape(&self) -> (u64, usize) {
        (rows(&self.metadata), self.schema.len())
    }

    fn columns(&self) -> Vec<(String, DataType)> {
        let fields = self.schema.iter_values();
        let column =
            fields.map(|field| (field.name.to_string(), DataType::from_arrow_field(field)));
        column.collect()
    }

    /// Reads rows of these columns, or of all.
    pub(super) fn read(&self, columns: Option<&[String]>, rows: Range<usize>) -> Result<Table> {
        let bytes = Cursor::new(self.map.bytes()?);
        let frame = guard(self.path(), || {
            let mut reader = ParquetReader::new(bytes);
            reader.set_metadata(Arc::clone(&self.metadata));
            reader
                .with_columns(columns.map(<[String]>::to_vec))
                .with_slice(Some((rows.start, rows.len())))
                .finish()
        });
        self.map.check_unchanged()?;
        let frame = frame?;
        // Polars does not compare the lengths of the columns of a damaged file.
        match frame
            .columns()
            .iter()
            .find(|column| column.len() != rows.len())
        {
            None => Ok(frame.into()),
            Some(column) => {
                let (name, found, height) = (column.name(), column.len(), rows.len());
                let what = format!("column {name} has {found} of {height} rows");
                Err(Error::format(self.path(), what).fix(NOT_PARQUET))
            }
        }
    }
}

impl TableParts {
    /// Opens a file of a format of [`Table::open`]. Formats other than Parquet are read whole.
    pub fn open(path: &Path) -> Result<Self> {
        super::open::open_parts(path)
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        match self {
            TableParts::Parquet(file) => file.shape().0 as usize,
            TableParts::Whole(table) => table.height(),
        }
    }

    /// The names and types of the columns.
    pub fn columns(&self) -> Vec<(String, DataType)> {
        match self {
            TableParts::Parquet(file) => file.columns(),
            TableParts::Whole(table) => {
                let columns = table.columns().iter();
                columns
                    .map(|column| (column.name().to_string(), column.dtype().clone()))
                    .collect()
            }
        }
    }

    /// The columns that were the index of a pandas frame; pandas writes their names into the file.
    pub fn pandas_index(&self) -> Vec<String> {
        let TableParts::Parquet(file) = self else {
            return Vec::new();
        };
        let keys = file.metadata.key_value_metadata.iter().flatten();
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

    /// Calls `visit` with parts of these columns in order, `rows` of each at most, and with the row in which a part begins.
    pub fn for_each(
        &self,
        columns: &[String],
        rows: usize,
        mut visit: impl FnMut(usize, &Table) -> Result<()>,
    ) -> Result<()> {
        let height = self.height();
        for first in (0..height).step_by(rows.max(1)) {
            let part = first..height.min(first + rows);
            let table = match self {
                TableParts::Parquet(file) => file.read(Some(columns), part)?,
                // By name: in an expression, `^...$` would be a pattern.
                TableParts::Whole(table) => {
                    let frame = attempt(|| table.frame.select(columns))?;
                    Table::from(frame).slice(first, part.len())
                }
            };
            visit(first, &table)?;
        }
        Ok(())
    }
}
