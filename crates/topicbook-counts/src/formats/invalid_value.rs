//! Errors about values that are not counts, or that a dtype does not represent exactly.

use std::path::Path;

use crate::dtype::{Dtype, Element};
use crate::error::Error;
use crate::text::shown_path;

pub fn not_a_count(value: f64, row: usize, column: usize, path: Option<&Path>) -> Error {
    let (what, fix) = if value.is_nan() {
        (
            "NaN is not a count".to_string(),
            "replace missing counts by 0: np.nan_to_num(X)",
        )
    } else if value.is_infinite() {
        (
            format!("{value} is not a count"),
            "check how the counts were computed; a division by zero gives infinity",
        )
    } else if value < 0.0 {
        (
            format!("{value} is negative; counts must be at least 0"),
            "pass raw counts, neither centred nor on a log scale",
        )
    } else if value > f64::from(f32::MAX) {
        (
            format!("{value:e} is too large; counts must be at most 3.4e38"),
            "check how the counts were computed, and that the file has the dtype that its header names",
        )
    } else {
        (
            format!("{value} is not a whole number; counts must be whole"),
            "pass raw counts, not tf-idf or frequencies; np.rint(X) if they only need rounding",
        )
    };
    Error::value(prefixed(path, what))
        .at(place(row, column))
        .fix(fix)
}

/// The error for a value that a dtype does not represent exactly.
pub fn does_not_fit(value: f64, row: usize, column: usize, dtype: Dtype) -> Error {
    Error::value(format!("{value} does not fit {dtype} exactly"))
        .at(place(row, column))
        .fix("use write_npy_narrow, which picks the narrowest dtype that fits every count")
}

/// The error for a count that the `f32` of sparse counts does not represent exactly.
pub fn too_large_for_sparse(value: f64, row: usize, column: usize, path: Option<&Path>) -> Error {
    Error::value(prefixed(
        path,
        format!("{value} does not fit the f32 of sparse counts exactly"),
    ))
    .at(place(row, column))
    .fix("save a dense array instead: np.save(\"X.npy\", X.toarray())")
}

/// The error for a count above those of packed counts.
pub fn too_large_for_packed(value: f64, row: usize, column: usize, path: Option<&Path>) -> Error {
    let what = format!("{value} is above 4294967295, the largest count of a .tbc file");
    Error::value(prefixed(path, what))
        .at(place(row, column))
        .fix("write them with write_npz or write_npy_narrow instead")
}

/// Whether a value is a count that the `f32` of sparse counts represents exactly.
pub fn is_sparse_count(value: f64) -> bool {
    value.is_count() && f64::from(value as f32) == value
}

/// The error for a value that is none.
pub fn no_sparse_count(value: f64, row: usize, column: usize, path: Option<&Path>) -> Error {
    match value.is_count() {
        true => too_large_for_sparse(value, row, column, path),
        false => not_a_count(value, row, column, path),
    }
}

fn prefixed(path: Option<&Path>, what: String) -> String {
    match path {
        None => what,
        Some(path) => format!("{}: {what}", shown_path(path)),
    }
}

/// The position of a count in an error: row (document) and column (term), both counted from 0.
pub fn place(row: usize, column: usize) -> String {
    format!("row {row}, column {column} (counted from 0)")
}
