//! Tables with a value for each topic of each term in a range: F, its logits and their optimizer state, gradients, statistics.

use std::ops::Range;

use crate::counts::View;
use crate::counts::rows::count_between;
use crate::data::Matrix;
use crate::system::{Aligned, LANES, aligned_zeros};

use super::tile::{Tile, tile_of, tiled_terms, tiles};

/// With fewer cells per nonzero count, tiles are faster: measured with 20 topics (from 5% nonzero on) and with 100 (from 10% on).
const CELLS_PER_NONZERO: usize = 12;

/// The processing of the counts of a range of terms, and the order of these terms' tables in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TermLayout {
    /// Nonzero count by nonzero count. Tables are terms x topics.
    Rows,
    /// As dense tiles. Tables are tiles of topics x terms.
    Tiles,
}

impl TermLayout {
    /// The faster layout for the counts of some rows in a range of terms.
    pub fn of(
        view: &View<'_>,
        all_terms: usize,
        rows: impl ExactSizeIterator<Item = usize>,
        terms: &Range<usize>,
    ) -> Self {
        let cells = rows.len() * terms.len();
        let nonzeros: usize = rows
            .map(|row| count_between(view, all_terms, row, terms))
            .sum();
        match is_dense(nonzeros, cells) {
            true => Self::Tiles,
            false => Self::Rows,
        }
    }
}

/// Whether tiles are faster for `nonzeros` nonzero counts in `cells` cells.
pub fn is_dense(nonzeros: usize, cells: usize) -> bool {
    nonzeros * CELLS_PER_NONZERO > cells
}

/// The place of each value in the tables of a range of terms. Methods count terms from the first of the range.
#[derive(Clone)]
pub struct TableShape {
    pub terms: Range<usize>,
    pub topics: usize,
    pub layout: TermLayout,
    /// In rows, the number of values from one term to the next.
    width: usize,
}

impl TableShape {
    /// Rows without padding, for the gradient step. Its update moves whole tables through memory: with 10 topics, rows of whole
    /// registers would be 60% more bytes. Rows that it needs one by one are copied to padded ones (`step/cpu/scratch.rs`).
    pub fn packed(terms: Range<usize>, topics: usize, layout: TermLayout) -> Self {
        Self {
            terms,
            topics,
            layout,
            width: topics,
        }
    }

    /// Rows padded to whole registers, for expectation-maximisation. A pass reads the row of a term once for each of its counts, in
    /// the order of the documents: no register then crosses a cache line.
    pub fn padded(terms: Range<usize>, topics: usize, layout: TermLayout) -> Self {
        Self {
            width: topics.next_multiple_of(LANES),
            ..Self::packed(terms, topics, layout)
        }
    }

    /// The number of values of a table. The last row ends with a whole register, because rows are read in whole registers.
    pub fn values(&self) -> usize {
        match self.layout {
            TermLayout::Rows => {
                let padding = self.topics.next_multiple_of(LANES) - self.width;
                self.terms.len() * self.width + padding
            }
            TermLayout::Tiles => tiled_terms(self.terms.len()) * self.topics,
        }
    }

    /// The index of a term's value for the first topic, and the distance to the next topic's.
    #[inline(always)]
    fn first(&self, term: usize) -> (usize, usize) {
        match self.layout {
            TermLayout::Rows => (term * self.width, 1),
            TermLayout::Tiles => {
                let Tile { terms, width } = tile_of(self.terms.len(), term);
                (terms.start * self.topics + term - terms.start, width)
            }
        }
    }

    /// The index of a term's value for a topic.
    #[inline(always)]
    pub fn at(&self, term: usize, topic: usize) -> usize {
        let (first, distance) = self.first(term);
        first + topic * distance
    }

    /// The indices of a term's values, topic by topic.
    #[inline(always)]
    pub fn row(&self, term: usize) -> impl Iterator<Item = usize> + use<> {
        let (first, distance) = self.first(term);
        (0..self.topics).map(move |topic| first + topic * distance)
    }

    /// The tiles, and each one's range of the values.
    pub fn tiles(&self) -> impl Iterator<Item = (Tile, Range<usize>)> + use<> {
        let (first, topics) = (self.terms.start, self.topics);
        tiles(self.terms.clone()).map(move |tile| {
            let start = (tile.terms.start - first) * topics;
            let end = start + tile.width * topics;
            (tile, start..end)
        })
    }

    /// Copies these terms of a table of topics x all terms.
    pub fn cut(&self, table: &Matrix) -> Aligned<f32> {
        let mut values = aligned_zeros(self.values());
        for topic in 0..self.topics {
            let row = &table.row(topic)[self.terms.clone()];
            for (term, value) in row.iter().enumerate() {
                values[self.at(term, topic)] = *value;
            }
        }
        values
    }

    /// Copies a table that has this shape to one of another shape.
    pub fn convert(&self, values: &[f32], to: &Self) -> Aligned<f32> {
        let mut converted = aligned_zeros(to.values());
        for term in 0..self.terms.len() {
            for (from, to) in self.row(term).zip(to.row(term)) {
                converted[to] = values[from];
            }
        }
        converted
    }
}
