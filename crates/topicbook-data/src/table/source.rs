//! Where a table is that is read in parts: in a file, or in memory.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::{Table, TableFormat, TextFormat};

use super::file::{IN_MEMORY, TableFile};

/// Where a table is.
#[derive(Clone)]
pub enum TableSource {
    /// A file of a format of [`Table::open`].
    File(PathBuf),
    /// A `Table`, or a `DataFrame` of Polars.
    Memory(Table),
}

impl TableSource {
    /// Its file, or what messages call a table in memory.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Memory(_) => Path::new(IN_MEMORY),
        }
    }

    /// # Errors
    /// When the file cannot be opened, or something is stated of a table that has types.
    pub fn file(&self, stated: TextFormat) -> Result<TableFile> {
        match self {
            Self::File(path) => TableFile::open_with(path, stated),
            Self::Memory(table) => {
                TableFormat::Arrow.check_stated(self.path(), &stated)?;
                Ok(TableFile::Memory(table.clone()))
            }
        }
    }
}
