//! F cut into ranges of terms, the parts. Each part of a block of counts is processed in the faster of two forms: nonzero
//! count by nonzero count, or as dense tiles. One task works on a part, so no sums of F are merged.

mod gather;
mod likelihood;

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use crate::counts::rows::{Block, NonzeroBuffer, nonzeros_between};
use crate::kernels::{
    DOCUMENTS, Floor, Form, Tile, add_to_f, add_to_l, quotients, tiled_terms, tiles, to_tiles,
    unpack,
};
use crate::system::{Aligned, LANES, aligned_zeros, sum};

use super::RATE_FLOOR;
use super::statistics::{accumulate_multipliers, accumulate_statistics};

/// Parts of F, at most.
const PARTS: usize = 16;
const FLOOR: Floor = Floor {
    rate: RATE_FLOOR,
    zero_below: false,
};

/// F, part by part.
pub(crate) struct Parts {
    terms: usize,
    topics: usize,
    /// Topics, rounded up to whole registers.
    width: usize,
    /// Terms of a part; the last has fewer.
    terms_of_part: usize,
    /// The form of each part during a pass. Rows are padded with zeros to whole registers.
    forms: Vec<Form>,
    f: Aligned<f32>,
}

struct Buffers {
    nonzeros: NonzeroBuffer,
    /// Rows of L of a group of documents.
    weights: Vec<f32>,
    /// Counts of a tile, then their quotients.
    counts: Aligned<f32>,
    /// Sums for L, lane by lane.
    l_sums: Aligned<[f32; LANES]>,
    /// Sums for F of a tile.
    f_sums: Aligned<f32>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::new(Buffers::new());
}

impl Parts {
    /// Values in memory of F, and of its statistics.
    pub(super) fn values(terms: u64, topics: u64) -> u64 {
        let per_part = terms_of_part(terms as usize) as u64;
        terms.next_multiple_of(per_part) * topics.next_multiple_of(LANES as u64)
    }

    /// Bytes of a block's multipliers at most: one sum for each part, and their total.
    pub(super) fn multiplier_bytes(terms: u64, documents: u64, topics: u64) -> u64 {
        let parts = terms.div_ceil(terms_of_part(terms as usize) as u64);
        4 * (parts + 1) * documents.next_multiple_of(DOCUMENTS as u64) * topics
    }

    pub(crate) fn new(terms: usize, topics: usize) -> Self {
        let values = Self::values(terms as u64, topics as u64) as usize;
        let terms_of_part = terms_of_part(terms);
        Self {
            terms,
            topics,
            width: topics.next_multiple_of(LANES),
            terms_of_part,
            forms: vec![Form::Rows; terms.div_ceil(terms_of_part)],
            f: aligned_zeros(values),
        }
    }

    /// Chooses the form of each part by the first block of a pass, and copies F (terms x topics). The first block of every pass
    /// is the same, so the forms do not depend on when a fit was resumed.
    pub(crate) fn start_pass(&mut self, f: &[f32], first: &Block<'_>) {
        let (topics, width, stride) = (self.topics, self.width, self.terms_of_part * self.width);
        let ranges: Vec<_> = (0..self.forms.len()).map(|part| self.range(part)).collect();
        let terms = self.terms;
        // Few terms are cut into smaller parts than tiles.
        let has_whole_tiles = self.terms_of_part == tiled_terms(self.terms_of_part);
        let parts = self
            .f
            .par_chunks_mut(stride)
            .zip(&mut self.forms)
            .zip(ranges);
        parts.for_each(|((values, form), range)| {
            *form = match has_whole_tiles {
                true => Form::of(&first.view, terms, first.rows.clone(), &range),
                false => Form::Rows,
            };
            let rows = &f[range.start * topics..range.end * topics];
            match form {
                Form::Tiles => to_tiles(rows, topics, values),
                Form::Rows => {
                    for (to, from) in values.chunks_mut(width).zip(rows.chunks(topics)) {
                        to[..topics].copy_from_slice(from);
                        to[topics..].fill(0.0);
                    }
                }
            }
        });
    }

    /// Whether counts are processed as tiles anywhere.
    pub(crate) fn has_tiles(&self) -> bool {
        self.forms.contains(&Form::Tiles)
    }

    pub(super) fn terms(&self) -> usize {
        self.terms
    }

    /// F as terms x width, if that is the form of all parts.
    pub(super) fn rows(&self) -> Option<&[f32]> {
        (!self.has_tiles()).then_some(&self.f)
    }

    /// The terms of a part.
    fn range(&self, part: usize) -> Range<usize> {
        let first = part * self.terms_of_part;
        first..self.terms.min(first + self.terms_of_part)
    }

