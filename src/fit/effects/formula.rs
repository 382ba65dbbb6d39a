//! Labels of documents as the columns of a regression: `"year + party * chamber"`.

use polars::prelude::{Column, DataType, TimeUnit};

use crate::data::{Documents, Labels, Table, remedy_by_nearest};
use crate::error::{Error, Result};
use crate::text::counted;

/// Most labels that interact with each other.
const INTERACTING: usize = 3;
/// Milliseconds of a mean Gregorian year.
const YEAR: f64 = 365.2425 * 86_400_000.0;

/// What the proportions are regressed on.
pub(super) struct Design {
    /// The names of the columns; the first is the intercept.
    pub terms: Vec<String>,
    /// Columns, each with a value for each document in use.
    pub columns: Vec<Vec<f64>>,
    /// The documents that have all labels, and counts.
    pub documents: Vec<usize>,
}

/// A label of all documents.
struct Label<'a> {
    name: &'a str,
    values: Values,
}

enum Values {
    /// NaN where one is missing.
    Numbers(Vec<f64>),
    Groups(Labels),
}

impl Design {
    /// The columns that a formula asks for. `is_used` says whether a document has a part in the fit.
    pub fn new(
        formula: &str,
        documents: &Documents,
        is_used: impl Fn(&usize) -> bool,
    ) -> Result<Self> {
        let products = products(formula)?;
        let table = documents.table();
        let mut labels: Vec<Label<'_>> = Vec::new();
        for &name in products.iter().flatten() {
            if labels.iter().all(|label| label.name != name) {
                labels.push(Label::of(name, documents, &table)?);
            }
        }
        let rows = (0..documents.len()).filter(is_used);
        let rows: Vec<usize> = rows
            .filter(|&row| labels.iter().all(|label| label.has(row)))
            .collect();
        if rows.is_empty() {
            return Err(Error::value("no document has all labels of the formula")
                .fix("leave out of the formula what most documents do not have"));
        }
        let mut design = Self {
            terms: vec!["intercept".into()],
            columns: vec![vec![1.0; rows.len()]],
            documents: rows,
        };
        for label in &mut labels {
            label.use_only(&design.documents)?;
        }
        for product in &products {
            let mut all = vec![(String::new(), vec![1.0; design.documents.len()])];
            for &name in product {
                let label = labels.iter().find(|label| label.name == name);
                let columns = label.map(|label| label.columns(&design.documents));
                all = times(&all, &columns.unwrap_or_default());
            }
            let (terms, columns): (Vec<_>, Vec<_>) = all.into_iter().unzip();
            design.terms.extend(terms);
            design.columns.extend(columns);
        }
        match design.terms.len() < design.documents.len() {
            true => Ok(design),
            false => Err(Error::value(format!(
                "{} do not determine {}",
                counted(design.documents.len(), "document"),
                counted(design.terms.len(), "coefficient")
            ))
            .fix("leave labels out of the formula, or merge groups")),
        }
    }
}

/// The labels of each term: those of single labels, and then of their interactions.
fn products(formula: &str) -> Result<Vec<Vec<&str>>> {
    let mut products: Vec<Vec<&str>> = Vec::new();
    for part in formula.split('+') {
        let names: Vec<&str> = part.split('*').map(str::trim).collect();
        if names.iter().any(|name| name.is_empty()) {
            return Err(
                Error::value(format!("`{formula}` has a place without a label")).fix(
                    "write labels as \"year + party\", and with their interaction \"year * party\"",
                ),
            );
        }
        if names.len() > INTERACTING {
            return Err(
                Error::value(format!("an interaction of {} labels", names.len()))
                    .fix(format!("let at most {INTERACTING} labels interact")),
            );
        }
        for subset in 1..1usize << names.len() {
            let places = (0..names.len()).filter(|place| subset >> place & 1 == 1);
            let product: Vec<&str> = places.map(|place| names[place]).collect();
            if !products.contains(&product) {
                products.push(product);
            }
        }
    }
    products.sort_by_key(Vec::len);
    Ok(products)
}

/// The products of two lists of columns.
fn times(some: &[(String, Vec<f64>)], others: &[(String, Vec<f64>)]) -> Vec<(String, Vec<f64>)> {
    let pairs = some.iter().flat_map(|a| others.iter().map(move |b| (a, b)));
    pairs
        .map(|((a, some), (b, others))| {
            let name = match a.is_empty() {
                true => b.clone(),
                false => format!("{a} * {b}"),
            };
            let values = some.iter().zip(others);
            (name, values.map(|(a, b)| a * b).collect())
        })
        .collect()
}

