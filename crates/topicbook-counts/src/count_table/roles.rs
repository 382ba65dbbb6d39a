//! What each column of a table is: names, labels, terms or counts. All tables are read by this rule, which the table at
//! [`CountTable`] states.

use polars::prelude::DataType;

use crate::data::{ColumnMarks, NumberText, TableFile};
use crate::error::{Error, Result};
use crate::text::{counted, quoted_list};

use super::CountTable;

/// Names of the columns with the names of the documents.
const DOCUMENTS: [&str; 3] = ["document", "doc", "doc_id"];
/// Names of the other columns of a long table.
const TERMS: [&str; 3] = ["term", "word", "token"];
const COUNTS: [&str; 2] = ["count", "n"];
/// Rows of texts that are examined at once.
const ROWS_AT_ONCE: usize = 1 << 18;

/// The form of a table, if a setting states it.
#[derive(Clone)]
pub(super) enum Form {
    Wide,
    /// The columns of documents, terms and counts.
    Long([String; 3]),
}

/// The columns of a table by what they are.
#[derive(Default)]
pub(super) struct Roles {
    /// The columns of documents, terms and counts; `None` in a wide table.
    pub(super) long: Option<[String; 3]>,
    /// The names of the documents; `None` where they are numbered.
    pub(super) names: Option<String>,
    pub(super) labels: Vec<String>,
    pub(super) terms: Vec<String>,
    pub(super) left_out: Vec<String>,
    /// Whether names that are numbers must each occur once, since they may be counts.
    pub(super) unsure: bool,
    /// Columns that may be those of a long table: if the first one has a value twice.
    pub(super) maybe_long: Option<[String; 3]>,
}

/// Whether a column is the row names of a frame, as pandas, R and Polars call one without a name.
fn is_row_names(name: &str) -> bool {
    name.trim().is_empty()
        || name.starts_with("Unnamed: ")
        || name.starts_with("_duplicated_")
        || (name.starts_with("__index_level_") && name.ends_with("__"))
}

fn is_number(columns: &[(String, DataType)], name: &str) -> bool {
    let mut columns = columns.iter();
    columns.any(|(found, dtype)| found == name && dtype.is_primitive_numeric())
}

