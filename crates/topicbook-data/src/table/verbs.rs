//! Rows and columns of a table, chosen and sorted.

use polars::prelude::{
    BooleanChunked, Expr, IdxCa, IdxSize, SortMultipleOptions, UniqueKeepStrategy,
};

use crate::error::{Error, Result};
use crate::system::{Purpose, stream};
use crate::text::{count, counted};

use super::Table;
use super::error::attempt;
use super::names::Columns;

impl Table {
    /// The rows for which a condition is true, in their order. Rows for which it is null are left out.
    ///
    /// A condition compares columns with numbers, texts or each other, and conditions are combined by `.and`, `.or` and
    /// `.not()`. A text is written `lit("text")`, since a bare text names a column.
    ///
    /// ```
    /// use topicbook::prelude::*;
    /// let papers = Table::new()
    ///     .with_column("title", ["Neurons", "Kernels", "Spikes"])?
    ///     .with_column("year", [1987, 1998, 1987])?;
    /// assert_eq!(papers.filter(col("year").gt(1990))?.height(), 1);
    /// assert_eq!(papers.filter(col("title").eq(lit("Spikes")))?.height(), 1);
    /// assert_eq!(papers.filter(col("year").lt(1990).and(col("title").neq(lit("Spikes"))))?.height(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When the condition names a column that is not there, or compares a number with a text.
    #[doc(alias = "query")]
    #[doc(alias = "where")]
    pub fn filter(&self, condition: impl Condition) -> Result<Self> {
        condition.rows_of(self)
    }

    /// The given columns, or the columns that expressions compute, in the given order.
    ///
    /// ```
    /// use topicbook::prelude::*;
    /// let table = Table::new().with_column("term", ["model", "data"])?.with_column("count", [30, 10])?;
    /// assert_eq!(table.select(["count", "term"])?.column_names(), ["count", "term"]);
    /// assert_eq!(table.select(col("count").sum())?.numbers("count")?, [40.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or two of the new ones have one name.
    pub fn select(&self, columns: impl Columns) -> Result<Self> {
        self.selected(&columns.into_expressions())
    }

    pub(super) fn selected(&self, columns: &[Expr]) -> Result<Self> {
        self.query(columns, |frame| frame.select(columns))
    }

