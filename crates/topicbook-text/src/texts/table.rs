//! Texts in a column of a table, read some rows at a time.

use std::path::Path;

use polars::prelude::StringChunked;

use crate::data::{Documents, TableFile};
use crate::error::{Error, Result};

use super::{BATCH_BYTES, TEXT, text_column};

/// Rows that are decoded at once.
const ROWS: usize = 1 << 14;

/// A pass over the texts of a file.
pub struct TableTexts {
    file: TableFile,
    column: String,
    rows: usize,
    /// Number of rows decoded so far.
    decoded: usize,
    /// The texts of the last decoded rows, and how many of them were taken. Several rows may share one text of the file.
    ready: StringChunked,
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
            ready: StringChunked::default(),
            taken: 0,
        })
    }

    pub(super) fn check_unchanged(&self) -> Result<()> {
        self.file.map().check_unchanged()
    }

    /// The next texts, and their bytes; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Vec<String>, u64)>> {
        if self.taken == self.ready.len() {
            self.decode()?;
        }
        let (mut texts, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES && self.taken < self.ready.len() {
            let text = self.ready.get(self.taken).unwrap_or_default();
            bytes += text.len() as u64;
            texts.push(text.to_owned());
            self.taken += 1;
        }
        Ok((!texts.is_empty()).then_some((texts, bytes)))
    }

    fn decode(&mut self) -> Result<()> {
        let rows = self.decoded..self.rows.min(self.decoded + ROWS);
        if rows.is_empty() {
            return Ok(());
        }
        let path = self.file.map().path();
        let table = self.file.read(&[&self.column], rows.clone())?;
        let Some(column) = table.columns().first() else {
            return Ok(());
        };
        let Ok(texts) = column.str() else {
            let what = format!(
                "column {:?} has type {}, not text",
                self.column,
                column.dtype()
            );
            return Err(Error::format(path, what).fix("name the column that has the text"));
        };
        if let Some(row) = texts.iter().position(|text| text.is_none()) {
            return Err(Error::format(path, "a text is missing")
                .at(format!("row {} (counted from 0)", self.decoded + row))
                .fix("leave such rows out, or write an empty text there"));
        }
        self.ready = texts.clone();
        self.taken = 0;
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
