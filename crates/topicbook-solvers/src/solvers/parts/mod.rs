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

#[cfg(test)]
mod both_forms;
mod gather;
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
use crate::kernels::{DOCUMENTS, TermLayout, Tile, tiled_terms, tiles, to_tiles};
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
    /// Terms of a shard; the last one may have fewer.
    terms_of_part: usize,
    /// The layout of each shard during a pass. Rows are padded with zeros to whole registers.
    forms: Vec<TermLayout>,
    f: Aligned<f32>,
}

/// The layout of each term shard.
pub struct TermLayouts(Vec<TermLayout>);

impl TermLayouts {
    /// Chooses the layouts by the first block of all documents.
    pub fn of(first: &Block<'_>, terms: usize) -> Self {
        let terms_of_part = terms_of_part(terms);
        // Few terms are cut into shards that are smaller than a tile.
        let has_whole_tiles = terms_of_part == tiled_terms(terms_of_part);
        let parts = (0..Self::number(terms)).into_par_iter();
        let forms = parts.map(|part| match has_whole_tiles {
            true => {
                let range = terms_in_part(part, terms_of_part, terms);
                TermLayout::of(&first.view, terms, first.rows.clone(), &range)
            }
            false => TermLayout::Rows,
        });
        Self(forms.collect())
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
        terms.div_ceil(terms_of_part(terms))
    }
}

/// A term shard of F.
struct FShard<'a> {
    form: TermLayout,
    terms: Range<usize>,
    /// The values of F, in this layout.
    f: &'a [f32],
}

impl Parts {
    /// The number of values of F in memory, padding included. Its statistics have the same number.
    pub(super) fn values(terms: u64, topics: u64) -> u64 {
        let per_part = terms_of_part(terms as usize) as u64;
        terms.next_multiple_of(per_part) * topics.next_multiple_of(LANES as u64)
    }

    /// Maximum bytes of a block's multipliers: a table of sums for each shard.
    pub(super) fn multiplier_bytes(terms: u64, documents: u64, topics: u64) -> u64 {
        let parts = terms.div_ceil(terms_of_part(terms as usize) as u64);
        4 * parts * documents.next_multiple_of(DOCUMENTS as u64) * topics
    }

    pub fn new(terms: usize, topics: usize) -> Self {
        let values = Self::values(terms as u64, topics as u64) as usize;
        let terms_of_part = terms_of_part(terms);
        Self {
            terms,
            topics,
            width: topics.next_multiple_of(LANES),
            terms_of_part,
            forms: vec![TermLayout::Rows; TermLayouts::number(terms)],
            f: aligned_zeros(values),
        }
    }

    /// Chooses the layout of each shard by the first block of all documents, and copies F (terms x topics). That block is the same
    /// in every pass, so the layouts do not depend on when a fit was resumed.
    pub fn start_pass(&mut self, f: &[f32], first: &Block<'_>) {
        self.set_forms(TermLayouts::of(first, self.terms));
        self.copy(f);
    }

    pub(super) fn set_forms(&mut self, forms: TermLayouts) {
        self.forms = forms.0;
    }

    /// Copies F (terms x topics) in the layouts that were chosen.
    pub(super) fn copy(&mut self, f: &[f32]) {
        let (topics, width, stride) = (self.topics, self.width, self.terms_of_part * self.width);
        let ranges: Vec<_> = (0..self.forms.len()).map(|part| self.range(part)).collect();
        let parts = self.f.par_chunks_mut(stride).zip(&self.forms).zip(ranges);
        parts.for_each(|((values, form), range)| {
            let rows = &f[range.start * topics..range.end * topics];
            match form {
                TermLayout::Tiles => to_tiles(rows, topics, values),
                TermLayout::Rows => {
                    for (to, from) in values.chunks_mut(width).zip(rows.chunks(topics)) {
                        to[..topics].copy_from_slice(from);
                        to[topics..].fill(0.0);
                    }
                }
            }
        });
    }

    /// Whether any shard is in tiles.
    pub(super) fn has_tiles(&self) -> bool {
        self.forms.contains(&TermLayout::Tiles)
    }

    pub(super) fn terms(&self) -> usize {
        self.terms
    }

    /// The terms of a shard.
    fn range(&self, part: usize) -> Range<usize> {
        terms_in_part(part, self.terms_of_part, self.terms)
    }

    /// A term shard of F.
    fn part(&self, part: usize) -> FShard<'_> {
        let stride = self.terms_of_part * self.width;
        FShard {
            form: self.forms[part],
            terms: self.range(part),
            f: &self.f[part * stride..][..stride],
        }
    }

    /// All shards. Where none is in tiles, a single one with all of F: then a document's nonzero counts need not be cut.
    fn parts(&self) -> Vec<FShard<'_>> {
        match self.has_tiles() {
            true => (0..self.forms.len()).map(|part| self.part(part)).collect(),
            false => vec![FShard {
                form: TermLayout::Rows,
                terms: 0..self.terms,
                f: &self.f,
            }],
        }
    }

    /// Multiplies F (terms x topics) by its statistics.
    pub(super) fn multiply(&self, f: &mut [f32], statistics: &[f64]) {
        let parts = f
            .par_chunks_mut(self.terms_of_part * self.topics)
            .zip(statistics.par_chunks(self.terms_of_part * self.width))
            .zip(&self.forms);
        parts.for_each(|((rows, statistics), form)| match form {
            TermLayout::Rows => {
                let rows = rows.chunks_mut(self.topics);
                for (row, statistics) in rows.zip(statistics.chunks(self.width)) {
                    for (value, statistic) in row.iter_mut().zip(statistics) {
                        *value = (f64::from(*value) * statistic) as f32;
                    }
                }
            }
            TermLayout::Tiles => {
                for tile in tiles(0..rows.len() / self.topics) {
                    let statistics = &statistics[tile.terms.start * self.topics..];
                    for (at, term) in tile.terms.enumerate() {
                        let row = &mut rows[term * self.topics..][..self.topics];
                        for (topic, value) in row.iter_mut().enumerate() {
                            *value =
                                (f64::from(*value) * statistics[topic * tile.width + at]) as f32;
                        }
                    }
                }
            }
        });
    }
}

impl<'a> FShard<'a> {
    /// The tiles, and their values of F.
    fn tiles(&self, topics: usize) -> impl Iterator<Item = (Tile, &'a [f32])> {
        let (first, f) = (self.terms.start, self.f);
        tiles(self.terms.clone()).map(move |tile| {
            let f = &f[(tile.terms.start - first) * topics..][..tile.width * topics];
            (tile, f)
        })
    }
}

/// The terms of a shard.
fn terms_in_part(part: usize, terms_of_part: usize, terms: usize) -> Range<usize> {
    let first = part * terms_of_part;
    first..terms.min(first + terms_of_part)
}

/// Terms of a shard: whole blocks of a tile, unless there are so few terms that this would make too few shards.
fn terms_of_part(terms: usize) -> usize {
    let part = terms.div_ceil(PARTS);
    match part < tiled_terms(1) / 2 {
        true => part,
        false => tiled_terms(part),
    }
}
