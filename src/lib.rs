//! Topic models for count matrices that do not fit, in evcxr notebooks.

mod error;
mod matrix;

pub use error::{Error, ErrorKind, Result};
pub use matrix::Matrix;

/// What a notebook's first cell brings in.
pub mod prelude {
    pub use crate::{Error, Matrix, Result};
}
