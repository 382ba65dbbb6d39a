//! Where texts come from: folders, files and memory, read in batches of bounded size.

mod batch;
#[cfg(feature = "polars")]
mod column;
mod files;
mod html;
mod labels;
mod records;
mod remarks;
mod source;
#[cfg(feature = "polars")]
mod table;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "polars")]
use crate::data::TableSource;
use crate::data::{CsvHeader, Documents, OrRef, TableFormat, TextFormat, or_ref, unknown_format};
use crate::error::{Error, ErrorKind, Result};
use crate::system::{OpenFile, unpacked_extension};
use crate::text::{bytes, counted, quoted_list, shown_path};

pub(super) use batch::{Batch, Reader, Text};
pub(super) use labels::{BatchLabels, LabelColumns};
pub use source::{TextItem, TextSource};

use records::{RecordReader, Split};
use remarks::Remarks;

/// Bytes of text that are processed at once, by one thread.
const BATCH_BYTES: u64 = 1 << 20;

/// Texts, one per document: a folder or a file of them, or texts in memory. Cheap to clone.
///
/// [`Vectorizer::fit_transform`](crate::Vectorizer::fit_transform) takes the path of a folder or file, or the texts
/// themselves; this type is for what needs more words, such as the column of a table.
///
/// ```
/// use topicbook::{Texts, Vectorizer};
/// # let folder = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(&folder).unwrap();
/// std::fs::write("letters.csv", "author,letter\nAusten,Dear Cassandra\nByron,Dear Moore\n")?;
/// let letters = Vectorizer::new().fit_transform(Texts::open("letters.csv")?.column("letter"))?;
/// assert_eq!(letters.terms().as_slice(), ["cassandra", "dear", "moore"]);
/// assert_eq!(letters.documents().labels("author")?[1].as_deref(), Some("Byron"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[doc(alias = "raw_documents")]
pub struct Texts {
    kind: Arc<Kind>,
    column: Option<String>,
    format: TextFormat,
    /// What was found about the files while they were read.
    remarks: Remarks,
}

enum Kind {
    /// A file is a document.
    Files {
        root: PathBuf,
        files: Vec<(PathBuf, u64)>,
        /// Number of other files, which are not texts.
        passed: usize,
    },
    /// A line is a document.
    Lines(PathBuf),
    /// A line is an object of JSON, with the text in a field.
    JsonLines(PathBuf),
    /// A row is a document; with this separator, or that of the header.
    Csv(PathBuf, Option<u8>),
    /// A row is a document.
    #[cfg(feature = "polars")]
    Table(TableSource),
    Memory(Vec<String>),
    /// A list of tokens is a document.
    Tokens(Vec<Vec<String>>),
}

or_ref!(Texts);

