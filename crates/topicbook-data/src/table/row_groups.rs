//! Tables in files whose rows and columns can be read in parts.

use std::ops::Range;

use polars::prelude::ArrowSchema;

use crate::error::Result;
use crate::system::MappedFile;

use super::Table;

/// A table in a file that has its rows in groups: row groups of Parquet, record batches of Arrow.
pub trait RowGroups: Send + Sync {
    /// Its bytes.
    fn map(&self) -> &MappedFile;

    /// The types of its columns.
    fn schema(&self) -> &ArrowSchema;

    /// The number of rows that it states: its own total or the sum over the groups, whichever is larger.
    fn rows(&self) -> u64;

    /// The number of rows of each group.
    fn groups(&self) -> Vec<usize>;

    /// The number of values of a column in a group, including the values of lists.
    fn values(&self, group: usize, column: &str) -> Result<u64>;

    /// The bytes of the file that hold a column of a group.
    fn bytes_of(&self, group: usize, column: &str) -> Range<u64>;

    /// Checks these columns, which is required before they are read. Returns the number of their values, including the values
    /// of lists.
    fn check(&self, columns: &[&str]) -> Result<u64>;

    /// Reads rows of these columns.
    fn read(&self, columns: &[&str], rows: Range<usize>) -> Result<Table>;

    /// What pandas writes about its frame into the file, as JSON.
    fn pandas_note(&self) -> Option<&str>;
}