    /// The multipliers of a block's rows of L, documents x topics: the sum over the terms of x / rate times F.
    pub(super) fn multipliers(&self, block: &Block<'_>, l: &[f32]) -> Vec<f32> {
        let groups: Vec<_> = groups(block.rows.len()).collect();
        let values = DOCUMENTS * self.topics;
        let tasks = self.forms.len() * groups.len();
        let mut partial = vec![0.0; tasks * values];
        // The groups of a part come one after the other, so that a thread finds the part of F in its cache.
        partial
            .par_chunks_mut(values)
            .enumerate()
            .for_each(|(task, sums)| {
                let (part, group) = (task / groups.len(), &groups[task % groups.len()]);
                BUFFERS.with_borrow_mut(|buffers| match self.forms[part] {
                    Form::Tiles => self.multipliers_of_tiles(block, l, part, group, buffers, sums),
                    Form::Rows => {
                        self.multipliers_of_nonzeros(block, l, part, group, buffers, sums)
                    }
                });
            });
        let mut totals = vec![0.0; groups.len() * values];
        for part in partial.chunks(groups.len() * values) {
            totals
                .iter_mut()
                .zip(part)
                .for_each(|(total, value)| *total += value);
        }
        totals.truncate(block.rows.len() * self.topics);
        totals
    }

    fn multipliers_of_tiles(
        &self,
        block: &Block<'_>,
        l: &[f32],
        part: usize,
        group: &Range<usize>,
        buffers: &mut Buffers,
        out: &mut [f32],
    ) {
        let topics = self.topics;
        buffers.set_weights(l, topics, block.first, group);
        buffers.l_sums.clear();
        buffers.l_sums.resize(DOCUMENTS * topics, [0.0; LANES]);
        for (tile, f) in self.tiles(part) {
            let counts = buffers.unpack(block, self.terms, group, &tile);
            quotients(
                &buffers.weights,
                f,
                topics,
                FLOOR,
                &mut buffers.counts[..counts],
                None,
            );
            add_to_l(&buffers.counts[..counts], f, topics, &mut buffers.l_sums);
        }
        for (value, lanes) in out.iter_mut().zip(buffers.l_sums.iter()) {
            *value = sum(*lanes);
        }
    }

    fn multipliers_of_nonzeros(
        &self,
        block: &Block<'_>,
        l: &[f32],
        part: usize,
        group: &Range<usize>,
        buffers: &mut Buffers,
        out: &mut [f32],
    ) {
        let Buffers {
            nonzeros,
            weights,
            counts: multipliers,
            ..
        } = buffers;
        let range = self.range(part);
        for (document, out) in group.clone().zip(out.chunks_mut(self.topics)) {
            let row = block.rows.start + document;
            let (columns, counts) =
                nonzeros_between(&block.view, self.terms, row, &range, nonzeros);
            pad(self.row(l, block.first + document), self.width, weights);
            multipliers.clear();
            multipliers.resize(self.width, 0.0);
            accumulate_multipliers(
                columns,
                counts,
                self.part_of_f(part),
                range.start,
                weights,
                multipliers,
            );
            out.copy_from_slice(&multipliers[..self.topics]);
        }
    }

    /// Adds a block's contribution to the statistics of F, which lie in memory as F does, and returns its sum of x log rate.
    pub(super) fn add_statistics(
        &self,
        block: &Block<'_>,
        l: &[f32],
        statistics: &mut [f64],
    ) -> f64 {
        let parts = statistics.par_chunks_mut(self.terms_of_part * self.width);
        let likelihoods: Vec<f64> = parts
            .enumerate()
            .map(|(part, statistics)| {
                BUFFERS.with_borrow_mut(|buffers| match self.forms[part] {
                    Form::Tiles => self.statistics_of_tiles(block, l, part, buffers, statistics),
                    Form::Rows => self.statistics_of_nonzeros(block, l, part, buffers, statistics),
                })
            })
            .collect();
        likelihoods.into_iter().sum()
    }

    fn statistics_of_tiles(
        &self,
        block: &Block<'_>,
        l: &[f32],
        part: usize,
        buffers: &mut Buffers,
        statistics: &mut [f64],
    ) -> f64 {
        let topics = self.topics;
        let mut likelihood = 0.0;
        for (tile, f) in self.tiles(part) {
            buffers.f_sums.clear();
            buffers.f_sums.resize(f.len(), 0.0);
            for group in groups(block.rows.len()) {
                buffers.set_weights(l, topics, block.first, &group);
                let counts = buffers.unpack(block, self.terms, &group, &tile);
                let counts = &mut buffers.counts[..counts];
                let log_rates = Some(&mut likelihood);
                quotients(&buffers.weights, f, topics, FLOOR, counts, log_rates);
                add_to_f(&buffers.weights, counts, topics, &mut buffers.f_sums);
            }
            let first = tile.terms.start - self.range(part).start;
            let out = &mut statistics[first * topics..][..f.len()];
            for (statistic, value) in out.iter_mut().zip(buffers.f_sums.iter()) {
                *statistic += f64::from(*value);
            }
        }
        likelihood
    }

