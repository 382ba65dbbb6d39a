//! Texts, or lists of tokens, in a column of a table.

use polars::prelude::{Column, DataType, ListChunked, StringChunked};

use super::{Kind, token_bytes};

/// A column that has texts.
pub(super) enum TextColumn {
    Texts(StringChunked),
    Tokens(ListChunked),
}

impl TextColumn {
    /// # Errors
    /// A sentence, if the column has another type.
    pub(super) fn of(column: &Column) -> Result<Self, String> {
        let is_list =
            matches!(column.dtype(), DataType::List(inner) if **inner == DataType::String);
        let found = match is_list {
            true => column.list().ok().cloned().map(Self::Tokens),
            false => column.str().ok().cloned().map(Self::Texts),
        };
        found.ok_or_else(|| {
            let (name, dtype) = (column.name(), column.dtype());
            format!("column {name:?} has type {dtype}, not text")
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Tokens(lists) => lists.len(),
        }
    }

    /// The first row without a text, or with a list in which a token is missing.
    pub(super) fn missing(&self) -> Option<usize> {
        match self {
            Self::Texts(texts) => texts.iter().position(|text| text.is_none()),
            Self::Tokens(lists) => (0..lists.len()).find(|&row| tokens(lists, row).is_none()),
        }
    }

    /// The texts of rows from `row` on, until they have this many bytes. Several rows may share one text of a file.
    pub(super) fn take(&self, row: &mut usize, most: u64) -> Kind {
        let mut bytes = 0;
        let has_next = |row: usize, bytes: u64| row < self.len() && bytes < most;
        match self {
            Self::Texts(texts) => {
                let mut taken = Vec::new();
                while has_next(*row, bytes) {
                    let text = texts.get(*row).unwrap_or_default();
                    bytes += text.len() as u64;
                    taken.push(text.to_owned());
                    *row += 1;
                }
                Kind::Memory(taken)
            }
            Self::Tokens(lists) => {
                let mut taken = Vec::new();
                while has_next(*row, bytes) {
                    let tokens = tokens(lists, *row).unwrap_or_default();
                    bytes += token_bytes(&tokens);
                    taken.push(tokens);
                    *row += 1;
                }
                Kind::Tokens(taken)
            }
        }
    }
}

/// The list of a row; `None` if it or one of its tokens is missing.
fn tokens(lists: &ListChunked, row: usize) -> Option<Vec<String>> {
    let list = lists.get_as_series(row)?;
    let tokens = list.str().ok()?.iter();
    tokens.map(|token| token.map(str::to_owned)).collect()
}
