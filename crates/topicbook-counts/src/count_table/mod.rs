//! Tables of counts with the names of documents and terms.

mod long;
mod roles;
mod source;
#[cfg(test)]
mod tests;
mod wide;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use polars::prelude::{Column, DataType, PolarsError};

use crate::data::{Documents, OrRef, Table, TableSource, Terms, TextFormat};
use crate::error::{Error, Result};
use crate::text::{counted, quoted_list, shown_path};

use super::Counts;
use roles::{Form, Roles};

/// A table of counts with names: a file of a format of `Table::open`, or a table in memory, in one of two forms. Cheap to clone.
///
/// | Form | Which it is | Columns |
/// |---|---|---|
/// | long: a row per count | its header has `document`, `doc` or `doc_id`, and `term`, `word` or `token`, and `count` or `n`, in capitals or not; [`long`](Self::long) names others | documents and terms are texts, or numbers that are taken as names; other columns are left out |
/// | wide: a row per document | every other table, and what [`wide`](Self::wide) says is one | a column of numbers per term |
///
/// The columns of a wide table, by the first rule that fits:
///
/// | Column | What it is | Setting |
/// |---|---|---|
/// | `document`, `doc`, `doc_id`; without one of them the row names of pandas and R (no name, `Unnamed: 0`, the index of a Parquet or Arrow file) | the names of the documents; texts come before numbers. A second one is a label; row names next to such a column are left out | [`names`](Self::names), or [`wide`](Self::wide): columns of numbers are terms |
/// | named in a setting | a label of the documents | [`labels`](Self::labels) |
/// | numbers | a term; an empty cell, `NA`, `-` or NaN is an error | [`missing_as_zero`](Self::missing_as_zero) |
/// | texts, dates, truth values | a label | |
/// | texts of which at least half are numbers, such as one with `1,000` or `5?`; texts that are all empty | an error with column and row | `labels`, [`format`](Self::format) |
///
/// A long table in numbers that also has other columns of numbers may be a wide one: an error says so. So does one for two columns
/// of texts and one of numbers, as of R's `as.data.frame(table(..))`, where the first has a value twice. Shown below a cell, a
/// table says what it was read as. Tables with the columns `doc`, `term` and `count` in numbers are opened by
/// [`Counts::open`].
///
/// ```
/// use topicbook::CountTable;
/// # let _folder = topicbook::example_folder()?;
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
#[doc(alias("document-term matrix", "dtm", "dfm", "cast_dtm"))]
pub struct CountTable {
    source: TableSource,
    settings: Settings,
    read: Arc<OnceLock<Contents>>,
}

/// What the settings state about the columns.
#[derive(Clone, Default)]
struct Settings {
    form: Option<Form>,
    names: Option<String>,
    labels: Vec<String>,
    missing_as_zero: bool,
    format: TextFormat,
}

/// The contents of a table.
struct Contents {
    counts: Counts,
    terms: Terms,
    documents: Documents,
    roles: Roles,
    /// Missing cells that are counts of 0.
    zeros: usize,
    /// What was found about the file.
    understood: Vec<String>,
}

/// A column of a chunk of the table's rows.
fn column<'a>(table: &CountTable, chunk: &'a Table, name: &str) -> Result<&'a Column> {
    let mut columns = chunk.columns().iter();
    let found = columns.find(|column| column.name() == name);
    found.ok_or_else(|| table.wrong(format!("has no column named {name:?}")))
}

