//! Arguments that are given by value or by reference.

/// Seals [`OrRef`]: code outside this crate cannot name it.
pub mod sealed {
    /// Only the crates of topicbook implement it.
    pub trait Sealed {}

    impl<R: Sealed + ?Sized> Sealed for &R {}
}

/// A value, or a reference to it: `fit(&counts)` leaves the variable to the next cell, `fit(corpus.counts())` takes what a
/// call returns.
///
/// Implemented for counts, terms, matrices, models, their settings, evaluations and references to them. No other crate can
/// implement it.
///
/// ```
/// use topicbook::{Matrix, OrRef};
/// fn cells(matrix: impl OrRef<Matrix>) -> usize {
///     let (rows, columns) = matrix.value().shape();
///     rows * columns
/// }
/// let matrix = Matrix::new(2, 2, vec![1.0, 0.0, 2.0, 3.0])?;
/// assert_eq!(cells(&matrix), cells(matrix));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{T}` or `&{T}` is expected, found `{Self}`",
    label = "not `{T}`: if it is a `Result`, write `?` after the call that made it",
    note = "`let counts = Counts::open(\"X.npz\")?;` has the counts, without `?` it has a `Result`"
)]
pub trait OrRef<T>: sealed::Sealed {
    /// The value.
    fn value(&self) -> &T;
}

impl<T, R: OrRef<T> + ?Sized> OrRef<T> for &R {
    fn value(&self) -> &T {
        R::value(self)
    }
}

/// Lets functions take a type by value or by reference.
#[doc(hidden)]
#[macro_export]
macro_rules! or_ref {
    ($T:ty) => {
        impl $crate::sealed::Sealed for $T {}

        impl $crate::OrRef<$T> for $T {
            fn value(&self) -> &$T {
                self
            }
        }
    };
}
