//! What this build of Polars reads from Parquet and Arrow files: the types of columns, and the panics of readers as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use polars::prelude::{ArrowDataType, ArrowField};

use crate::error::{Error, Result, panic_text};

/// Calls a reader of this format, such as Polars; its errors and panics become errors that name the file and this remedy.
pub fn guard_as<T, E: std::error::Error + Send + Sync + 'static>(
    format: &str,
    remedy: &str,
    path: &Path,
    read: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    let unreadable = |what: String| {
        Error::format(path, format!("cannot be read as {format}: {what}")).fix(remedy)
    };
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(source)) => Err(unreadable(source.to_string()).because(source)),
        Err(panic) => Err(unreadable(panic_text(&*panic))),
    }
}

/// The 32-bit type for integers of a smaller type.
pub fn wider(dtype: &ArrowDataType) -> Option<ArrowDataType> {
    match dtype {
        ArrowDataType::Int8 | ArrowDataType::Int16 => Some(ArrowDataType::Int32),
        ArrowDataType::UInt8 | ArrowDataType::UInt16 => Some(ArrowDataType::UInt32),
        ArrowDataType::List(inner) | ArrowDataType::LargeList(inner) => {
            let mut inner = inner.clone();
            inner.dtype = wider(&inner.dtype)?;
            Some(ArrowDataType::LargeList(inner))
        }
        _ => None,
    }
}

/// Fails if a column has a type that is not enabled in this build of Polars, which panics on it.
pub fn check_types<'a>(
    path: &Path,
    mut fields: impl Iterator<Item = &'a ArrowField>,
) -> Result<()> {
    let Some(field) = fields.find(|field| !is_read(field)) else {
        return Ok(());
    };
    let what = format!(
        "column {:?} has type {:?}, which is not read",
        field.name, field.dtype
    );
    Err(Error::format(path, what).fix(
        "write the column as integers or floats of 32 or 64 bits, or as text: in pandas, .astype(\"int64\")",
    ))
}

fn is_read(field: &ArrowField) -> bool {
    use ArrowDataType as Type;
    match &field.dtype {
        Type::Null | Type::Boolean => true,
        Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 => true,
        Type::UInt8 | Type::UInt16 | Type::UInt32 | Type::UInt64 => true,
        Type::Float32 | Type::Float64 | Type::Utf8 | Type::LargeUtf8 | Type::Utf8View => true,
        Type::Binary | Type::LargeBinary | Type::BinaryView => true,
        Type::Date32 | Type::Date64 | Type::Timestamp(..) | Type::Dictionary(..) => true,
        Type::List(inner) | Type::LargeList(inner) => is_read(inner),
        _ => false,
    }
}
