//! New columns, from vectors or from expressions.
//!
//! Here and in the other files of this folder, generic functions convert their arguments and call functions that are not
//! generic. A cell that calls them compiles a few lines, and the rest is in the library.

use std::ops::Range;

use polars::prelude::{
    BooleanChunked, Column, Expr, Float32Chunked, Float64Chunked, Int32Chunked, Int64Chunked,
    IntoColumn, NewChunkedArray, Series, StringChunked, UInt32Chunked, UInt64Chunked,
};

use crate::Terms;
use crate::error::{Error, Result};
use crate::text::counted;

use super::Table;
use super::error::attempt;
use super::names::Columns;

impl Table {
    /// The table with one more column, or with other values of a column that it has. The values are a vector, array or
    /// slice with one value a row, a range, [`Terms`], a Polars `Series` or `Column`, or an expression over the other
    /// columns.
    ///
    /// ```
    /// use topicbook::prelude::*;
    /// let table = Table::new().with_column("term", ["model", "data"])?.with_column("count", [30, 10])?;
    /// let table = table.with_column("share", col("count") * lit(1.0) / col("count").sum())?;
    /// let table = table.with_column("seen", vec![Some(true), None])?;
    /// assert_eq!(table.shape(), (2, 4));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are more or fewer values than rows, or an expression names a column that is not there.
    #[doc(alias = "assign")]
    #[doc(alias = "insert")]
    pub fn with_column(&self, name: impl AsRef<str>, values: impl ColumnValues) -> Result<Self> {
        let name = name.as_ref();
        self.with_named(values.named_column(name, self)?)
    }

    /// The table with the columns that expressions compute: further ones, or other values of those with the same name.
    ///
    /// ```
    /// use topicbook::prelude::*;
    /// let table = Table::new().with_column("count", [30, 10])?;
    /// let table = table.with_columns([
    ///     (col("count") * lit(2)).alias("double"),
    ///     col("count").gt(20).alias("frequent"),
    /// ])?;
    /// assert_eq!(table.numbers("double")?, [60.0, 20.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// When an expression names a column that is not there, or Polars cannot compute it.
    #[doc(alias = "mutate")]
    #[doc(alias = "transform")]
    pub fn with_columns(&self, expressions: impl Columns) -> Result<Self> {
        self.with_expressions(&expressions.into_expressions())
    }

    fn with_named(&self, column: Column) -> Result<Self> {
        let (given, rows) = (column.len(), self.height());
        if self.width() > 0 && given != rows {
            return Err(Error::table(format!(
                "column {:?} has {}, the table has {}",
                column.name(),
                counted(given, "value"),
                counted(rows, "row")
            ))
            .fix("give one value a row; for one value in all rows write lit(value)"));
        }
        let mut frame = self.frame.clone();
        attempt(|| frame.with_column(column).map(|_| ()))?;
        Ok(frame.into())
    }

    fn with_expressions(&self, expressions: &[Expr]) -> Result<Self> {
        self.query(expressions, |frame| frame.with_columns(expressions))
    }
}

/// The values of a column, as [`Table::with_column`] takes them: a vector, array or slice of [`TableValue`]s, a range,
/// [`Terms`], a Polars `Series` or `Column`, the name of a column, or an expression.
///
/// ```
/// use topicbook::Table;
/// let lengths: &[f64] = &[310.0, 204.0];
/// let table = Table::new().with_column("document", 0..2)?.with_column("length", lengths)?;
/// assert_eq!(table.shape(), (2, 2));
/// # Ok::<(), topicbook::Error>(())
/// ```
pub trait ColumnValues {
    #[doc(hidden)]
    fn named_column(self, name: &str, table: &Table) -> Result<Column>;
}

/// A value of a column: a number, a `bool`, a text, or an `Option` of these, where `None` is null.
///
/// Integers of 8 and 16 bits become 32 bits wide, `usize` 64.
///
/// ```
/// use topicbook::Table;
/// let table = Table::new().with_column("words", vec![Some("model"), None])?;
/// assert_eq!(table.texts("words")?, ["model", ""]);
/// # Ok::<(), topicbook::Error>(())
/// ```
pub trait TableValue: Sized {
    #[doc(hidden)]
    fn column(name: &str, values: Vec<Option<Self>>) -> Column;
}

