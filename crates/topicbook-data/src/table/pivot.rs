//! A long table as a wide one.

use polars::prelude::{Expr, IntoLazy, LiteralValue, col, len, lit};

use crate::error::{Error, Result};

use super::Table;
use super::error::attempt;
use super::names::Columns;

/// Maximum number of columns of a pivot: each is one pass over the table.
const MOST_COLUMNS: usize = 1000;

impl Table {
    /// A long table as a wide one: one row for each value of `index`, and one column for each value of `on`, named after it.
    /// The cells are the `values`, or null if there is none.
    ///
    /// ```
    /// use topicbook::Table;
    /// let long = Table::new()
    ///     .with_column("year", [1987, 1987, 1998])?
    ///     .with_column("topic", ["vision", "speech", "vision"])?
    ///     .with_column("share", [0.7, 0.3, 1.0])?;
    /// let wide = long.pivot("year", "topic", "share")?;
    /// assert_eq!(wide.column_names(), ["year", "vision", "speech"]);
    /// assert_eq!(wide.numbers("vision")?, [0.7, 1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, two rows belong into one place, or `on` has more than 1,000 different values.
    ///
    /// # Cost
    /// One pass over the table for each new column.
    #[doc(alias = "pivot_table")]
    #[doc(alias = "pivot_wider")]
    #[doc(alias = "crosstab")]
    pub fn pivot(
        &self,
        index: impl Columns,
        on: impl AsRef<str>,
        values: impl AsRef<str>,
    ) -> Result<Self> {
        self.wide(index.into_expressions(), on.as_ref(), values.as_ref())
    }

    fn wide(&self, index: Vec<Expr>, on: &str, values: &str) -> Result<Self> {
        let names = self.unique(on)?.select(on)?;
        if names.height() > MOST_COLUMNS {
            let what = format!(
                "column {on:?} has {} different values: too many columns",
                names.height()
            );
            return Err(Error::table(what).fix("filter the rows first, or swap index and on"));
        }
        self.check_name(values)?;
        self.check_places(&index, on)?;
        let different = names.named(on)?;
        let mut columns = Vec::with_capacity(names.height());
        for (row, name) in names.texts(on)?.into_iter().enumerate() {
            let value = attempt(|| different.get(row))?;
            let name = if value.is_null() { "null" } else { &name };
            let here = col(on).eq_missing(lit(LiteralValue::from(value.clone())));
            columns.push(col(values).filter(here).first().alias(name));
        }
        self.group_by(index)?.agg(columns)
    }

    /// Fails if two rows have the same `index` and `on`.
    fn check_places(&self, index: &[Expr], on: &str) -> Result<()> {
        let places: Vec<Expr> = index.iter().cloned().chain([col(on)]).collect();
        let frame = self.frame.clone().lazy();
        for place in &places {
            self.check_expression(place)?;
        }
        let counted = frame
            .group_by_stable(&places)
            .agg([len().alias("rows here")]);
        let twice = counted.filter(col("rows here").gt(lit(1)));
        let twice = Self::from(attempt(|| twice.collect())?);
        if twice.height() == 0 {
            return Ok(());
        }
        let first = twice.drop("rows here")?;
        let names = first.column_names();
        let place: Result<Vec<String>> = names
            .iter()
            .map(|name| Ok(format!("{name} = {}", first.texts(name)?[0])))
            .collect();
        Err(Error::table("two rows belong into one place of the wide table")
            .at(place?.join(", "))
        .fix(format!(
            "compute one value for each place first: .group_by({names:?})?.sum(\"...\")? or .mean"
        )))
    }
}
