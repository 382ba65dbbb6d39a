//! Numbers and texts of columns as vectors and matrices.

use polars::prelude::{Column, DataType};

use crate::error::{Error, Result};
use crate::matrix::Matrix;

use super::Table;
use super::error::attempt;
use super::names::Columns;

impl Table {
    /// The values of a column as `f64`, with NaN for null and 1 and 0 for `true` and `false`. A sum of them is NaN where one is
    /// missing: [`mean`](Self::mean) leaves these out.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("count", [31, 20])?;
    /// assert_eq!(table.numbers("count")?.iter().sum::<f64>(), 51.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or it is not one of numbers. Integers above 2^53 are rounded.
    #[doc(alias = "column")]
    #[doc(alias = "to_numpy")]
    #[doc(alias = "to_vec")]
    pub fn numbers(&self, column: impl AsRef<str>) -> Result<Vec<f64>> {
        self.as_numbers(column.as_ref())
    }

    fn as_numbers(&self, column: &str) -> Result<Vec<f64>> {
        let column = self.numeric(column)?;
        let wide = attempt(|| column.cast(&DataType::Float64))?;
        let values = attempt(|| wide.f64())?;
        Ok(values
            .iter()
            .map(|value| value.unwrap_or(f64::NAN))
            .collect())
    }

    /// The numbers of columns as a matrix of `f32`, with a row for each row of the table and a column for each of these, such as
    /// the features of [`Batches::of_matrix`](../topicbook/struct.Batches.html#method.of_matrix).
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("age", [31, 20])?.with_column("height", [1.7, 1.8])?;
    /// let features = table.matrix(["age", "height"])?;
    /// assert_eq!(features.row(1), [20.0, 1.8]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, it is not one of numbers, or a number is missing: [`drop_nulls`](Self::drop_nulls) leaves
    /// such rows out.
    #[doc(alias = "to_numpy")]
    #[doc(alias = "to_ndarray")]
    pub fn matrix(&self, columns: impl Columns) -> Result<Matrix> {
        self.select(columns)?.as_matrix()
    }

    fn as_matrix(&self) -> Result<Matrix> {
        let (rows, width) = self.shape();
        let mut values = vec![0.0; rows * width];
        for (at, name) in self.column_names().iter().enumerate() {
            for (row, value) in self.as_numbers(name)?.into_iter().enumerate() {
                if value.is_nan() {
                    let what = format!("row {row} of column {name:?} is missing or NaN");
                    return Err(Error::table(what)
                        .fix("leave such rows out by .drop_nulls(), or fill them: col(\"name\").fill_null(0)"));
                }
                values[row * width + at] = value as f32;
            }
        }
        Matrix::new(rows, width, values)
    }

    /// The column of this name, which has numbers or truth values.
    pub(super) fn numeric(&self, column: &str) -> Result<&Column> {
        let column = self.named(column)?;
        let dtype = column.dtype();
        if !dtype.is_primitive_numeric() && !dtype.is_bool() {
            return Err(Error::table(format!("column {:?} has type {dtype}, not a number", column.name()))
                .fix("read it by .texts(...), or change its type first: col(\"name\").cast(DataType::Float64)"));
        }
        Ok(column)
    }

    /// The values of a column as text, empty for null.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("count", [31, 20])?;
    /// assert_eq!(table.texts("count")?, ["31", "20"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or its values have no form as text, such as lists.
    #[doc(alias = "strings")]
    pub fn texts(&self, column: impl AsRef<str>) -> Result<Vec<String>> {
        self.as_texts(column.as_ref())
    }

    fn as_texts(&self, column: &str) -> Result<Vec<String>> {
        let column = self.named(column)?;
        let texts = attempt(|| column.cast(&DataType::String))?;
        let values = attempt(|| texts.str())?;
        Ok(values
            .iter()
            .map(|value| value.unwrap_or_default().to_string())
            .collect())
    }

    pub(super) fn named(&self, name: &str) -> Result<&Column> {
        self.check_name(name)?;
        Ok(attempt(|| self.frame.column(name))?)
    }
}