impl Roles {
    pub(super) fn of(table: &CountTable, file: &TableFile) -> Result<Self> {
        let columns = file.columns()?;
        let settings = &table.settings;
        let index = file.pandas_index();
        let is_index = |name: &str| is_row_names(name) || index.iter().any(|found| found == name);
        let is_number = |name: &str| is_number(&columns, name);
        let called = |name: &&str| {
            let mut columns = columns.iter().map(|(found, _)| found);
            columns.find(|found| found.eq_ignore_ascii_case(name))
        };
        let one_of = |names: &[&str]| names.iter().find_map(called);
        // Columns of numbers that do not belong to a long table.
        let others = |taken: &[&String]| -> Vec<&String> {
            let numbers = columns
                .iter()
                .filter(|(_, dtype)| dtype.is_primitive_numeric());
            let names = numbers.map(|(name, _)| name);
            let is_other = |name: &&String| {
                !taken.contains(name) && !is_index(name) && !settings.labels.contains(name)
            };
            names.filter(is_other).collect()
        };
        let named = settings.names.as_ref();
        let found = [
            named.or(one_of(&DOCUMENTS)),
            one_of(&TERMS),
            one_of(&COUNTS),
        ];
        match (&settings.form, found) {
            (Some(Form::Long(long)), _) => return Self::long(table, file, long.clone()),
            (None, [Some(document), Some(term), Some(count)]) => {
                let long = [document, term, count];
                let others = others(&long);
                if !is_number(term) || others.is_empty() {
                    if long == ["doc", "term", "count"] && long.iter().all(|name| is_number(name)) {
                        return Err(numbered(table));
                    }
                    return Self::long(table, file, long.map(String::clone));
                }
                return Err(both_forms(table, long, &others));
            }
            (None, [None, Some(term), Some(count)]) if !is_number(term) && is_number(count) => {
                let mut names = columns.iter().map(|(name, _)| name);
                let document = names.find(|name| ![term, count].contains(name) && !is_index(name));
                if let Some(document) = document.filter(|_| settings.labels.is_empty()) {
                    return Err(both_forms(table, [document, term, count], &[count]));
                }
            }
            _ => {}
        }

        let wide = matches!(settings.form, Some(Form::Wide));
        let documented: Vec<&String> = DOCUMENTS
            .iter()
            .filter_map(called)
            .filter(|name| !(settings.labels.contains(name) || wide && is_number(name)))
            .collect();
        let rows: Vec<&String> = columns
            .iter()
            .map(|(name, _)| name)
            .filter(|name| is_index(name) && !settings.labels.contains(name))
            .collect();
        let candidates = documented.iter().chain(&rows).copied();
        let texts = candidates.clone().find(|name| !is_number(name));
        let names = named.or(texts).or(candidates.clone().next());
        // Row names that are texts and a column of numbers with a documented name: both may be the names.
        let number = documented.iter().find(|name| is_number(name));
        if let (None, Some(name), Some(number)) = (named, names, number)
            && rows.contains(&name)
        {
            return Err(two_names(table, name, number));
        }
        let mut roles = Roles {
            names: names.cloned(),
            unsure: named.is_none()
                && names.is_some_and(|name| documented.contains(&name) && is_number(name)),
            ..Roles::default()
        };
        for (name, dtype) in &columns {
            if names == Some(name) {
                continue;
            }
            let is_label = settings.labels.contains(name) || documented.contains(&name);
            let kept = match () {
                () if is_label => &mut roles.labels,
                () if is_row_names(name) => &mut roles.left_out,
                () if is_index(name) => &mut roles.labels,
                () if dtype.is_primitive_numeric() => &mut roles.terms,
                () if text_is_term(table, file, name, dtype)? => &mut roles.terms,
                () => &mut roles.labels,
            };
            kept.push(name.clone());
        }
        if settings.form.is_none() && named.is_none() && settings.labels.is_empty() {
            let document = names.filter(|name| documented.contains(name));
            roles.maybe_long = roles.as_long(document, &columns);
        }
        Ok(roles)
    }

    /// The columns of a long table with names of its own: the documents' and one more of texts, and one term.
    fn as_long(
        &self,
        document: Option<&String>,
        columns: &[(String, DataType)],
    ) -> Option<[String; 3]> {
        let is_text = |dtype: &DataType| !dtype.is_temporal() && !dtype.is_bool();
        let labels = columns
            .iter()
            .filter(|(name, dtype)| self.labels.contains(name) && is_text(dtype));
        let texts = document.into_iter().chain(labels.map(|(name, _)| name));
        let texts: Vec<&String> = texts.collect();
        match (texts.as_slice(), self.terms.as_slice()) {
            ([document, term], [count]) => {
                Some([document, term, &count].map(|name| (*name).clone()))
            }
            _ => None,
        }
    }

    fn long(table: &CountTable, file: &TableFile, mut long: [String; 3]) -> Result<Self> {
        if let Some(names) = &table.settings.names {
            long[0].clone_from(names);
        }
        if !table.settings.labels.is_empty() {
            return Err(table
                .wrong("is a long table, whose documents have no labels".into())
                .at(format!(
                    "its documents, terms and counts are in {}",
                    quoted_list(&long, 3)
                ))
                .fix(
                    "leave out .labels([..]), or say .wide() if each column of numbers is a term",
                ));
        }
        let others = file.columns()?.into_iter().map(|(name, _)| name);
        Ok(Roles {
            names: Some(long[0].clone()),
            left_out: others.filter(|name| !long.contains(name)).collect(),
            long: Some(long),
            ..Roles::default()
        })
    }
}

