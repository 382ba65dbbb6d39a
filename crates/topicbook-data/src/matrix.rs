//! Dense matrices, such as L and F of a fit.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::system::{Values, address, hold};
use crate::text::count;

use super::indices::Indices;
use crate::or_ref;

/// A dense row-major matrix of `f32`. Cheap to clone, because clones share the values.
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
#[doc(alias("ndarray", "Array2"))]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Arc<Values>,
    /// After a selection: the rows and columns of the original matrix that these are.
    picked_rows: Option<Arc<Picked>>,
    picked_columns: Option<Arc<Picked>>,
}

/// Rows or columns that were selected: charts of selected topics keep their numbers and colours.
#[derive(Debug, PartialEq)]
pub struct Picked {
    /// The number of each in the matrix from which it was selected.
    pub numbers: Vec<usize>,
    /// How many there are in that matrix.
    pub of: usize,
}

impl Picked {
    /// A selection from `all` rows or columns, which may be a selection themselves.
    fn new(order: &[usize], before: Option<&Arc<Self>>, all: usize) -> Option<Arc<Self>> {
        Some(Arc::new(match before {
            None => Self {
                numbers: order.to_vec(),
                of: all,
            },
            Some(before) => Self {
                numbers: order.iter().map(|&at| before.numbers[at]).collect(),
                of: before.of,
            },
        }))
    }
}