    /// The table without the given columns.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("term", ["model"])?.with_column("count", [30])?;
    /// assert_eq!(table.drop("count")?.column_names(), ["term"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    pub fn drop(&self, columns: impl Columns) -> Result<Self> {
        self.without(&columns.into_expressions())
    }

    fn without(&self, columns: &[Expr]) -> Result<Self> {
        let dropped = self.selected(columns)?;
        Ok(self.frame.drop_many(dropped.column_names()).into())
    }

    /// The table with another name for a column.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("topic 0", [0.5, 0.1])?;
    /// assert_eq!(table.rename("topic 0", "vision")?.column_names(), ["vision"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or another one has the new name.
    pub fn rename(&self, from: impl AsRef<str>, to: impl AsRef<str>) -> Result<Self> {
        self.renamed(from.as_ref(), to.as_ref())
    }

    fn renamed(&self, from: &str, to: &str) -> Result<Self> {
        self.check_name(from)?;
        let mut frame = self.frame.clone();
        attempt(|| frame.rename(from, to.into()).map(|_| ()))?;
        Ok(frame.into())
    }

    /// The rows in ascending order of a column, or of several: the second decides between rows that are equal in the
    /// first. Nulls are last; rows that are equal in all stay in their order.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("term", ["model", "data"])?.with_column("count", [30, 10])?;
    /// assert_eq!(table.sort_by("count")?.texts("term")?, ["data", "model"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    #[doc(alias = "sort")]
    #[doc(alias = "sort_values")]
    #[doc(alias = "order_by")]
    pub fn sort_by(&self, columns: impl Columns) -> Result<Self> {
        self.sorted(&columns.into_expressions(), false)
    }

    /// The rows in descending order of a column, or of several; nulls are last.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("term", ["data", "model"])?.with_column("count", [10, 30])?;
    /// assert_eq!(table.sort_by_desc("count")?.head(1).texts("term")?, ["model"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    #[doc(alias = "top_k")]
    #[doc(alias = "nlargest")]
    pub fn sort_by_desc(&self, columns: impl Columns) -> Result<Self> {
        self.sorted(&columns.into_expressions(), true)
    }

    fn sorted(&self, columns: &[Expr], descending: bool) -> Result<Self> {
        let options = SortMultipleOptions::default()
            .with_order_descending(descending)
            .with_nulls_last(true)
            .with_maintain_order(true);
        self.query(columns, |frame| frame.sort_by_exprs(columns, options))
    }

    /// The first `n` rows, or all if there are fewer.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("document", 0..100)?;
    /// assert_eq!(table.head(3).numbers("document")?, [0.0, 1.0, 2.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "limit")]
    pub fn head(&self, n: usize) -> Self {
        self.frame.head(Some(n)).into()
    }

    /// `n` rows drawn at random without replacement, in a random order, or all if there are fewer. The same seed draws the same.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("document", 0..100)?;
    /// assert_eq!(table.sample(3, 1).height(), 3);
    /// assert_eq!(table.sample(3, 1).numbers("document")?, table.sample(3, 1).numbers("document")?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "sample_n")]
    pub fn sample(&self, n: usize, seed: u64) -> Self {
        let rows = self.frame.height();
        let mut random = stream(seed, Purpose::Resample, 0);
        let drawn = rand::seq::index::sample(&mut random, rows, n.min(rows));
        let drawn: IdxCa = drawn.iter().map(|row| Some(row as IdxSize)).collect();
        // The rows exist.
        self.frame.take(&drawn).unwrap_or_default().into()
    }

    /// The last `n` rows, or all if there are fewer.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("document", 0..100)?;
    /// assert_eq!(table.tail(2).numbers("document")?, [98.0, 99.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn tail(&self, n: usize) -> Self {
        self.frame.tail(Some(n)).into()
    }

    /// `n` rows from row `first` on, or fewer at the end of the table.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("document", 0..100)?;
    /// assert_eq!(table.slice(50, 2).numbers("document")?, [50.0, 51.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "iloc")]
    pub fn slice(&self, first: usize, n: usize) -> Self {
        let first = first.min(self.height());
        self.frame.slice(first as i64, n).into()
    }

    /// The row with number `row`, counted from 0, as a table of one row.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("term", ["model", "data"])?;
    /// assert_eq!(table.row(1)?.texts("term")?, ["data"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such row.
    #[doc(alias = "get_row")]
    #[doc(alias = "loc")]
    pub fn row(&self, row: usize) -> Result<Self> {
        let height = self.height();
        if row < height {
            return Ok(self.slice(row, 1));
        }
        let what = format!(
            "the table has no row {}: it has {}",
            count(row as u64),
            counted(height, "row")
        );
        let remedy = match height {
            0 => "there is no row to show: look at the condition that chose the rows".to_string(),
            _ => format!(
                "rows are counted from 0: write at most {}",
                count(height as u64 - 1)
            ),
        };
        Err(Error::table(what).fix(remedy))
    }

    /// The first row of each different value of a column, or of each combination of values of several, in their order.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("year", [1987, 1998, 1987])?.with_column("paper", [0, 1, 2])?;
    /// assert_eq!(table.unique("year")?.numbers("paper")?, [0.0, 1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    #[doc(alias = "distinct")]
    #[doc(alias = "drop_duplicates")]
    pub fn unique(&self, columns: impl Columns) -> Result<Self> {
        self.distinct(columns.into_expressions())
    }

    fn distinct(&self, columns: Vec<Expr>) -> Result<Self> {
        let keep = UniqueKeepStrategy::First;
        self.query(&columns, |frame| {
            frame.unique_stable_generic(Some(columns.clone()), keep)
        })
    }

    /// The rows without a null in any column.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("year", vec![Some(1987), None])?;
    /// assert_eq!(table.drop_nulls()?.height(), 1);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When Polars cannot compare the values of a column.
    #[doc(alias = "dropna")]
    pub fn drop_nulls(&self) -> Result<Self> {
        self.query(&[], |frame| frame.drop_nulls(None))
    }

    /// The rows of this table, then the rows of another one with the same columns.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("year", [1987])?;
    /// assert_eq!(table.vstack(&table)?.height(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the columns have other names or types.
    #[doc(alias = "concat")]
    #[doc(alias = "append")]
    #[doc(alias = "union")]
    pub fn vstack(&self, below: &Table) -> Result<Self> {
        Ok(attempt(|| self.frame.vstack(&below.frame))?.into())
    }
}

/// A condition on rows, as [`Table::filter`] takes it: an expression of Polars that is true or false in each row, or a
/// Boolean array of Polars with one value a row.
///
/// ```
/// use topicbook::prelude::*;
/// let table = Table::new().with_column("p", [0.2, 0.9])?;
/// assert_eq!(table.filter(col("p").gt(0.5))?.height(), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait Condition {
    #[doc(hidden)]
    fn rows_of(self, table: &Table) -> Result<Table>;
}

impl Condition for Expr {
    fn rows_of(self, table: &Table) -> Result<Table> {
        let condition = [self.clone()];
        table.query(&condition, |frame| frame.filter(self))
    }
}

impl Condition for &BooleanChunked {
    fn rows_of(self, table: &Table) -> Result<Table> {
        Ok(attempt(|| table.frame.filter(self))?.into())
    }
}
