//! Columns of texts as numbers and as dates.

use polars::prelude::{StringChunked, StrptimeOptions, col, lit};

use crate::decimal::Decimal;
use crate::error::{Error, Result};

use super::Table;

impl Table {
    /// The table with a column of texts as numbers: `"1.234,5"` with the decimal mark `','`, `"1,234.5"` with `'.'`. Blank texts,
    /// and `NA` and its like, become null. [`open_with`](Self::open_with) reads all columns of a file so.
    ///
    /// ```
    /// let prices = topicbook::Table::new().with_column("price", ["1.234,50", "0,99", ""])?;
    /// let prices = prices.to_number("price", ',')?;
    /// assert_eq!(prices.numbers("price")?[..2], [1234.5, 0.99]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, it has no texts, or one of them is no number with this mark: the error names its row.
    #[doc(alias = "to_numeric")]
    pub fn to_number(&self, column: &str, decimal: char) -> Result<Self> {
        let mark = Decimal::of(decimal)?;
        let texts = self.text_column(column)?;
        let numbers = texts.iter().enumerate().map(|(row, text)| match text {
            None => Ok(None),
            Some(text) => match mark.number(text) {
                Some(number) => Ok(Some(number).filter(|number| !number.is_nan())),
                None => Err(no_value(column, row, text, "number").fix(format!(
                    "its decimal mark is taken as '{decimal}': pass the other one, or mend the value"
                ))),
            },
        });
        let numbers: Vec<Option<f64>> = numbers.collect::<Result<_>>()?;
        self.with_column(column, numbers)
    }

    /// The table with a column of texts as dates. `format` says how they are written, with `%Y` for the year, `%m` and `%d` for
    /// month and day, `%b` and `%B` for the month's English name, as in C's `strftime`. Blank texts become null. Dates sort by time, and compare with each other.
    ///
    /// ```
    /// let letters = topicbook::Table::new().with_column("sent", ["28.01.1813", "30.10.1811"])?;
    /// let letters = letters.to_date("sent", "%d.%m.%Y")?.sort_by("sent")?;
    /// assert_eq!(letters.texts("sent")?, ["1811-10-30", "1813-01-28"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, it has no texts, or one of them is no date in this format: the error names its row.
    #[doc(alias = "to_datetime")]
    #[doc(alias = "strptime")]
    pub fn to_date(&self, column: &str, format: &str) -> Result<Self> {
        let texts = self.text_column(column)?;
        let options = StrptimeOptions {
            format: Some(format.into()),
            strict: false,
            ..StrptimeOptions::default()
        };
        let date = [col(column)
            .str()
            .strip_chars(lit(" \t"))
            .str()
            .to_date(options)];
        let table = self.query(&date, |frame| frame.with_columns(&date))?;
        let dates = table.named(column)?;
        let is_null = dates.is_null();
        let wrong = texts
            .iter()
            .zip(is_null.iter())
            .position(|(text, is_null)| {
                is_null == Some(true) && text.is_some_and(|text| !text.trim().is_empty())
            });
        match wrong {
            Some(row) => Err(no_value(column, row, texts.get(row).unwrap_or_default(), "date")
                .fix(format!(
                    "the format is {format:?}: \"%d.%m.%Y\" reads 28.01.1813, \"%m/%d/%Y\" 01/28/1813"
                ))),
            None => Ok(table),
        }
    }

    fn text_column(&self, name: &str) -> Result<StringChunked> {
        let column = self.named(name)?;
        column.str().cloned().map_err(|_| {
            let what = format!("column `{name}` has type {}, not text", column.dtype());
            Error::table(what)
                .fix("leave it as it is, or name a column of texts: `dtypes()` lists the types")
        })
    }
}

fn no_value(column: &str, row: usize, text: &str, kind: &str) -> Error {
    Error::value(format!("{text:?} is no {kind}"))
        .at(format!("column `{column}`, row {row} (counted from 0)"))
}
