//! One pass over the documents an iteration, in their order: their rows of L given F, then what they give to F's
//! statistics, sums of terms x k numbers. Counts are read once and may lie in a file; the statistics of parts of the
//! documents simply add up.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::kernel::{Against, Scratch, improve};
use super::nonzeros::{Room, row_of};
use super::statistics::{explain, gather};
use super::table::{CHUNK, Table, inverse};
use super::{Gain, Iterate, entropy};
use crate::counts::Counts;
use crate::error::Result;
use crate::loader::{Block, Reading, for_each_block};
use crate::matrix::Matrix;
use crate::model::vector::LANES;
use crate::plan::{Item, Shape, When};

/// Counts of one block, and its documents: enough to share out, few enough that a block stays small.
const BLOCK: usize = 1 << 23;
const DOCUMENTS: std::ops::RangeInclusive<usize> = 16..=1024;
/// Parts that F's statistics are cut into, by terms: each belongs to one task, so no sums have to be merged.
const PARTS: usize = 16;
/// Rounds over the coordinates of a row of L.
const SWEEPS: usize = 2;
/// No share of a document's tokens is smaller.
const SMALLEST_SHARE: f32 = 1e-9;

thread_local! {
    static ROOM: RefCell<(Scratch, Room, Vec<f32>, Vec<f32>)> = RefCell::default();
}

/// What a fit takes besides the counts.
pub(super) fn memory(shape: &Shape) -> Vec<Item> {
    let (documents, terms, topics) = (shape.documents, shape.terms, shape.topics);
    let width = topics.next_multiple_of(LANES as u64);
    // A dense row's nonzero counts and their columns, on each thread; the longest row may hold all terms.
    let room = 8 * shape.nonzeros * rayon::current_num_threads() as u64;
    vec![
        Item::ram("L and F", When::Fit, 4 * topics * (documents + terms)),
        Item::ram("documents' lengths", When::Fit, 8 * documents),
        Item::ram("F in whole registers", When::Fit, 4 * width * terms),
        Item::ram(
            "F's statistics, in double precision",
            When::Fit,
            8 * width * terms,
        ),
        Item::ram("rows at hand, one a thread", When::Steps, room),
    ]
}

/// Documents of one block. Depends on nothing else, so that counts give the same fit wherever they live.
pub(crate) fn documents_in_block(terms: usize) -> usize {
    (BLOCK / terms).clamp(*DOCUMENTS.start(), *DOCUMENTS.end())
}

/// How a row of L is improved.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    Em,
    Descent,
}

pub(super) struct OnePass {
    rows: Rows,
    reading: Reading,
    lengths: Vec<f64>,
    entropy: f64,
    tokens: f64,
    /// In tokens.
    l: Table,
    /// In probabilities.
    f: Table,
    /// Rows of F padded to whole registers, made anew for each pass. Like the statistics it keeps its memory: the
    /// system's pages cost as much to get as a pass over few documents.
    padded: Vec<f32>,
    statistics: Vec<f64>,
}

impl OnePass {
    /// Expectation-maximisation for L and F.
    pub(super) fn by_em(counts: &Counts, reading: Reading, l: &Matrix, f: &Matrix) -> Result<Self> {
        Self::new(Rows::Em, counts, reading, l, f)
    }

    /// Coordinate descent for L, expectation-maximisation for F.
    pub(super) fn by_descent(
        counts: &Counts,
        reading: Reading,
        l: &Matrix,
        f: &Matrix,
    ) -> Result<Self> {
        Self::new(Rows::Descent, counts, reading, l, f)
    }

    fn new(rows: Rows, counts: &Counts, reading: Reading, l: &Matrix, f: &Matrix) -> Result<Self> {
        let summary = counts.summary()?;
        let mut l = Table::of_documents(l);
        let mut f = Table::of_terms(f);
        l.scale_rows(summary.document_lengths());
        f.scale(&inverse(&f.sums()));
        let padded = f.values.len() / f.topics * f.topics.next_multiple_of(LANES);
        Ok(Self {
            padded: vec![0.0; padded],
            statistics: vec![0.0; padded],
            rows,
            reading,
            lengths: summary.document_lengths().to_vec(),
            entropy: entropy(summary.document_lengths()),
            tokens: summary.total(),
            l,
            f,
        })
    }

    /// Pads F and clears the statistics.
    fn begin_pass(&mut self) {
        let topics = self.f.topics;
        let rows = self.padded.chunks_mut(topics.next_multiple_of(LANES));
        for (to, from) in rows.zip(self.f.values.chunks(topics)) {
            to[..topics].copy_from_slice(from);
        }
        self.statistics.fill(0.0);
    }

