//! Counts in tables with one row per nonzero count (document, term, count): Parquet and CSV, read with Polars.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use polars::prelude::{
    ArrowDataType, Column, CsvReadOptions, DataFrame, DataType, Field, ParquetReader, PolarsError,
    Schema, SerReader,
};

use crate::counts::csr::{Csr, Problem};
use crate::counts::dtype::Element;
use crate::counts::rows::OpenFile;
use crate::counts::{Counts, Location};
use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::text::count;

use super::invalid_value;

/// Required columns: row and column in the matrix, both counted from 0, and the count.
const COLUMNS: [&str; 3] = ["doc", "term", "count"];

const NOT_PARQUET: &str = "the file was truncated or is not a Parquet file: write it again";

/// Opens a table. The largest ids determine the shape.
pub(crate) fn open_any_shape(path: &Path) -> Result<Counts> {
    open(path, None)
}

/// Opens a table as counts of `shape` (documents, terms). Without one, the largest ids determine the shape.
pub(crate) fn open(path: &Path, shape: Option<(usize, usize)>) -> Result<Counts> {
    let file = OpenFile::open(path)?;
    if file.length == 0 {
        return Err(Error::format(path, "is empty")
            .fix("write a table with the columns doc, term and count"));
    }
    let csv = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let table = if csv {
        read_csv(path, file)?
    } else {
        // Polars panics on some damaged files.
        catch_unwind(AssertUnwindSafe(|| read_parquet(path, file))).unwrap_or_else(|_| {
            Err(Error::format(path, "is damaged: it cannot be read as Parquet").fix(NOT_PARQUET))
        })?
    };
    if table.height() == 0 {
        return Err(Error::format(path, "has no rows").fix("write one row per nonzero count"));
    }
    // Polars does not compare the lengths of the columns of a damaged file.
    for name in COLUMNS {
        let length = column(path, &table, name)?.len();
        if length != table.height() {
            let what = format!("column {name} has {length} of {} rows", table.height());
            return Err(Error::format(path, what).fix(NOT_PARQUET));
        }
    }
    let documents = ids(path, &table, COLUMNS[0], shape.map(|shape| shape.0))?;
    let terms = ids(path, &table, COLUMNS[1], shape.map(|shape| shape.1))?;
    let counts = counts(path, &table, &documents, &terms)?;
    drop(table);
    let size = |ids: &[u32]| ids.iter().max().map_or(0, |&id| id as usize + 1);
    let (n, m) = shape.unwrap_or_else(|| (size(&documents), size(&terms)));
    // A single wrong id can make the matrix arbitrarily large: check before its row starts are allocated.
    let row_starts = (n as u64).saturating_mul(size_of::<u64>() as u64);
    check_free(row_starts, &format!("{} documents", count(n as u64)))?;
    let csr = Csr::from_triplets(n, &documents, &terms, &counts, data_row)
        .map_err(|problem: Problem| problem.in_file(path))?;
    Counts::from_csr(n, m, csr, Location::Loaded(path.to_path_buf()))
}

/// Name of a row for messages: counted from 1, without the header.
fn data_row(row: usize) -> String {
    format!("data row {}", row + 1)
}

fn read_parquet(path: &Path, file: OpenFile) -> Result<DataFrame> {
    use ArrowDataType::{
        Dictionary, Float32, Float64, Int32, Int64, LargeUtf8, UInt32, UInt64, Utf8, Utf8View,
    };
    let invalid = |source: PolarsError| {
        Error::format(path, format!("cannot be read as Parquet: {source}"))
            .fix(NOT_PARQUET)
            .because(source)
    };
    let length = file.length;
    let mut reader = ParquetReader::new(file.handle);
    // Polars allocates the sizes in the footer before it reads the columns, so check them first: in a damaged file they
    // can be arbitrary.
    let metadata = reader.get_metadata().map_err(invalid)?.clone();
    let stored: u64 = metadata
        .row_groups
        .iter()
        .map(|group| group.compressed_size() as u64)
        .fold(0, u64::saturating_add);
    if stored > length {
        return Err(Error::format(
            path,
            format!("its footer declares {stored} bytes of columns, and the file has {length}"),
        )
        .fix(NOT_PARQUET));
    }
    // Three columns of at most 8 bytes.
    check_free(
        (metadata.num_rows as u64).saturating_mul(24),
        "the table of counts",
    )?;
    let schema = reader.schema().map_err(invalid)?;
    check_columns(path, schema.iter_names().map(|name| name.as_str()))?;
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
    let reader = reader.with_columns(Some(COLUMNS.map(String::from).to_vec()));
    reader.finish().map_err(invalid)
}

