//! Groups of rows and what is computed for each.

use std::fmt;

use polars::prelude::{Expr, LazyFrame, len};

use crate::error::{Error, Result};
use crate::text::counted;

use super::Table;
use super::names::Columns;

impl Table {
    /// Groups of rows with equal values of a column, or of several. What comes next says what to compute for each group.
    ///
    /// ```
    /// use topicbook::prelude::*;
    /// let papers = Table::new().with_column("year", [1987, 1998, 1987])?.with_column("words", [310, 204, 120])?;
    /// let years = papers.group_by("year")?;
    /// assert_eq!(years.count()?.numbers("count")?, [2.0, 1.0]);
    /// assert_eq!(years.mean("words")?.numbers("words")?, [215.0, 204.0]);
    /// let both = years.agg([col("words").min().alias("shortest"), col("words").max().alias("longest")])?;
    /// assert_eq!(both.width(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    #[doc(alias = "groupby")]
    pub fn group_by(&self, columns: impl Columns) -> Result<GroupBy> {
        self.grouped(columns.into_expressions())
    }

    fn grouped(&self, keys: Vec<Expr>) -> Result<GroupBy> {
        for key in &keys {
            self.check_expression(key)?;
        }
        Ok(GroupBy {
            table: self.clone(),
            keys,
        })
    }
}

/// Groups of a table's rows, from [`Table::group_by`]. Each method gives a table with one row per group, in the order in
/// which the groups first appear; the columns that make the groups come first. Computed columns keep their names.
///
/// ```
/// use topicbook::Table;
/// let papers = Table::new().with_column("year", [1987, 1998, 1987])?.with_column("words", [310, 204, 120])?;
/// let longest = papers.group_by("year")?.max("words")?;
/// assert_eq!(longest.numbers("words")?, [310.0, 204.0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
pub struct GroupBy {
    table: Table,
    keys: Vec<Expr>,
}

impl GroupBy {
    /// The mean of columns in each group, without nulls.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 1, 0])?.with_column("words", [3.0, 5.0, 4.0])?;
    /// assert_eq!(table.group_by("topic")?.mean("words")?.numbers("words")?, [3.5, 5.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or it is not one of numbers.
    #[doc(alias = "avg")]
    pub fn mean(&self, columns: impl Columns) -> Result<Table> {
        self.of_numbers(columns.into_expressions(), Expr::mean)
    }

    /// The sum of columns in each group.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 1, 0])?.with_column("words", [3, 5, 4])?;
    /// assert_eq!(table.group_by("topic")?.sum("words")?.numbers("words")?, [7.0, 5.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or it is not one of numbers.
    pub fn sum(&self, columns: impl Columns) -> Result<Table> {
        self.of_numbers(columns.into_expressions(), Expr::sum)
    }

    /// The median of columns in each group.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 0, 0])?.with_column("words", [3, 50, 4])?;
    /// assert_eq!(table.group_by("topic")?.median("words")?.numbers("words")?, [4.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or it is not one of numbers.
    pub fn median(&self, columns: impl Columns) -> Result<Table> {
        self.of_numbers(columns.into_expressions(), Expr::median)
    }

    /// The standard deviation of columns in each group, with n - 1 in the denominator: null for a group of one row.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 0, 0])?.with_column("words", [3, 5, 4])?;
    /// assert_eq!(table.group_by("topic")?.std("words")?.numbers("words")?, [1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or it is not one of numbers.
    pub fn std(&self, columns: impl Columns) -> Result<Table> {
        self.of_numbers(columns.into_expressions(), std)
    }

