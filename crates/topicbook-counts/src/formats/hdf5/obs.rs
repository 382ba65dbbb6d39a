//! `obs` of anndata, the table of the cells, as documents.

use crate::data::Documents;
use crate::error::{Error, Result};
use crate::text::{counted, shown_path};

use super::anndata::{RECORD_NAMES, h5ad_names, index_of, record_fields};
use super::file::Hdf;
use super::numbers::NumberArray;

/// The table of the cells.
const TABLE: &str = "obs";
/// The group in which anndata before 0.8 kept the labels of categories.
const OLD_CATEGORIES: &str = "__categories";
/// The name that tables give to the column of names: see [`Documents`].
const RESERVED: &str = "document";
/// Whole numbers below this size are exact as `f64`; the next one is rounded to it.
const ROUNDED: f64 = (1u64 << 53) as f64;
/// Bytes of a whole number of 64 bits and its text.
const TEXT_BYTES: u64 = 64;

/// What a dataset holds.
enum Found {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
    /// Values of another kind: what they are.
    Other(String),
}

enum Column {
    Numbers(Vec<f64>),
    Labels(Vec<Option<String>>),
    Categories(Vec<String>, Vec<Option<u32>>),
    /// Values that documents have no column for: what they are.
    Other(String),
}

/// The names of the cells, and the columns of `obs` that documents have columns for. The others are left out, with a note.
pub fn h5ad_documents(hdf: &Hdf) -> Result<Documents> {
    let names = h5ad_names(hdf, TABLE)?;
    let rows = names.len() as u64;
    let mut documents = Documents::new(names).map_err(|error| in_file(hdf, error))?;
    if let Some(fields) = record_fields(hdf, TABLE)? {
        for name in fields.iter().filter(|name| *name != RECORD_NAMES) {
            documents = documents.without(name, "a field of a table of anndata before 0.7");
        }
        return Ok(documents);
    }
    for name in column_names(hdf)? {
        let path = format!("{TABLE}/{name}");
        let column = match name == RESERVED {
            true => Column::Other("the name that tables give to the column of names".into()),
            false => column(hdf, TABLE, &name, rows)?,
        };
        let added = match column {
            Column::Numbers(numbers) => documents.with_numbers(&name, numbers),
            Column::Labels(labels) => documents.with_labels(&name, labels),
            Column::Categories(categories, codes) => {
                documents.with_categories(&name, categories, codes.into_iter())
            }
            Column::Other(what) => Ok(documents.without(&name, &what)),
        };
        documents = added.map_err(|error| in_file(hdf, error).at(path))?;
    }
    Ok(documents)
}

/// Names the file in an error of documents.
fn in_file(hdf: &Hdf, error: Error) -> Error {
    let what = format!("{}: {}", shown_path(hdf.path()), error.headline());
    let named = Error::new(error.kind(), what).at(error.place().unwrap_or(TABLE));
    match error.remedy() {
        Some(remedy) => named.fix(remedy),
        None => named,
    }
}

/// The names of the columns, in the order of the table.
fn column_names(hdf: &Hdf) -> Result<Vec<String>> {
    let index = index_of(hdf, TABLE)?;
    let is_column = |name: &String| *name != index && *name != OLD_CATEGORIES;
    if let Some(order) = hdf.text_list(TABLE, "column-order")? {
        return Ok(order.into_iter().filter(is_column).collect());
    }
    let (groups, datasets) = hdf.members(TABLE)?;
    let mut names = [groups, datasets].concat();
    names.retain(is_column);
    names.sort();
    Ok(names)
}

/// The type of each feature, which scanpy takes over from 10x; none where the table has no such column.
pub fn h5ad_feature_types(hdf: &Hdf, table: &str) -> Result<Vec<String>> {
    const NAME: &str = "feature_types";
    let path = format!("{table}/{NAME}");
    if hdf.group(&path)?.is_none() && hdf.dataset(&path)?.is_none() {
        return Ok(Vec::new());
    }
    let rows = h5ad_names(hdf, table)?.len() as u64;
    let label = |label: Option<String>| label.unwrap_or_default();
    Ok(match column(hdf, table, NAME, rows)? {
        Column::Labels(labels) => labels.into_iter().map(label).collect(),
        Column::Categories(names, codes) => codes
            .into_iter()
            .map(|code| label(code.and_then(|code| names.get(code as usize).cloned())))
            .collect(),
        Column::Numbers(_) | Column::Other(_) => Vec::new(),
    })
}

