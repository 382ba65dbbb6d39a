//! Tables of counts with the names of documents and terms.

mod long;
#[cfg(test)]
mod tests;
mod wide;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use polars::prelude::{Column, DataType};

use crate::data::{Documents, Table, TableParts, Terms};
use crate::error::{Error, Result};
use crate::text::shown_path;

use super::Counts;
use super::formats::triplets::folder_of;

/// Names of the columns with the names of the documents. pandas and R write those of the rows without a name.
const DOCUMENTS: [&str; 4] = ["document", "doc", "doc_id", ""];
/// Names of the columns of a long table.
const TERMS: [&str; 3] = ["term", "word", "token"];
const COUNTS: [&str; 2] = ["count", "n"];

/// A table of counts with names: a `.csv`, `.tsv` or `.parquet` file of one of two forms. Cheap to clone.
///
/// | Form | Columns |
/// |---|---|
/// | wide: a row per document | a column of numbers per term; columns of texts, dates and truth values are [labels](Self::documents), and so are the columns named in [`labels`](Self::labels) |
/// | long: a row per count | `document` (or `doc`, `doc_id`), `term` (or `word`, `token`) as text, and `count` (or `n`); others are left out |
///
/// A column called `document`, `doc` or `doc_id`, or one without a name, has the documents' names. Tables whose documents and
/// terms are numbers are opened by [`Counts::open`].
///
/// ```
/// use topicbook::CountTable;
/// # let folder = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(&folder).unwrap();
/// std::fs::write("letters.csv", "doc,year,sea,ship,tea\nAusten,1811,0,1,5\nByron,1819,7,3,0\n")?;
/// let letters = CountTable::open("letters.csv")?.labels(["year"])?;
/// assert_eq!(letters.counts()?.shape(), (2, 3));
/// assert_eq!(letters.terms()?.as_slice(), ["sea", "ship", "tea"]);
/// assert_eq!(letters.documents()?.names(), ["Austen", "Byron"]);
/// assert_eq!(letters.documents()?.numbers("year")?, [1811.0, 1819.0]);
///
/// std::fs::write("long.csv", "doc,word,n\nAusten,tea,5\nByron,sea,7\nAusten,ship,1\n")?;
/// let long = CountTable::open("long.csv")?;
/// assert_eq!(long.terms()?.as_slice(), ["tea", "sea", "ship"]);
/// assert_eq!(long.counts()?.summary()?.total(), 13.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[doc(alias = "document-term matrix")]
#[doc(alias = "dtm")]
#[doc(alias = "dfm")]
#[doc(alias = "cast_dtm")]
#[doc(alias = "from_pandas")]
pub struct CountTable {
    path: PathBuf,
    /// Columns of a wide table that are no terms, though they are numbers.
    labels: Vec<String>,
    read: Arc<OnceLock<Parts>>,
}

/// What a table holds.
struct Parts {
    counts: Counts,
    terms: Terms,
    documents: Documents,
}

/// Whether a column of this name has the documents' names.
fn are_names(column: &str) -> bool {
    DOCUMENTS.contains(&column.trim())
}

/// A column of a part of a table.
fn column<'a>(table: &CountTable, part: &'a Table, name: &str) -> Result<&'a Column> {
    let mut columns = part.columns().iter();
    let found = columns.find(|column| column.name() == name);
    found.ok_or_else(|| table.wrong(format!("has no column named {name:?}")))
}

