//! The columns of the cells of a sheet, each of the type that all its values have.

use std::borrow::Cow;
use std::fmt;

use calamine::{Cell, DataRef, ExcelDateTime};
use polars::prelude::{Column, DataType, TimeUnit};

use crate::error::Result;
use crate::system::OpenFile;
use crate::text::{counted, quoted_list};
use crate::{NumberText, check_names};

use super::Table;
use super::csv_numbers::numbers_column;
use super::error::attempt;

/// Upper bounds of the memory of a value of a column, of one while its column is made, and of a column.
const VALUE_BYTES: u64 = 16;
const MADE_BYTES: u64 = 64;
const COLUMN_BYTES: u64 = 512;
/// Names of columns and kinds of errors that a card lists.
const LISTED: usize = 3;
/// The days of Excel's calendar: to the end of the year 9999.
const DAYS: f64 = 2_958_466.0;
const DAY_MILLIS: i64 = 86_400_000;

/// The table of cells that have a value, in the order of their rows; the first row has the names. `understood` gets what a card says.
pub(super) fn table_of(
    file: &OpenFile,
    mut cells: Vec<Cell<DataRef>>,
    understood: &mut Vec<String>,
) -> Result<Table> {
    let place = |cell: &Cell<DataRef>| {
        let (row, column) = cell.get_position();
        (column, row)
    };
    // Of two cells at one place, the last one counts.
    cells.sort_by_key(place);
    let rows = cells.iter().map(|cell| cell.get_position().0);
    let (first, last) = (rows.clone().min(), rows.max());
    let (first, height) = match (first, last) {
        (Some(first), Some(last)) => (first, (last - first) as usize),
        _ => return Ok(Table::new()),
    };
    let mut errors = Vec::new();
    let mut columns = Vec::new();
    let mut unnamed = 0;
    for column in cells.chunk_by(|a, b| place(a).0 == place(b).0) {
        let values = column.partition_point(|cell| cell.get_position().0 == first);
        let (head, values) = column.split_at(values);
        let name = head
            .last()
            .map(|cell| Value::of(cell.get_value()).to_string());
        let mut name = name.unwrap_or_default().trim().to_string();
        if name.is_empty() {
            if values.is_empty() {
                continue;
            }
            // As Polars calls a second one.
            if unnamed > 0 {
                name = format!("_duplicated_{}", unnamed - 1);
            }
            unnamed += 1;
        }
        columns.push((name, values));
    }
    let shape = format!(
        "{} × {}",
        counted(height, "row"),
        counted(columns.len(), "column")
    );
    let texts = columns.iter().flat_map(|(_, cells)| *cells).map(text_bytes);
    let column = (height as u64)
        .saturating_mul(VALUE_BYTES)
        .saturating_add(COLUMN_BYTES);
    let needed = column
        .saturating_mul(columns.len() as u64)
        .saturating_add((height as u64).saturating_mul(MADE_BYTES))
        .saturating_add(texts.fold(0, u64::saturating_add));
    file.claim(shape).check_memory(needed)?;
    check_names(&file.path, columns.iter().map(|(name, _)| name.as_str()))?;

    let mut as_text = Vec::new();
    let columns = columns.into_iter().map(|(name, cells)| {
        let mut values: Vec<Option<Value>> = Vec::new();
        values.resize_with(height, || None);
        for cell in cells {
            let at = (cell.get_position().0 - first - 1) as usize;
            values[at] = match Value::of(cell.get_value()) {
                Value::Error(error) => {
                    errors.push(error);
                    None
                }
                value => Some(value),
            };
        }
        let kinds = Kinds::of(&values);
        if kinds.is_numbers() && kinds.number_texts > 0 {
            as_text.push(name.clone());
        }
        kinds.column(&name, values)
    });
    let columns = columns.collect::<Result<_>>()?;
    if !as_text.is_empty() {
        let names = quoted_list(&as_text, LISTED);
        understood.push(format!("numbers that are stored as text in {names}"));
    }
    if !errors.is_empty() {
        let number = errors.len();
        errors.sort_unstable();
        errors.dedup();
        let (cells, kinds) = (counted(number, "cell"), quoted_list(&errors, LISTED));
        understood.push(format!("{cells} with errors, which are null: {kinds}"));
    }
    Ok(Table::from_columns(columns))
}

/// Bytes of the text of a cell.
fn text_bytes(cell: &Cell<DataRef>) -> u64 {
    match cell.get_value() {
        DataRef::String(text) => text.len() as u64,
        DataRef::SharedString(text) => text.len() as u64,
        _ => 32,
    }
}

/// A value of a cell.
enum Value<'a> {
    Number(f64),
    Bool(bool),
    /// A day, and the milliseconds after midnight.
    Moment([i64; 3], i64),
    Text(Cow<'a, str>),
    Error(String),
}

impl<'a> Value<'a> {
    fn of(value: &'a DataRef) -> Self {
        match value {
            DataRef::Int(number) => Self::Number(*number as f64),
            DataRef::Float(number) if number.is_finite() => Self::Number(*number),
            DataRef::Float(number) => Self::Error(number.to_string()),
            DataRef::Bool(value) => Self::Bool(*value),
            DataRef::String(text) | DataRef::DurationIso(text) => Self::Text(text.into()),
            DataRef::SharedString(text) => Self::Text((*text).into()),
            DataRef::DateTime(moment) => Self::moment(moment),
            DataRef::DateTimeIso(text) => iso(text).unwrap_or_else(|| Self::Text(text.into())),
            DataRef::Error(error) => Self::Error(error.to_string()),
            DataRef::Empty => Self::Text("".into()),
        }
    }

