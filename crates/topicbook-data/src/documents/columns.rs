//! Columns of documents: labels, numbers and dates.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::text::{count, counted, number};

use super::Documents;

/// The code of a document without a label.
const MISSING: u32 = u32::MAX;
/// Whole numbers up to this size are exact as `f64`.
const LARGEST_WHOLE: f64 = (1u64 << 53) as f64;

/// A label as [`Documents::with_labels`] takes it: a text, a whole number or a `bool`, or an `Option` of one, where `None` is a
/// missing label.
///
/// ```
/// let labels = vec![Some("Letters"), None];
/// let documents = topicbook::Documents::numbered(2)?.with_labels("book", labels)?;
/// assert_eq!(documents.labels("book")?, [Some("Letters".to_string()), None]);
/// # Ok::<(), topicbook::Error>(())
/// ```
pub trait LabelValue {
    #[doc(hidden)]
    fn into_label(self) -> Option<String>;
}

impl LabelValue for &str {
    fn into_label(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl LabelValue for String {
    fn into_label(self) -> Option<String> {
        Some(self)
    }
}

impl LabelValue for &String {
    fn into_label(self) -> Option<String> {
        Some(self.clone())
    }
}

macro_rules! plain_labels {
    ($($kind:ty),*) => {$(
        impl LabelValue for $kind {
            fn into_label(self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}
plain_labels!(bool, u8, i32, u32, i64, u64, usize);

impl<T: LabelValue> LabelValue for Option<T> {
    fn into_label(self) -> Option<String> {
        self.and_then(LabelValue::into_label)
    }
}

/// The values of a column, one per document.
#[derive(Clone)]
pub(super) enum Values {
    Labels(Categories),
    Numbers(Numbers),
    Dates(Dates),
}

/// Labels: each distinct text once, and its number for each document.
#[derive(Clone)]
pub(super) struct Categories {
    /// The distinct labels, in the order in which they first occur.
    categories: Arc<[String]>,
    codes: Arc<[u32]>,
}

/// Numbers, with NaN where one is missing.
#[derive(Clone)]
pub(super) struct Numbers {
    pub(super) values: Arc<[f64]>,
    /// Whether all numbers are whole, so that tables and labels show them without a decimal point.
    pub(super) whole: bool,
}

/// Dates as ISO 8601 texts.
#[derive(Clone)]
pub(super) struct Dates {
    pub(super) texts: Arc<[Option<String>]>,
    /// The column of a table that they come from, in its own type.
    #[cfg(feature = "polars")]
    pub(super) typed: Option<polars::prelude::Column>,
}

impl Categories {
    /// The distinct labels, and the number of each document's label.
    pub(super) fn parts(&self) -> (Vec<String>, Vec<Option<u32>>) {
        let codes = self.codes.iter();
        let codes = codes.map(|&code| (code != MISSING).then_some(code));
        (self.categories.to_vec(), codes.collect())
    }
}

impl Values {
    /// Labels from texts; a blank text is a missing label.
    pub(super) fn labels(texts: impl Iterator<Item = Option<String>>) -> Result<Self> {
        let mut categories = Vec::new();
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut codes = Vec::with_capacity(texts.size_hint().0);
        for text in texts {
            let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
                codes.push(MISSING);
                continue;
            };
            if let Some(&code) = known.get(&text) {
                codes.push(code);
                continue;
            }
            let code = u32::try_from(categories.len()).unwrap_or(MISSING);
            categories.push(text.clone());
            known.insert(text, code);
            codes.push(code);
        }
        Self::categories(categories, codes)
    }

    /// Labels from distinct texts and their numbers, [`MISSING`] for none.
    fn categories(categories: Vec<String>, codes: Vec<u32>) -> Result<Self> {
        if categories.len() >= MISSING as usize {
            return Err(Error::value(format!(
                "{} are too many",
                counted(categories.len(), "label")
            ))
            .fix("use the text as the name of the document: Documents::new"));
        }
        Ok(Self::Labels(Categories {
            categories: categories.into(),
            codes: codes.into(),
        }))
    }

    pub(super) fn numbers(values: Vec<f64>) -> Self {
        let is_whole = |value: &f64| value.is_nan() || value.trunc() == *value;
        let in_range = |value: &f64| value.is_nan() || value.abs() < LARGEST_WHOLE;
        Self::Numbers(Numbers {
            whole: values.iter().all(is_whole) && values.iter().all(in_range),
            values: values.into(),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Labels(labels) => labels.codes.len(),
            Self::Numbers(numbers) => numbers.values.len(),
            Self::Dates(dates) => dates.texts.len(),
        }
    }

    /// The values as texts, `None` where one is missing.
    pub(super) fn texts(&self) -> Vec<Option<String>> {
        match self {
            Self::Labels(labels) => {
                let codes = labels.codes.iter();
                codes
                    .map(|&code| labels.categories.get(code as usize).cloned())
                    .collect()
            }
            Self::Numbers(numbers) => {
                let values = numbers.values.iter();
                values
                    .map(|value| (!value.is_nan()).then(|| value.to_string()))
                    .collect()
            }
            Self::Dates(dates) => dates.texts.to_vec(),
        }
    }

    /// The values of these rows, which exist.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Labels(labels) => Self::Labels(Categories {
                categories: labels.categories.clone(),
                codes: rows.iter().map(|&row| labels.codes[row]).collect(),
            }),
            Self::Numbers(numbers) => Self::Numbers(Numbers {
                values: rows.iter().map(|&row| numbers.values[row]).collect(),
                whole: numbers.whole,
            }),
            Self::Dates(dates) => Self::Dates(dates.select(rows)),
        }
    }

    /// What the column holds, in a few words.
    pub(super) fn describe(&self) -> String {
        let (what, missing) = match self {
            Self::Labels(labels) => {
                let missing = labels.codes.iter().filter(|&&code| code == MISSING).count();
                (counted(labels.categories.len(), "label"), missing)
            }
            Self::Numbers(numbers) => {
                let given = || numbers.values.iter().copied().filter(|v| !v.is_nan());
                let what = match given().reduce(f64::min).zip(given().reduce(f64::max)) {
                    Some((least, most)) => {
                        // Years have no separators.
                        let shown = |value: f64| match numbers.whole {
                            true => value.to_string(),
                            false => number(value),
                        };
                        format!("numbers from {} to {}", shown(least), shown(most))
                    }
                    None => "numbers".into(),
                };
                (what, numbers.values.len() - given().count())
            }
            Self::Dates(dates) => {
                let given = || dates.texts.iter().flatten();
                let what = match given().min().zip(given().max()) {
                    Some((first, last)) => format!("dates from {first} to {last}"),
                    None => "dates".into(),
                };
                (what, dates.texts.len() - given().count())
            }
        };
        match missing {
            0 => what,
            missing => format!("{what}; {} missing", count(missing as u64)),
        }
    }
}

impl Dates {
    #[cfg(not(feature = "polars"))]
    fn select(&self, rows: &[usize]) -> Self {
        Self {
            texts: rows.iter().map(|&row| self.texts[row].clone()).collect(),
        }
    }
}

impl Documents {
    /// The documents with one more column of labels, or with other labels in a column that they have. The labels are texts or
    /// `Option`s of them, one per document. A blank text is a missing label.
    ///
    /// ```
    /// let documents = topicbook::Documents::numbered(2)?.with_labels("book", ["Letters", "Poems"])?;
    /// let error = documents.with_labels("author", ["Austen"]).unwrap_err();
    /// assert!(error.to_string().contains("has 1 value, and there are 2 documents"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one label per document, or the column is called `document`, as which tables show the names.
    #[doc(alias = "with_categories")]
    pub fn with_labels<I>(&self, column: &str, labels: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: LabelValue,
    {
        let labels = labels.into_iter().map(LabelValue::into_label);
        self.with(column, Values::labels(labels)?)
    }

    /// Labels by their numbers, as in files of categories: `codes` are indices into `categories`, `None` is a missing label.
    ///
    /// # Errors
    /// As [`with_labels`](Self::with_labels), and when a code is no index of a category.
    #[doc(hidden)]
    pub fn with_categories(
        &self,
        column: &str,
        categories: Vec<String>,
        codes: impl Iterator<Item = Option<u32>>,
    ) -> Result<Self> {
        let codes: Vec<u32> = codes.map(|code| code.unwrap_or(MISSING)).collect();
        let is_known = |code: &u32| *code == MISSING || (*code as usize) < categories.len();
        if let Some(row) = codes.iter().position(|code| !is_known(code)) {
            return Err(Error::value(format!(
                "column {column:?} has category {} of {}",
                codes[row],
                categories.len()
            ))
            .at(format!("document {row} (counted from 0)"))
            .fix("the file was damaged: copy it again, or write it again"));
        }
        self.with(column, Values::categories(categories, codes)?)
    }

    /// The documents with one more column of numbers, or with other numbers in a column that they have: one per document, NaN
    /// where one is missing.
    ///
    /// ```
    /// let documents = topicbook::Documents::numbered(2)?.with_numbers("year", [1987, 1998])?;
    /// assert_eq!(documents.numbers("year")?, [1987.0, 1998.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is not one number per document, or the column is called `document`.
    pub fn with_numbers<I>(&self, column: &str, numbers: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: Into<f64>,
    {
        let numbers = numbers.into_iter().map(Into::into).collect();
        self.with(column, Values::numbers(numbers))
    }

    /// The documents with one more column of dates, or with other dates in a column that they have: ISO 8601 texts such as
    /// `2026-11-23` or `2026-11-23T09:30:00`, or `Option`s of them, one per document. A blank text is a missing date.
    ///
    /// ```
    /// let documents = topicbook::Documents::numbered(2)?.with_dates("sent", ["1811-10-30", "1813-01-28"])?;
    /// assert_eq!(documents.labels("sent")?[0].as_deref(), Some("1811-10-30"));
    /// let error = documents.with_dates("sent", ["1811-10-30", "28.1.1813"]).unwrap_err();
    /// assert_eq!(error.place(), Some("document 1 (counted from 0)"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a text is no such date, there is not one date per document, or the column is called `document`.
    pub fn with_dates<I>(&self, column: &str, dates: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: LabelValue,
    {
        let texts = dates.into_iter().map(LabelValue::into_label);
        let texts: Vec<Option<String>> = texts
            .map(|text| text.filter(|text| !text.trim().is_empty()))
            .collect();
        let invalid = |text: &Option<String>| text.as_deref().is_some_and(|text| !is_date(text));
        if let Some(row) = texts.iter().position(invalid) {
            let text = texts[row].as_deref().unwrap_or_default();
            return Err(Error::value(format!("{text:?} is no ISO 8601 date"))
                .at(format!("document {row} (counted from 0)"))
                .fix("write it as 2026-11-23, or keep the texts as labels: with_labels"));
        }
        self.with(
            column,
            Values::Dates(Dates {
                texts: texts.into(),
                #[cfg(feature = "polars")]
                typed: None,
            }),
        )
    }

    /// The values of a column as texts, `None` where one is missing: labels, ISO dates, or numbers as text. So
    /// `fit.by(documents.labels("book")?)` and `fit.plot_structure().by(documents.labels("book")?)` group by them.
    ///
    /// ```
    /// let documents = topicbook::Documents::numbered(2)?.with_labels("book", ["Letters", " "])?;
    /// assert_eq!(documents.labels("book")?, [Some("Letters".to_string()), None]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column: the message names those that there are.
    pub fn labels(&self, column: &str) -> Result<Vec<Option<String>>> {
        Ok(self.column(column)?.texts())
    }

    /// The values of a column of numbers, NaN where one is missing.
    ///
    /// ```
    /// let documents = topicbook::Documents::numbered(2)?.with_numbers("year", [1987.0, f64::NAN])?;
    /// assert_eq!(documents.numbers("year")?[0], 1987.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or it holds labels or dates.
    pub fn numbers(&self, column: &str) -> Result<Vec<f64>> {
        match self.column(column)? {
            Values::Numbers(numbers) => Ok(numbers.values.to_vec()),
            other => Err(Error::table(format!(
                "column {column:?} of the documents holds {}, not numbers",
                match other {
                    Values::Dates(_) => "dates",
                    _ => "labels",
                }
            ))
            .fix(format!("read it by labels({column:?})"))),
        }
    }
}

/// Whether a text begins with a date as `2026-11-23`, alone or before a time.
fn is_date(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else {
        return false;
    };
    let mut parts = date.split('-').map(|part| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        (part.len(), part.parse::<u32>().ok().filter(|_| digits))
    });
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let valid = matches!(
        (year, month, day, parts.next()),
        (
            Some((4, Some(_))),
            Some((2, Some(1..=12))),
            Some((2, Some(1..=31))),
            None
        )
    );
    valid && (rest.is_empty() || rest.starts_with(['T', ' ']))
}