impl CountTable {
    /// Opens a table. It is read on first use.
    ///
    /// ```
    /// let error = topicbook::CountTable::open("no-such-table.csv").unwrap_err();
    /// assert!(error.to_string().contains("no-such-table.csv"));
    /// ```
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        crate::system::OpenFile::open(&path)?;
        Ok(Self {
            path,
            labels: Vec::new(),
            read: Arc::default(),
        })
    }

    /// The same table, of which these columns of numbers are labels of the documents, and no terms.
    ///
    /// ```
    /// use topicbook::CountTable;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::write("letters.csv", "year,page,sea\n1811,4,2\n1819,9,3\n")?;
    /// let letters = CountTable::open("letters.csv")?.labels(["year", "page"])?;
    /// assert_eq!(letters.terms()?.as_slice(), ["sea"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the table has no such column, or cannot be read.
    ///
    /// # Cost
    /// Reads the header of a Parquet file, and all of another.
    pub fn labels<I>(&self, columns: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let labels = columns.into_iter().map(|name| name.as_ref().to_string());
        let labels: Vec<String> = labels.collect();
        let columns = TableParts::open(&self.path)?.columns();
        if let Some(name) = labels
            .iter()
            .find(|name| !columns.iter().any(|(column, _)| column == *name))
        {
            let listed: Vec<String> = columns.into_iter().take(30).map(|(name, _)| name).collect();
            return Err(self
                .wrong(format!("has no column named {name:?}"))
                .at(format!("its columns are: {}", listed.join(", "))));
        }
        Ok(Self {
            path: self.path.clone(),
            labels,
            read: Arc::default(),
        })
    }

    /// The counts (documents x terms).
    ///
    /// ```no_run
    /// use topicbook::{CountTable, TopicModel};
    /// let table = CountTable::open("letters.csv")?;
    /// let fit = TopicModel::new(10).terms(table.terms()?).fit(table.counts()?)?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the table cannot be read, a value is empty or no count (whole and not negative), or a long table has a pair of
    /// document and term twice.
    ///
    /// # Cost
    /// The first of these methods reads the table: a Parquet file some rows at a time, another file whole. Counts that take
    /// more than an eighth of the free memory go into a temporary file beside the table, whose space is free again when the
    /// counts are dropped.
    pub fn counts(&self) -> Result<Counts> {
        self.read().map(|parts| parts.counts.clone())
    }

    /// The names of the terms: of the columns of a wide table, in their order; in a long one, in the order in which they come
    /// first.
    ///
    /// ```no_run
    /// let terms = topicbook::CountTable::open("letters.csv")?.terms()?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`counts`](Self::counts).
    pub fn terms(&self) -> Result<Terms> {
        self.read().map(|parts| parts.terms.clone())
    }

    /// The documents: their names, and the labels of a wide table. In a long table, they are in the order in which they come
    /// first.
    ///
    /// ```no_run
    /// let documents = topicbook::CountTable::open("letters.csv")?.documents()?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`counts`](Self::counts).
    pub fn documents(&self) -> Result<Documents> {
        self.read().map(|parts| parts.documents.clone())
    }

    fn wrong(&self, what: String) -> Error {
        Error::format(&self.path, what).fix(
            "write a row per document and a column of numbers per term, or a row per count with the columns doc, term and count",
        )
    }

    fn read(&self) -> Result<&Parts> {
        if let Some(parts) = self.read.get() {
            return Ok(parts);
        }
        let parts = TableParts::open(&self.path)?;
        let read = match long_columns(&parts) {
            Some(names) => long::read(self, &parts, &names),
            None => {
                self.check_not_numbered(&parts)?;
                wide::read(self, &parts, &self.labels_of(&parts))
            }
        }?;
        Ok(self.read.get_or_init(|| read))
    }

    /// The columns of a wide table that are no terms.
    fn labels_of(&self, parts: &TableParts) -> Vec<String> {
        let columns = parts.columns().into_iter();
        let is_label = |name: &String, dtype: &DataType| {
            are_names(name) || self.labels.contains(name) || !dtype.is_primitive_numeric()
        };
        columns
            .filter(|(name, dtype)| is_label(name, dtype))
            .map(|(name, _)| name)
            .collect()
    }

    /// Fails for a table of triplets without names, which looks like a wide one with the terms `term` and `count`.
    fn check_not_numbered(&self, parts: &TableParts) -> Result<()> {
        let mut names: Vec<String> = parts.columns().into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        match names == ["count", "doc", "term"] {
            false => Ok(()),
            true => Err(self
                .wrong("has numbers of documents and terms, and no names".into())
                .fix("open it with Counts::open")),
        }
    }
}

/// The columns of documents, terms and counts, if the table is long.
fn long_columns(parts: &TableParts) -> Option<[String; 3]> {
    let columns = parts.columns();
    let one_of = |names: &[&str]| {
        columns
            .iter()
            .find(|(name, _)| names.contains(&name.as_str()))
    };
    let (document, _) = one_of(&DOCUMENTS[..3])?;
    let (term, dtype) = one_of(&TERMS)?;
    let (count, of_counts) = one_of(&COUNTS)?;
    let is_long = !dtype.is_primitive_numeric() && of_counts.is_primitive_numeric();
    is_long.then(|| [document, term, count].map(String::clone))
}

impl fmt::Display for CountTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = shown_path(&self.path);
        match self.read.get() {
            None => write!(f, "CountTable: {file}, read on first use"),
            Some(parts) => write!(f, "CountTable: {file}\n{}", parts.counts),
        }
    }
}

impl fmt::Debug for CountTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountTable")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
