//! Tables in files of JSON lines.

use std::collections::HashMap;
use std::path::Path;

use polars::prelude::{Column, NamedFrom, Series};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::{count, counted, quoted_list};

use super::Table;
use super::file_text::{WIDE, text_of};
use crate::json_lines::{JsonLine, other_layout};
use crate::number_text::is_wide;

/// Bytes of a value while its column is made: an `Option` of a number, or of a text, whose letters Polars copies.
const NUMBER_BYTES: u64 = 24;
const TEXT_BYTES: u64 = 48;
/// Cells of a table for each value in its file; more would be one field in each line, of another name in each.
const CELLS_OF_VALUE: u64 = 64;
/// Values of a file that is small enough for any fields.
const FEW_VALUES: u64 = 1024;

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Missing,
    Truth,
    Integer,
    Number,
    Text,
    /// Whole numbers beyond 2^63.
    Wide,
    /// Lists and objects.
    Nested,
    Mixed,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Missing,
            Value::Bool(_) => Self::Truth,
            Value::Number(number) if number.is_i64() => Self::Integer,
            Value::Number(_) => Self::Number,
            Value::String(text) if is_wide(text) => Self::Wide,
            Value::String(_) => Self::Text,
            Value::Array(_) | Value::Object(_) => Self::Nested,
        }
    }

    fn with(self, other: Self) -> Self {
        match (self, other) {
            (one, same) if one == same => one,
            (Self::Missing, kind) | (kind, Self::Missing) => kind,
            (Self::Integer, Self::Wide) | (Self::Wide, Self::Integer) => Self::Wide,
            (Self::Text, Self::Wide) | (Self::Wide, Self::Text) => Self::Text,
            (
                Self::Integer | Self::Number | Self::Wide,
                Self::Integer | Self::Number | Self::Wide,
            ) => Self::Number,
            _ => Self::Mixed,
        }
    }
}

/// The columns of a file, in the order in which their names first occur, and its size.
#[derive(Default)]
struct Fields {
    numbers: HashMap<String, usize>,
    names: Vec<String>,
    kinds: Vec<Kind>,
    rows: u64,
    values: u64,
}

/// The values of a column; those of the last rows may be missing.
enum Cells {
    Truth(Vec<Option<bool>>),
    Integer(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

/// Reads a table whose rows are objects, one a line.
pub(super) fn read(map: &MappedFile) -> Result<Table> {
    let path = map.path();
    let (text, mut understood) = text_of(map, None)?;
    let mut fields = Fields::default();
    each_line(path, &text, |object| fields.add(object))?;
    let is_nested = |kind: &Kind| *kind == Kind::Nested;
    if fields.rows == 1 && !fields.kinds.is_empty() && fields.kinds.iter().all(is_nested) {
        return Err(other_layout(
            path,
            "is one object of lists or objects, not a line for each row",
        ));
    }
    fields.check(map, text.len())?;
    let mut cells: Vec<Cells> = fields.kinds.iter().copied().map(Cells::new).collect();
    let mut row = 0;
    each_line(path, &text, |object| {
        for (name, value) in object.0 {
            if let Some(&column) = fields.numbers.get(&name) {
                cells[column].set(row, value);
            }
        }
        row += 1;
    })?;
    map.check_unchanged()?;
    let columns = fields.names.iter().zip(cells);
    let columns = columns.map(|(name, cells)| cells.column(name, row));
    understood.extend(fields.remarks());
    Ok(Table::from_columns(columns.collect()).with_note(&understood))
}

fn each_line(path: &Path, text: &str, mut visit: impl FnMut(JsonLine)) -> Result<()> {
    for (line, number) in text.lines().zip(1..) {
        if let Some(object) = JsonLine::parse(path, line, number)? {
            visit(object);
        }
    }
    Ok(())
}

impl Fields {
    fn add(&mut self, object: JsonLine) {
        self.rows += 1;
        self.values += object.0.len() as u64;
        for (name, value) in object.0 {
            let new = self.names.len();
            let column = *self.numbers.entry(name).or_insert_with_key(|name| {
                self.names.push(name.clone());
                self.kinds.push(Kind::Missing);
                new
            });
            self.kinds[column] = self.kinds[column].with(Kind::of(&value));
        }
    }

    /// Fails if the cells are far more than the values, or if memory does not hold them and the text.
    fn check(&self, map: &MappedFile, text: usize) -> Result<()> {
        let columns = self.names.len();
        let cells = self.rows.saturating_mul(columns as u64);
        if cells > CELLS_OF_VALUE.saturating_mul(self.values + FEW_VALUES) {
            let what = format!(
                "has {} different fields, of which a line has {} on average",
                count(columns as u64),
                count(self.values / self.rows.max(1))
            );
            return Err(Error::format(map.path(), what)
                .fix("leave out the fields that are not the same in all lines"));
        }
        let bytes = self.kinds.iter().map(|kind| match kind {
            Kind::Truth | Kind::Integer | Kind::Number => NUMBER_BYTES,
            _ => TEXT_BYTES,
        });
        let needed = self.rows.saturating_mul(bytes.sum::<u64>()) + 2 * text as u64;
        let shape = format!(
            "{} × {}",
            counted(self.rows as usize, "row"),
            counted(columns, "column")
        );
        map.file().claim(shape).check_memory(needed)
    }

    /// Which columns have become texts, in words for a card.
    fn remarks(&self) -> Vec<String> {
        let remark = |kind, what: &str| {
            let columns = self.names.iter().zip(&self.kinds);
            let columns: Vec<&String> = columns
                .filter(|(_, found)| **found == kind)
                .map(|(name, _)| name)
                .collect();
            (!columns.is_empty()).then(|| format!("{what}: {}", quoted_list(&columns, 10)))
        };
        let nested = remark(Kind::Nested, "lists and objects as texts of JSON");
        let mixed = remark(Kind::Mixed, "values of several types as texts");
        let wide = remark(Kind::Wide, WIDE);
        nested.into_iter().chain(mixed).chain(wide).collect()
    }
}

impl Cells {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Truth => Self::Truth(Vec::new()),
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Number => Self::Number(Vec::new()),
            _ => Self::Text(Vec::new()),
        }
    }

