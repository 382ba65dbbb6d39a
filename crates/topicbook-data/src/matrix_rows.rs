//! Iteration over the rows of a matrix.

use std::ops::Deref;

use crate::Matrix;

/// A row of a [`Matrix`]: a slice of its values.
///
/// ```
/// use topicbook::Matrix;
/// let matrix = Matrix::new(2, 2, vec![0.2, 0.8, 1.0, 0.0])?;
/// let sums: Vec<f32> = (&matrix).into_iter().map(|row| row.iter().sum()).collect();
/// assert_eq!(sums, [1.0, 1.0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MatrixRow {
    matrix: Matrix,
    row: usize,
}

impl MatrixRow {
    /// The matrix that contains the row.
    #[doc(hidden)]
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }
}

impl Deref for MatrixRow {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        self.matrix.row(self.row)
    }
}

/// The rows of a [`Matrix`], from the first: `for row in &matrix`.
#[derive(Debug, Clone)]
pub struct MatrixRows {
    matrix: Matrix,
    next: usize,
}

impl Iterator for MatrixRows {
    type Item = MatrixRow;

    fn next(&mut self) -> Option<MatrixRow> {
        let row = self.next;
        if row == self.matrix.rows() {
            return None;
        }
        self.next += 1;
        let matrix = self.matrix.clone();
        Some(MatrixRow { matrix, row })
    }
}

impl IntoIterator for Matrix {
    type Item = MatrixRow;
    type IntoIter = MatrixRows;

    fn into_iter(self) -> MatrixRows {
        MatrixRows {
            matrix: self,
            next: 0,
        }
    }
}

impl IntoIterator for &Matrix {
    type Item = MatrixRow;
    type IntoIter = MatrixRows;

    fn into_iter(self) -> MatrixRows {
        self.clone().into_iter()
    }
}
