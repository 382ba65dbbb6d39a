//! Texts in a column of a table, read some rows at a time.

use std::path::Path;

use crate::data::{Documents, TableFile};
use crate::error::{Error, Result};
use crate::system::MappedFile;

use super::column::TextColumn;
use super::{BATCH_BYTES, TEXT, Texts, text_column};

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
    pub(super) fn new(path: &Path, column: Option<&str>) -> Result<Self> {
        let file = TableFile::open(path)?;
        let at = text_column(path, column, &file.names())?;
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
        if let Some(row) = texts.missing() {
            return Err(Error::format(path, "a text is missing")
                .at(format!("row {} (counted from 0)", self.decoded + row))
                .fix("leave such rows out, or write an empty text there"));
        }
        self.ready = Some(texts);
        self.decoded = rows.end;
        Ok(())
    }
}

/// The documents of a file: its other columns.
pub(super) fn documents(path: &Path, column: Option<&str>) -> Result<Documents> {
    let file = TableFile::open(path)?;
    let mut others = file.names();
    others.retain(|name| *name != column.unwrap_or(TEXT));
    match others.is_empty() {
        true => Documents::numbered(file.height()?),
        false => Documents::from_table(&file.load(&others)?),
    }
}