impl<'a> Label<'a> {
    fn of(name: &'a str, documents: &Documents, table: &Table) -> Result<Self> {
        let is_label = |column: &&Column| column.name().as_str() == name;
        // The first column has the documents' own names.
        let Some(column) = table.columns().iter().skip(1).find(is_label) else {
            let names = documents.column_names();
            let near = remedy_by_nearest(names.iter().map(String::as_str), name);
            let all = || match names.is_empty() {
                true => "give them labels: Documents::with_labels, with_numbers, with_dates".into(),
                false => format!("the labels are `{}`", names.join("`, `")),
            };
            let what = format!("the documents have no label `{name}`");
            return Err(Error::value(what).fix(near.unwrap_or_else(all)));
        };
        let dtype = column.dtype();
        let values = if dtype.is_primitive_numeric() {
            Values::Numbers(table.numbers(name)?)
        } else if dtype.is_temporal() {
            Values::Numbers(years(column)?)
        } else {
            Values::Groups(Labels::new(name, Some(documents))?)
        };
        Ok(Self { name, values })
    }

    fn has(&self, row: usize) -> bool {
        match &self.values {
            Values::Numbers(numbers) => numbers[row].is_finite(),
            Values::Groups(labels) => labels.of[row].is_some(),
        }
    }

    /// Leaves out groups that none of these documents is in. Fails where the label tells them not apart.
    fn use_only(&mut self, documents: &[usize]) -> Result<()> {
        let name = self.name;
        let constant = |value: &str| {
            Error::value(format!(
                "`{name}` is {value} in all documents that have all labels of the formula"
            ))
            .fix(format!("leave `{name}` out of the formula"))
        };
        match &mut self.values {
            Values::Numbers(numbers) => {
                let first = numbers[documents[0]];
                match documents.iter().all(|&row| numbers[row] == first) {
                    true => Err(constant(&first.to_string())),
                    false => Ok(()),
                }
            }
            Values::Groups(labels) => {
                let mut is_used = vec![false; labels.of.len()];
                documents.iter().for_each(|&row| is_used[row] = true);
                let others: Vec<usize> = (0..is_used.len()).filter(|&row| !is_used[row]).collect();
                *labels = labels.clone().without(&others);
                if let [only] = labels.names.as_slice() {
                    return Err(constant(&format!("`{only}`")));
                }
                let (groups, _) = labels.documents();
                match groups.iter().position(|documents| documents.len() == 1) {
                    None => Ok(()),
                    Some(group) => Err(Error::value(format!(
                        "`{}` is the `{name}` of one document alone, whose effect has no interval",
                        labels.names[group]
                    ))
                    .fix("merge the group with another one; texts are groups, and what is a number or a date should come by \
                          Documents::with_numbers or with_dates")),
                }
            }
        }
    }

    /// The columns of a label: numbers as they are, and for each group but the first whether a document is in it.
    fn columns(&self, documents: &[usize]) -> Vec<(String, Vec<f64>)> {
        match &self.values {
            Values::Numbers(numbers) => {
                let values = documents.iter().map(|&row| numbers[row]);
                vec![(self.name.into(), values.collect())]
            }
            Values::Groups(labels) => (1..labels.names.len())
                .map(|group| {
                    let is_in = |&row: &usize| f64::from(u8::from(labels.of[row] == Some(group)));
                    let name = format!("{} = {}", self.name, labels.names[group]);
                    (name, documents.iter().map(is_in).collect())
                })
                .collect(),
        }
    }
}

/// Dates as years with fractions; NaN where one is missing.
fn years(column: &Column) -> Result<Vec<f64>> {
    let milliseconds = column
        .cast(&DataType::Datetime(TimeUnit::Milliseconds, None))
        .and_then(|dates| dates.to_physical_repr().cast(&DataType::Float64));
    let not_dates = |_| {
        Error::value(format!("`{}` has times without dates", column.name()))
            .fix("give the documents dates: Documents::with_dates")
    };
    let milliseconds = milliseconds.map_err(not_dates)?;
    let values = milliseconds.f64().map_err(not_dates)?;
    let years = values
        .iter()
        .map(|value| 1970.0 + value.unwrap_or(f64::NAN) / YEAR);
    Ok(years.collect())
}
