//! Rows of two tables joined where their keys are equal.

use polars::prelude::{
    DataFrame, DataFrameJoinOps, JoinArgs, JoinCoalesce, JoinType, MaintainOrderJoin,
};

use crate::error::{Error, Result};

use super::Table;
use super::error::attempt;

impl Table {
    /// Each row of this table joined with the rows of another one that have the same key; other rows are left out.
    ///
    /// Integer keys of different types are compared by value. Where both tables have a further column of one name, the column
    /// of `other` gets the suffix `_right`.
    ///
    /// ```
    /// use topicbook::Table;
    /// let topics = Table::new().with_column("document", [0u64, 1, 2])?.with_column("topic", [4u32, 1, 4])?;
    /// let papers = Table::new().with_column("id", [2i64, 0])?.with_column("title", ["Spikes", "Neurons"])?;
    /// let joined = topics.join(&papers, ("document", "id"))?;
    /// assert_eq!(joined.texts("title")?, ["Neurons", "Spikes"]);
    /// let papers = papers.rename("id", "document")?;
    /// assert_eq!(topics.join(&papers, "document")?.shape(), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When one of the tables lacks a key column, or the keys have types that cannot be equal, such as number and text.
    #[doc(alias = "merge")]
    #[doc(alias = "inner_join")]
    pub fn join(&self, other: &Table, on: impl JoinKeys) -> Result<Self> {
        self.joined(other, on.into_pairs(), JoinType::Inner)
    }

    /// Each row of this table joined with the rows of another one that have the same key, or with nulls if there are none.
    ///
    /// ```
    /// use topicbook::Table;
    /// let topics = Table::new().with_column("document", [0, 1])?;
    /// let papers = Table::new().with_column("document", [1])?.with_column("title", ["Kernels"])?;
    /// assert_eq!(topics.left_join(&papers, "document")?.texts("title")?, ["", "Kernels"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn left_join(&self, other: &Table, on: impl JoinKeys) -> Result<Self> {
        self.joined(other, on.into_pairs(), JoinType::Left)
    }

    fn joined(&self, other: &Table, on: Vec<(String, String)>, how: JoinType) -> Result<Self> {
        let mut right = other.frame.clone();
        for (mine, others) in &on {
            self.check_name(mine)?;
            other
                .check_name(others)
                .map_err(|error| in_other(error, mine))?;
            match_type(&self.frame, mine, &mut right, others)?;
        }
        let args = JoinArgs {
            how,
            coalesce: JoinCoalesce::CoalesceColumns,
            maintain_order: MaintainOrderJoin::Left,
            ..JoinArgs::default()
        };
        let (mine, others): (Vec<String>, Vec<String>) = on.into_iter().unzip();
        Ok(attempt(|| self.frame.join(&right, mine, others, args, None))?.into())
    }
}

/// Says that the other table lacks the key.
fn in_other(error: Error, key: &str) -> Error {
    let place = error.place().unwrap_or_default().to_string();
    let remedy = format!(
        "if its key has another name, give both: ({key:?}, \"name\"); {}",
        error.remedy().unwrap_or_default()
    );
    error
        .at(format!("the table joined to it; {place}"))
        .fix(remedy)
}

/// Converts the key of `right` to the type of the key of `left`, if both are integers. A value that this type cannot hold
/// becomes null, which equals no key.
fn match_type(left: &DataFrame, mine: &str, right: &mut DataFrame, others: &str) -> Result<()> {
    let (key, other) = attempt(|| Ok((left.column(mine)?, right.column(others)?.clone())))?;
    let (wanted, found) = (key.dtype(), other.dtype());
    if wanted == found {
        return Ok(());
    }
    if !(wanted.is_integer() && found.is_integer()) {
        return Err(Error::table(format!("the key {mine:?} has type {wanted}, and {others:?} of the other table {found}"))
            .fix(format!(
            "give one of them the other's type first: .with_column({others:?}, col({others:?}).cast(DataType::Int64))?"
        )));
    }
    attempt(|| right.with_column(other.cast(wanted)?).map(|_| ()))?;
    Ok(())
}

/// The keys of a join: one name, a pair of this table's name and the other's, or an array of either.
///
/// ```
/// use topicbook::Table;
/// let left = Table::new().with_column("a", [1, 2])?.with_column("b", [1, 1])?;
/// assert_eq!(left.join(&left, "a")?.shape(), (2, 3));
/// assert_eq!(left.join(&left, ["a", "b"])?.shape(), (2, 2));
/// assert_eq!(left.join(&left, ("a", "b"))?.shape(), (2, 3));
/// # Ok::<(), topicbook::Error>(())
/// ```
pub trait JoinKeys {
    #[doc(hidden)]
    fn into_pairs(self) -> Vec<(String, String)>;
}

impl JoinKeys for &str {
    fn into_pairs(self) -> Vec<(String, String)> {
        vec![(self.into(), self.into())]
    }
}

impl JoinKeys for (&str, &str) {
    fn into_pairs(self) -> Vec<(String, String)> {
        vec![(self.0.into(), self.1.into())]
    }
}

impl<T: JoinKeys, const N: usize> JoinKeys for [T; N] {
    fn into_pairs(self) -> Vec<(String, String)> {
        self.into_iter().flat_map(T::into_pairs).collect()
    }
}
