//! In how many documents terms occur together.

use rayon::prelude::*;

use crate::error::Result;
use crate::formats::invalid_value;
use crate::system::memory::check_free;

use super::dtype::Element;
use super::pass::for_each_stored_block;
use super::rows::{Block, NonzeroBuffer, nonzeros_of_row};
use super::{Counts, View};

/// Added to joint probabilities, as in gensim.
pub const EPSILON: f64 = 1e-12;

/// The normalised pointwise mutual information of two events, from their probabilities: -1 never together, 0 independent, 1
/// only together.
pub fn npmi(both: f64, a: f64, b: f64) -> f64 {
    match both == 1.0 {
        true => 1.0,
        false => ((both + EPSILON) / (a * b)).ln() / -(both + EPSILON).ln(),
    }
}

/// For a list of terms, the number of documents that contain each of them, and each pair of them.
#[derive(Debug, Clone, PartialEq)]
pub struct CoOccurrence {
    terms: usize,
    /// Documents by pair of positions in the list, of which the first is not after the second.
    documents: Vec<u64>,
}

impl CoOccurrence {
    fn new(terms: usize) -> Self {
        Self {
            terms,
            documents: vec![0; terms * terms],
        }
    }

    /// Documents that contain the term at a position of the list.
    pub fn with(&self, position: usize) -> u64 {
        self.with_both(position, position)
    }

    /// Documents that contain the terms at two positions.
    pub fn with_both(&self, a: usize, b: usize) -> u64 {
        self.documents[a.min(b) * self.terms + a.max(b)]
    }
}

impl Counts {
    /// Counts the documents that contain the columns of each list, one by one and in pairs, in one pass over all documents.
    /// `None` in a list is a term without a column, which no document contains.
    #[doc(hidden)]
    pub fn co_occurrence(&self, lists: &[Vec<Option<usize>>]) -> Result<Vec<CoOccurrence>> {
        let pairs: u64 = lists.iter().map(|list| (list.len() as u64).pow(2)).sum();
        let tables = rayon::current_num_threads() as u64 + 1;
        let needed = pairs.saturating_mul(tables * size_of::<u64>() as u64);
        let needed = needed.saturating_add(self.in_memory().to_read);
        check_free(needed, "the pairs of these terms")?;
        let lengths: Vec<usize> = lists.iter().map(Vec::len).collect();
        let places = Places::of(lists, self.terms());
        let mut total = PairTally::new(&lengths);
        for_each_stored_block(self, false, &mut |block| {
            let Block { view, rows, first } = block;
            // One tally per thread; sums of whole numbers do not depend on their order.
            let step = rows.len().div_ceil(rayon::current_num_threads()).max(1);
            let starts: Vec<usize> = rows.clone().step_by(step).collect();
            let tallies: Vec<PairTally> = starts
                .into_par_iter()
                .map(|start| {
                    let mut tally = PairTally::new(&lengths);
                    for row in start..rows.end.min(start + step) {
                        let document = first + row - rows.start;
                        tally.add(&view, self.terms(), (row, document), &places);
                    }
                    tally
                })
                .collect();
            // Tallies come in the order of the documents, so the first error is the first document's.
            tallies
                .into_iter()
                .try_for_each(|tally| total.join(tally, self))
        })?;
        Ok(total.lists)
    }
}

/// Where each column is: numbers of lists, and positions in them.
struct Places {
    /// For each column, one more than its index in `places`; 0 for a column that is in no list.
    index: Vec<u32>,
    places: Vec<Vec<(usize, usize)>>,
}

impl Places {
    fn of(lists: &[Vec<Option<usize>>], terms: usize) -> Self {
        let mut found = Self {
            index: vec![0; terms],
            places: Vec::new(),
        };
        for (number, list) in lists.iter().enumerate() {
            for (position, column) in list.iter().enumerate() {
                if let Some(column) = column {
                    let index = &mut found.index[*column];
                    if *index == 0 {
                        found.places.push(Vec::new());
                        *index = found.places.len() as u32;
                    }
                    found.places[*index as usize - 1].push((number, position));
                }
            }
        }
        found
    }

