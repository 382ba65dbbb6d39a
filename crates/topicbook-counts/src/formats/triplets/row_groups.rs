//! Triplets in files with groups of rows: row groups of Parquet, record batches of Arrow.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use polars::prelude::{ArrowDataType, Column, DataFrame};

use crate::data::{RowGroups, Table};
use crate::error::{Error, Result};
use crate::system::OpenFile;

use super::{COLUMNS, check_columns, check_rows, lists};

/// The remedy for a file whose values are not those that it states.
pub(super) const DAMAGED: &str = "the file was truncated, damaged or changed: write it again";

/// A file whose columns of triplets have been checked.
pub struct TripletGroups {
    table: Box<dyn RowGroups>,
    /// The columns that are read.
    columns: Vec<&'static str>,
    /// Values of lists; `None` where each row has one triplet.
    values: Option<u64>,
    /// The triplets of the largest row group, at most.
    largest_group: u64,
    /// Bytes of the term and the count of a triplet, decoded.
    decoded_bytes: u64,
}

/// Calls `read`, which calls Polars. Polars panics on some damaged files.
pub(super) fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(Error::format(path, "is damaged: it cannot be read").fix(DAMAGED)))
}

impl TripletGroups {
    pub(super) fn open(table: Box<dyn RowGroups>) -> Result<Self> {
        let (path, schema) = (table.map().path(), table.schema());
        let is_list = |name: &str| schema.get(name).is_some_and(|field| inner(&field.dtype).1);
        let [document, term, count] = COLUMNS;
        let lists = is_list(term) && is_list(count);
        let columns: Vec<&str> =
            match (is_list(term) || is_list(count)) && !schema.contains(document) {
                true => vec![term, count],
                false => COLUMNS.to_vec(),
            };
        let names: Vec<&str> = schema.iter_names().map(|name| name.as_str()).collect();
        check_columns(path, &names, &columns)?;
        if is_list(term) != is_list(count) || is_list(document) {
            let what = |name| {
                if is_list(name) {
                    "lists"
                } else {
                    "single values"
                }
            };
            let found: Vec<String> = columns
                .iter()
                .map(|name| format!("{name} has {}", what(name)))
                .collect();
            return Err(Error::format(path, found.join(", ")).fix(
                "write lists in term and count, one row per document, or single values in all three columns",
            ));
        }
        let mut decoded_bytes = 0;
        for name in &columns {
            if let Some(field) = schema.get(name) {
                let bytes = check_type(path, name, inner(&field.dtype).0)?;
                // The values of lists are copied.
                let copies = if lists { 2 } else { 1 };
                decoded_bytes += if *name == document { 0 } else { copies * bytes };
            }
        }
        // A table is read by row groups where it is large.
        let (mut sum, mut largest_group) = (0u64, 0);
        for (group, rows) in table.groups().into_iter().enumerate() {
            let mut triplets = rows as u64;
            for name in columns.iter().filter(|_| lists) {
                triplets = triplets.max(table.values(group, name)?);
            }
            sum = sum.saturating_add(triplets);
            largest_group = largest_group.max(triplets);
        }
        let at_once = match table.rows() <= sum {
            true => largest_group,
            false => table.rows(),
        };
        check_rows(table.map().file(), at_once)?;
        table.check(&columns)?;
        Ok(Self {
            table,
            columns,
            values: lists.then_some(sum),
            largest_group,
            decoded_bytes,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.table.map().path()
    }

    pub(super) fn file(&self) -> &OpenFile {
        self.table.map().file()
    }

    /// Whether rows have lists of terms and counts.
    pub(super) fn has_lists(&self) -> bool {
        self.values.is_some()
    }

    /// Number of triplets, at most.
    pub(super) fn triplets(&self) -> u64 {
        self.values.unwrap_or_default().max(self.rows())
    }

    /// Number of rows that the footer states.
    pub(super) fn rows(&self) -> u64 {
        self.table.rows()
    }

    /// The triplets of the largest row group, at most.
    pub(super) fn largest_group(&self) -> u64 {
        self.largest_group
    }

    /// Bytes of its terms and counts, decoded.
    pub(super) fn decoded_group(&self) -> u64 {
        self.largest_group.saturating_mul(self.decoded_bytes)
    }

    pub(super) fn row_groups(&self) -> impl Iterator<Item = Range<usize>> {
        self.table.groups().into_iter().scan(0usize, |last, rows| {
            let first = *last;
            *last = last.saturating_add(rows);
            Some(first..*last)
        })
    }

    /// Reads rows: whole row groups.
    pub(super) fn read(&self, rows: Range<usize>) -> Result<DataFrame> {
        self.read_columns(rows, &self.columns)
    }

    /// Reads the values of a column in a row group; the values of lists follow one another.
    pub(super) fn read_column(&self, group: usize, name: &str) -> Result<Column> {
        let rows = self.row_groups().nth(group).unwrap_or_default();
        let first = rows.start;
        let table = self.read_columns(rows, &[name])?;
        let column = super::columns::column(self.path(), &table, name)?;
        match self.has_lists() && name != COLUMNS[0] {
            true => lists::values(self.path(), column, first).map(|(values, _)| values),
            false => Ok(column.clone()),
        }
    }

    /// The bytes of a column in a row group.
    pub(super) fn bytes_of(&self, group: usize, name: &str) -> Range<u64> {
        self.table.bytes_of(group, name)
    }

    fn read_columns(&self, rows: Range<usize>, columns: &[&str]) -> Result<DataFrame> {
        check_rows(self.file(), rows.len() as u64)?;
        self.table.read(columns, rows).map(Table::into_inner)
    }
}

/// The type of the values of a column, and whether they are in lists.
fn inner(dtype: &ArrowDataType) -> (&ArrowDataType, bool) {
    match dtype {
        ArrowDataType::List(field) | ArrowDataType::LargeList(field) => (&field.dtype, true),
        dtype => (dtype, false),
    }
}

/// The bytes of a value. Checked before Polars reads the values: it panics on types that are not enabled in its build.
fn check_type(path: &Path, name: &str, dtype: &ArrowDataType) -> Result<u64> {
    use ArrowDataType::{
        Dictionary, Float32, Float64, Int32, Int64, LargeUtf8, UInt32, UInt64, Utf8, Utf8View,
    };
    let found = match dtype {
        Int32 | UInt32 | Float32 => return Ok(4),
        Int64 | UInt64 | Float64 => return Ok(8),
        Utf8 | LargeUtf8 | Utf8View | Dictionary(..) => "text".to_string(),
        other => format!("{other:?}"),
    };
    let what =
        format!("column {name} has type {found}, not an integer, or a float of 32 or 64 bits");
    Err(Error::format(path, what).fix(
        "write doc and term as 64-bit integers from 0, and count as 64-bit integers or floats",
    ))
}