/// The error for triplets of numbers, which are ids of a list of terms.
fn numbered(table: &CountTable) -> Error {
    table
        .wrong("has numbers of documents and terms, and no names".into())
        .fix("open it with Counts::open, or Counts::from_frame from memory; if the numbers are names, say .long(\"doc\", \"term\", \"count\")")
}

/// The error for a table that may be of either form.
pub(super) fn both_forms(table: &CountTable, long: [&String; 3], numbers: &[&String]) -> Error {
    let [document, term, count] = long;
    table
        .wrong(format!(
            "may have a row per count, with the columns {}, or a term per column of numbers, such as {}",
            quoted_list(&long, 3),
            quoted_list(numbers, 10)
        ))
        .fix(format!(
            "say .wide() if each column of numbers is a term, or .long({document:?}, {term:?}, {count:?}) if a row is a count"
        ))
}

/// The error where texts without a name and numbers with one may be the names of the documents.
fn two_names(table: &CountTable, rows: &str, number: &str) -> Error {
    table
        .wrong(format!("may have the documents' names in column {rows:?} or in {number:?}"))
        .fix(format!(
            "say .wide() if {number:?} is a term, .names({number:?}) if it has the names, or .labels([{number:?}])"
        ))
}

/// Whether a column of another type than numbers is a term all the same: one without values, if these count as 0. Fails at a
/// column of texts most of which are numbers: they would be lost as a label.
fn text_is_term(
    table: &CountTable,
    file: &TableFile,
    name: &str,
    dtype: &DataType,
) -> Result<bool> {
    if file.height()? == 0 || !matches!(dtype, DataType::String | DataType::Null) {
        return Ok(false);
    }
    let (mut numbers, mut malformed, mut words, mut given) = (0, 0, 0, 0);
    let mut odd: Option<(usize, String)> = None;
    file.for_each(&[name], ROWS_AT_ONCE, |first, chunk| {
        let Ok(texts) = super::column(table, chunk, name)?.str() else {
            return Ok(());
        };
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            let is = NumberText::of(text);
            given += usize::from(is != NumberText::Missing);
            match is {
                NumberText::Number(_) => {
                    numbers += 1;
                    continue;
                }
                NumberText::Malformed if text.contains(|c: char| c.is_ascii_digit()) => {
                    malformed += 1;
                }
                NumberText::Other => words += 1,
                NumberText::Missing | NumberText::Malformed => {}
            }
            if odd.is_none() {
                odd = Some((first + row, text.into()));
            }
        }
        Ok(())
    })?;
    let as_label = format!(".labels([{name:?}]) if the column is no term");
    if given == 0 {
        return match table.settings.missing_as_zero {
            true => Ok(true),
            false => Err(table
                .wrong(format!("column {name:?} is empty"))
                .fix(format!(
                    "say .missing_as_zero() if an empty cell is a count of 0, or {as_label}"
                ))),
        };
    }
    if numbers + malformed == 0 || words > numbers + malformed {
        return Ok(false);
    }
    Err(match odd {
        Some((row, text)) => table
            .wrong(format!(
                "column {name:?} has {} and {text:?}",
                counted(numbers, "number")
            ))
            .at(format!("data row {}, column {name:?}", row + 1))
            .fix(match ColumnMarks::of([text.as_str()].into_iter()) {
                // 1,234 is 1.234 by a decimal comma.
                Some(marks) if marks.has_marks() && matches!(file, TableFile::Csv(_)) => format!(
                    "say .format(TextFormat::new().decimal('.')?), or ',' there: the mark before the fraction of {text:?}; the \
                     other one separates thousands; {as_label}"
                ),
                _ => format!("write a count there, without separators and signs; say {as_label}"),
            }),
        None => table
            .wrong(format!(
                "column {name:?} has numbers that are stored as texts"
            ))
            .fix(format!(
                "store them as numbers, in pandas by .astype(\"int64\"); say {as_label}"
            )),
    })
}