    /// The smallest value of columns in each group; of texts, the first of the alphabet.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 1, 0])?.with_column("words", [3, 5, 4])?;
    /// assert_eq!(table.group_by("topic")?.min("words")?.numbers("words")?, [3.0, 5.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    pub fn min(&self, columns: impl Columns) -> Result<Table> {
        self.of_each(columns.into_expressions(), Expr::min)
    }

    /// The largest value of columns in each group; of texts, the last of the alphabet.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 1, 0])?.with_column("words", [3, 5, 4])?;
    /// assert_eq!(table.group_by("topic")?.max("words")?.numbers("words")?, [4.0, 5.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    pub fn max(&self, columns: impl Columns) -> Result<Table> {
        self.of_each(columns.into_expressions(), Expr::max)
    }

    /// The number of rows in each group, as the column `count`.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 1, 0])?;
    /// assert_eq!(table.group_by("topic")?.count()?.numbers("count")?, [2.0, 1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a column of the groups is named `count`.
    #[doc(alias = "len")]
    #[doc(alias = "size")]
    pub fn count(&self) -> Result<Table> {
        self.agg(len().alias("count"))
    }

    /// What expressions compute for each group.
    ///
    /// ```
    /// use topicbook::prelude::*;
    /// let table = Table::new().with_column("topic", [0, 1, 0])?.with_column("words", [3, 5, 4])?;
    /// let spread = table.group_by("topic")?.agg([
    ///     col("words").mean().alias("mean"),
    ///     (col("words").max() - col("words").min()).alias("range"),
    /// ])?;
    /// assert_eq!(spread.numbers("range")?, [1.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When an expression names a column that is not there, two computed columns have one name, or Polars cannot compute
    /// them.
    #[doc(alias = "aggregate")]
    #[doc(alias = "summarise")]
    pub fn agg(&self, expressions: impl Columns) -> Result<Table> {
        self.aggregated(&expressions.into_expressions())
    }

    fn aggregated(&self, expressions: &[Expr]) -> Result<Table> {
        self.table.query(expressions, |frame| {
            frame.group_by_stable(&self.keys).agg(expressions)
        })
    }

    /// The first `n` rows of each group, group by group.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("topic", [0, 1, 0])?.with_column("paper", [0, 1, 2])?;
    /// assert_eq!(table.group_by("topic")?.head(1)?.numbers("paper")?, [0.0, 1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When Polars cannot compute it.
    #[doc(alias = "nth")]
    pub fn head(&self, n: usize) -> Result<Table> {
        let groups = |frame: LazyFrame| frame.group_by_stable(&self.keys).head(Some(n));
        self.table.query(&[], groups)
    }

    /// The columns that make the groups, for display.
    #[doc(hidden)]
    pub fn keys(&self) -> String {
        let keys: Vec<String> = self
            .keys
            .iter()
            .map(|key| match key {
                Expr::Column(name) => name.to_string(),
                other => other.to_string(),
            })
            .collect();
        keys.join(", ")
    }

    /// The number of rows in all groups.
    #[doc(hidden)]
    pub fn rows(&self) -> usize {
        self.table.height()
    }

    fn of_numbers(&self, columns: Vec<Expr>, what: fn(Expr) -> Expr) -> Result<Table> {
        for column in &columns {
            let Expr::Column(name) = column else { continue };
            self.table.check_expression(column)?;
            let Ok(found) = self.table.column(name) else {
                continue;
            };
            let dtype = found.dtype();
            if !dtype.is_primitive_numeric() && !dtype.is_bool() && !dtype.is_null() {
                let what = format!("column {name:?} has type {dtype}, not a number");
                return Err(Error::table(what)
                    .fix("name columns of numbers; of texts there are .min, .max and .count"));
            }
        }
        self.of_each(columns, what)
    }

    fn of_each(&self, columns: Vec<Expr>, what: fn(Expr) -> Expr) -> Result<Table> {
        let computed: Vec<Expr> = columns.into_iter().map(what).collect();
        self.aggregated(&computed)
    }
}

impl fmt::Display for GroupBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = counted(self.rows(), "row");
        write!(f, "{rows} grouped by {}", self.keys())
    }
}

impl fmt::Debug for GroupBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The standard deviation with n - 1 in the denominator.
fn std(column: Expr) -> Expr {
    column.std(1)
}
