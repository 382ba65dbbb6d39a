//! Labels of documents: the groups that they make, in an order.

use std::collections::HashMap;
use std::hash::Hash;

use polars::prelude::{Column, DataType};

use crate::error::{Error, ErrorKind, Result};
use crate::text::{count, counted};

use super::documents::Documents;
use super::table::{ColumnValues, Table};

/// The group of each document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Labels {
    /// The names of the groups: numbers and dates in rising order, texts in the order in which they first occur.
    pub names: Vec<String>,
    /// The group of each document; `None` for one without a label.
    pub of: Vec<Option<usize>>,
    /// Whether the groups are numbers or dates.
    pub ordered: bool,
}

impl Labels {
    /// The groups of the values of a column. Null, NaN and blank texts are no labels. Names and expressions are those of columns
    /// of the documents, where these are known.
    pub(crate) fn new(values: impl ColumnValues, documents: Option<&Documents>) -> Result<Self> {
        let table = documents.map_or_else(Table::new, Documents::table);
        let column = values.named_column("label", &table).map_err(|error| {
            match documents {
                Some(_) => error,
                None => error.fix(
                    "pass the labels, one per document, or give the fit its documents: fit.with_documents(&documents)?",
                ),
            }
        })?;
        Self::of_column(&column)
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
            return Ok(Self::first_seen(texts, |text| text.to_string()));
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

    /// Orders the groups by their values, which are those of the documents, and names them.
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
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|&group| keys[group]);
        let mut place = vec![0; order.len()];
        for (at, &group) in order.iter().enumerate() {
            place[group] = at;
        }
        self.names = order.iter().map(|&group| name(&keys[group])).collect();
        for group in self.of.iter_mut().flatten() {
            *group = place[*group];
        }
        self.ordered = true;
    }

    /// Fails if these are not labels of so many documents in two groups or more.
    pub(crate) fn check(&self, documents: usize) -> Result<()> {
        if self.of.len() != documents {
            return Err(Error::new(
                ErrorKind::Shape,
                format!(
                    "{} for {}",
                    counted(self.of.len(), "label"),
                    counted(documents, "document")
                ),
            )
            .fix("pass one label per document, in the order of the rows of L"));
        }
        match self.names.as_slice() {
            [] => Err(Error::new(
                ErrorKind::Value,
                format!("all {} labels are missing", count(documents as u64)),
            )
            .fix("pass labels that are not null, NaN or blank")),
            [only] => Err(Error::new(
                ErrorKind::Value,
                format!("`{only}` is the label of all documents that have one"),
            )
            .fix("pass labels that make two groups or more")),
            _ => Ok(()),
        }
    }

    /// The documents of each group, and after them those without a label.
    pub(crate) fn documents(&self) -> (Vec<Vec<usize>>, Vec<usize>) {
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

/// Labels that are floating-point numbers.
fn numbers(column: &Column) -> Result<Labels> {
    let values = cast(column, &DataType::Float64)?;
    let values = values.f64().map_err(|_| not_labels(column.dtype()))?;
    // The order of these integers is that of the numbers. Adding 0.0 makes 0.0 of -0.0.
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
    Error::new(
        ErrorKind::Table,
        format!("a column of type {dtype} does not label documents"),
    )
    .fix("pass texts, numbers or dates, one per document")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn labels_that_make_no_groups_are_refused() {
        let cases = [
            (Labels::new([1, 2], None), "2 labels for 3 documents"),
            (Labels::new(["a"; 3], None), "`a` is the label of all"),
            (Labels::new(["", " ", ""], None), "all 3 labels are missing"),
            (Labels::new([f64::NAN; 3], None), "all 3 labels are missing"),
        ];
        for (labels, expected) in cases {
            let error = labels.unwrap().check(3).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    }
}
