//! Arguments that are the numbers of rows or columns.

use std::ops::{Range, RangeInclusive};

/// The numbers of rows or columns, counted from 0: a range or a list, by value or by reference.
///
/// Implemented for ranges of `usize`, and for vectors, slices and arrays of `usize`. Each function that takes one says
/// whether a number may come twice.
///
/// ```
/// use topicbook::Matrix;
/// let l = Matrix::new(3, 2, vec![0.2, 0.8, 1.0, 0.0, 0.5, 0.5])?;
/// let last = vec![1, 2];
/// assert_eq!(l.select_rows(1..3)?, l.select_rows(&last)?);
/// assert_eq!(l.select_rows([2, 0])?.row(0), l.row(2));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not number rows or columns",
    label = "a range such as `0..10` or a list such as `[2, 5]` is expected",
    note = "numbers from 0, of type `usize`"
)]
pub trait Indices {
    /// The numbers, in their order.
    fn to_indices(self) -> Vec<usize>;
}

impl Indices for Vec<usize> {
    fn to_indices(self) -> Vec<usize> {
        self
    }
}

impl<const N: usize> Indices for [usize; N] {
    fn to_indices(self) -> Vec<usize> {
        self.to_vec()
    }
}

impl Indices for &[usize] {
    fn to_indices(self) -> Vec<usize> {
        self.to_vec()
    }
}

impl Indices for &Vec<usize> {
    fn to_indices(self) -> Vec<usize> {
        self.clone()
    }
}

impl<const N: usize> Indices for &[usize; N] {
    fn to_indices(self) -> Vec<usize> {
        self.to_vec()
    }
}

impl Indices for Range<usize> {
    fn to_indices(self) -> Vec<usize> {
        self.collect()
    }
}

impl Indices for RangeInclusive<usize> {
    fn to_indices(self) -> Vec<usize> {
        self.collect()
    }
}