    /// The rows of L of a block; gives the tokens that moved.
    fn improve_documents(&mut self, block: &Block<'_>) -> f64 {
        let topics = self.l.topics;
        let width = topics.next_multiple_of(LANES);
        let terms = self.f.values.len() / topics;
        let pulls = vec![1.0; topics];
        let against = Against {
            table: &self.f.values,
            pulls: &pulls,
            sweeps: SWEEPS,
        };
        let range = block.first * topics..(block.first + block.rows.len()) * topics;
        let (way, lengths, padded) = (self.rows, &self.lengths, &self.padded);
        let parts: Vec<f64> = self.l.values[range]
            .par_chunks_mut(CHUNK * topics)
            .enumerate()
            .map(|(chunk, rows)| {
                ROOM.with_borrow_mut(|(scratch, room, wide, shares)| {
                    let rows = rows.chunks_mut(topics).enumerate();
                    rows.map(|(row, weights)| {
                        let row = chunk * CHUNK + row;
                        let (columns, counts) =
                            row_of(&block.view, terms, block.rows.start + row, room);
                        if way == Rows::Descent {
                            let floor = SMALLEST_SHARE * lengths[block.first + row] as f32;
                            return improve(columns, counts, &against, floor, weights, scratch)
                                .moved;
                        }
                        widen(weights, width, wide);
                        shares.clear();
                        shares.resize(width, 0.0);
                        explain(columns, counts, padded, wide, shares, &mut 0.0);
                        let mut moved = 0.0;
                        for (weight, share) in weights.iter_mut().zip(shares.iter()) {
                            moved += f64::from(*weight) * f64::from((share - 1.0).abs());
                            *weight *= share;
                        }
                        moved
                    })
                    .sum::<f64>()
                })
            })
            .collect();
        parts.into_iter().sum()
    }

    /// Adds a block's part to the statistics; gives the sum of x log rate.
    fn add_statistics(&mut self, block: &Block<'_>) -> f64 {
        let topics = self.l.topics;
        let width = topics.next_multiple_of(LANES);
        let (l, padded) = (&self.l, &self.padded);
        let terms = padded.len() / width;
        let per_part = terms.div_ceil(PARTS);
        let parts: Vec<f64> = self
            .statistics
            .par_chunks_mut(per_part * width)
            .enumerate()
            .map(|(part, statistics)| {
                let range = part * per_part..terms.min((part + 1) * per_part);
                ROOM.with_borrow_mut(|(_, room, wide, _)| {
                    let mut likelihood = 0.0;
                    for row in 0..block.rows.len() {
                        let (columns, counts) =
                            row_of(&block.view, terms, block.rows.start + row, room);
                        let within = within(columns, &range);
                        widen(l.row(block.first + row), width, wide);
                        gather(
                            &columns[within.clone()],
                            &counts[within],
                            padded,
                            wide,
                            statistics,
                            range.start,
                            &mut likelihood,
                        );
                    }
                    likelihood
                })
            })
            .collect();
        parts.into_iter().sum()
    }
}

fn widen(row: &[f32], width: usize, wide: &mut Vec<f32>) {
    wide.clear();
    wide.extend_from_slice(row);
    wide.resize(width, 0.0);
}

/// The places of the terms of a range among the rising columns of a row.
fn within(columns: &[u32], terms: &Range<usize>) -> Range<usize> {
    let place = |term: usize| columns.partition_point(|&column| (column as usize) < term);
    place(terms.start)..place(terms.end)
}

impl Iterate for OnePass {
    fn iterate(&mut self, counts: &Counts) -> Result<Gain> {
        let topics = self.f.topics;
        let width = topics.next_multiple_of(LANES);
        self.begin_pass();
        let (mut likelihood, mut moved) = (0.0, 0.0);
        let documents = documents_in_block(counts.terms());
        for_each_block(counts, self.reading, documents, &mut |block| {
            moved += self.improve_documents(&block);
            likelihood += self.add_statistics(&block);
            Ok(())
        })?;
        for (row, statistics) in self
            .f
            .values
            .chunks_mut(topics)
            .zip(self.statistics.chunks(width))
        {
            for (value, statistic) in row.iter_mut().zip(statistics) {
                *value = (f64::from(*value) * statistic) as f32;
            }
        }
        self.f.scale(&inverse(&self.f.sums()));
        Ok(Gain {
            score: likelihood - self.entropy,
            residual: moved / self.tokens,
        })
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        Ok((self.l.proportions(), self.f.probabilities()))
    }
}
