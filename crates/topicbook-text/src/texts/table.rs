//! Texts in a column of a table, read some rows at a time.

use crate::data::{Documents, Table, TableFile, TableSource, TextFormat};
use crate::error::{Error, Result};
use crate::system::MappedFile;

use super::column::TextColumn;
use super::source::in_memory;
use super::{BATCH_BYTES, Kind, Remarks, TEXT, Texts, text_column};

/// Rows that are decoded at once.
const ROWS: usize = 1 << 14;

/// A pass over the texts of a file.
pub struct TableTexts {
    file: TableFile,
    column: String,
    rows: usize,
    /// Number of rows decoded so far.
    decoded: usize,
    /// The last decoded rows, and how many of them were taken.
    ready: Option<TextColumn>,
    taken: usize,
}

impl TableTexts {
    pub(super) fn new(
        source: &TableSource,
        column: Option<&str>,
        format: TextFormat,
    ) -> Result<Self> {
        let file = source.file(format)?;
        let at = text_column(file.path(), column, &file.names())?;
        let column = file.names()[at].to_owned();
        file.check(&[&column])?;
        Ok(Self {
            rows: file.height()?,
            file,
            column,
            decoded: 0,
            ready: None,
            taken: 0,
        })
    }

    pub(super) fn check_unchanged(&self) -> Result<()> {
        self.file.map().map_or(Ok(()), MappedFile::check_unchanged)
    }

    /// The next texts, at most a batch of them; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Texts>> {
        let is_left = |ready: &TextColumn| self.taken < ready.len();
        if !self.ready.as_ref().is_some_and(is_left) {
            self.decode()?;
        }
        let ready = self.ready.as_ref();
        Ok(ready.map(|ready| ready.take(&mut self.taken, BATCH_BYTES).into()))
    }

    fn decode(&mut self) -> Result<()> {
        let rows = self.decoded..self.rows.min(self.decoded + ROWS);
        self.ready = None;
        self.taken = 0;
        if rows.is_empty() {
            return Ok(());
        }
        let path = self.file.path();
        let table = self.file.read(&[&self.column], rows.clone())?;
        let Some(column) = table.columns().first() else {
            return Ok(());
        };
        let texts = TextColumn::of(column)
            .map_err(|what| Error::format(path, what).fix("name the column that has the text"))?;
        // A table in memory may have come from CSV, where a blank text is one, as an empty cell of a spreadsheet is.
        let is_typed = matches!(self.file, TableFile::Groups(_));
        if let Some(row) = texts.missing().filter(|_| is_typed) {
            return Err(Error::format(path, "a text is missing")
                .at(format!("row {} (counted from 0)", self.decoded + row))
                .fix("leave such rows out, or write an empty text there"));
        }
        self.ready = Some(texts);
        self.decoded = rows.end;
        Ok(())
    }
}

impl Texts {
    /// The texts of a column of a `DataFrame` or `Table` in memory, also of one that has been filtered or joined.
    /// The other columns are label columns, as of a [file](Self::open); a missing text is a document without words.
    ///
    /// ```
    /// use topicbook::{Table, Texts, Vectorizer};
    /// let reviews = Table::new()
    ///     .with_column("review", ["good sound", "good book", "bad sound"])?
    ///     .with_column("stars", [5, 4, 1])?;
    /// let counted = Vectorizer::new().fit_transform(Texts::from_frame(&reviews, "review")?)?;
    /// assert_eq!(counted.documents().numbers("stars")?, [5.0, 4.0, 1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such column, or no row.
    #[doc(alias = "from_pandas")]
    #[doc(alias = "from_table")]
    pub fn from_frame(frame: impl Into<Table>, column: &str) -> Result<Self> {
        Self::of_frame(frame.into(), column)
    }

    fn of_frame(table: Table, column: &str) -> Result<Self> {
        let (names, is_empty) = (table.column_names(), table.height() == 0);
        let source = TableSource::Memory(table);
        text_column(source.path(), Some(column), &names)?;
        in_memory(is_empty, Kind::Table(source)).map(|texts| texts.column(column))
    }
}

/// The documents of a table: its other columns.
pub(super) fn documents(
    source: &TableSource,
    column: Option<&str>,
    format: TextFormat,
    remarks: &Remarks,
) -> Result<Documents> {
    let file = source.file(format)?;
    remarks.add(file.path(), &file.understood()?);
    let mut others = file.names();
    others.retain(|name| *name != column.unwrap_or(TEXT));
    match others.is_empty() {
        true => Documents::numbered(file.height()?),
        false => Documents::from_table(&file.load(&others)?),
    }
}
