//! What is said about values that are no counts, or do not fit.

use std::path::Path;

use super::dtype::Dtype;
use crate::error::{Error, ErrorKind};

/// A value that is not a count.
pub(super) fn not_a_count(value: f64, row: usize, column: usize, path: Option<&Path>) -> Error {
    let (what, fix) = if value.is_nan() {
        (
            "NaN is not a count".to_string(),
            "put 0 where nothing was counted: np.nan_to_num(X)",
        )
    } else if value.is_infinite() {
        (
            format!("{value} is not a count"),
            "look for a division by zero where the counts come from",
        )
    } else if value < 0.0 {
        (
            format!("{value} is negative, and counts are not"),
            "pass raw counts: not centred, not on a log scale",
        )
    } else {
        (
            format!("{value} is not a whole number, and counts are"),
            "pass raw counts, not tf-idf or frequencies; np.rint(X) if they only need rounding",
        )
    };
    Error::new(ErrorKind::Value, prefixed(path, what))
        .at(place(row, column))
        .fix(fix)
}

/// A value that a dtype does not hold exactly.
pub(super) fn does_not_fit(value: f64, row: usize, column: usize, dtype: Dtype) -> Error {
    Error::new(
        ErrorKind::Value,
        format!("{value} does not fit {dtype} exactly"),
    )
    .at(place(row, column))
    .fix("write_npy_narrow picks the narrowest dtype that holds every count")
}

/// A count that sparse counts, which are `f32`, would change.
pub(super) fn too_large_for_sparse(
    value: f64,
    row: usize,
    column: usize,
    path: Option<&Path>,
) -> Error {
    Error::new(
        ErrorKind::Value,
        prefixed(
            path,
            format!("{value} does not fit the f32 of sparse counts exactly"),
        ),
    )
    .at(place(row, column))
    .fix("save a dense array instead: np.save(\"X.npy\", X.toarray())")
}

fn prefixed(path: Option<&Path>, what: String) -> String {
    match path {
        None => what,
        Some(path) => format!("{}: {what}", path.display()),
    }
}

/// Documents are rows and terms are columns everywhere here, counted from 0.
pub(super) fn place(row: usize, column: usize) -> String {
    format!("row {row}, column {column} (counted from 0)")
}
