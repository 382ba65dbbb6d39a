//! Columns of a table of triplets: ids and counts, checked, without a copy where they have the right type.

use std::ops::Deref;
use std::path::Path;

use polars::prelude::{Column, DataFrame, DataType, UInt32Chunked};

use super::COLUMNS;
use super::lists::RowNumbers;
use crate::error::{Error, Result};
use crate::formats::invalid_value;

pub(super) fn column<'a>(path: &Path, table: &'a DataFrame, name: &str) -> Result<&'a Column> {
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

/// Fails if a column has nulls; the error names the first row with one. `rows` names the rows.
pub(super) fn first_null(
    path: &Path,
    column: &Column,
    rows: &RowNumbers,
    what: &str,
    fix: &str,
) -> Result<()> {
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
            .at(rows.name(row))
            .fix(fix),
    )
}

/// A column of `u32` without nulls, in one piece.
fn plain_u32(column: &Column) -> Option<UInt32Chunked> {
    let values = column.u32().ok().filter(|_| column.null_count() == 0)?;
    Some(values.rechunk().into_owned())
}

/// The values of a column made by [`plain_u32`].
fn slice_of(column: &UInt32Chunked) -> &[u32] {
    column.cont_slice().unwrap_or_default()
}

/// Numbers of documents or terms: a column as it was decoded, or the numbers of a column of another type.
pub(super) enum Ids {
    Decoded(UInt32Chunked),
    Converted(Vec<u32>),
}

impl Deref for Ids {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Ids::Decoded(column) => slice_of(column),
            Ids::Converted(ids) => ids,
        }
    }
}

/// Counts that have been checked: a column as it was decoded, or the counts of a column of another type.
pub(super) enum Values {
    Decoded(UInt32Chunked),
    Converted(Vec<f32>),
}

impl Values {
    pub(super) fn into_f32(self) -> Vec<f32> {
        match self {
            Values::Decoded(column) => slice_of(&column)
                .iter()
                .map(|&count| count as f32)
                .collect(),
            Values::Converted(counts) => counts,
        }
    }
}

/// Reads a column of ids, and checks that each is below `bound`.
pub(super) fn ids(
    path: &Path,
    table: &DataFrame,
    name: &str,
    bound: Option<usize>,
    rows: &RowNumbers,
) -> Result<Ids> {
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
    // Ids have 32 bits, and the largest id plus one, which is a size, must fit too.
    let bound = bound.unwrap_or(u32::MAX as usize).min(u32::MAX as usize);
    if let Some(ids) = plain_u32(column)
        && slice_of(&ids).iter().all(|&id| (id as usize) < bound)
    {
        return Ok(Ids::Decoded(ids));
    }
    let column = convert(path, column, &DataType::Int64)?;
    first_null(path, &column, rows, "not a whole number", FIX)?;
    let wide = column
        .i64()
        .map_err(|source| Error::format(path, &source).because(source))?;
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
                .at(rows.name(row))
                .fix(FIX));
            }
        }
    }
    Ok(Ids::Converted(ids))
}

/// Reads the column `count`. Fails on the first value (by document, then term) that is not a count or not exact in
/// `f32`.
pub(super) fn counts(
    path: &Path,
    table: &DataFrame,
    documents: &[u32],
    terms: &[u32],
    rows: &RowNumbers,
) -> Result<Values> {
    const FIX: &str = "remove the row, or write 0";
    let column = column(path, table, COLUMNS[2])?;
    if !column.dtype().is_primitive_numeric() {
        return Err(Error::format(
            path,
            format!("column count has type {}, not a number", column.dtype()),
        )
        .fix("write the counts as numbers"));
    }
    if let Some(counts) = plain_u32(column)
        && slice_of(&counts)
            .iter()
            .all(|&count| count <= 1 << f32::MANTISSA_DIGITS)
    {
        return Ok(Values::Decoded(counts));
    }
    let column = convert(path, column, &DataType::Float64)?;
    first_null(path, &column, rows, "not a number", FIX)?;
    let wide = column
        .f64()
        .map_err(|source| Error::format(path, &source).because(source))?;
    let mut counts = Vec::with_capacity(wide.len());
    let mut bad: Option<((u32, u32), f64, usize)> = None;
    for (row, count) in wide.iter().flatten().enumerate() {
        if !invalid_value::is_sparse_count(count) {
            let position = (documents[row], terms[row]);
            if bad.is_none_or(|(earlier, _, _)| position < earlier) {
                bad = Some((position, count, row));
            }
        }
        counts.push(count as f32);
    }
    match bad {
        None => Ok(Values::Converted(counts)),
        Some(((document, term), count, row)) => {
            let (document, term) = (document as usize, term as usize);
            let error = invalid_value::no_sparse_count(count, document, term, Some(path));
            let place = invalid_value::place(document, term);
            Err(error.at(format!("{place}; {}", rows.name(row))))
        }
    }
}
