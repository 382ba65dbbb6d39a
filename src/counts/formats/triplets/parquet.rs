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
    /// The columns that are read.
    columns: Vec<&'static str>,
    /// Values of lists; `None` where each row has one triplet.
    values: Option<u64>,
}

fn invalid(path: &Path, source: PolarsError) -> Error {
    Error::format(path, format!("cannot be read as Parquet: {source}"))
        .fix(NOT_PARQUET)
        .because(source)
}

impl<'a> Parquet<'a> {
    pub(super) fn open(map: &'a MappedFile) -> Result<Self> {
        let (path, file) = (map.path(), map.file());
        let invalid = |source| invalid(path, source);
        check_footer(file)?;
        let mut reader = ParquetReader::new(Cursor::new(map.bytes()?));
        let metadata = reader.get_metadata().map_err(invalid)?.clone();
        let fields = metadata.schema_descr.fields().iter();
        let names = || {
            fields
                .clone()
                .map(|field| field.get_field_info().name.as_str())
        };
        // Two columns of one name have no schema.
        check_columns(path, names(), &[])?;
        let schema = reader.schema().map_err(invalid)?;
        let is_list = |name: &str| schema.get(name).is_some_and(|field| inner(&field.dtype).1);
        let [document, term, count] = COLUMNS;
        let lists = is_list(term) && is_list(count);
        let columns: Vec<&str> =
            match (is_list(term) || is_list(count)) && !schema.contains(document) {
                true => vec![term, count],
                false => COLUMNS.to_vec(),
            };
        check_columns(path, names(), &columns)?;
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
        for name in &columns {
            if let Some(field) = schema.get(name) {
                check_type(path, name, inner(&field.dtype).0)?;
            }
        }
        // A table is read by row groups where it is large.
        let groups = metadata.row_groups.iter();
        let groups = groups.map(|group| {
            let rows = group.num_rows() as u64;
            let values = columns.iter().flat_map(|name| {
                let chunks = group.columns_under_root_iter(name).into_iter().flatten();
                chunks.map(|chunk| chunk.num_values().max(0) as u64)
            });
            match lists {
                true => values.fold(rows, u64::max),
                false => rows,
            }
        });
        let sum = groups.clone().fold(0, u64::saturating_add);
        let stated = metadata.num_rows as u64;
        let at_once = match stated == sum || (lists && stated <= sum) {
            true => groups.max().unwrap_or_default(),
            false => rows(&metadata),
        };
        check_rows(file, at_once)?;
        check_pages(file, &metadata, &columns)?;
        Ok(Self {
            map,
            metadata,
            columns,
            values: lists.then_some(sum),
        })
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
        rows(&self.metadata)
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
            .with_columns(Some(self.columns.iter().map(ToString::to_string).collect()))
            .with_slice(Some((rows.start, rows.len())))
            .finish()
            .map_err(|source| invalid(self.map.path(), source))
    }
}

/// The type of the values of a column, and whether they are in lists.
fn inner(dtype: &ArrowDataType) -> (&ArrowDataType, bool) {
    match dtype {
        ArrowDataType::List(field) | ArrowDataType::LargeList(field) => (&field.dtype, true),
        dtype => (dtype, false),
    }
}

/// Checked before Polars reads the values: it panics on types that are not enabled in its build.
fn check_type(path: &Path, name: &str, dtype: &ArrowDataType) -> Result<()> {
    use ArrowDataType::{
        Dictionary, Float32, Float64, Int32, Int64, LargeUtf8, UInt32, UInt64, Utf8, Utf8View,
    };
    let found = match dtype {
        Int32 | Int64 | UInt32 | UInt64 | Float32 | Float64 => return Ok(()),
        Utf8 | LargeUtf8 | Utf8View | Dictionary(..) => "text".to_string(),
        other => format!("{other:?}"),
    };
    let what = format!("column {name} has type {found}, not an integer or float of 32 or 64 bits");
    Err(Error::format(path, what).fix(
        "write doc and term as 64-bit integers from 0, and count as 64-bit integers or floats",
    ))
}