impl Matrix {
    /// A `rows` x `columns` matrix from its values, row by row. The vector is moved, not copied.
    ///
    /// ```
    /// use topicbook::Matrix;
    /// assert_eq!(Matrix::new(2, 2, vec![0.2, 0.8, 1.0, 0.0])?.row(0), [0.2, 0.8]);
    /// assert!(Matrix::new(2, 2, vec![0.2]).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the length of `values` is not `rows * columns`.
    pub fn new(rows: usize, columns: usize, values: Vec<f32>) -> Result<Self> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err(Error::shape(format!(
                "a {rows} × {columns} matrix does not have {} values",
                values.len()
            ))
            .fix("pass rows * columns values, row by row"));
        }
        Ok(Self::from_parts(rows, columns, values))
    }

    /// A matrix from values; their number is right by construction.
    #[doc(hidden)]
    pub fn from_parts(rows: usize, columns: usize, values: Vec<f32>) -> Self {
        Self::of(rows, columns, Values::Memory(values))
    }

    /// [`from_parts`](Self::from_parts) for values on the heap or in a memory mapping.
    #[doc(hidden)]
    pub fn of(rows: usize, columns: usize, values: Values) -> Self {
        debug_assert_eq!(rows * columns, values.len());
        let values = Arc::new(values);
        let what = format!("{} × {}", count(rows as u64), count(columns as u64));
        hold(
            &values,
            ("matrix", what, values.bytes_in_memory()),
            Vec::new(),
        );
        Self {
            rows,
            columns,
            values,
            picked_rows: None,
            picked_columns: None,
        }
    }

    /// The address that identifies it in the list of held values, and its bytes of anonymous memory.
    #[doc(hidden)]
    pub fn as_part(&self) -> (usize, u64) {
        (address(&self.values), self.values.bytes_in_memory())
    }

    /// Fails if values in a memory-mapped file were lost.
    #[doc(hidden)]
    pub fn check_kept(&self) -> Result<()> {
        self.values.check_kept()
    }

    /// The values, row by row. They are copied only if they are shared or not on the heap.
    #[doc(hidden)]
    pub fn into_values(self) -> Vec<f32> {
        match Arc::try_unwrap(self.values) {
            Ok(Values::Memory(values)) => values,
            Ok(mapped) => mapped.to_vec(),
            Err(shared) => shared.to_vec(),
        }
    }

    #[doc(hidden)]
    pub fn picked_rows(&self) -> Option<&Picked> {
        self.picked_rows.as_deref()
    }

    #[doc(hidden)]
    pub fn picked_columns(&self) -> Option<&Picked> {
        self.picked_columns.as_deref()
    }

    /// The matrix with its rows and columns counted from 0, whatever they were selected from.
    #[doc(hidden)]
    pub fn renumbered(mut self) -> Self {
        self.picked_rows = None;
        self.picked_columns = None;
        self
    }

    /// Number of rows and number of columns.
    ///
    /// ```
    /// let l = topicbook::Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
    /// assert_eq!(l.shape(), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Number of rows: documents in L, topics in F.
    ///
    /// ```
    /// let l = topicbook::Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
    /// assert_eq!(l.rows(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "nrows")]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns: topics in L, terms in F.
    ///
    /// ```
    /// let l = topicbook::Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
    /// assert_eq!(l.columns(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "ncols")]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row: the topics of a document in L, the terms of a topic in F.
    ///
    /// ```
    /// let l = topicbook::Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
    /// assert_eq!(l.row(1), [1.0, 0.0, 0.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Panics
    /// When there is no such row, as slices do; [`select_rows`](Self::select_rows) returns an error instead.
    #[track_caller]
    pub fn row(&self, row: usize) -> &[f32] {
        assert!(
            row < self.rows,
            "there is no row {row}: {} rows, counted from 0",
            count(self.rows as u64)
        );
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// All values, row by row.
    ///
    /// ```
    /// let l = topicbook::Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
    /// assert_eq!(l.values().len(), 6);
    /// assert_eq!(l.values()[..3], *l.row(0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "as_slice")]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The rows in the given order, from 0 (rows may repeat or be left out). In charts, topics that are rows keep their
    /// numbers and colours.
    ///
    /// ```
    /// let l = topicbook::Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
    /// assert_eq!(l.select_rows([1, 0])?.row(0), l.row(1));
    /// assert!(l.select_rows(1..3).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When an index is not a row.
    ///
    /// # Cost
    /// Copies the rows: 4 bytes a value, and 8 a row.
    #[doc(alias = "take")]
    pub fn select_rows(&self, order: impl Indices) -> Result<Self> {
        let order = order.to_indices();
        let mut values = Vec::with_capacity(order.len() * self.columns);
        for &row in &order {
            if row >= self.rows {
                return Err(Error::shape(format!(
                    "row {row} of a matrix with {} rows",
                    count(self.rows as u64)
                ))
                .fix("rows are counted from 0"));
            }
            values.extend_from_slice(self.row(row));
        }
        let mut selected = Self::from_parts(order.len(), self.columns, values);
        selected.picked_rows = Picked::new(&order, self.picked_rows.as_ref(), self.rows);
        selected.picked_columns = self.picked_columns.clone();
        Ok(selected)
    }

    /// The columns in the given order, from 0 (columns may repeat or be left out). In charts, topics that are columns keep
    /// their numbers and colours.
    ///
    /// ```
    /// let l = topicbook::Matrix::new(2, 3, vec![0.2, 0.3, 0.5, 1.0, 0.0, 0.0])?;
    /// assert_eq!(l.select_columns([2, 0])?.row(0), [0.5, 0.2]);
    /// assert!(l.select_columns([3]).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When an index is not a column.
    ///
    /// # Cost
    /// Copies the columns: 4 bytes a value.
    pub fn select_columns(&self, order: impl Indices) -> Result<Self> {
        let order = order.to_indices();
        if let Some(column) = order.iter().find(|&&column| column >= self.columns) {
            return Err(Error::shape(format!(
                "column {column} of a matrix with {} columns",
                count(self.columns as u64)
            ))
            .fix("columns are counted from 0"));
        }
        let values = (0..self.rows)
            .flat_map(|row| order.iter().map(move |&column| self.row(row)[column]))
            .collect();
        let mut selected = Self::from_parts(self.rows, order.len(), values);
        selected.picked_columns = Picked::new(&order, self.picked_columns.as_ref(), self.columns);
        selected.picked_rows = self.picked_rows.clone();
        Ok(selected)
    }

    /// The transpose, as a copy in memory.
    #[doc(hidden)]
    pub fn transposed(&self) -> Self {
        let mut values = vec![0.0; self.values.len()];
        for row in 0..self.rows {
            for (column, &value) in self.row(row).iter().enumerate() {
                values[column * self.rows + row] = value;
            }
        }
        Self::from_parts(self.columns, self.rows, values)
    }
}

or_ref!(Matrix);

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape() && self.values() == other.values()
    }
}

impl std::fmt::Debug for Matrix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Matrix {} × {}",
            count(self.rows as u64),
            count(self.columns as u64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transpose_swaps_rows_and_columns() {
        let matrix = Matrix::from_parts(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let transposed = Matrix::from_parts(3, 2, vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(matrix.transposed(), transposed);
        assert_eq!(transposed.transposed(), matrix);
        let empty = Matrix::from_parts(4, 0, Vec::new());
        assert_eq!(empty.transposed().shape(), (0, 4));
    }

    #[test]
    fn a_selection_of_a_selection_knows_the_first_numbers() {
        let matrix = Matrix::from_parts(1, 5, vec![0.0; 5]);
        let some = matrix.select_columns([4, 2, 0]).unwrap();
        let fewer = some.select_columns([1, 0]).unwrap();
        let picked = fewer.picked_columns().unwrap();
        assert_eq!((&picked.numbers[..], picked.of), (&[2, 4][..], 5));
        assert_eq!(matrix.select_rows([0]).unwrap().picked_columns(), None);
        assert!(fewer.renumbered().picked_columns().is_none());
    }
}
