//! Arguments that are given by value or by reference.

/// Seals [`OrRef`]: code outside this crate cannot name it.
pub(crate) mod sealed {
    pub trait Sealed {}

    impl<R: Sealed + ?Sized> Sealed for &R {}
}

/// A value, or a reference to it: `fit(&counts)` leaves the variable to the next cell, `fit(corpus.counts())` takes what a
/// call returns.
///
/// Implemented for [`Counts`](crate::Counts), [`Terms`](crate::Terms), [`Matrix`](crate::Matrix),
/// [`TopicModel`](crate::TopicModel), [`Budget`](crate::Budget), [`Cluster`](crate::Cluster), [`Settings`](crate::Settings), [`Solver`](crate::Solver),
/// [`TableStorage`](crate::TableStorage), [`Evaluation`](crate::Evaluation) and references to them. No other crate can implement it.
///
/// ```
/// use topicbook::{Counts, OrRef};
/// fn tokens(counts: impl OrRef<Counts>) -> topicbook::Result<f64> {
///     Ok(counts.value().summary()?.total())
/// }
/// let counts = Counts::dense(2, 2, vec![1u8, 0, 2, 3])?;
/// assert_eq!(tokens(&counts)?, tokens(counts)?);
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
macro_rules! or_ref {
    ($T:ty) => {
        impl $crate::data::sealed::Sealed for $T {}

        impl $crate::data::OrRef<$T> for $T {
            fn value(&self) -> &$T {
                self
            }
        }
    };
}

pub(crate) use or_ref;
