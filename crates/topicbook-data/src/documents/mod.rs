//! The documents, which are the rows of counts: their names, and columns of labels, numbers and dates.

mod columns;
mod rows;
mod saved;
#[cfg(feature = "polars")]
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::text::{count, counted};

use crate::or_ref;

pub use columns::LabelValue;
use columns::Values;
pub use saved::SavedDocuments;

/// The column that names the documents, in tables.
const NAMES: &str = "document";

/// The documents of the rows of counts, in their order: a name each, and columns of labels (texts), numbers and dates. The
/// counterpart of [`Terms`](crate::Terms). Cheap to clone.
///
/// A missing label, number or date is `None`, NaN, or a blank text. Columns are made by the `with_` methods, or come from a
/// table (`Documents::open`, `Documents::from_table`; feature `polars`).
///
/// ```
/// use topicbook::Documents;
/// let documents = Documents::new(["a.txt", "b.txt", "c.txt"])?
///     .with_labels("book", ["Letters", "Poems", "Letters"])?
///     .with_numbers("year", [1987, 1998, 1987])?;
/// assert_eq!(documents.len(), 3);
/// assert_eq!(documents.labels("book")?[1].as_deref(), Some("Poems"));
/// let letters = documents.select([0, 2])?;
/// assert_eq!(letters.numbers("year")?, [1987.0, 1987.0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias("obs", "metadata", "docvars"))]
pub struct Documents {
    len: usize,
    /// `None`: each document is named by its row.
    names: Option<Arc<[String]>>,
    columns: Vec<(String, Values)>,
    /// Columns of the file for which documents have no type: their names, and what they hold.
    left_out: Vec<(String, String)>,
}

or_ref!(Documents);

impl Documents {
    /// Documents with these names: an array, a vector or any iterator of texts, one per row of the counts.
    ///
    /// ```
    /// let documents = topicbook::Documents::new(["a.txt", "b.txt"])?;
    /// assert_eq!(documents.names(), ["a.txt", "b.txt"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no names, or a name is empty or only white space.
    pub fn new<I>(names: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self::named(names.into_iter().map(Into::into).collect())
    }

    fn named(names: Vec<String>) -> Result<Self> {
        if let Some(blank) = names.iter().position(|name| name.trim().is_empty()) {
            return Err(Error::value("a document has a blank name")
                .at(format!("document {blank} (counted from 0)"))
                .fix("give each document a name, or number them: Documents::numbered"));
        }
        let mut documents = Self::numbered(names.len())?;
        documents.names = Some(names.into());
        Ok(documents)
    }

    /// `n` documents without names: each is called by its row, counted from 0.
    ///
    /// ```
    /// let documents = topicbook::Documents::numbered(3)?;
    /// assert_eq!(documents.names(), ["0", "1", "2"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `n` is 0.
    pub fn numbered(n: usize) -> Result<Self> {
        if n == 0 {
            return Err(Error::value("there are no documents")
                .fix("pass one name for each row of the counts"));
        }
        Ok(Self {
            len: n,
            names: None,
            columns: Vec::new(),
            left_out: Vec::new(),
        })
    }

