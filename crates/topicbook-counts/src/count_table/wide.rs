//! Wide tables: a row per document, and a column per term.

use std::collections::HashMap;

use polars::prelude::{Column, DataType};

use crate::data::{Documents, Table, TableFile, Terms};
use crate::error::Result;
use crate::formats::invalid_value;
use crate::formats::triplets::folder_of;
use crate::spool::Spool;
use crate::system::Claim;
use crate::system::memory::free_memory;
use crate::text::{counted, quoted_list};

use super::roles::both_forms;
use super::source::MEMORY_SHARE;
use super::{Contents, CountTable, Roles};

/// Maximum number of rows that are converted at once.
const ROWS_AT_ONCE: u64 = 1 << 16;
/// Rows whose counts are collected from all columns at once: a cache line of a column.
const BLOCK: usize = 64;

pub(super) fn read(table: &CountTable, file: &TableFile, roles: Roles) -> Result<Contents> {
    let terms = roles.terms.len();
    // A row as it is stored, and as numbers.
    let row_bytes = 16 * terms as u64;
    let share = free_memory() / MEMORY_SHARE;
    let rows = (share / row_bytes.max(1)).clamp(1, ROWS_AT_ONCE);
    let shape = format!(
        "{} × {}",
        counted(file.height()?, "row"),
        counted(terms, "term")
    );
    Claim::new(table.source.path(), shape, "a table").check_memory(rows * row_bytes)?;
    read_within(table, file, roles, rows as usize, table.memory())
}

/// [`read`] with `rows` rows at once; counts that take more than `held` bytes go into a file.
pub(super) fn read_within(
    table: &CountTable,
    file: &TableFile,
    roles: Roles,
    rows: usize,
    held: u64,
) -> Result<Contents> {
    let height = file.height()?;
    let terms = &roles.terms;
    if terms.is_empty() || height == 0 {
        let columns = file.columns()?.into_iter().map(|(name, _)| name);
        let columns: Vec<String> = columns.collect();
        let what = match height {
            0 => "has no rows",
            _ => "has no columns of numbers",
        };
        let error = table
            .wrong(what.into())
            .at(format!("its columns are: {}", quoted_list(&columns, 30)));
        let has_truth = file.columns()?.iter().any(|(_, dtype)| dtype.is_bool());
        return Err(match has_truth && height > 0 {
            true => error.fix(
                "truth values are labels: write 1 and 0 for counts, in pandas by .astype(int)",
            ),
            false => error,
        });
    }
    let labels: Vec<&String> = roles.names.iter().chain(&roles.labels).collect();
    let mut zeros = 0;
    let mut spool = Spool::new(folder_of(table.source.path()), held);
    let mut named: Option<Table> = None;
    let columns = labels.iter().copied().chain(terms).map(String::as_str);
    let columns: Vec<&str> = columns.collect();
    file.for_each(&columns, rows, |first, chunk| {
        let numbers = terms
            .iter()
            .map(|term| numbers(table, chunk, term, first, &mut zeros))
            .collect::<Result<Vec<_>>>()?;
        push_rows(table, &numbers, terms, first, &mut spool)?;
        if !labels.is_empty() {
            let labels = labels
                .iter()
                .map(|name| super::column(table, chunk, name).cloned());
            let labels = Table::from_columns(labels.collect::<Result<_>>()?);
            named = Some(match named.take() {
                Some(above) => above.vstack(&labels)?,
                None => labels,
            });
        }
        Ok(())
    })?;
    Ok(Contents {
        counts: spool.finish(Some(terms.len()), table.location())?,
        terms: Terms::new(terms.iter().cloned())?,
        documents: match named {
            Some(labels) => documents(table, labels, &roles)?,
            None => Documents::numbered(height)?,
        },
        roles,
        zeros,
        understood: Vec::new(),
    })
}

