//! The other columns and fields of texts, collected while the terms are counted.

use std::collections::HashMap;

use crate::data::{ColumnMarks, Decimal, Documents, NumberText};
use crate::error::{Error, ErrorKind, Result};

/// Maximum number of columns: each line of JSON could have a field of another name.
const MOST_COLUMNS: usize = 256;
/// The column that names the documents.
const NAMES: &str = "document";

/// The labels of a batch of documents.
#[derive(Default)]
pub struct BatchLabels {
    documents: usize,
    /// Whether something else than commas separates the values of a table.
    pub(super) has_other_separator: bool,
    names: Vec<String>,
    /// The document, the number of the column in `names`, and the value.
    values: Vec<(usize, usize, String)>,
}

impl BatchLabels {
    /// Adds a value of the current document; a blank one is missing.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        if value.trim().is_empty() {
            return;
        }
        let known = self.names.iter().position(|known| known == name);
        let column = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.values.push((self.documents, column, value.to_owned()));
    }

    pub(super) fn end_document(&mut self) {
        self.documents += 1;
    }
}

/// The labels of all documents.
#[derive(Default)]
pub struct LabelColumns {
    documents: usize,
    has_other_separator: bool,
    columns: Vec<LabelColumn>,
}

/// A column: its distinct values, and the number of each document's value.
struct LabelColumn {
    name: String,
    values: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Shorter than the number of documents if the last ones have no value.
    codes: Vec<Option<u32>>,
}

impl LabelColumns {
    /// # Errors
    /// When there are too many columns.
    pub fn add(&mut self, batch: BatchLabels) -> Result<()> {
        let mut columns = Vec::with_capacity(batch.names.len());
        for name in batch.names {
            let known = self.columns.iter().position(|column| column.name == name);
            columns.push(known.unwrap_or_else(|| {
                self.columns.push(LabelColumn {
                    name,
                    values: Vec::new(),
                    numbers: HashMap::new(),
                    codes: Vec::new(),
                });
                self.columns.len() - 1
            }));
        }
        if self.columns.len() > MOST_COLUMNS {
            return Err(Error::new(
                ErrorKind::Table,
                format!("the lines have more than {MOST_COLUMNS} different fields beyond the text"),
            )
            .fix("leave out the fields that are not the same in all lines"));
        }
        for (document, column, value) in batch.values {
            self.columns[columns[column]].set(self.documents + document, value);
        }
        self.documents += batch.documents;
        self.has_other_separator |= batch.has_other_separator;
        Ok(())
    }

    pub fn documents(&self) -> usize {
        self.documents
    }

    /// The documents, named by the column `document` if all have a value there. A column becomes numbers if all its values are
    /// numbers, or words for a missing number such as `NA`. In a table whose values have another separator than commas, they
    /// may have a decimal comma, unless the mark is stated; `understood` gets an example.
    pub(super) fn into_documents(
        self,
        stated: Option<Decimal>,
        understood: &mut Vec<String>,
    ) -> Result<Documents> {
        let n = self.documents;
        let mut documents = Documents::numbered(n)?;
        let mut columns = self.columns;
        let names = columns.iter().position(|column| column.name == NAMES);
        if let Some(names) = names.map(|at| columns.remove(at)) {
            let name = |code: &Option<u32>| code.map(|code| names.values[code as usize].clone());
            let given: Vec<String> = names.codes.iter().filter_map(name).collect();
            match given.len() == n {
                true => documents = Documents::new(given)?,
                false => columns.insert(
                    0,
                    LabelColumn {
                        name: "name".into(),
                        ..names
                    },
                ),
            }
        }
        let marks: Vec<Option<ColumnMarks>> = columns
            .iter()
            .map(|column| ColumnMarks::of(column.values.iter().map(String::as_str)))
            .collect();
        let shared = ColumnMarks::shared(marks.iter().flatten());
        for (column, marks) in columns.into_iter().zip(marks) {
            let LabelColumn {
                name,
                values,
                mut codes,
                ..
            } = column;
            codes.resize(n, None);
            let found = |marks: &ColumnMarks| marks.mark(shared, !self.has_other_separator);
            let mark = stated.or(marks.as_ref().and_then(found));
            let marked: Option<Vec<f64>> =
                mark.and_then(|mark| values.iter().map(|text| mark.number(text)).collect());
            let plain = NumberText::column(values.iter().map(String::as_str));
            if let (Some(numbers), None) = (&marked, &plain) {
                understood.extend(marks.and_then(|marks| marks.shown(&name, &values, numbers)));
            }
            documents = match marked.or(plain) {
                Some(parsed) => {
                    let number =
                        |code: Option<u32>| code.map_or(f64::NAN, |code| parsed[code as usize]);
                    documents.with_numbers(&name, codes.into_iter().map(number))?
                }
                None => documents.with_categories(&name, values, codes.into_iter())?,
            };
        }
        Ok(documents)
    }
}

impl LabelColumn {
    fn set(&mut self, document: usize, value: String) {
        let code = *self.numbers.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            (self.values.len() - 1) as u32
        });
        self.codes.resize(document, None);
        self.codes.push(Some(code));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_batches_become_documents() {
        let mut columns = LabelColumns::default();
        for rows in [
            vec![vec![("document", "a"), ("year", "1987"), ("code", "007")]],
            vec![
                vec![("document", "b"), ("code", "8")],
                vec![("document", "c"), ("year", "1.5"), ("late", "x")],
            ],
        ] {
            let mut batch = BatchLabels::default();
            for row in rows {
                for (name, value) in row {
                    batch.add(name, value);
                }
                batch.end_document();
            }
            columns.add(batch).unwrap();
        }
        let documents = columns.into_documents(None, &mut Vec::new()).unwrap();
        assert_eq!(documents.names(), ["a", "b", "c"]);
        assert_eq!(documents.numbers("year").unwrap()[2], 1.5);
        assert!(documents.numbers("year").unwrap()[1].is_nan());
        let codes = documents.labels("code").unwrap();
        assert_eq!(codes, [Some("007".to_string()), Some("8".into()), None]);
        assert_eq!(documents.labels("late").unwrap()[2].as_deref(), Some("x"));
    }
}
