//! Labels of documents: the groups that they make, in an order.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use polars::prelude::{Column, DataType};

use crate::error::{Error, Result};
use crate::text::{count, counted};

use super::documents::Documents;
use super::table::{ColumnValues, Table};

/// The group of each document.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// The names of the groups: numbers, dates and months in rising order, also where they are texts; other texts in the order
    /// in which they first occur.
    pub names: Vec<String>,
    /// The group of each document; `None` for one without a label.
    pub of: Vec<Option<usize>>,
    /// Whether the groups are numbers, dates or months. Texts that are numbers may be mere names, such as names of clusters.
    pub ordered: bool,
}

impl Labels {
    /// The groups of the values of a column. Null, NaN and blank texts are no labels. Names and expressions refer to columns
    /// of `documents`, if they are given; several names make a group of each combination of their values.
    pub fn new(values: impl ColumnValues, documents: Option<&Documents>) -> Result<Self> {
        let table = documents.map_or_else(Table::new, Documents::table);
        let column = values.named_column("label", &table).map_err(|error| {
            match documents {
                Some(_) => error,
                None => error.fix(
                    "pass the labels, one per document, or give the fit its documents: fit.with_documents(&documents)?",
                ),
            }
        })?;
        let Some(names) = names_of_columns(&column, &table) else {
            return Self::of_column(&column);
        };
        let parts = names.into_iter();
        let parts = parts.map(|name| Self::of_column(&name.named_column("label", &table)?));
        Ok(Self::combined(&parts.collect::<Result<Vec<_>>>()?))
    }

    /// The combinations of groups that occur, in the order of the first labels, and among these of the next. A document
    /// without one of the labels has none.
    fn combined(parts: &[Self]) -> Self {
        let documents = 0..parts.first().map_or(0, |labels| labels.of.len());
        let keys: Vec<Option<Vec<usize>>> = documents
            .map(|document| parts.iter().map(|labels| labels.of[document]).collect())
            .collect();
        let groups: BTreeSet<&Vec<usize>> = keys.iter().flatten().collect();
        let groups: Vec<&Vec<usize>> = groups.into_iter().collect();
        let name = |key: &Vec<usize>| {
            let names = parts.iter().zip(key);
            let names = names.map(|(labels, &group)| labels.names[group].as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let group = |key: &Option<Vec<usize>>| groups.binary_search(&key.as_ref()?).ok();
        Self {
            names: groups.iter().map(|key| name(key)).collect(),
            of: keys.iter().map(group).collect(),
            ordered: parts.iter().all(|labels| labels.ordered),
        }
    }

    fn of_column(column: &Column) -> Result<Self> {
        let dtype = column.dtype();
        if dtype.is_float() {
            return numbers(column);
        }
        let ordered = dtype.is_integer() || dtype.is_temporal();
        let texts = cast(column, &DataType::String)?;
        let texts = texts.str().map_err(|_| not_labels(dtype))?;
        if !ordered {
            let texts = texts
                .iter()
                .map(|text| text.map(str::trim).filter(|text| !text.is_empty()));
            let mut labels = Self::first_seen(texts, |text| text.to_string());
            labels.sort_texts();
            return Ok(labels);
        }
        let physical = column.to_physical_repr();
        let values = cast(&physical, &DataType::Int64)?;
        let values = values.i64().map_err(|_| not_labels(dtype))?;
        let mut names: HashMap<i64, String> = HashMap::new();
        for (value, text) in values.iter().zip(texts.iter()) {
            if let (Some(value), Some(text)) = (value, text) {
                names.entry(value).or_insert_with(|| text.to_string());
            }
        }
        let name = |value: &i64| names.get(value).cloned().unwrap_or_default();
        let mut labels = Self::first_seen(values.iter(), |value| value.to_string());
        labels.sort_by_key(&mut values.iter(), name);
        Ok(labels)
    }

    /// Groups in the order in which they first occur.
    fn first_seen<T: Eq + Hash>(
        values: impl Iterator<Item = Option<T>>,
        name: impl Fn(&T) -> String,
    ) -> Self {
        let mut groups: HashMap<T, usize> = HashMap::new();
        let mut names = Vec::new();
        let of = values
            .map(|value| {
                let value = value?;
                if let Some(&group) = groups.get(&value) {
                    return Some(group);
                }
                names.push(name(&value));
                groups.insert(value, names.len() - 1);
                Some(names.len() - 1)
            })
            .collect();
        Self {
            names,
            of,
            ordered: false,
        }
    }

    /// Orders the groups by their values, which are given per document, and names them.
    fn sort_by_key(
        &mut self,
        values: &mut dyn Iterator<Item = Option<i64>>,
        name: impl Fn(&i64) -> String,
    ) {
        let mut keys = vec![0; self.names.len()];
        for (group, value) in self.of.iter().zip(values) {
            if let (Some(group), Some(value)) = (group, value) {
                keys[*group] = value;
            }
        }
        self.names = keys.iter().map(name).collect();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&group| keys[group]);
        self.put_in_order(&order);
        self.ordered = true;
    }

    /// Orders groups whose texts are all dates, months or numbers.
    fn sort_texts(&mut self) {
        let keys = |key: fn(&str) -> Option<f64>| -> Option<Vec<f64>> {
            self.names.iter().map(|name| key(name)).collect()
        };
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        if self.names.iter().all(|name| is_date(name)) {
            order.sort_by_key(|&group| &self.names[group]);
            self.ordered = true;
        } else if let Some(months) = keys(month) {
            order.sort_by(|&a, &b| months[a].total_cmp(&months[b]));
            self.ordered = true;
        } else if let Some(numbers) = keys(number) {
            order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        }
        self.put_in_order(&order);
    }

    fn put_in_order(&mut self, order: &[usize]) {
        let mut place = vec![0; order.len()];
        for (at, &group) in order.iter().enumerate() {
            place[group] = at;
        }
        self.names = order
            .iter()
            .map(|&group| self.names[group].clone())
            .collect();
        for group in self.of.iter_mut().flatten() {
            *group = place[*group];
        }
    }

    /// Fails if these are not labels of `number` documents, or what they are of, in two groups or more.
    pub fn check(&self, number: usize, what: &str) -> Result<()> {
        if self.of.len() != number {
            return Err(Error::shape(format!(
                "{} for {}",
                counted(self.of.len(), "label"),
                counted(number, what)
            ))
            .fix(format!("pass one label per {what}, in their order")));
        }
        match self.names.as_slice() {
            [] => Err(
                Error::value(format!("all {} labels are missing", count(number as u64)))
                    .fix("pass labels that are not null, NaN or blank"),
            ),
            [only] => Err(Error::value(format!(
                "`{only}` is the label of all {what}s that have one"
            ))
            .fix("pass labels that make two groups or more")),
            _ => Ok(()),
        }
    }

    /// The labels without those of some documents, and without groups that then have none. The documents exist.
    pub fn without(mut self, documents: &[usize]) -> Self {
        for &document in documents {
            self.of[document] = None;
        }
        // The number that each group in use has among them.
        let mut numbers = vec![None; self.names.len()];
        for &group in self.of.iter().flatten() {
            numbers[group] = Some(0);
        }
        for (number, group) in numbers.iter_mut().flatten().enumerate() {
            *group = number;
        }
        for group in self.of.iter_mut() {
            *group = group.and_then(|group| numbers[group]);
        }
        let mut is_used = numbers.iter().map(Option::is_some);
        self.names.retain(|_| is_used.next() == Some(true));
        self
    }

    /// The documents of each group, and after them the documents without a label.
    pub fn documents(&self) -> (Vec<Vec<usize>>, Vec<usize>) {
        let mut groups = vec![Vec::new(); self.names.len()];
        let mut missing = Vec::new();
        for (document, group) in self.of.iter().enumerate() {
            match group {
                Some(group) => groups[*group].push(document),
                None => missing.push(document),
            }
        }
        (groups, missing)
    }
}

/// The values of a column that are names of columns of `table`: texts that are not one for each row, and one of which is such
/// a name.
fn names_of_columns<'a>(column: &'a Column, table: &Table) -> Option<Vec<&'a str>> {
    let texts = column.str().ok()?;
    let names: Vec<&str> = texts.iter().collect::<Option<_>>()?;
    let known = table.column_names();
    let is_known = |name: &&str| known.iter().any(|known| known == name);
    (names.len() != table.height() && names.iter().any(is_known)).then_some(names)
}