    fn of_column(&self, column: u32) -> &[(usize, usize)] {
        match self.index[column as usize] {
            0 => &[],
            index => &self.places[index as usize - 1],
        }
    }
}

/// Documents by list and pair.
struct PairTally {
    lists: Vec<CoOccurrence>,
    /// Scratch: the positions of each list that a document contains, and the lists that have any.
    found: Vec<Vec<usize>>,
    touched: Vec<usize>,
    buffer: NonzeroBuffer,
    /// Document, column and value of the first value that is not a count.
    bad: Option<(usize, usize, f64)>,
}

impl PairTally {
    fn new(lengths: &[usize]) -> Self {
        Self {
            lists: lengths
                .iter()
                .map(|&terms| CoOccurrence::new(terms))
                .collect(),
            found: vec![Vec::new(); lengths.len()],
            touched: Vec::new(),
            buffer: NonzeroBuffer::default(),
            bad: None,
        }
    }

    fn add(
        &mut self,
        view: &View<'_>,
        terms: usize,
        (row, document): (usize, usize),
        places: &Places,
    ) {
        let (columns, values) = nonzeros_of_row(view, terms, row, &mut self.buffer);
        for (&column, &value) in columns.iter().zip(values) {
            if !value.is_count() && self.bad.is_none() {
                self.bad = Some((document, column as usize, f64::from(value)));
            }
            // Stored zeros of sparse counts are zeros.
            if value == 0.0 {
                continue;
            }
            for &(list, position) in places.of_column(column) {
                if self.found[list].is_empty() {
                    self.touched.push(list);
                }
                self.found[list].push(position);
            }
        }
        for list in self.touched.drain(..) {
            let (pairs, found) = (&mut self.lists[list], &mut self.found[list]);
            for (at, &a) in found.iter().enumerate() {
                for &b in &found[at..] {
                    pairs.documents[a.min(b) * pairs.terms + a.max(b)] += 1;
                }
            }
            found.clear();
        }
    }

    /// Adds another tally.
    ///
    /// # Errors
    /// When it met a value that is not a count.
    fn join(&mut self, other: Self, counts: &Counts) -> Result<()> {
        if let Some((document, column, value)) = other.bad {
            let (path, document) = counts.origin(document);
            return Err(invalid_value::not_a_count(value, document, column, path));
        }
        for (own, other) in self.lists.iter_mut().zip(other.lists) {
            for (own, other) in own.documents.iter_mut().zip(other.documents) {
                *own += other;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn pairs_are_counted_as_by_plain_loops() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, terms) = (211, 23);
        let values: Vec<u8> = (0..documents * terms)
            .map(|at| if at * at % 13 < 4 { (at % 5) as u8 } else { 0 })
            .collect();
        let memory = Counts::dense(documents, terms, values.clone()).unwrap();
        // A column in two lists, one in none, and a term without a column.
        let lists = [
            vec![Some(3), Some(20), Some(7)],
            vec![Some(7), None, Some(0), Some(22)],
            vec![Some(5)],
        ];
        let npz = memory.write_npz(folder.path().join("X.npz")).unwrap();
        let sources = [
            memory.write_npy(folder.path().join("X.npy")).unwrap(),
            npz.select(0..documents).unwrap(),
            npz,
            memory,
        ];
        for counts in sources {
            let found = counts.co_occurrence(&lists).unwrap();
            for (list, found) in lists.iter().zip(&found) {
                for (i, &a) in list.iter().enumerate() {
                    for (j, &b) in list.iter().enumerate() {
                        let has = |row: &[u8], column: Option<usize>| {
                            column.is_some_and(|column| row[column] > 0)
                        };
                        let both = values
                            .chunks(terms)
                            .filter(|row| has(row, a) && has(row, b))
                            .count();
                        assert_eq!(found.with_both(i, j), both as u64, "{counts}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_value_that_is_not_a_count_is_named() {
        let mut values = vec![1.0f64; 300 * 4];
        values[4 * 211 + 2] = 0.5;
        values[4 * 280 + 1] = -1.0;
        let counts = Counts::dense(300, 4, values).unwrap();
        let error = counts.co_occurrence(&[vec![Some(0), Some(1)]]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        assert_eq!(error.place(), Some("row 211, column 2 (counted from 0)"));
    }
}