    /// A number of days that is shown as a date. A time of day alone and a duration have no date: they are texts.
    fn moment(moment: &ExcelDateTime) -> Self {
        let days = moment.as_f64();
        if moment.is_duration() || (0.0..1.0).contains(&days) {
            return Self::Text(clock((days * DAY_MILLIS as f64).round() as i64).into());
        }
        if !(0.0..DAYS).contains(&days) {
            return Self::Error("a date out of range".into());
        }
        let (year, month, day, hour, minute, second, millis) = moment.to_ymd_hms_milli();
        let [hour, minute, second] = [hour, minute, second].map(i64::from);
        Self::Moment(
            [year.into(), month.into(), day.into()],
            ((hour * 60 + minute) * 60 + second) * 1000 + i64::from(millis),
        )
    }
}

/// `2024-01-15` or `2024-01-15T08:30:00`.
fn iso<'a>(text: &str) -> Option<Value<'a>> {
    let (date, time) = text.split_once('T').unwrap_or((text, "0:0:0"));
    let date: Vec<i64> = date
        .split('-')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let time = time.trim_end_matches('Z').split(':');
    let time: Vec<f64> = time.map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (&[year, month @ 1..=12, day @ 1..=31], &[hour, minute, second]) = (&date[..], &time[..])
    else {
        return None;
    };
    let seconds = (hour * 60.0 + minute) * 60.0 + second;
    let is_clock = (0.0..86_400.0).contains(&seconds) && (0..=9999).contains(&year);
    is_clock.then(|| Value::Moment([year, month, day], (seconds * 1000.0).round() as i64))
}

/// Hours, minutes and seconds.
fn clock(millis: i64) -> String {
    let sign = if millis < 0 { "-" } else { "" };
    let (seconds, millis) = (millis.abs() / 1000, millis.abs() % 1000);
    let [hours, minutes, seconds] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
    let fraction = match millis {
        0 => String::new(),
        millis => format!(".{millis:03}"),
    };
    format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}")
}

/// Days from 1970-01-01, by Hinnant's `days_from_civil`.
fn days([year, month, day]: [i64; 3]) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// As the value is in a column of texts.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Moment([year, month, day], millis) => {
                write!(f, "{year:04}-{month:02}-{day:02}")?;
                match millis {
                    0 => Ok(()),
                    millis => write!(f, " {}", clock(*millis)),
                }
            }
            Self::Text(text) => f.write_str(text),
            Self::Error(_) => Ok(()),
        }
    }
}

/// How many values of each kind a column has.
#[derive(Default)]
struct Kinds {
    numbers: usize,
    bools: usize,
    days: usize,
    times: usize,
    number_texts: usize,
    /// Words for a missing number are none of them.
    other_texts: usize,
}

impl Kinds {
    fn of(values: &[Option<Value>]) -> Self {
        let mut kinds = Self::default();
        for value in values.iter().flatten() {
            match value {
                Value::Number(_) => kinds.numbers += 1,
                Value::Bool(_) => kinds.bools += 1,
                Value::Moment(_, 0) => kinds.days += 1,
                Value::Moment(..) => kinds.times += 1,
                Value::Text(text) => match NumberText::of(text) {
                    NumberText::Number(_) => kinds.number_texts += 1,
                    NumberText::Missing => {}
                    NumberText::Malformed | NumberText::Other => kinds.other_texts += 1,
                },
                Value::Error(_) => {}
            }
        }
        kinds
    }

    fn is_numbers(&self) -> bool {
        self.numbers + self.number_texts > 0
            && self.bools + self.days + self.times + self.other_texts == 0
    }

    fn column(&self, name: &str, values: Vec<Option<Value>>) -> Result<Column> {
        let texts = self.number_texts + self.other_texts;
        Ok(match (self.bools, self.days + self.times) {
            _ if self.is_numbers() => {
                let number = |value| match value {
                    Some(Value::Number(number)) => number,
                    Some(Value::Text(text)) => match NumberText::of(&text) {
                        NumberText::Number(number) => number,
                        _ => f64::NAN,
                    },
                    _ => f64::NAN,
                };
                let numbers: Vec<f64> = values.into_iter().map(number).collect();
                // Larger ones may have been rounded.
                let is_large = |number: &f64| number.abs() >= (1u64 << 53) as f64;
                numbers_column(name, &numbers, numbers.iter().any(is_large))
            }
            (1.., 0) if self.numbers + texts == 0 => {
                let bool = |value| match value {
                    Some(Value::Bool(value)) => Some(value),
                    _ => None,
                };
                Column::new(
                    name.into(),
                    values.into_iter().map(bool).collect::<Vec<_>>(),
                )
            }
            (0, 1..) if self.numbers + texts == 0 => {
                let millis = |value| match value {
                    Some(Value::Moment(date, millis)) => Some(days(date) * DAY_MILLIS + millis),
                    _ => None,
                };
                let millis: Vec<Option<i64>> = values.into_iter().map(millis).collect();
                let column = Column::new(name.into(), millis);
                attempt(|| {
                    let moments = column.cast(&DataType::Datetime(TimeUnit::Milliseconds, None))?;
                    match self.times {
                        0 => moments.cast(&DataType::Date),
                        _ => Ok(moments),
                    }
                })?
            }
            _ => {
                let text = |value| match value {
                    Value::Text(text) => text,
                    value => value.to_string().into(),
                };
                let texts = values.into_iter().map(|value| value.map(text));
                Column::new(name.into(), texts.collect::<Vec<Option<Cow<str>>>>())
            }
        })
    }
}