/// Whether a text begins as an ISO 8601 date: `1987`, `2023-08`, `2023-08-15`, `2023-08-15T10:30`, `2023-W31`, or `2023-Q3`.
/// They sort as texts.
fn is_date(text: &str) -> bool {
    let number = |text: &str, most: u32| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits && (1..=most).contains(&text.parse().unwrap_or(0))
    };
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-');
    let (year, part, day) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let has_year = matches!(year.as_bytes(), [b'1' | b'2', rest @ ..] if rest.len() == 3 && rest.iter().all(u8::is_ascii_digit));
    let has_part = part.is_none_or(|part| match part.strip_prefix('W') {
        Some(week) => number(week, 53),
        None => number(part, 12) || matches!(part, "Q1" | "Q2" | "Q3" | "Q4"),
    });
    let is_time = |byte| matches!(byte, b'0'..=b'9' | b':' | b'.' | b'+' | b'-' | b'Z');
    has_year
        && has_part
        && day.is_none_or(|day| number(day, 31))
        && parts.next().is_none()
        && time.bytes().all(is_time)
}

/// The number of a month of this English name, or of its first three letters or more.
fn month(text: &str) -> Option<f64> {
    const MONTHS: &str =
        "january february march april may june july august september october november december";
    let text = text.trim_end_matches('.').to_lowercase();
    let is_name = |month: &str| text.len() >= 3 && month.starts_with(&text);
    MONTHS
        .split(' ')
        .position(is_name)
        .map(|month| month as f64)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Labels that are floating-point numbers.
fn numbers(column: &Column) -> Result<Labels> {
    let values = cast(column, &DataType::Float64)?;
    let values = values.f64().map_err(|_| not_labels(column.dtype()))?;
    // These integers sort like the numbers. Adding 0.0 makes -0.0 into 0.0.
    let key = |value: f64| {
        let bits = (value + 0.0).to_bits() as i64;
        bits ^ ((bits >> 63) as u64 >> 1) as i64
    };
    let number = |key: &i64| f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64);
    let keys = || {
        values
            .iter()
            .map(|value| value.filter(|v| !v.is_nan()).map(key))
    };
    let mut labels = Labels::first_seen(keys(), |key| key.to_string());
    labels.sort_by_key(&mut keys(), |key| number(key).to_string());
    Ok(labels)
}

