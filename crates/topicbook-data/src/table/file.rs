//! Tables in files, whose extension says their format, and in memory.

use std::ops::Range;
use std::path::Path;

use polars::prelude::{DataType, Field, Schema};

use crate::error::{Error, Result};
use crate::system::{MappedFile, OpenFile};
use crate::text::counted;
use crate::{TableFormat, TextFormat, unknown_format};

use super::Table;
use super::arrow_file::ArrowFile;
use super::csv_file::CsvFile;
use super::error::attempt;
use super::json_file;
use super::parquet_file::ParquetFile;
use super::row_groups::RowGroups;
use super::sheet_file;

/// What messages call a table in memory.
pub const IN_MEMORY: &str = "DataFrame";

/// A table that is read in parts: a file, of which the names of the columns have been read, or a table in memory.
pub enum TableFile {
    /// The rows are read together.
    Csv(Box<CsvFile>),
    /// Rows and columns can be read in parts.
    Groups(Box<dyn RowGroups>),
    /// The rows have been read.
    Whole(MappedFile, Table),
    /// The rows are in memory.
    Memory(Table),
}

impl TableFile {
    /// Opens a file of a format of [`Table::open`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, TextFormat::new())
    }

    /// Opens a file of which something is stated.
    pub fn open_with(path: &Path, stated: TextFormat) -> Result<Self> {
        let format = TableFormat::of(path).ok_or_else(|| unknown_format(path, "a table's file"))?;
        format.check_stated(path, &stated)?;
        let file = OpenFile::open(path)?;
        if file.length == 0 {
            return Err(Error::format(path, "is empty").fix("write the table again"));
        }
        let map = MappedFile::new(file)?;
        match format {
            TableFormat::Csv(separator) => {
                CsvFile::open(map, separator, stated).map(|file| Self::Csv(file.into()))
            }
            TableFormat::JsonLines => {
                let table = json_file::read(&map)?;
                Ok(Self::Whole(map, table))
            }
            TableFormat::Parquet => Ok(Self::Groups(Box::new(ParquetFile::open(map)?))),
            TableFormat::Arrow => Ok(Self::Groups(Box::new(ArrowFile::open(map)?))),
            TableFormat::Sheets => {
                let table = sheet_file::read(&map, stated.stated_sheet())?;
                Ok(Self::Whole(map, table))
            }
        }
    }

    /// What was found about the file beyond its extension, in words for a card. Reads a CSV file.
    pub fn understood(&self) -> Result<Vec<String>> {
        match self {
            Self::Csv(file) => file.understood().map(<[String]>::to_vec),
            Self::Whole(_, table) => Ok(table.note.iter().map(ToString::to_string).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// Its bytes in a file.
    pub fn map(&self) -> Option<&MappedFile> {
        match self {
            Self::Csv(file) => Some(&file.map),
            Self::Groups(file) => Some(file.map()),
            Self::Whole(map, _) => Some(map),
            Self::Memory(_) => None,
        }
    }

    /// Its file, or what a message calls a table in memory.
    pub fn path(&self) -> &Path {
        self.map().map_or(Path::new(IN_MEMORY), MappedFile::path)
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Csv(file) => file.header.names.iter().map(String::as_str).collect(),
            Self::Groups(file) => file
                .schema()
                .iter_names()
                .map(|name| name.as_str())
                .collect(),
            Self::Whole(_, table) | Self::Memory(table) => {
                let columns = table.columns().iter();
                columns.map(|column| column.name().as_str()).collect()
            }
        }
    }

    /// Checks these columns, which is required before they are read. Returns the number of values that reading them takes.
    pub fn check(&self, columns: &[&str]) -> Result<u64> {
        match self {
            Self::Csv(file) => file.table().map(|_| 0),
            Self::Groups(file) => file.check(columns),
            Self::Whole(..) | Self::Memory(_) => Ok(0),
        }
    }

    /// Number of rows.
    pub fn height(&self) -> Result<usize> {
        match self {
            Self::Csv(file) => file.table().map(Table::height),
            Self::Groups(file) => Ok(file.rows() as usize),
            Self::Whole(_, table) | Self::Memory(table) => Ok(table.height()),
        }
    }

    /// The names and types of the columns, which have been checked.
    pub fn columns(&self) -> Result<Vec<(String, DataType)>> {
        let schema: Schema = match self {
            Self::Csv(file) => Schema::clone(file.table()?.schema()),
            Self::Whole(_, table) | Self::Memory(table) => Schema::clone(table.schema()),
            Self::Groups(file) => {
                let fields = file.schema().iter_values();
                attempt(|| Ok(fields.map(Field::from).collect()))?
            }
        };
        let typed = schema.into_iter();
        Ok(typed
            .map(|(name, dtype)| (name.to_string(), dtype))
            .collect())
    }

    /// The columns that were the index of a pandas frame.
    pub fn pandas_index(&self) -> Vec<String> {
        let note = match self {
            Self::Groups(file) => file.pandas_note(),
            _ => None,
        };
        let note: serde_json::Value = note
            .and_then(|note| serde_json::from_str(note).ok())
            .unwrap_or_default();
        let index = note["index_columns"].as_array().into_iter().flatten();
        index
            .filter_map(|name| name.as_str().map(str::to_string))
            .collect()
    }

    /// Reads rows of these columns, which have been checked.
    pub fn read(&self, columns: &[&str], rows: Range<usize>) -> Result<Table> {
        let table = match self {
            Self::Csv(file) => file.table()?,
            Self::Groups(file) => return file.read(columns, rows),
            Self::Whole(_, table) | Self::Memory(table) => table,
        };
        // By name: in an expression, `^...$` would be a pattern.
        let frame = attempt(|| table.frame.select(columns))?;
        Ok(Table::from(frame).slice(rows.start, rows.len()))
    }

    /// Checks and reads these columns, if memory holds their values, at 8 bytes a value.
    pub fn load(&self, columns: &[&str]) -> Result<Table> {
        let (values, height) = (self.check(columns)?, self.height()?);
        // Lists have more values than there are rows.
        let values = (height as u64)
            .saturating_mul(columns.len() as u64)
            .max(values);
        let shape = format!(
            "{} × {}",
            counted(height, "row"),
            counted(columns.len(), "column")
        );
        if let Some(map) = self.map() {
            let claim = map.file().claim(shape);
            claim.check_memory(values.saturating_mul(8))?;
        }
        self.read(columns, 0..height)
    }

    /// The whole table.
    pub(super) fn into_table(self) -> Result<Table> {
        match &self {
            // Not by the names in the header: columns may have none.
            Self::Csv(file) => file.table().cloned(),
            Self::Whole(_, table) => Ok(table.clone()),
            _ => self.load(&self.names()),
        }
    }

    /// Calls `visit` with parts of these columns in order, `rows` of each at most, and with the row in which a part begins.
    pub fn for_each(
        &self,
        columns: &[&str],
        rows: usize,
        mut visit: impl FnMut(usize, &Table) -> Result<()>,
    ) -> Result<()> {
        let height = self.height()?;
        for first in (0..height).step_by(rows.max(1)) {
            let table = self.read(columns, first..height.min(first + rows))?;
            visit(first, &table)?;
        }
        Ok(())
    }
}