macro_rules! cells {
    ($($value:ty => $array:ident as $stored:ty),* $(,)?) => {$(
        impl TableValue for $value {
            fn column(name: &str, values: Vec<Option<Self>>) -> Column {
                let values = values.into_iter().map(|value| value.map(|value| value as $stored));
                $array::from_iter_options(name.into(), values).into_column()
            }
        }
    )*};
}

cells! {
    f32 => Float32Chunked as f32,
    f64 => Float64Chunked as f64,
    i8 => Int32Chunked as i32,
    i16 => Int32Chunked as i32,
    i32 => Int32Chunked as i32,
    i64 => Int64Chunked as i64,
    isize => Int64Chunked as i64,
    u8 => UInt32Chunked as u32,
    u16 => UInt32Chunked as u32,
    u32 => UInt32Chunked as u32,
    u64 => UInt64Chunked as u64,
    usize => UInt64Chunked as u64,
    bool => BooleanChunked as bool,
    &str => StringChunked as Self,
    String => StringChunked as Self,
    &String => StringChunked as Self,
}

impl<T: TableValue> TableValue for Option<T> {
    fn column(name: &str, values: Vec<Option<Self>>) -> Column {
        T::column(name, values.into_iter().map(Option::flatten).collect())
    }
}

impl<T: TableValue> ColumnValues for Vec<T> {
    fn named_column(self, name: &str, _: &Table) -> Result<Column> {
        Ok(T::column(name, self.into_iter().map(Some).collect()))
    }
}

impl<T: TableValue, const N: usize> ColumnValues for [T; N] {
    fn named_column(self, name: &str, _: &Table) -> Result<Column> {
        Ok(T::column(name, self.into_iter().map(Some).collect()))
    }
}

impl<T: TableValue + Clone> ColumnValues for &[T] {
    fn named_column(self, name: &str, _: &Table) -> Result<Column> {
        Ok(T::column(name, self.iter().cloned().map(Some).collect()))
    }
}

impl<T: TableValue + Clone> ColumnValues for &Vec<T> {
    fn named_column(self, name: &str, table: &Table) -> Result<Column> {
        self.as_slice().named_column(name, table)
    }
}

impl<T: TableValue + Clone, const N: usize> ColumnValues for &[T; N] {
    fn named_column(self, name: &str, table: &Table) -> Result<Column> {
        self.as_slice().named_column(name, table)
    }
}

impl<T: TableValue> ColumnValues for Range<T>
where
    Range<T>: Iterator<Item = T>,
{
    fn named_column(self, name: &str, _: &Table) -> Result<Column> {
        Ok(T::column(name, self.map(Some).collect()))
    }
}

impl ColumnValues for &Terms {
    fn named_column(self, name: &str, table: &Table) -> Result<Column> {
        self.as_slice().named_column(name, table)
    }
}

impl ColumnValues for &str {
    fn named_column(self, name: &str, table: &Table) -> Result<Column> {
        Ok(table.named(self)?.clone().with_name(name.into()))
    }
}

impl ColumnValues for Series {
    fn named_column(self, name: &str, _: &Table) -> Result<Column> {
        Ok(self.with_name(name.into()).into_column())
    }
}

impl ColumnValues for Column {
    fn named_column(self, name: &str, _: &Table) -> Result<Column> {
        Ok(self.with_name(name.into()))
    }
}

impl ColumnValues for &Column {
    fn named_column(self, name: &str, _: &Table) -> Result<Column> {
        Ok(self.clone().with_name(name.into()))
    }
}

impl ColumnValues for Expr {
    fn named_column(self, name: &str, table: &Table) -> Result<Column> {
        let computed = table.with_expressions(&[self.alias(name)])?;
        computed.named(name).cloned()
    }
}