    fn statistics_of_nonzeros(
        &self,
        block: &Block<'_>,
        l: &[f32],
        part: usize,
        buffers: &mut Buffers,
        statistics: &mut [f64],
    ) -> f64 {
        let Buffers {
            nonzeros, weights, ..
        } = buffers;
        let (range, f) = (self.range(part), self.part_of_f(part));
        let mut likelihood = 0.0;
        for document in 0..block.rows.len() {
            let row = block.rows.start + document;
            let (columns, counts) =
                nonzeros_between(&block.view, self.terms, row, &range, nonzeros);
            pad(self.row(l, block.first + document), self.width, weights);
            let first = range.start;
            accumulate_statistics(
                columns,
                counts,
                f,
                first,
                weights,
                statistics,
                &mut likelihood,
            );
        }
        likelihood
    }

    /// Multiplies F (terms x topics) by its statistics.
    pub(super) fn multiply(&self, f: &mut [f32], statistics: &[f64]) {
        let parts = f
            .par_chunks_mut(self.terms_of_part * self.topics)
            .zip(statistics.par_chunks(self.terms_of_part * self.width))
            .zip(&self.forms);
        parts.for_each(|((rows, statistics), form)| match form {
            Form::Rows => {
                let rows = rows.chunks_mut(self.topics);
                for (row, statistics) in rows.zip(statistics.chunks(self.width)) {
                    for (value, statistic) in row.iter_mut().zip(statistics) {
                        *value = (f64::from(*value) * statistic) as f32;
                    }
                }
            }
            Form::Tiles => {
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

    /// A document's row of L.
    fn row<'a>(&self, l: &'a [f32], document: usize) -> &'a [f32] {
        &l[document * self.topics..][..self.topics]
    }

    /// The values of a part of F.
    fn part_of_f(&self, part: usize) -> &[f32] {
        let stride = self.terms_of_part * self.width;
        &self.f[part * stride..][..stride]
    }

    /// The tiles of a part, and their values of F.
    fn tiles(&self, part: usize) -> impl Iterator<Item = (Tile, &[f32])> {
        let (range, f) = (self.range(part), self.part_of_f(part));
        let first = range.start;
        tiles(range).map(move |tile| {
            let f = &f[(tile.terms.start - first) * self.topics..][..tile.width * self.topics];
            (tile, f)
        })
    }
}

impl Buffers {
    fn new() -> Self {
        Self {
            nonzeros: NonzeroBuffer::default(),
            weights: Vec::new(),
            counts: aligned_zeros(0),
            l_sums: Aligned::new(0),
            f_sums: aligned_zeros(0),
        }
    }

    /// Copies rows of L, padded with rows of zeros to a whole group.
    fn set_weights(&mut self, l: &[f32], topics: usize, first: usize, group: &Range<usize>) {
        self.weights.clear();
        let rows = (first + group.start) * topics..(first + group.end) * topics;
        self.weights.extend_from_slice(&l[rows]);
        self.weights.resize(DOCUMENTS * topics, 0.0);
    }

    /// Unpacks the counts of a tile, and returns their number.
    fn unpack(
        &mut self,
        block: &Block<'_>,
        terms: usize,
        group: &Range<usize>,
        tile: &Tile,
    ) -> usize {
        let rows = block.rows.start + group.start..block.rows.start + group.end;
        let counts = DOCUMENTS * tile.width;
        if self.counts.len() < counts {
            self.counts.resize(counts, 0.0);
        }
        unpack(&block.view, terms, rows, tile, &mut self.counts[..counts]);
        counts
    }
}

/// Terms of a part: whole tiles, unless there are so few terms that too few parts would come of it.
fn terms_of_part(terms: usize) -> usize {
    let part = terms.div_ceil(PARTS);
    match part < tiled_terms(1) / 2 {
        true => part,
        false => tiled_terms(part),
    }
}

/// The documents of a block in groups of [`DOCUMENTS`]; the last may have fewer.
fn groups(documents: usize) -> impl Iterator<Item = Range<usize>> {
    let groups = (0..documents).step_by(DOCUMENTS);
    groups.map(move |first| first..documents.min(first + DOCUMENTS))
}

/// Copies `row` to `padded_row`, padded with zeros to `width`.
pub(super) fn pad(row: &[f32], width: usize, padded_row: &mut Vec<f32>) {
    padded_row.clear();
    padded_row.extend_from_slice(row);
    padded_row.resize(width, 0.0);
}
