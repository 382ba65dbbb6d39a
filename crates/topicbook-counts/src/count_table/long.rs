//! Long tables: a row per count, with the names of its document and term.

use std::collections::HashMap;

use polars::prelude::{Column, DataType};

use crate::data::{Documents, NumberText, Table, TableFile, Terms};
use crate::error::Result;
use crate::formats::triplets::NamedTriplets;

use super::{Contents, CountTable, Roles};

/// Rows that are read at once.
const ROWS_AT_ONCE: usize = 1 << 18;

/// Names in the order in which they were first seen.
#[derive(Default)]
struct Names {
    ids: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.ids.insert(name.to_string(), id);
        self.names.push(name.to_string());
        id
    }

    /// The numbers of the names of a column. Fails at an empty one.
    fn ids(
        &mut self,
        table: &CountTable,
        chunk: &Table,
        column: &str,
        first: usize,
    ) -> Result<Vec<u32>> {
        let texts = super::column(table, chunk, column)?.cast(&DataType::String);
        let texts = texts.map_err(|source| table.wrong(source.to_string()))?;
        let texts = texts
            .str()
            .map_err(|source| table.wrong(source.to_string()))?;
        let mut ids = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else {
                return Err(table
                    .wrong(format!("column {column:?} is empty"))
                    .at(format!("data row {}", first + row + 1))
                    .fix("write a name, or remove the row"));
            };
            ids.push(self.id(text));
        }
        Ok(ids)
    }
}

/// Reads a table with the columns `names` of documents, terms and counts.
pub(super) fn read(
    table: &CountTable,
    file: &TableFile,
    names: &[String; 3],
    roles: Roles,
) -> Result<Contents> {
    let (mut documents, mut terms) = (Names::default(), Names::default());
    let mut triplets = NamedTriplets::new(table.source.path(), table.memory());
    let mut zeros = 0;
    let [document, term, count] = names.each_ref().map(String::as_str);
    file.for_each(&[document, term, count], ROWS_AT_ONCE, |first, chunk| {
        let found = documents.ids(table, chunk, document, first)?;
        let terms = terms.ids(table, chunk, term, first)?;
        let counts = counts(table, chunk, count, first, &mut zeros)?;
        triplets.add(&found, &terms, &counts, first)
    })?;
    Ok(Contents {
        counts: triplets.finish((documents.names.len(), terms.names.len()), table.location())?,
        terms: Terms::new(terms.names)?,
        documents: Documents::new(documents.names)?,
        roles,
        zeros,
        understood: Vec::new(),
    })
}

/// The column of counts. Fails at a text and at a missing count, or counts that in `zeros`.
fn counts(
    table: &CountTable,
    chunk: &Table,
    name: &str,
    first: usize,
    zeros: &mut usize,
) -> Result<Column> {
    let counts = super::column(table, chunk, name)?;
    let place = |row: usize| format!("data row {}, column {name:?}", first + row + 1);
    if let Ok(texts) = counts.str() {
        let is_number = |text: Option<&str>| {
            matches!(
                NumberText::of(text.unwrap_or_default()),
                NumberText::Number(_)
            )
        };
        let row = texts
            .iter()
            .position(|text| !is_number(text))
            .unwrap_or_default();
        let text = texts.get(row).unwrap_or_default();
        return Err(table
            .wrong(format!("column {name:?} has {text:?}, which is a text and no number"))
            .at(place(row))
            .fix("write the count in digits alone, or name another column: .long(\"doc\", \"word\", \"freq\")"));
    }
    let numbers = super::given_numbers(table, counts)?;
    match numbers.iter().position(Option::is_none) {
        None => Ok(counts.clone()),
        Some(_) if table.settings.missing_as_zero => {
            *zeros += numbers.iter().filter(|number| number.is_none()).count();
            let numbers = numbers.into_iter().map(Option::unwrap_or_default);
            Ok(Column::new(name.into(), numbers.collect::<Vec<f64>>()))
        }
        Some(row) => Err(table
            .wrong(format!("column {name:?} is empty, NA or \"-\""))
            .at(place(row))
            .fix("remove the row, write a count, or say .missing_as_zero()")),
    }
}
