//! What batches of people's own loops are made of.

use crate::Counts;
use crate::data::Matrix;
use crate::error::Result;

/// Where the rows of batches come from.
#[derive(Debug, Clone)]
pub(super) enum Rows {
    Counts(Counts),
    Matrix(Matrix),
    /// Numbers of rows alone.
    Numbers(usize),
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Counts(counts) => counts.documents(),
            Self::Matrix(matrix) => matrix.rows(),
            Self::Numbers(rows) => *rows,
        }
    }

    pub(super) fn select(&self, rows: &[usize]) -> Result<Self> {
        Ok(match self {
            Self::Counts(counts) => Self::Counts(counts.select(rows)?),
            Self::Matrix(matrix) => Self::Matrix(matrix.select_rows(rows)?),
            Self::Numbers(_) => Self::Numbers(rows.len()),
        })
    }
}