    /// Number of documents.
    ///
    /// ```
    /// assert_eq!(topicbook::Documents::numbered(3)?.len(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always false: there is at least one document.
    ///
    /// ```
    /// assert!(!topicbook::Documents::numbered(3)?.is_empty());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The name of a document, if there is one: its row as text where documents have no names.
    ///
    /// ```
    /// let documents = topicbook::Documents::new(["a.txt", "b.txt"])?;
    /// assert_eq!((documents.name(1).as_deref(), documents.name(2)), (Some("b.txt"), None));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn name(&self, row: usize) -> Option<String> {
        match &self.names {
            Some(names) => names.get(row).cloned(),
            None => (row < self.len).then(|| row.to_string()),
        }
    }

    /// All names, in the order of the rows.
    ///
    /// ```
    /// assert_eq!(topicbook::Documents::new(["a.txt", "b.txt"])?.names(), ["a.txt", "b.txt"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Cost
    /// Copies the names.
    pub fn names(&self) -> Vec<String> {
        match &self.names {
            Some(names) => names.to_vec(),
            None => (0..self.len).map(|row| row.to_string()).collect(),
        }
    }

    /// The names of the columns of labels, numbers and dates, in the order in which they were added.
    ///
    /// ```
    /// let documents = topicbook::Documents::numbered(2)?.with_labels("book", ["Letters", "Poems"])?;
    /// assert_eq!(documents.column_names(), ["book"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn column_names(&self) -> Vec<String> {
        let names = self.columns.iter();
        names.map(|column| column.0.clone()).collect()
    }

    /// Fails unless there is one document for each of `rows` rows of `what`, such as counts.
    #[doc(hidden)]
    pub fn check_rows(&self, rows: usize, what: &str) -> Result<()> {
        match self.len == rows {
            true => Ok(()),
            false => Err(Error::shape(format!(
                    "{} for {what} of {}",
                    counted(self.len, "document"),
                    counted(rows, "row")
                ))
            .fix(format!(
                "pass the documents that belong to this {what}, one for each row and in their order; select(...) takes \
                 the rows that were selected from the counts"
            ))),
        }
    }

    fn column(&self, name: &str) -> Result<&Values> {
        let found = self.columns.iter().find(|column| column.0 == name);
        found.map(|column| &column.1).ok_or_else(|| {
            if let Some((_, what)) = self.left_out.iter().find(|column| column.0 == name) {
                return Error::table(format!("column {name:?} was left out: it holds {what}"))
                    .fix("make texts or numbers of it in the program that wrote the file, or add it: with_labels, with_numbers");
            }
            let error = Error::table(format!("the documents have no column {name:?}"));
            match self.columns.as_slice() {
                [] => error.fix("add it: with_labels, with_numbers or with_dates"),
                columns => {
                    let names: Vec<String> = columns
                        .iter()
                        .map(|column| format!("{:?}", column.0))
                        .collect();
                    error
                        .at(format!("their columns are {}", names.join(", ")))
                        .fix("write one of these names")
                }
            }
        })
    }

    /// Adds a column, or replaces the column of that name.
    fn with(&self, name: &str, values: Values) -> Result<Self> {
        if name == NAMES {
            return Err(Error::table(format!(
                "a column cannot be called {NAMES:?}, as which tables show the names"
            ))
            .fix("name the documents by Documents::new, or give the column another name"));
        }
        if values.len() != self.len {
            return Err(Error::shape(format!(
                "column {name:?} has {}, and there are {}",
                counted(values.len(), "value"),
                counted(self.len, "document")
            ))
            .fix("pass one value per document, in the order of the rows of the counts"));
        }
        let mut documents = self.clone();
        match documents.columns.iter_mut().find(|column| column.0 == name) {
            Some(column) => column.1 = values,
            None => documents.columns.push((name.to_owned(), values)),
        }
        Ok(documents)
    }

    /// The documents, with a note that a column of their file was left out because it holds `what`.
    #[doc(hidden)]
    pub fn without(&self, name: &str, what: &str) -> Self {
        let mut documents = self.clone();
        documents.left_out.push((name.into(), what.into()));
        documents
    }

    /// The columns that were left out, in words; `None` if there are none.
    #[doc(hidden)]
    pub fn left_out(&self) -> Option<String> {
        let columns: Vec<String> = self
            .left_out
            .iter()
            .map(|(name, what)| format!("{name} ({what})"))
            .collect();
        (!columns.is_empty()).then(|| columns.join(", "))
    }

    /// What the columns hold, for the card: `("book", "labels", "3 labels")`.
    #[doc(hidden)]
    pub fn described(&self) -> Vec<(String, String)> {
        let columns = self.columns.iter();
        columns
            .map(|(name, values)| (name.clone(), values.describe()))
            .collect()
    }

    /// Whether documents have names other than their rows.
    #[doc(hidden)]
    pub fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// The columns as texts, for a file.
    #[doc(hidden)]
    pub fn text_columns(&self) -> Vec<(String, Vec<Option<String>>)> {
        let columns = self.columns.iter();
        columns
            .map(|(name, values)| (name.clone(), values.texts()))
            .collect()
    }

    /// The first names, for the card.
    #[doc(hidden)]
    pub fn first_names(&self, n: usize) -> Option<Vec<&str>> {
        let names = self.names.as_ref()?;
        Some(names.iter().take(n).map(String::as_str).collect())
    }
}

impl fmt::Display for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} documents", count(self.len as u64))?;
        match self.column_names().as_slice() {
            [] => {}
            names => write!(f, " with {}", names.join(", "))?,
        }
        match self.left_out() {
            Some(columns) => write!(f, "; left out: {columns}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents")
            .field("len", &self.len)
            .field("first", &self.name(0))
            .field("columns", &self.column_names())
            .finish_non_exhaustive()
    }
}
