//! F cut into term shards (the parts), and the sums over them that expectation-maximisation needs.
//!
//! With w a document's row of L in tokens and f a term's row of F in probabilities, the plain loop over a block of documents is:
//!
//! ```text
//! for each document d, for each nonzero count x of a term j:
//!     rate = max(w[d] . f[j], RATE_FLOOR)
//!     multipliers[d] += x / rate * f[j]         // documents x topics, f32: the factors of L's rows
//!     statistics[j] += x / rate * w[d]          // terms x topics, f64: the factors of F's rows
//!     likelihood += x log(rate)
//! ```
//!
//! The code differs from it in five ways:
//!
//! 1. F is cut into at most [`PARTS`] shards. A pass copies each in the faster layout for its counts: terms x topics, padded to whole
//!    registers, or tiles. The first block of all documents decides, so that resumed fits and all ranks agree.
//! 2. In tiles, the counts of 16 documents and up to 256 terms are a dense matrix, and the three sums are matrix products
//!    (`kernels/products.rs`). A cell without a count adds exact zeros.
//! 3. In rows, the statistics wait in [`Pending`] for 2^18 counts. A counting sort then brings them into the order of the terms, so
//!    that a row of statistics stays in registers while rows of L are read from the cache.
//! 4. Only one task adds to a statistic, in the order of the documents. Multipliers have a sum for each shard and 16 documents,
//!    likelihoods one for each task, and these are added in order. So bits do not depend on the number of threads.
//! 5. Statistics are summed in `f32` over 256 counts of a term (rows) or over a block (tiles), then in `f64`. The two layouts agree
//!    up to rounding.

mod group;
mod likelihood;
mod multipliers;
mod newton;
mod pending;
mod ratios;
mod statistics;

use std::ops::Range;

use rayon::prelude::*;

use crate::counts::rows::Block;
use crate::kernels::{DOCUMENTS, TableShape, TermLayout, Tile, tiled_terms};
use crate::system::{Aligned, LANES, aligned_zeros};

pub(super) use newton::{DOCUMENTS as NEWTON_DOCUMENTS, NewtonRows};
pub(super) use pending::Pending;
pub use pending::PendingByTerm;

/// The maximum number of term shards.
const PARTS: usize = 16;

/// F, term shard by term shard.
pub struct Parts {
    terms: usize,
    topics: usize,
    /// Topics, rounded up to whole registers.
    width: usize,
    /// The term shards, in padded rows or in tiles. Tables have their values one after the other.
    shards: Vec<TableShape>,
    /// The shape where no shard is in tiles.
    in_rows: TableShape,
    f: Aligned<f32>,
}

/// The layout of each term shard.
pub struct TermLayouts(Vec<TermLayout>);

impl TermLayouts {
    /// Chooses the layouts by the first block of all documents.
    pub fn of(first: &Block<'_>, terms: usize) -> Self {
        let per_shard = terms_per_shard(terms);
        // Few terms are cut into shards that are smaller than a tile.
        let has_whole_tiles = per_shard == tiled_terms(per_shard);
        let ranges: Vec<_> = ranges(terms).collect();
        let layouts = ranges.par_iter().map(|range| match has_whole_tiles {
            true => TermLayout::of(&first.view, terms, first.rows.clone(), range),
            false => TermLayout::Rows,
        });
        Self(layouts.collect())
    }

    /// As numbers, for other processes.
    pub fn numbers(&self) -> Vec<f32> {
        let number = |form: &TermLayout| match form {
            TermLayout::Rows => 0.0,
            TermLayout::Tiles => 1.0,
        };
        self.0.iter().map(number).collect()
    }

    /// From [`numbers`](Self::numbers).
    pub fn from_numbers(numbers: &[f32]) -> Self {
        let form = |number: &f32| match *number > 0.5 {
            true => TermLayout::Tiles,
            false => TermLayout::Rows,
        };
        Self(numbers.iter().map(form).collect())
    }

    /// The number of shards of `terms` terms.
    pub fn number(terms: usize) -> usize {
        terms.div_ceil(terms_per_shard(terms))
    }
}

impl Parts {
    /// The number of values of F in memory, padding included. Its statistics have the same number.
    pub(super) fn values(terms: u64, topics: u64) -> u64 {
        let per_shard = terms_per_shard(terms as usize) as u64;
        terms.next_multiple_of(per_shard) * topics.next_multiple_of(LANES as u64)
    }

    /// Maximum bytes of a block's multipliers: a table of sums for each shard.
    pub(super) fn multiplier_bytes(terms: u64, documents: u64, topics: u64) -> u64 {
        let shards = TermLayouts::number(terms as usize) as u64;
        4 * shards * documents.next_multiple_of(DOCUMENTS as u64) * topics
    }

