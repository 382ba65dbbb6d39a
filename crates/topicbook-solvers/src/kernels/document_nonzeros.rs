//! The nonzero counts of some documents, one after the other.

use std::ops::Range;

/// Nonzero counts of consecutive documents, or their ratios x / rate, which are used later than they are read.
#[derive(Default)]
pub struct DocumentNonzeros {
    /// The first document.
    pub first: usize,
    /// Where each document's nonzero counts end.
    pub ends: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<f32>,
}

impl DocumentNonzeros {
    /// Forgets all documents; the next one is `first`.
    pub fn restart(&mut self, first: usize) {
        self.first = first;
        self.ends.clear();
        self.columns.clear();
        self.values.clear();
    }

    /// Appends nonzero counts of the next document.
    pub fn extend(&mut self, columns: impl Iterator<Item = u32>, values: &[f32]) {
        self.columns.extend(columns);
        self.values.extend_from_slice(values);
    }

    pub fn end_document(&mut self) {
        self.ends.push(self.columns.len());
    }

    /// The positions of each document's nonzero counts.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| *start..*end)
    }
}