/// The values of a column. Fails at a missing one, or counts it in `zeros`.
fn numbers(
    table: &CountTable,
    chunk: &Table,
    name: &str,
    first: usize,
    zeros: &mut usize,
) -> Result<Vec<f64>> {
    let numbers = super::given_numbers(table, super::column(table, chunk, name)?)?;
    let missing = numbers.iter().filter(|number| number.is_none()).count();
    if missing > 0 && !table.settings.missing_as_zero {
        let row = numbers.iter().position(Option::is_none).unwrap_or_default();
        return Err(table
            .wrong(format!("column {name:?} is empty, NA or \"-\""))
            .at(format!("data row {}, column {name:?}", first + row + 1))
            .fix(format!(
                "write 0 where a document does not have a term, or say .missing_as_zero(); .labels([{name:?}]) if the \
                 column is no term"
            )));
    }
    *zeros += missing;
    Ok(numbers.into_iter().map(Option::unwrap_or_default).collect())
}

/// Appends the rows of columns of numbers.
fn push_rows(
    table: &CountTable,
    numbers: &[Vec<f64>],
    terms: &[String],
    first: usize,
    spool: &mut Spool,
) -> Result<()> {
    let height = numbers.first().map_or(0, Vec::len);
    let mut rows: Vec<Vec<(u32, f32)>> = vec![Vec::new(); BLOCK];
    for start in (0..height).step_by(BLOCK) {
        let end = height.min(start + BLOCK);
        for (column, values) in numbers.iter().enumerate() {
            for (row, &value) in rows.iter_mut().zip(&values[start..end]) {
                // NaN is not zero.
                if value != 0.0 {
                    row.push((column as u32, value as f32));
                }
            }
            let wrong = |&value: &f64| !invalid_value::is_sparse_count(value);
            if let Some(row) = values[start..end].iter().position(wrong) {
                let (value, row) = (values[start + row], first + start + row);
                let path = Some(table.source.path());
                let error = invalid_value::no_sparse_count(value, row, column, path);
                let term = &terms[column];
                return Err(error
                    .at(format!("data row {}, column {term:?}", row + 1))
                    .fix(format!(
                        "write a count; if {term:?} is no term, name it in .labels([{term:?}])"
                    )));
            }
        }
        for row in &mut rows[..end - start] {
            spool.push(row.drain(..))?;
        }
    }
    Ok(())
}

/// The documents of a table of their names and labels.
fn documents(table: &CountTable, labels: Table, roles: &Roles) -> Result<Documents> {
    let columns = labels.columns().iter().map(|column| {
        let mut column: Column = column.clone();
        if roles.names.as_deref() == Some(column.name().as_str()) {
            // Names may be numbers.
            column = column.cast(&DataType::String).unwrap_or(column);
            column.rename("document".into());
        }
        column
    });
    let documents = Documents::from_table(&Table::from_columns(columns.collect()))?;
    let names = roles.names.as_ref();
    if let Some(long @ [name, _, count]) = &roles.maybe_long {
        let found = match names == Some(name) {
            true => documents.names().into_iter().map(Some).collect::<Vec<_>>(),
            false => documents.labels(name).unwrap_or_default(),
        };
        if let Some((first, second, _)) = twice(found) {
            return Err(both_forms(table, long.each_ref(), &[count]).at(format!(
                "data rows {} and {} have one {name:?}",
                first + 1,
                second + 1
            )));
        }
    }
    let Some(name) = names.filter(|_| roles.unsure) else {
        return Ok(documents);
    };
    match twice(documents.names().into_iter().map(Some)) {
        None => Ok(documents),
        Some((first, second, number)) => Err(table
            .wrong(format!("column {name:?} has {number} twice, and names one document each"))
            .at(format!("data rows {} and {}", first + 1, second + 1))
            .fix(format!(
                "say .wide() if {name:?} is a term, or .names({name:?}) if several documents have one name"
            ))),
    }
}

/// The first two rows with the same value, and the value.
fn twice(values: impl IntoIterator<Item = Option<String>>) -> Option<(usize, usize, String)> {
    let mut rows: HashMap<String, usize> = HashMap::new();
    for (row, value) in values.into_iter().enumerate() {
        let Some(value) = value else { continue };
        match rows.get(&value) {
            Some(&first) => return Some((first, row, value)),
            None => rows.insert(value, row),
        };
    }
    None
}
