//! Documents from tables and as tables.

use std::path::Path;

use polars::prelude::{Column, DataType, IdxCa, NewChunkedArray};

use crate::Table;
use crate::error::{Error, Result};
use crate::system::memory::check_free;

use super::columns::{Dates, Values};
use super::{Documents, NAMES};

impl Documents {
    /// Opens the documents in a table's file, `.csv`, `.tsv` or `.parquet`: one row per document, in the order of the rows of
    /// the counts. See [`from_table`](Self::from_table).
    ///
    /// ```
    /// use topicbook::Documents;
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("letters.csv", "document,author,year\na.txt,Austen,1811\nb.txt,Byron,\n")?;
    /// let documents = Documents::open("letters.csv")?;
    /// assert_eq!(documents.names(), ["a.txt", "b.txt"]);
    /// assert_eq!(documents.labels("year")?, [Some("1811".to_string()), None]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::open`] and [`from_table`](Self::from_table).
    #[doc(alias = "read_csv")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_table(&Table::open(path)?)
    }

    /// The documents in a table: one row per document, in the order of the rows of the counts. A column called `document` has
    /// their names. Texts, categories and truth values become labels, numbers stay numbers (whole numbers above 2^53 become
    /// labels), dates and times stay dates.
    ///
    /// ```
    /// use topicbook::{Documents, Table};
    /// let table = Table::new().with_column("book", ["Letters", "Poems"])?.with_column("year", [1987, 1998])?;
    /// let documents = Documents::from_table(&table)?;
    /// assert_eq!(documents.column_names(), ["book", "year"]);
    /// assert_eq!(documents.table().shape(), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the table has no rows, a name is blank, or a column has values of another type, such as lists.
    #[doc(alias = "from_pandas")]
    pub fn from_table(table: &Table) -> Result<Self> {
        let columns = table.columns().iter();
        let (names, columns): (Vec<&Column>, Vec<&Column>) =
            columns.partition(|column| column.name() == NAMES);
        let mut documents = match names.first() {
            None => Self::numbered(table.height())?,
            Some(names) => {
                // Rows of a file may share a long text.
                let held = with_texts(names, |texts| texts.flatten().map(str::len).sum::<usize>())?;
                check_free(held as u64, "the names of the documents")?;
                Self::named(with_texts(names, |texts| {
                    texts
                        .map(|name| name.unwrap_or_default().to_owned())
                        .collect()
                })?)?
            }
        };
        for column in columns {
            documents = documents.with(column.name(), values(column)?)?;
        }
        Ok(documents)
    }

    /// The documents as a table: their names in the column `document` (the rows, counted from 0, where they have no names),
    /// then their columns. Dates have the type that they had in the table they came from, and are ISO texts otherwise.
    ///
    /// ```
    /// let documents = topicbook::Documents::new(["a", "b"])?.with_numbers("year", [1987, 1998])?;
    /// let table = documents.table();
    /// assert_eq!(table.column_names(), ["document", "year"]);
    /// assert_eq!(table.numbers("year")?, [1987.0, 1998.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "to_pandas")]
    pub fn table(&self) -> Table {
        let names = match &self.names {
            Some(names) => Column::new(NAMES.into(), names.as_ref()),
            None => Column::new(NAMES.into(), (0..self.len as u64).collect::<Vec<_>>()),
        };
        let columns = self
            .columns
            .iter()
            .map(|(name, values)| column(name, values));
        Table::from_columns(std::iter::once(names).chain(columns).collect())
    }
}

impl Dates {
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let typed = self.typed.as_ref().and_then(|column| {
            let rows = IdxCa::from_iter_values("".into(), rows.iter().map(|&row| row as u32));
            column.take(&rows).ok()
        });
        Self {
            texts: rows.iter().map(|&row| self.texts[row].clone()).collect(),
            typed,
        }
    }
}