fn column(hdf: &Hdf, table: &str, name: &str, rows: u64) -> Result<Column> {
    let path = format!("{table}/{name}");
    if hdf.group(&path)?.is_none() {
        let categories = format!("{table}/{OLD_CATEGORIES}/{name}");
        if hdf.dataset(&categories)?.is_some() {
            return categorical(hdf, &path, &categories, rows);
        }
        return Ok(match values(hdf, &path, Some(rows))? {
            Found::Numbers(numbers) => Column::Numbers(numbers),
            Found::Texts(texts) => Column::Labels(texts.into_iter().map(Some).collect()),
            Found::Other(what) => Column::Other(what),
        });
    }
    match hdf.text(&path, "encoding-type")?.as_deref() {
        Some("categorical") => categorical(
            hdf,
            &format!("{path}/codes"),
            &format!("{path}/categories"),
            rows,
        ),
        Some(encoding) if encoding.starts_with("nullable-") => nullable(hdf, &path, rows),
        Some(encoding) => Ok(Column::Other(format!("the encoding {encoding:?}"))),
        None => Ok(Column::Other("a group without encoding-type".into())),
    }
}

/// Labels by their numbers; -1 is a missing label.
fn categorical(hdf: &Hdf, codes: &str, categories: &str, rows: u64) -> Result<Column> {
    // Texts of which some may be missing are stored as values and a mask.
    let values_path = match hdf.group(categories)? {
        Some(_) => format!("{categories}/values"),
        None => categories.to_string(),
    };
    let labels: Vec<String> = match values(hdf, &values_path, None)? {
        Found::Texts(texts) => texts,
        Found::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
        Found::Other(what) => return Ok(Column::Other(format!("categories of {what}"))),
    };
    let Found::Numbers(numbers) = values(hdf, codes, Some(rows))? else {
        return Err(hdf.wrong(codes, "has codes of categories that are no whole numbers"));
    };
    let mut found = Vec::with_capacity(numbers.len());
    for (row, code) in numbers.into_iter().enumerate() {
        // A blank label is a missing one, as in every column of labels.
        let label = match code {
            -1.0 => None,
            code if code >= 0.0 && code.trunc() == code && code < labels.len() as f64 => {
                Some(code as u32).filter(|&code| !labels[code as usize].trim().is_empty())
            }
            code => {
                let held = counted(labels.len(), "label");
                return Err(hdf.wrong(codes, format!("has code {code} in row {row}, for {held}")));
            }
        };
        found.push(label);
    }
    Ok(Column::Categories(labels, found))
}

/// Values with a mask, which is true where a value is missing.
fn nullable(hdf: &Hdf, path: &str, rows: u64) -> Result<Column> {
    let mask_path = format!("{path}/mask");
    let Found::Numbers(mask) = values(hdf, &mask_path, Some(rows))? else {
        return Err(hdf.wrong(
            &mask_path,
            "has a mask that is neither of truth values nor of numbers",
        ));
    };
    let is_missing = mask.into_iter().map(|missing| missing != 0.0);
    Ok(match values(hdf, &format!("{path}/values"), Some(rows))? {
        Found::Numbers(numbers) => Column::Numbers(
            numbers
                .into_iter()
                .zip(is_missing)
                .map(|(number, missing)| if missing { f64::NAN } else { number })
                .collect(),
        ),
        Found::Texts(texts) => Column::Labels(
            texts
                .into_iter()
                .zip(is_missing)
                .map(|(text, missing)| (!missing).then_some(text))
                .collect(),
        ),
        Found::Other(what) => Column::Other(what),
    })
}

/// All values of a dataset, which has one for each of `rows` if that is given.
fn values(hdf: &Hdf, path: &str, rows: Option<u64>) -> Result<Found> {
    use hdf5_pure::DType;
    let dataset = hdf.expect(path)?;
    let shape = hdf.guard(path, || dataset.shape())?;
    if shape.len() != 1 {
        return Ok(Found::Other(format!("an array of shape {shape:?}")));
    }
    if let Some(rows) = rows.filter(|&rows| rows != shape[0]) {
        let rows = counted(rows as usize, "row");
        let values = counted(shape[0] as usize, "value");
        let table = path.split('/').next().unwrap_or(TABLE);
        return Err(hdf.wrong(path, format!("has {values}, and {table} has {rows}")));
    }
    let kind = hdf.guard(path, || dataset.dtype())?;
    if matches!(kind, DType::String | DType::VariableLengthString) {
        return hdf.texts(path).map(Found::Texts);
    }
    let Some(array) = NumberArray::any(hdf, path)? else {
        return Ok(Found::Other(format!("values of type {kind}")));
    };
    let claim = || {
        hdf.opened()
            .claim(counted(array.length() as usize, "value"))
            .at(path)
    };
    claim().check_memory(array.length().saturating_mul(size_of::<f64>() as u64))?;
    let mut numbers = Vec::with_capacity(array.length() as usize);
    array.read(0..array.length(), |run| {
        numbers.extend_from_slice(run);
        Ok(())
    })?;
    if numbers.iter().any(|number| number.abs() >= ROUNDED) {
        claim().check_memory(array.length().saturating_mul(TEXT_BYTES))?;
        if let Some(texts) = array.texts()? {
            return Ok(Found::Texts(texts));
        }
    }
    Ok(Found::Numbers(numbers))
}