/// The numbers of a column, `None` where one is missing: null, or NaN.
fn given_numbers(table: &CountTable, column: &Column) -> Result<Vec<Option<f64>>> {
    let refused = |source: PolarsError| table.wrong(source.to_string());
    let wide = column.cast(&DataType::Float64).map_err(refused)?;
    let numbers = wide.f64().map_err(refused)?.iter();
    Ok(numbers
        .map(|number| number.filter(|number| !number.is_nan()))
        .collect())
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
            source: TableSource::File(path),
            settings: Settings::default(),
            read: Arc::default(),
        })
    }

    /// The same table, whose documents are named by this column.
    ///
    /// ```
    /// use topicbook::CountTable;
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("letters.csv", "letter,sea,ship\n12,2,0\n17,3,1\n")?;
    /// let letters = CountTable::open("letters.csv")?.names("letter")?;
    /// assert_eq!(letters.documents()?.names(), ["12", "17"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the table has no such column, or cannot be read.
    ///
    /// # Cost
    /// Reads the header of the file.
    #[doc(alias("index_col", "docid_field"))]
    pub fn names(&self, column: &str) -> Result<Self> {
        self.with_columns(&[column], |settings| settings.names = Some(column.into()))
    }

    /// The same table as a long one: a row per count, with the names of documents and terms and the counts in these columns.
    ///
    /// ```
    /// use topicbook::CountTable;
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("novel.csv", "chapter,lemma,freq\nI,sea,2\nII,ship,3\n")?;
    /// let novel = CountTable::open("novel.csv")?.long("chapter", "lemma", "freq")?;
    /// assert_eq!(novel.terms()?.as_slice(), ["sea", "ship"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`names`](Self::names).
    ///
    /// # Cost
    /// As [`names`](Self::names).
    #[doc(alias = "cast_dtm")]
    pub fn long(&self, document: &str, term: &str, count: &str) -> Result<Self> {
        let columns = [document, term, count];
        let form = Form::Long(columns.map(str::to_string));
        self.with_columns(&columns, |settings| settings.form = Some(form))
    }

    /// The same table as a wide one, in which also columns of numbers called `document`, `doc` or `doc_id` are terms.
    ///
    /// ```
    /// use topicbook::CountTable;
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("words.csv", "analysis,count,document,term\n1,0,2,0\n0,1,0,1\n")?;
    /// let words = CountTable::open("words.csv")?.wide();
    /// assert_eq!(words.terms()?.as_slice(), ["analysis", "count", "document", "term"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wide(&self) -> Self {
        self.with(|settings| settings.form = Some(Form::Wide))
    }

    /// The same table, in which an empty cell, `NA` or NaN in a column of counts is a count of 0.
    ///
    /// ```
    /// use topicbook::CountTable;
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("letters.csv", "doc,sea,ship\na,1,2\nb,NA,4\n")?;
    /// let letters = CountTable::open("letters.csv")?;
    /// assert!(letters.counts().unwrap_err().to_string().contains("data row 2, column \"sea\""));
    /// assert_eq!(letters.missing_as_zero().counts()?.summary()?.total(), 7.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "fillna")]
    pub fn missing_as_zero(&self) -> Self {
        self.with(|settings| settings.missing_as_zero = true)
    }

    /// The same table, of whose text the encoding, the separator or the decimal mark is stated, or of a spreadsheet the sheet.
    /// Without the setting they are found: `1,5` has a decimal comma where the values of the file are not separated by commas,
    /// `1,234` is an error unless other numbers of the file say what it is. The card shows how such numbers were read. Comes before
    /// settings that name columns.
    ///
    /// ```
    /// use topicbook::{CountTable, TextFormat};
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("letters.csv", "doc;sea;ship\na;1.234;2\nb;7;4\n")?;
    /// let letters = CountTable::open("letters.csv")?;
    /// assert!(letters.counts().is_err()); // 1.234 is no count
    /// let german = letters.format(TextFormat::new().decimal(',')?);
    /// assert_eq!(german.counts()?.summary()?.total(), 1247.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the table is read: if a file of its format does not have what is stated, such as a separator in Parquet.
    #[must_use]
    #[doc(alias = "thousands")]
    pub fn format(&self, format: impl OrRef<TextFormat>) -> Self {
        self.with(|settings| settings.format = *format.value())
    }

    /// The same table, in which these columns too are labels of the documents, and no terms.
    ///
    /// ```
    /// use topicbook::CountTable;
    /// # let _folder = topicbook::example_folder()?;
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
    /// Reads the header of the file.
    pub fn labels<I>(&self, columns: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let labels = columns.into_iter().map(|name| name.as_ref().to_string());
        let labels: Vec<String> = labels.collect();
        self.with_columns(&labels, |settings| {
            settings.labels.extend_from_slice(&labels)
        })
    }

    fn with(&self, set: impl FnOnce(&mut Settings)) -> Self {
        let mut table = Self {
            read: Arc::default(),
            ..self.clone()
        };
        set(&mut table.settings);
        table
    }

    /// [`with`](Self::with), if the table has these columns.
    fn with_columns<T: AsRef<str>>(
        &self,
        columns: &[T],
        set: impl FnOnce(&mut Settings),
    ) -> Result<Self> {
        let file = self.source.file(self.settings.format)?;
        let found = file.names();
        let mut columns = columns.iter().map(AsRef::as_ref);
        match columns.find(|name| !found.contains(name)) {
            None => Ok(self.with(set)),
            Some(name) => Err(self
                .wrong(format!("has no column named {name:?}"))
                .at(format!("its columns are: {}", quoted_list(&found, 30)))
                .fix("write one of these names")),
        }
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
    /// document and term twice. If two columns have one name, or the columns can be read in two ways: the error names them,
    /// and the setting for each.
    ///
    /// # Cost
    /// The first of these methods reads the table: a Parquet or Arrow file some rows at a time, another file whole. Counts that
    /// take more than an eighth of the free memory go into a temporary file in the table's folder, whose space is free again
    /// when the counts are dropped; those of a table in memory stay there.
    pub fn counts(&self) -> Result<Counts> {
        self.read().map(|read| read.counts.clone())
    }

    /// The names of the terms: of the columns of a wide table, in their order; in a long table, in the order in which they
    /// first occur.
    ///
    /// ```no_run
    /// let terms = topicbook::CountTable::open("letters.csv")?.terms()?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`counts`](Self::counts).
    pub fn terms(&self) -> Result<Terms> {
        self.read().map(|read| read.terms.clone())
    }

    /// The documents: their names, and the labels of a wide table. In a long table, they are in the order in which they first
    /// occur.
    ///
    /// ```no_run
    /// let documents = topicbook::CountTable::open("letters.csv")?.documents()?;
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`counts`](Self::counts).
    pub fn documents(&self) -> Result<Documents> {
        self.read().map(|read| read.documents.clone())
    }

    fn wrong(&self, what: String) -> Error {
        Error::format(self.source.path(), what).fix(
            "write a row per document and a column of numbers per term, or a row per count with the columns doc, term and count",
        )
    }

    fn read(&self) -> Result<&Contents> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let file = self.source.file(self.settings.format)?;
        file.check(&file.names())?;
        let roles = Roles::of(self, &file)?;
        let mut read = match roles.long.clone() {
            Some(names) => long::read(self, &file, &names, roles),
            None => wide::read(self, &file, roles),
        }?;
        read.understood = file.understood()?;
        Ok(self.read.get_or_init(|| read))
    }

    /// What the columns were read as, once they have been.
    #[doc(hidden)]
    pub fn described(&self) -> Vec<(&'static str, String)> {
        /// Names that a card lists.
        const LISTED: usize = 10;
        let Some(Contents {
            roles,
            terms,
            zeros,
            understood,
            ..
        }) = self.read.get()
        else {
            return Vec::new();
        };
        let list = |names: &[String]| quoted_list(names, LISTED);
        let names = roles.names.as_ref().map(|name| match name.is_empty() {
            true => "of the column without a name".into(),
            false => format!("of column {name:?}"),
        });
        let mut rows = vec![("form", "wide: a row per document".to_string())];
        if let Some([_, term, count]) = &roles.long {
            rows[0].1 = format!(
                "long: a row per count, terms of column {term:?}, counts of column {count:?}"
            );
        }
        rows.push((
            "names of documents",
            names.unwrap_or("none: they are numbered".into()),
        ));
        rows.push((
            "terms",
            format!(
                "{}: {}",
                counted(terms.len(), "term"),
                list(terms.as_slice())
            ),
        ));
        for (what, names) in [("labels", &roles.labels), ("left out", &roles.left_out)] {
            if !names.is_empty() {
                rows.push((what, list(names)));
            }
        }
        if !understood.is_empty() {
            rows.push(("file", understood.join("; ")));
        }
        if *zeros > 0 {
            rows.push((
                "missing",
                format!("{}, counted as 0", counted(*zeros, "cell")),
            ));
        }
        rows
    }
}

impl fmt::Display for CountTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = shown_path(self.source.path());
        let Some(read) = self.read.get() else {
            return write!(f, "CountTable: {file}, read on first use");
        };
        write!(f, "CountTable: {file}\n{}", read.counts)?;
        for (what, found) in self.described() {
            write!(f, "\n{what}: {found}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for CountTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountTable")
            .field("path", &self.source.path())
            .finish_non_exhaustive()
    }
}