impl Texts {
    /// Texts in memory, from an array, a vector or any iterator of texts, or of lists of tokens that another program has found
    /// (`Vec<Vec<String>>`). The settings of a [`Vectorizer`](crate::Vectorizer) that come after the division into words apply
    /// to tokens, too: [`lowercase(false)`](crate::Vectorizer::lowercase) leaves them as they are.
    ///
    /// ```
    /// use topicbook::{Texts, Vectorizer};
    /// let texts = Texts::new(["to be", "or not to be"])?;
    /// assert_eq!(texts.to_string(), "2 texts in memory");
    /// let tokens = Texts::new([vec!["New York", "is"], vec!["it"]])?;
    /// let counted = Vectorizer::new().lowercase(false).fit_transform(tokens)?;
    /// assert_eq!(counted.terms().as_slice(), ["New York", "is", "it"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are no texts.
    ///
    /// # Cost
    /// Keeps the texts in memory. More than fit there are written to a file first, one per line, and opened.
    pub fn new<I>(texts: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: TextItem,
    {
        TextItem::collect_texts(texts.into_iter())
    }

    /// Texts in a folder or a file.
    ///
    /// | Path | Documents |
    /// |---|---|
    /// | a folder | its files `.txt`, `.md`, `.html`, `.htm`, in all folders below it, in alphabetical order; other files, and a Mac's `._a.txt` and `__MACOSX`, are passed over and counted. Their paths name the documents, and the label column `folder` names the folder in which each lies, the outermost of several |
    /// | `letters/*.txt` | the files that the pattern finds, likewise |
    /// | a file `.txt` | its lines |
    /// | a file `.jsonl`, `.ndjson`, `.json` | its lines, each an object: the field `text`, and the other fields as label columns |
    /// | a file `.csv`, `.tsv`, `.tab` | its rows: the column `text`, and the other columns as label columns |
    /// | a file `.xlsx`, `.xlsm` | likewise, of the first sheet that has values (feature `polars`) |
    /// | a file `.parquet`, `.pq`, `.arrow`, `.feather`, `.ipc` | likewise; the column may have lists of tokens (feature `polars`) |
    ///
    /// [`column`](Self::column) names another field or column. Files of lines, JSON lines and tables of text may be compressed
    /// (`.csv.gz`, `.jsonl.zst`, a zip archive of one file). Texts are UTF-8, UTF-16 with a byte order mark, or Windows-1252;
    /// what is not UTF-8 stands on the card, and a text in another encoding is refused; [`format`](Self::format) states it. Of an HTML page the text of `<main>` is
    /// taken, or of `<body>` where it has none, without scripts and styles. A column or field `document` names the documents.
    ///
    /// ```
    /// use topicbook::Texts;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::create_dir("letters")?;
    /// std::fs::write("letters/first.txt", "Dear Cassandra")?;
    /// std::fs::write("letters/second.html", "<p>Dear <b>Moore</b></p>")?;
    /// assert_eq!(Texts::open("letters")?.to_string(), "2 files in letters (38 B)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such folder or file, the folder has no texts, or the extension is none of these.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = path.to_string_lossy();
        if text.contains(['*', '?', '[']) && !path.exists() {
            return files::matching(path, &text).map(Self::from);
        }
        if path.is_dir() {
            return files::in_folder(path).map(Self::from);
        }
        let file =
            OpenFile::open(path).map_err(|error| match text.contains(' ') && !path.exists() {
                true => {
                    error.fix("check the path; a text itself is passed in brackets: [\"a text\"]")
                }
                false => error,
            })?;
        let kind = match (unpacked_extension(path).as_str(), TableFormat::of(path)) {
            ("txt", _) => Kind::Lines(path.into()),
            ("jsonl" | "ndjson" | "json", _) => Kind::JsonLines(path.into()),
            (_, Some(TableFormat::Csv(separator))) => Kind::Csv(path.into(), separator),
            #[cfg(feature = "polars")]
            (_, Some(_)) => Kind::Table(TableSource::File(path.into())),
            _ => return Err(unknown_format(path, "a file of texts")),
        };
        match file.length {
            0 => Err(Error::format(path, "is empty").fix("write the texts again")),
            _ => Ok(kind.into()),
        }
    }

    /// The same texts, from this column of a table or this field of JSON lines instead of `text`.
    ///
    /// ```
    /// use topicbook::{Texts, Vectorizer};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::write("papers.jsonl", "{\"abstract\": \"Spikes of neurons\", \"year\": 1987}\n")?;
    /// let papers = Vectorizer::new().fit_transform(Texts::open("papers.jsonl")?.column("abstract"))?;
    /// assert_eq!(papers.documents().numbers("year")?, [1987.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "field")]
    pub fn column(&self, name: impl Into<String>) -> Self {
        Self {
            column: Some(name.into()),
            ..self.clone()
        }
    }

    /// The same texts, of whose files the encoding is stated; of a table, also the separator, and the decimal mark of the other
    /// columns; of a spreadsheet, the sheet. What is not stated is found.
    ///
    /// ```
    /// use topicbook::{TextFormat, Texts};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::write("news.txt", b"\xd6\xd0\xce\xc4\n")?;
    /// let news = Texts::open("news.txt")?.format(TextFormat::new().encoding("gbk")?)?;
    /// assert_eq!(news.beginnings(2)?, ["中文"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the texts are in memory or in a file with typed columns, or a separator or a decimal mark is stated of texts that are
    /// in no table.
    #[doc(alias = "encoding")]
    #[doc(alias = "separator")]
    pub fn format(&self, format: impl OrRef<TextFormat>) -> Result<Self> {
        let format = *format.value();
        let refused = match self.kind.as_ref() {
            Kind::Csv(path, separator) => {
                TableFormat::Csv(*separator).check_stated(path, &format)?;
                None
            }
            #[cfg(feature = "polars")]
            Kind::Table(TableSource::File(path)) => {
                let kind = TableFormat::of(path).unwrap_or(TableFormat::Arrow);
                kind.check_stated(path, &format)?;
                None
            }
            Kind::Files { .. } | Kind::Lines(_) | Kind::JsonLines(_) => format
                .is_of_tables()
                .then_some("no table: they have no separator, decimal mark or sheet"),
            _ => Some("no files: they have no encoding, separator, decimal mark or sheet"),
        };
        match refused {
            Some(what) => Err(Error::setting(format!("{self} are {what}"))
                .fix("state the encoding alone, or leave the TextFormat out")),
            None => Ok(Self {
                format,
                ..self.clone()
            }),
        }
    }