fn read_csv(path: &Path, file: OpenFile) -> Result<DataFrame> {
    let invalid = |source: PolarsError| {
        Error::format(path, format!("cannot be read as CSV: {source}"))
            .fix("separate the columns by commas and name them doc, term and count")
            .because(source)
    };
    let handle = |file: &OpenFile| {
        file.handle
            .try_clone()
            .map_err(|source| Error::io("read", path, source))
    };
    let header = CsvReadOptions::default()
        .with_n_rows(Some(0))
        .with_infer_schema_length(Some(0))
        .into_reader_with_file_handle(handle(&file)?)
        .finish()
        .map_err(invalid)?;
    check_columns(
        path,
        header
            .get_column_names()
            .into_iter()
            .map(|name| name.as_str()),
    )?;
    let schema = Schema::from_iter([
        Field::new(COLUMNS[0].into(), DataType::Int64),
        Field::new(COLUMNS[1].into(), DataType::Int64),
        Field::new(COLUMNS[2].into(), DataType::Float64),
    ]);
    // Cells that are not numbers become nulls, which `first_null` reports with their row and column; the error of
    // Polars names neither.
    CsvReadOptions::default()
        .with_infer_schema_length(Some(0))
        .with_schema_overwrite(Some(Arc::new(schema)))
        .with_columns(Some(COLUMNS.map(Into::into).into()))
        .with_ignore_errors(true)
        .into_reader_with_file_handle(handle(&file)?)
        .finish()
        .map_err(invalid)
}

fn check_columns<'a>(path: &Path, found: impl Iterator<Item = &'a str>) -> Result<()> {
    let found: Vec<&str> = found.collect();
    let missing: Vec<&str> = COLUMNS
        .into_iter()
        .filter(|name| !found.contains(name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::format(
        path,
        format!("has no column named {}", missing.join(" or ")),
    )
    .at(format!("its columns are: {}", found.join(", ")))
    .fix("name the columns doc, term and count; doc and term are whole numbers from 0"))
}

fn column<'a>(path: &Path, table: &'a DataFrame, name: &str) -> Result<&'a Column> {
    table.column(name).map_err(|source| {
        Error::format(path, format!("has no column named {name}")).because(source)
    })
}

fn convert(path: &Path, column: &Column, to: &DataType) -> Result<Column> {
    column.cast(to).map_err(|source| {
        Error::format(
            path,
            format!("column {} cannot be read as {to}", column.name()),
        )
        .because(source)
    })
}

/// Fails if a column has nulls; the error names the first row with one.
fn first_null(path: &Path, column: &Column, what: &str, fix: &str) -> Result<()> {
    if column.null_count() == 0 {
        return Ok(());
    }
    let row = column
        .is_null()
        .iter()
        .position(|null| null == Some(true))
        .unwrap_or_default();
    Err(
        Error::format(path, format!("column {} is empty or {what}", column.name()))
            .at(data_row(row))
            .fix(fix),
    )
}

/// Reads a column of ids, and checks that each is below `bound`.
fn ids(path: &Path, table: &DataFrame, name: &str, bound: Option<usize>) -> Result<Vec<u32>> {
    const FIX: &str =
        "number documents and terms from 0, and keep their names in a separate list (Terms)";
    let column = column(path, table, name)?;
    if !column.dtype().is_integer() {
        return Err(Error::format(
            path,
            format!(
                "column {name} has type {}; ids are whole numbers from 0",
                column.dtype()
            ),
        )
        .fix(FIX));
    }
    let column = convert(path, column, &DataType::Int64)?;
    first_null(path, &column, "not a whole number", FIX)?;
    let wide = column
        .i64()
        .map_err(|source| Error::format(path, &source).because(source))?;
    // Ids have 32 bits, and the largest id plus one, which is a size, must fit too.
    let bound = bound.unwrap_or(u32::MAX as usize).min(u32::MAX as usize);
    let mut ids = Vec::with_capacity(wide.len());
    for (row, id) in wide.iter().flatten().enumerate() {
        match usize::try_from(id) {
            Ok(small) if small < bound => ids.push(small as u32),
            _ => {
                return Err(Error::format(
                    path,
                    format!(
                        "{name} {id} is out of range: from 0 to {}",
                        bound.saturating_sub(1)
                    ),
                )
                .at(data_row(row))
                .fix(FIX));
            }
        }
    }
    Ok(ids)
}

/// Reads the column `count`. Fails on the first value (by document, then term) that is not a count or not exact in
/// `f32`.
fn counts(path: &Path, table: &DataFrame, documents: &[u32], terms: &[u32]) -> Result<Vec<f32>> {
    const FIX: &str = "remove the row, or write 0";
    let column = column(path, table, COLUMNS[2])?;
    if !column.dtype().is_primitive_numeric() {
        return Err(Error::format(
            path,
            format!("column count has type {}, not a number", column.dtype()),
        )
        .fix("write the counts as numbers"));
    }
    let column = convert(path, column, &DataType::Float64)?;
    first_null(path, &column, "not a number", FIX)?;
    let wide = column
        .f64()
        .map_err(|source| Error::format(path, &source).because(source))?;
    let mut counts = Vec::with_capacity(wide.len());
    let mut bad: Option<((u32, u32), f64, usize)> = None;
    for (row, count) in wide.iter().flatten().enumerate() {
        if !count.is_count() || f64::from(count as f32) != count {
            let position = (documents[row], terms[row]);
            if bad.is_none_or(|(first, _, _)| position < first) {
                bad = Some((position, count, row));
            }
        }
        counts.push(count as f32);
    }
    match bad {
        None => Ok(counts),
        Some(((document, term), count, row)) => {
            let (document, term) = (document as usize, term as usize);
            let error = if count.is_count() {
                invalid_value::too_large_for_sparse(count, document, term, Some(path))
            } else {
                invalid_value::not_a_count(count, document, term, Some(path))
            };
            let place = invalid_value::place(document, term);
            Err(error.at(format!("{place}; {}", data_row(row))))
        }
    }
}
