//! Topic models for count matrices that do not fit, in evcxr notebooks.

mod beside;
mod charts;
mod display;
mod error;
mod matrix;
mod table;

pub use charts::{Chart, palette, side_by_side, sort_documents, stack};
pub use error::{Error, ErrorKind, Result};
pub use matrix::Matrix;
/// The Polars that [`Table`] is made of, so that nobody has to match its version.
pub use polars;
pub use table::Table;

/// What a notebook's first cell brings in.
pub mod prelude {
    pub use crate::{Chart, Error, Matrix, Result, Table, side_by_side, stack};
}