fn cast(column: &Column, dtype: &DataType) -> Result<Column> {
    column.cast(dtype).map_err(|_| not_labels(column.dtype()))
}

fn not_labels(dtype: &DataType) -> Error {
    Error::table(format!("a column of type {dtype} does not label documents"))
        .fix("pass texts, numbers or dates, one per document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // one case a line
    fn texts_that_are_dates_months_or_numbers_are_ordered_by_them() {
        for (texts, expected, ordered) in [
            ("2024-11|2023-10|2023-08", "2023-08|2023-10|2024-11", true),
            ("2023-08-15|2023-08-02|2022", "2022|2023-08-02|2023-08-15", true),
            ("2023-Q3|2023-Q1|2022-W52", "2022-W52|2023-Q1|2023-Q3", true),
            ("2023-08-15 10:30|2023-08-15T09:00:01Z|2023-08-15", "2023-08-15|2023-08-15 10:30|2023-08-15T09:00:01Z", true),
            ("March|Jan.|february", "Jan.|february|March", true),
            ("10|9|-2.5", "-2.5|9|10", false),
            // Texts of mixed kinds, or of no kind.
            ("2024-11|2023-10|before", "2024-11|2023-10|before", false),
            ("2023-31|2023-10|2023-08", "2023-31|2023-10|2023-08", false),
            ("nan|9|10", "nan|9|10", false),
            ("may|b|a", "may|b|a", false),
        ] {
            let texts: Vec<&str> = texts.split('|').collect();
            let labels = Labels::new(&texts, None).unwrap();
            assert_eq!((labels.names.join("|"), labels.ordered), (expected.into(), ordered));
            // Each document keeps its label.
            let found = labels.of.iter().map(|group| &labels.names[group.unwrap()]);
            assert!(found.eq(&texts), "{expected}");
        }
    }

    #[test]
    fn texts_are_ordered_by_their_first_occurrence_and_numbers_by_size() {
        let texts = Labels::new(["b", "a", " ", "b"], None).unwrap();
        assert_eq!(texts.names, ["b", "a"]);
        assert_eq!(texts.of, [Some(0), Some(1), None, Some(0)]);
        assert!(!texts.ordered);
        let years = Labels::new(vec![Some(1999), None, Some(1987), Some(1999)], None).unwrap();
        assert_eq!(years.names, ["1987", "1999"]);
        assert_eq!(years.of, [Some(1), None, Some(0), Some(1)]);
        assert!(years.ordered);
        let numbers = Labels::new([0.5, f64::NAN, -2.0, -0.0, 0.0, 1e9, -0.5], None).unwrap();
        assert_eq!(numbers.names, ["-2", "-0.5", "0", "0.5", "1000000000"]);
        assert_eq!(
            numbers.of,
            [Some(3), None, Some(0), Some(2), Some(2), Some(4), Some(1)]
        );
        let flags = Labels::new([true, false], None).unwrap();
        assert_eq!(flags.names, ["true", "false"]);
    }

    #[test]
    fn several_columns_make_a_group_of_each_combination() {
        let documents = Table::new()
            .with_column(
                "category",
                [Some("Books"), Some("Audio"), Some("Books"), None],
            )
            .and_then(|table| table.with_column("year", [2024, 2023, 2023, 2023]))
            .unwrap();
        let documents = Documents::from_table(&documents).unwrap();
        let by = |names: &[&str]| Labels::new(names, Some(&documents));
        let labels = by(&["category", "year"]).unwrap();
        assert_eq!(labels.names, ["Books, 2023", "Books, 2024", "Audio, 2023"]);
        assert_eq!(labels.of, [Some(1), Some(2), Some(0), None]);
        assert!(!labels.ordered && by(&["year", "year"]).unwrap().ordered);
        // One text a document is a label, whatever its name.
        assert_eq!(by(&["year"; 4]).unwrap().names, ["year"]);
        let error = by(&["category", "yaer"]).unwrap_err().to_string();
        assert!(error.contains("yaer") && error.contains("year"), "{error}");
    }

    #[test]
    fn labels_that_make_no_groups_are_refused() {
        let cases = [
            (Labels::new([1, 2], None), "2 labels for 3 documents"),
            (Labels::new(["a"; 3], None), "`a` is the label of all"),
            (Labels::new(["", " ", ""], None), "all 3 labels are missing"),
            (Labels::new([f64::NAN; 3], None), "all 3 labels are missing"),
        ];
        for (labels, expected) in cases {
            testkit::refused! { labels.unwrap().check(3, "document"), expected; }
        }
    }
}
