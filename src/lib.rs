//! Topic models for count matrices that do not fit, in evcxr notebooks.

mod beside;
mod counts;
mod display;
mod error;
mod matrix;
mod terms;

pub use counts::{CountValue, Counts, Dtype, Layout, Location, Summary};
pub use error::{Error, ErrorKind, Result};
pub use matrix::Matrix;
pub use terms::Terms;

/// What a notebook's first cell brings in.
pub mod prelude {
    pub use crate::{Counts, Dtype, Error, Matrix, Result, Terms};
}
