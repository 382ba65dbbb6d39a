//! Nonzero counts, by document as they lie and by term.

use crate::counts::{DenseRows, Element, View, with_values};

/// Room for the nonzero counts of one dense row.
#[derive(Default)]
pub(super) struct Room {
    columns: Vec<u32>,
    counts: Vec<f32>,
}

/// The nonzero counts of a row and their columns: borrowed from sparse counts, found in dense ones.
pub(super) fn row_of<'a>(
    view: &View<'a>,
    terms: usize,
    row: usize,
    room: &'a mut Room,
) -> (&'a [u32], &'a [f32]) {
    match view {
        View::Csr(csr) => csr.row(row),
        View::Dense(rows) => {
            with_values!(DenseRows, rows, all => {
                find(&all[row * terms..(row + 1) * terms], room);
            });
            (&room.columns, &room.counts)
        }
    }
}

fn find<T: Element>(row: &[T], room: &mut Room) {
    room.columns.clear();
    room.counts.clear();
    for (column, value) in row.iter().enumerate() {
        let count = value.to_f32();
        if count != 0.0 {
            room.columns.push(column as u32);
            room.counts.push(count);
        }
    }
}

/// The same counts by term: 8 bytes a nonzero count.
pub(super) struct ByTerm {
    starts: Vec<usize>,
    documents: Vec<u32>,
    counts: Vec<f32>,
}

impl ByTerm {
    /// Two passes over the counts.
    pub(super) fn new(view: &View<'_>, documents: usize, terms: usize) -> Self {
        let mut room = Room::default();
        let mut starts = vec![0usize; terms + 1];
        for document in 0..documents {
            for &term in row_of(view, terms, document, &mut room).0 {
                starts[term as usize + 1] += 1;
            }
        }
        for term in 0..terms {
            starts[term + 1] += starts[term];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; starts[terms]];
        let mut counts = vec![0.0; starts[terms]];
        for document in 0..documents {
            let (columns, values) = row_of(view, terms, document, &mut room);
            for (&term, &value) in columns.iter().zip(values) {
                let place = &mut next[term as usize];
                rows[*place] = document as u32;
                counts[*place] = value;
                *place += 1;
            }
        }
        Self {
            starts,
            documents: rows,
            counts,
        }
    }

    /// The documents that have a term, and how often.
    pub(super) fn term(&self, term: usize) -> (&[u32], &[f32]) {
        let range = self.starts[term]..self.starts[term + 1];
        (&self.documents[range.clone()], &self.counts[range])
    }
}
