//! Columns of a CSV file that have numbers with a decimal comma, with thousands, or with words for missing ones.

use polars::prelude::{Column, DataFrame, DataType};

use crate::error::Result;
use crate::{ColumnMarks, Decimal, NumberText};

/// Columns whose first number a card shows.
const SHOWN: usize = 3;

/// Columns that are read otherwise than Polars has read them.
pub(super) struct Numbers {
    columns: Vec<Option<Column>>,
    /// What was found, in words for a card.
    pub(super) understood: Vec<String>,
}

impl Numbers {
    /// The numbers of a frame. `texts_of` reads columns again as texts: Polars takes `1.234` for a fraction, and it may be
    /// thousands where other columns have a decimal comma. Without a setting, a decimal comma is found only in a file whose
    /// values have another separator.
    pub(super) fn of(
        frame: &DataFrame,
        names: &[String],
        given: Option<Decimal>,
        is_comma_separated: bool,
        texts_of: impl Fn(&[usize]) -> Result<DataFrame>,
    ) -> Result<Self> {
        let mut columns: Vec<Option<Column>> = frame.columns().iter().map(plain).collect();
        let mut understood = Vec::new();
        let mut marked = Vec::new();
        let mut is_needed = given == Some(Decimal::Comma);
        for (at, column) in frame.columns().iter().enumerate() {
            if let Some(marks) = marks(column) {
                is_needed |= columns[at].is_none();
                marked.push((at, marks, column.clone()));
            }
        }
        let is_float = |at: &usize| frame.columns()[*at].dtype() == &DataType::Float64;
        let floats: Vec<usize> = (0..frame.width()).filter(is_float).collect();
        if !is_needed {
            marked.clear();
        } else if !floats.is_empty() {
            let texts = texts_of(&floats)?;
            for (&at, column) in floats.iter().zip(texts.columns()) {
                marked.extend(marks(column).map(|marks| (at, marks, column.clone())));
            }
        }
        marked.sort_by_key(|(at, ..)| *at);
        let shared = ColumnMarks::shared(marked.iter().map(|(_, marks, _)| marks));
        for (at, marks, texts) in &marked {
            let Some(mark) = given.or_else(|| marks.mark(shared, is_comma_separated)) else {
                continue;
            };
            let is_read = is_float(at) || columns[*at].is_some();
            if is_read && mark == Decimal::Point {
                continue;
            }
            let Some(found) = texts.str().ok() else {
                continue;
            };
            let found: Vec<&str> = found.iter().map(Option::unwrap_or_default).collect();
            let numbers: Option<Vec<f64>> = found.iter().map(|text| mark.number(text)).collect();
            if let Some(numbers) = numbers {
                understood.extend(marks.shown(&names[*at], &found, &numbers));
                let name = frame.columns()[*at].name();
                columns[*at] = Some(numbers_column(name, &numbers, false));
            }
        }
        if understood.len() > SHOWN {
            let more = understood.len() - SHOWN;
            understood.truncate(SHOWN);
            understood.push(format!("{more} more columns likewise"));
        }
        Ok(Self {
            columns,
            understood,
        })
    }

    /// A column as it is read.
    pub(super) fn column(&mut self, at: usize, column: &Column) -> Column {
        self.columns[at].take().unwrap_or_else(|| column.clone())
    }
}

/// The marks of a column of texts, if it has some, and all its texts are numbers.
fn marks(column: &Column) -> Option<ColumnMarks> {
    let texts = column.str().ok()?.iter();
    let marks = ColumnMarks::of(texts.map(Option::unwrap_or_default))?;
    marks.has_marks().then_some(marks)
}

/// A column of numbers, if its texts are numbers and words for missing ones. These and NaN are null.
fn plain(column: &Column) -> Option<Column> {
    let numbers: Vec<f64> = match (column.f64(), column.str()) {
        (Ok(numbers), _) if numbers.iter().flatten().any(f64::is_nan) => numbers
            .iter()
            .map(|number| number.unwrap_or(f64::NAN))
            .collect(),
        (_, Ok(texts)) => NumberText::column(texts.iter().map(Option::unwrap_or_default))?,
        _ => return None,
    };
    Some(numbers_column(
        column.name(),
        &numbers,
        column.dtype().is_float(),
    ))
}

/// Whole numbers are integers, unless they were fractions.
pub(super) fn numbers_column(name: &str, numbers: &[f64], is_float: bool) -> Column {
    let given = || {
        numbers
            .iter()
            .map(|number| (!number.is_nan()).then_some(*number))
    };
    let whole = given().flatten().all(|number| number.trunc() == number);
    match whole && !is_float {
        true => Column::new(
            name.into(),
            given()
                .map(|number| Some(number? as i64))
                .collect::<Vec<_>>(),
        ),
        false => Column::new(name.into(), given().collect::<Vec<_>>()),
    }
}
