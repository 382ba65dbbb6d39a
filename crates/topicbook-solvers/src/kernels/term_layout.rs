//! The two layouts of F's tables in memory, and of the work on their terms.

use std::ops::Range;

use crate::counts::View;
use crate::counts::rows::count_between;

use super::tile::{Tile, tile_of};

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

    /// The index of (`term`, `topic`) in a table of `terms` terms.
    pub fn at(self, terms: usize, topics: usize, term: usize, topic: usize) -> usize {
        match self {
            Self::Rows => term * topics + topic,
            Self::Tiles => {
                let Tile { terms, width } = tile_of(terms, term);
                terms.start * topics + topic * width + term - terms.start
            }
        }
    }
}

/// Whether tiles are faster for `nonzeros` nonzero counts in `cells` cells.
pub fn is_dense(nonzeros: usize, cells: usize) -> bool {
    nonzeros * CELLS_PER_NONZERO > cells
}