    /// Bytes that a pass reads.
    pub(super) fn bytes(&self) -> u64 {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        match self.kind.as_ref() {
            Kind::Files { files, .. } => files.iter().map(|file| file.1).sum(),
            Kind::Lines(path) | Kind::JsonLines(path) | Kind::Csv(path, _) => length(path),
            #[cfg(feature = "polars")]
            Kind::Table(TableSource::File(path)) => length(path),
            // Its bytes are the table's, which is there already.
            #[cfg(feature = "polars")]
            Kind::Table(TableSource::Memory(_)) => 0,
            Kind::Memory(texts) => texts.iter().map(|text| text.len() as u64).sum(),
            Kind::Tokens(lists) => lists.iter().map(|list| token_bytes(list)).sum(),
        }
    }

    /// Starts a pass.
    pub(super) fn reader(&self) -> Result<Reader> {
        let column = self.column.as_deref();
        let records = |path: &Path, split: Split| {
            let encoding = self.format.stated_encoding();
            RecordReader::new(path, split, encoding, &self.remarks)
                .map(|reader| Reader::Records(Box::new(reader)))
        };
        Ok(match self.kind.as_ref() {
            Kind::Files { .. } | Kind::Memory(_) | Kind::Tokens(_) => Reader::InMemory {
                texts: self.clone(),
                next: 0,
            },
            Kind::Lines(path) => records(path, Split::Lines)?,
            Kind::JsonLines(path) => {
                let field = column.unwrap_or(TEXT).into();
                records(path, Split::Json(field))?
            }
            Kind::Csv(path, separator) => {
                let header = CsvHeader::read(path, *separator, &self.format)?;
                let text = text_column(path, column, &header.names)?;
                records(path, Split::Csv(header.into(), text))?
            }
            #[cfg(feature = "polars")]
            Kind::Table(source) => {
                Reader::Table(table::TableTexts::new(source, column, self.format)?)
            }
        })
    }

    /// The documents, given the labels that a pass has found.
    pub(super) fn documents(&self, labels: LabelColumns) -> Result<Documents> {
        match self.kind.as_ref() {
            Kind::Files { root, files, .. } => files::documents(root, files),
            #[cfg(feature = "polars")]
            Kind::Table(source) => {
                let column = self.column.as_deref();
                table::documents(source, column, self.format, &self.remarks)
            }
            Kind::Csv(path, _) => {
                let mut understood = Vec::new();
                let decimal = self.format.stated_decimal();
                let documents = labels.into_documents(decimal, &mut understood);
                self.remarks.add(path, &understood);
                documents
            }
            _ => labels.into_documents(None, &mut Vec::new()),
        }
    }
}

/// Bytes of the tokens of a text.
fn token_bytes(tokens: &[String]) -> u64 {
    tokens.iter().map(|token| token.len() as u64).sum()
}

/// The field or column that has the text.
const TEXT: &str = "text";

/// The column of a table that has the text.
fn text_column<T: AsRef<str>>(path: &Path, column: Option<&str>, names: &[T]) -> Result<usize> {
    let wanted = column.unwrap_or(TEXT);
    let found = names.iter().position(|name| name.as_ref() == wanted);
    found.ok_or_else(|| {
        let what = format!("{} has no column {wanted:?}", shown_path(path));
        Error::new(ErrorKind::Table, what)
            .at(format!("its columns are {}", quoted_list(names, 30)))
            .fix("name the column that has the text, as in Texts::open(path)?.column(\"abstract\")")
    })
}

impl From<Kind> for Texts {
    fn from(kind: Kind) -> Self {
        Self {
            kind: Arc::new(kind),
            column: None,
            format: TextFormat::new(),
            remarks: Remarks::default(),
        }
    }
}

impl fmt::Display for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = || bytes(self.bytes());
        match self.kind.as_ref() {
            Kind::Files {
                root,
                files,
                passed,
            } => {
                let number = counted(files.len(), "file");
                write!(f, "{number} in {} ({})", shown_path(root), size())?;
                if *passed > 0 {
                    write!(f, "; {} passed over", counted(*passed, "other file"))?;
                }
            }
            Kind::Memory(texts) => write!(f, "{} in memory", counted(texts.len(), "text"))?,
            Kind::Tokens(lists) => {
                write!(f, "{} of tokens in memory", counted(lists.len(), "list"))?;
            }
            Kind::Lines(path) | Kind::JsonLines(path) | Kind::Csv(path, _) => {
                write!(f, "{} ({})", shown_path(path), size())?;
            }
            #[cfg(feature = "polars")]
            Kind::Table(TableSource::File(path)) => write!(f, "{} ({})", shown_path(path), size())?,
            #[cfg(feature = "polars")]
            Kind::Table(TableSource::Memory(table)) => {
                let column = self.column.as_deref().unwrap_or(TEXT);
                write!(
                    f,
                    "{} in column {column:?} of a table",
                    counted(table.height(), "text")
                )?;
            }
        }
        write!(f, "{}", self.remarks)
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Texts");
        debug.field("from", &self.to_string());
        debug.field("column", &self.column).finish()
    }
}