fn column(name: &str, values: &Values) -> Column {
    match values {
        Values::Numbers(numbers) if numbers.whole => {
            let whole = |value: &f64| (!value.is_nan()).then_some(*value as i64);
            Column::new(
                name.into(),
                numbers.values.iter().map(whole).collect::<Vec<_>>(),
            )
        }
        Values::Numbers(numbers) => {
            let given = |value: &f64| (!value.is_nan()).then_some(*value);
            Column::new(
                name.into(),
                numbers.values.iter().map(given).collect::<Vec<_>>(),
            )
        }
        Values::Dates(Dates {
            typed: Some(typed), ..
        }) => typed.clone().with_name(name.into()),
        Values::Dates(dates) => dates_of_texts(Column::new(name.into(), dates.texts.as_ref())),
        Values::Labels(labels) => {
            // The rows share the texts.
            let (texts, codes) = labels.parts();
            let codes = IdxCa::from_iter_options("".into(), codes.into_iter());
            let column = Column::new(name.into(), texts).take(&codes);
            column.unwrap_or_else(|_| Column::new(name.into(), values.texts()))
        }
    }
}

/// Texts as dates. The texts stay as they are if one has a time, or names no month.
fn dates_of_texts(texts: Column) -> Column {
    let Ok(found) = texts.str() else {
        return texts;
    };
    let days: Vec<Option<i32>> = found.iter().map(|text| day_number(text?)).collect();
    let days = Column::new(texts.name().clone(), days);
    match days.null_count() == texts.null_count() {
        true => days.cast(&DataType::Date).unwrap_or(texts),
        false => texts,
    }
}

/// The days from 1970-01-01 to a date as `2026-11-23`.
fn day_number(date: &str) -> Option<i32> {
    let mut parts = date.splitn(3, '-').map(str::parse);
    let mut next = || -> Option<i32> { parts.next()?.ok() };
    let (year, month, day) = (next()?, next()?, next()?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=last).contains(&day) {
        return None;
    }
    // Years begin in March here, so that a leap day is the last one of its year.
    let (year, month) = match month {
        ..=2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

fn values(column: &Column) -> Result<Values> {
    let dtype = column.dtype();
    if dtype.is_primitive_numeric() {
        let exact = column
            .cast(&DataType::Float64)
            .map_err(|_| refused(column))?;
        let exact = exact.f64().map_err(|_| refused(column))?;
        let found = exact
            .iter()
            .map(|value| value.unwrap_or(f64::NAN))
            .collect();
        let found = Values::numbers(found);
        return match &found {
            Values::Numbers(numbers) if dtype.is_integer() && !numbers.whole => labels(column),
            _ => Ok(found),
        };
    }
    match dtype {
        dtype if dtype.is_temporal() => Ok(Values::Dates(Dates {
            texts: with_texts(column, |texts| {
                texts.map(|text| text.map(str::to_owned)).collect()
            })?,
            typed: Some(column.clone()),
        })),
        DataType::String | DataType::Boolean | DataType::Null => labels(column),
        dtype if dtype.is_categorical() || dtype.is_enum() => labels(column),
        _ => Err(refused(column)),
    }
}

fn labels(column: &Column) -> Result<Values> {
    with_texts(column, |texts| {
        Values::labels(texts.map(|text| text.map(str::to_owned)))
    })?
}

/// Gives the texts of a column to `take`.
fn with_texts<T>(
    column: &Column,
    take: impl FnOnce(&mut dyn Iterator<Item = Option<&str>>) -> T,
) -> Result<T> {
    let texts = column
        .cast(&DataType::String)
        .map_err(|_| refused(column))?;
    let texts = texts.str().map_err(|_| refused(column))?;
    Ok(take(&mut texts.iter()))
}

fn refused(column: &Column) -> Error {
    Error::table(format!(
        "column {:?} has type {}, which labels no documents",
        column.name(),
        column.dtype()
    ))
    .fix("leave it out (table.drop), or make texts or numbers of it")
}
