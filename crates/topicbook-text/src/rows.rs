//! The second pass: the counts of each document, as rows of sparse counts.

use super::interner::Interner;
use super::texts::Text;
use super::tokenizer::{Scratch, Tokenizer};

/// Rows of sparse counts, one after the other.
#[derive(Default)]
pub(super) struct Rows {
    /// Where each row ends in the other two vectors.
    pub(super) ends: Vec<usize>,
    /// Columns, rising within a row.
    pub(super) columns: Vec<u32>,
    pub(super) counts: Vec<u32>,
}

impl Rows {
    /// The columns and counts of each row.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u32], &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| (&self.columns[start..end], &self.counts[start..end]))
    }
}

/// Counts the known terms of documents, on one thread.
pub(super) struct RowCounter<'a> {
    vocabulary: &'a Interner,
    /// Occurrences of each term in the current document, and the terms that it has.
    in_document: Vec<u32>,
    seen: Vec<u32>,
    scratch: Scratch,
}

impl<'a> RowCounter<'a> {
    pub(super) fn new(vocabulary: &'a Interner) -> Self {
        Self {
            vocabulary,
            in_document: vec![0; vocabulary.len()],
            seen: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Appends the row of a document.
    pub(super) fn add_document(&mut self, tokenizer: &Tokenizer, text: Text<'_>, rows: &mut Rows) {
        let Self {
            vocabulary,
            in_document,
            seen,
            scratch,
        } = self;
        tokenizer.for_each_term(text, scratch, &mut |term| {
            if let Some(column) = vocabulary.find(term) {
                if in_document[column] == 0 {
                    seen.push(column as u32);
                }
                in_document[column] += 1;
            }
        });
        seen.sort_unstable();
        for column in seen.drain(..) {
            rows.columns.push(column);
            let times = std::mem::take(&mut in_document[column as usize]);
            rows.counts.push(times);
        }
        rows.ends.push(rows.columns.len());
    }
}
