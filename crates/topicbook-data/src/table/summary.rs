//! What a table contains: types, frequencies and statistics of its columns.

use polars::prelude::{Column, DataType, Expr, Scalar, SortMultipleOptions, len};

use crate::error::Result;

use super::Table;
use super::error::attempt;
use super::names::Columns;

impl Table {
    /// The different values of a column and the number of rows with each, the most frequent first, in the column `count`.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("dominant", [3, 0, 3, 3])?;
    /// let counts = table.value_counts("dominant")?;
    /// assert_eq!(counts.numbers("dominant")?, [3.0, 0.0]);
    /// assert_eq!(counts.numbers("count")?, [3.0, 1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column.
    #[doc(alias = "frequencies")]
    pub fn value_counts(&self, column: impl AsRef<str>) -> Result<Self> {
        self.frequencies(column.as_ref())
    }

    fn frequencies(&self, name: &str) -> Result<Self> {
        // Values of a column `count` need another name for their numbers.
        let counts = if name == "count" { "rows" } else { "count" };
        let counted = self.group_by(name)?.agg(len().alias(counts))?;
        let options = SortMultipleOptions::default()
            .with_order_descending(true)
            .with_maintain_order(true);
        counted.query(&[], |frame| frame.sort([counts], options))
    }

    /// The names of the columns, their types, and their numbers of nulls, one row per column.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("year", vec![Some(1987), None])?;
    /// assert_eq!(table.dtypes().texts("type")?, ["i32"]);
    /// assert_eq!(table.dtypes().numbers("nulls")?, [1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "schema")]
    #[doc(alias = "info")]
    pub fn dtypes(&self) -> Self {
        let columns = self.frame.columns();
        let types: Vec<String> = columns
            .iter()
            .map(|column| column.dtype().to_string())
            .collect();
        let nulls: Vec<u64> = columns
            .iter()
            .map(|column| column.null_count() as u64)
            .collect();
        Self::from_columns(vec![
            Column::new("column".into(), self.column_names()),
            Column::new("type".into(), types),
            Column::new("nulls".into(), nulls),
        ])
    }

    /// The mean of columns of numbers, without their missing values (null or NaN): a row per column, with `column`, `mean` (null
    /// where all are missing), and the numbers of `values` and of those `missing`.
    ///
    /// ```
    /// use topicbook::Table;
    /// let reviews = Table::new().with_column("stars", [Some(4), None, Some(5)])?;
    /// let mean = reviews.mean("stars")?;
    /// assert_eq!((mean.numbers("mean")?[0], mean.numbers("missing")?[0]), (4.5, 1.0));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or it is not one of numbers.
    #[doc(alias = "average")]
    pub fn mean(&self, columns: impl Columns) -> Result<Self> {
        self.means(&columns.into_expressions())
    }

    fn means(&self, columns: &[Expr]) -> Result<Self> {
        let chosen = self.selected(columns)?;
        let names = chosen.column_names();
        let found: Vec<Vec<Option<f64>>> = names
            .iter()
            .map(|name| of_numbers(chosen.numeric(name)?))
            .collect::<Result<_>>()?;
        let statistic =
            |at: usize| -> Vec<Option<f64>> { found.iter().map(|all| all[at]).collect() };
        Ok(Self::from_columns(vec![
            Column::new("column".into(), names),
            Column::new("mean".into(), statistic(2)),
            Column::new("values".into(), statistic(0)),
            Column::new("missing".into(), statistic(1)),
        ]))
    }

    /// Statistics of each column: number of values and of nulls, mean, standard deviation (n - 1), minimum, quartiles and
    /// maximum. NaN is a null here. Columns that are not numbers have the four that apply to them: values, nulls, minimum, maximum.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("words", [1.0, 2.0, 6.0])?.with_column("term", ["a", "c", "b"])?;
    /// let statistics = table.describe()?;
    /// assert_eq!(statistics.numbers("words")?[..3], [3.0, 0.0, 3.0]); // count, nulls, mean
    /// assert_eq!(statistics.texts("term")?[8], "c"); // max
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When Polars cannot compare the values of a column, such as lists.
    #[doc(alias = "summary")]
    pub fn describe(&self) -> Result<Self> {
        const STATISTICS: [&str; 9] = [
            "count", "nulls", "mean", "std", "min", "25%", "50%", "75%", "max",
        ];
        let mut described = Self::new().with_column("statistic", STATISTICS)?;
        for column in self.frame.columns() {
            let name = column.name().as_str();
            let numbers = column.dtype().is_primitive_numeric() || column.dtype().is_bool();
            described = match numbers {
                true => described.with_column(name, of_numbers(column)?)?,
                false => described.with_column(name, of_others(column)?)?,
            };
        }
        Ok(described)
    }
}

/// The statistics of [`Table::describe`], in their order.
fn of_numbers(column: &Column) -> Result<Vec<Option<f64>>> {
    let wide = attempt(|| column.cast(&DataType::Float64))?;
    let values = attempt(|| wide.f64())?.iter().flatten();
    let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // Linear interpolation between the values on both sides of the quantile.
    let quantile = |part: f64| {
        let at = part * (n - 1.0);
        let (below, above) = (
            values.get(at.floor() as usize)?,
            values.get(at.ceil() as usize)?,
        );
        Some(below + (above - below) * at.fract())
    };
    Ok(vec![
        Some(n),
        Some(column.len() as f64 - n),
        (n > 0.0).then_some(mean),
        (n > 1.0).then(|| (squares / (n - 1.0)).sqrt()),
        quantile(0.0),
        quantile(0.25),
        quantile(0.5),
        quantile(0.75),
        quantile(1.0),
    ])
}

fn of_others(column: &Column) -> Result<Vec<Option<String>>> {
    let nulls = column.null_count();
    let extreme = |value: Scalar| match value.is_null() {
        true => None,
        false => Some(value.value().str_value().to_string()),
    };
    let (min, max) = attempt(|| Ok((column.min_reduce()?, column.max_reduce()?)))?;
    let (min, max) = (extreme(min), extreme(max));
    let counts = [
        Some((column.len() - nulls).to_string()),
        Some(nulls.to_string()),
    ];
    let none = || None;
    Ok(counts
        .into_iter()
        .chain([none(), none(), min, none(), none(), none(), max])
        .collect())
}
