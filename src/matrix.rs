//! A small dense matrix: how L and F leave the model.

use std::sync::Arc;

use crate::display::{Card, count, counted, decimals_for, fixed};
use crate::error::{Error, ErrorKind, Result};
use crate::place::Values;

/// Rows and columns that a cell shows.
const ROWS_SHOWN: usize = 5;
const COLUMNS_SHOWN: usize = 8;

/// A dense row-major matrix of `f32`, cheap to clone (the values are shared).
///
/// L has one row per document and one column per topic; F has one row per topic and one column per term.
///
/// ```
/// use topicbook::Matrix;
/// let l = Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
/// assert_eq!(l.shape(), (2, 3));
/// assert_eq!(l.row(1), &[1.0, 0.0, 0.0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Arc<Values>,
}

impl Matrix {
    /// A matrix of `rows` x `columns` from its values, row by row.
    ///
    /// # Errors
    /// When `values` does not hold `rows * columns` numbers.
    pub fn new(rows: usize, columns: usize, values: Vec<f32>) -> Result<Self> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err(Error::new(
                ErrorKind::Shape,
                format!(
                    "a {rows} x {columns} matrix does not hold {} values",
                    values.len()
                ),
            )
            .fix("pass rows * columns values, row by row"));
        }
        Ok(Self::from_parts(rows, columns, values))
    }

    /// For values whose number is right by construction.
    pub(crate) fn from_parts(rows: usize, columns: usize, values: Vec<f32>) -> Self {
        Self::of(rows, columns, Values::Memory(values))
    }

    /// The same, wherever the values live.
    pub(crate) fn of(rows: usize, columns: usize, values: Values) -> Self {
        debug_assert_eq!(rows * columns, values.len());
        Self {
            rows,
            columns,
            values: Arc::new(values),
        }
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    ///
    /// # Panics
    /// When `row` is not smaller than the number of rows, as slices do.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The rows in the given order (rows may repeat or be left out).
    ///
    /// # Errors
    /// When an index is not a row.
    pub fn select_rows(&self, order: &[usize]) -> Result<Self> {
        let mut values = Vec::with_capacity(order.len() * self.columns);
        for &row in order {
            if row >= self.rows {
                return Err(Error::new(
                    ErrorKind::Shape,
                    format!("row {row} of a matrix with {} rows", self.rows),
                ));
            }
            values.extend_from_slice(self.row(row));
        }
        Self::new(order.len(), self.columns, values)
    }

    /// The columns in the given order (columns may repeat or be left out).
    ///
    /// # Errors
    /// When an index is not a column.
    pub fn select_columns(&self, order: &[usize]) -> Result<Self> {
        if let Some(column) = order.iter().find(|&&column| column >= self.columns) {
            return Err(Error::new(
                ErrorKind::Shape,
                format!("column {column} of a matrix with {} columns", self.columns),
            ));
        }
        let values = (0..self.rows)
            .flat_map(|row| order.iter().map(move |&column| self.row(row)[column]))
            .collect();
        Self::new(self.rows, order.len(), values)
    }

    /// Shows the shape and the upper left corner in a notebook cell.
    pub fn evcxr_display(&self) {
        let shown = self.columns.min(COLUMNS_SHOWN);
        let corner = || (0..self.rows.min(ROWS_SHOWN)).map(|row| &self.row(row)[..shown]);
        let largest = corner()
            .flatten()
            .fold(0.0, |largest: f32, value| largest.max(value.abs()));
        let decimals = decimals_for(largest.into());
        let mut card = Card::new(format!(
            "Matrix {} x {}",
            count(self.rows as u64),
            count(self.columns as u64)
        ));
        for (row, values) in corner().enumerate() {
            let values: Vec<String> = values
                .iter()
                .map(|&value| fixed(value.into(), decimals))
                .collect();
            let more = if shown < self.columns { "  …" } else { "" };
            card = card.row(format!("row {row}"), values.join("  ") + more);
        }
        if self.rows > ROWS_SHOWN {
            let left = self.rows - ROWS_SHOWN;
            card = card.note(format!("and {} more", counted(left, "row")));
        }
        card.show();
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape() && self.values() == other.values()
    }
}

impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matrix {} x {}", self.rows, self.columns)
    }
}