    pub fn new(terms: usize, topics: usize) -> Self {
        let in_rows = |terms| TableShape::padded(terms, topics, TermLayout::Rows);
        Self {
            terms,
            topics,
            width: topics.next_multiple_of(LANES),
            shards: ranges(terms).map(in_rows).collect(),
            in_rows: in_rows(0..terms),
            f: aligned_zeros(Self::values(terms as u64, topics as u64) as usize),
        }
    }

    /// Chooses the layout of each shard by the first block of all documents, and copies F (terms x topics). That block is the same
    /// in every pass, so the layouts do not depend on when a fit was resumed.
    pub fn start_pass(&mut self, f: &[f32], first: &Block<'_>) {
        self.set_layouts(TermLayouts::of(first, self.terms));
        self.copy(f);
    }

    pub(super) fn set_layouts(&mut self, layouts: TermLayouts) {
        for (shard, layout) in self.shards.iter_mut().zip(layouts.0) {
            if shard.layout != layout {
                shard.layout = layout;
                // Padding is zero in both layouts, at different places.
                self.f[shard.terms.start * self.width..][..shard.values()].fill(0.0);
            }
        }
    }

    /// Copies F (terms x topics) in the layouts that were chosen.
    pub(super) fn copy(&mut self, f: &[f32]) {
        let (topics, per_shard) = (self.topics, terms_per_shard(self.terms));
        let tables = self.f.par_chunks_mut(per_shard * self.width);
        let tables = tables.zip(f.par_chunks(per_shard * topics));
        let tables = tables.zip(&self.shards);
        tables.for_each(|((values, rows), shard)| copy_rows(shard, rows, values));
    }

    /// Whether any shard has this layout.
    pub(super) fn has(&self, layout: TermLayout) -> bool {
        self.shards.iter().any(|shard| shard.layout == layout)
    }

    pub(super) fn terms(&self) -> usize {
        self.terms
    }

    /// All shards. Where none is in tiles, a single one with all of F: then a document's nonzero counts need not be cut.
    fn shards(&self) -> &[TableShape] {
        match self.has(TermLayout::Tiles) {
            true => &self.shards,
            false => std::slice::from_ref(&self.in_rows),
        }
    }

    /// The values of F in a shard.
    fn f_of(&self, shard: &TableShape) -> &[f32] {
        &self.f[shard.terms.start * self.width..][..shard.values()]
    }

    /// The tiles of a shard, and their values of F.
    fn tiles<'a>(
        &'a self,
        shard: &TableShape,
    ) -> impl Iterator<Item = (Tile, &'a [f32])> + use<'a> {
        let f = self.f_of(shard);
        shard.tiles().map(move |(tile, at)| (tile, &f[at]))
    }

    /// Multiplies F (terms x topics) by its statistics.
    pub(super) fn multiply(&self, f: &mut [f32], statistics: &[f64]) {
        let (topics, per_shard) = (self.topics, terms_per_shard(self.terms));
        let tables = f.par_chunks_mut(per_shard * topics);
        let tables = tables.zip(statistics.par_chunks(per_shard * self.width));
        let tables = tables.zip(&self.shards);
        tables.for_each(|((rows, statistics), shard)| multiply_rows(shard, rows, statistics));
    }
}

/// Copies rows (terms x topics) to the table of a shard.
fn copy_rows(shard: &TableShape, rows: &[f32], values: &mut [f32]) {
    for (term, row) in rows.chunks_exact(shard.topics).enumerate() {
        for (at, value) in shard.row(term).zip(row) {
            values[at] = *value;
        }
    }
}

/// Multiplies rows (terms x topics) by the factors in a table of a shard.
fn multiply_rows(shard: &TableShape, rows: &mut [f32], factors: &[f64]) {
    for (term, row) in rows.chunks_exact_mut(shard.topics).enumerate() {
        for (at, value) in shard.row(term).zip(row) {
            *value = (f64::from(*value) * factors[at]) as f32;
        }
    }
}

/// The terms of each shard.
fn ranges(terms: usize) -> impl Iterator<Item = Range<usize>> {
    let per_shard = terms_per_shard(terms);
    let firsts = (0..terms).step_by(per_shard);
    firsts.map(move |first| first..terms.min(first + per_shard))
}

/// Terms of a shard: whole blocks of a tile, unless there are so few terms that this would make too few shards.
fn terms_per_shard(terms: usize) -> usize {
    let part = terms.div_ceil(PARTS);
    match part < tiled_terms(1) / 2 {
        true => part,
        false => tiled_terms(part),
    }
}
