//! Joins of Polars' data frames, compiled here.

use polars::prelude::{
    DataFrame, DataFrameJoinOps as PolarsJoins, JoinArgs, JoinType, JoinTypeOptions, PolarsResult,
};

/// The joins of two data frames, by the names and with the arguments of Polars.
///
/// Polars' trait of this name is generic over the kind of frame, so that every cell with a join would compile all of it again
/// (ten seconds). These methods call it here, where it is compiled once.
///
/// ```
/// use topicbook::polars::prelude::*;
/// let papers = df!("document" => [0, 1], "title" => ["Spikes", "Kernels"])?;
/// let years = df!("document" => [1, 2], "year" => [1987, 1988])?;
/// assert_eq!(papers.inner_join(&years, ["document"], ["document"])?.shape(), (1, 3));
/// assert_eq!(papers.left_join(&years, ["document"], ["document"])?.shape(), (2, 3));
/// # Ok::<(), PolarsError>(())
/// ```
///
/// # Errors
/// When a key is not a column, or the keys have different types.
pub trait DataFrameJoinOps {
    /// The rows of both frames whose keys are equal, joined as `args` say.
    fn join(
        &self,
        other: &DataFrame,
        left_on: impl IntoIterator<Item = impl AsRef<str>>,
        right_on: impl IntoIterator<Item = impl AsRef<str>>,
        args: JoinArgs,
        options: Option<JoinTypeOptions>,
    ) -> PolarsResult<DataFrame>;

    /// The rows of both frames whose keys are equal.
    fn inner_join(
        &self,
        other: &DataFrame,
        left_on: impl IntoIterator<Item = impl AsRef<str>>,
        right_on: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> PolarsResult<DataFrame> {
        self.join(other, left_on, right_on, JoinType::Inner.into(), None)
    }

    /// All rows of this frame, with nulls where the other one has no equal keys.
    fn left_join(
        &self,
        other: &DataFrame,
        left_on: impl IntoIterator<Item = impl AsRef<str>>,
        right_on: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> PolarsResult<DataFrame> {
        self.join(other, left_on, right_on, JoinType::Left.into(), None)
    }

    /// All rows of both frames, with nulls where the other one has no equal keys.
    fn full_join(
        &self,
        other: &DataFrame,
        left_on: impl IntoIterator<Item = impl AsRef<str>>,
        right_on: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> PolarsResult<DataFrame> {
        self.join(other, left_on, right_on, JoinType::Full.into(), None)
    }
}

impl DataFrameJoinOps for DataFrame {
    fn join(
        &self,
        other: &DataFrame,
        left_on: impl IntoIterator<Item = impl AsRef<str>>,
        right_on: impl IntoIterator<Item = impl AsRef<str>>,
        args: JoinArgs,
        options: Option<JoinTypeOptions>,
    ) -> PolarsResult<DataFrame> {
        let (left_on, right_on) = (names(left_on), names(right_on));
        joined(self, other, left_on, right_on, args, options)
    }
}

fn names(keys: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    keys.into_iter()
        .map(|name| name.as_ref().to_owned())
        .collect()
}

/// Not generic, so that it is compiled here.
fn joined(
    left: &DataFrame,
    right: &DataFrame,
    left_on: Vec<String>,
    right_on: Vec<String>,
    args: JoinArgs,
    options: Option<JoinTypeOptions>,
) -> PolarsResult<DataFrame> {
    PolarsJoins::join(left, right, left_on, right_on, args, options)
}