    /// Sets the value of a row, which is not before the last one that was set.
    fn set(&mut self, row: usize, value: Value) {
        fn put<T: Clone>(values: &mut Vec<Option<T>>, row: usize, value: Option<T>) {
            values.resize(row, None);
            values.push(value);
        }
        match self {
            Self::Truth(values) => put(values, row, value.as_bool()),
            Self::Integer(values) => put(values, row, value.as_i64()),
            Self::Number(values) => {
                let wide = || value.as_str()?.parse().ok();
                put(values, row, value.as_f64().or_else(wide));
            }
            Self::Text(values) => {
                let text = match value {
                    Value::Null => None,
                    Value::String(text) => Some(text),
                    other => Some(other.to_string()),
                };
                put(values, row, text);
            }
        }
    }

    fn column(self, name: &str, rows: usize) -> Column {
        fn made<T: Clone, P: ?Sized>(name: &str, mut values: Vec<Option<T>>, rows: usize) -> Column
        where
            Series: NamedFrom<Vec<Option<T>>, P>,
        {
            values.resize(rows, None);
            Column::new(name.into(), values)
        }
        match self {
            Self::Truth(values) => made(name, values, rows),
            Self::Integer(values) => made(name, values, rows),
            Self::Number(values) => made(name, values, rows),
            Self::Text(values) => made(name, values, rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn table(name: &str, bytes: &[u8]) -> Result<Table> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        Table::open(path)
    }

    #[test]
    fn keys_are_columns_in_the_order_of_their_first_appearance() -> Result<()> {
        let lines = "\u{feff}{\"z\": \"a \\\"b\\\"\\n\", \"stars\": 4, \"good\": true, \"gone\": null}\n\
            \r\n\
            {\"price\": 1, \"z\": \"ü\", \"stars\": 5, \"tags\": [\"a\", {\"b\": 1}]}\r\n\
            {\"z\": null, \"price\": 2.5, \"price\": 3.5, \"code\": \"7\", \"stars\": null}\n\
            {\"code\": 8, \"good\": false, \"wide\": -9223372036854775809, \"ids\": [1, 99999999999999999999]}\n\
            {\"wide\": 18446744073709551615, \"ids\": \"\\\"99999999999999999999\"}\n\
            {\"wide\": 7, \"wider\": 1.5}\n{\"wide\": null, \"wider\": 100000000000000000000}";
        let table = table("reviews.jsonl", lines.as_bytes())?;
        assert_eq!(
            table.column_names(),
            [
                "z", "stars", "good", "gone", "price", "tags", "code", "wide", "ids", "wider"
            ]
        );
        let types = table.dtypes().texts("type")?;
        assert_eq!(
            types,
            [
                "str", "i64", "bool", "str", "f64", "str", "str", "str", "str", "f64"
            ]
        );
        assert_eq!(table.texts("z")?[..2], ["a \"b\"\n", "ü"]);
        assert_eq!(table.column("z").unwrap().null_count(), 5);
        assert_eq!(table.numbers("stars")?[..2], [4.0, 5.0]);
        // Of two values with one name, the last; a whole number among others is a number.
        assert_eq!(table.numbers("price")?[1..3], [1.0, 3.5]);
        assert_eq!(table.texts("tags")?[1], "[\"a\",{\"b\":1}]");
        assert_eq!(table.texts("code")?[2..4], ["7", "8"]);
        // Whole numbers that no integer holds keep their digits, also inside of lists; next to fractions they are numbers.
        let wide = table.texts("wide")?;
        assert_eq!(
            wide[3..6],
            ["-9223372036854775809", "18446744073709551615", "7"]
        );
        let ids = table.texts("ids")?;
        assert_eq!(
            ids[3..5],
            ["[1,\"99999999999999999999\"]", "\"99999999999999999999"]
        );
        assert_eq!(table.numbers("wider")?[5..], [1.5, 1e20]);
        let text = table.to_string();
        assert!(
            text.contains("lists and objects as texts of JSON: \"tags\""),
            "{text}"
        );
        for remark in [
            "values of several types as texts: \"code\"",
            "whole numbers beyond 2^63 as texts: \"wide\"",
        ] {
            assert!(text.contains(remark), "{text}");
        }
        Ok(())
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let sparse: String = (0..2000)
            .map(|row| format!("{{\"k{row}\": 1}}\n"))
            .collect();
        for (name, text, expected) in [
            ("a.json", "[{\"a\": 1}]", "to_json('table.jsonl'"),
            // pandas' own layout.
            (
                "a.json",
                "{\"a\":{\"0\":1,\"1\":2}}",
                "to_json('table.jsonl'",
            ),
            ("a.ndjson", "{\"a\": 1}\n\n7\n", "line 3"),
            ("a.json", "{\n\"a\": 1}\n", "line 1"),
            ("a.jsonl", "", "is empty"),
            (
                "a.jsonl",
                &sparse,
                "2,000 different fields, of which a line has 1",
            ),
        ] {
            let error = table(name, text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
