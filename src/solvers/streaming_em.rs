//! Expectation-maximisation with one pass over the documents per iteration, in their order: each block's rows of L are
//! updated given F, then its contribution is added to F's sufficient statistics (terms x topics). Counts are read once
//! per iteration and may be in a file, because the statistics of blocks add up.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use crate::cost::{Item, Phase, Shape};
use crate::counts::Counts;
use crate::counts::rows::{Block, NonzeroBuffer, for_each_block, nonzeros_of_row};
use crate::data::Matrix;
use crate::error::Result;
use crate::system::LANES;

use super::factor::{CHUNK, Factor, reciprocals};
use super::row_update::{RowProblem, Scratch, improve};
use super::statistics::{accumulate_multipliers, accumulate_statistics};
use super::{Iterate, Iteration, SolverState, Start, entropy};

/// Cells (documents x terms) and documents of a block: enough work for all threads, but little memory.
const CELLS_PER_BLOCK: usize = 1 << 23;
const DOCUMENTS_PER_BLOCK: std::ops::RangeInclusive<usize> = 16..=1024;
/// Ranges of terms into which F's statistics are split. Each range belongs to one task, so no partial sums are merged.
const PARTS: usize = 16;
/// Sweeps over the coordinates of a row of L.
const SWEEPS: usize = 2;
/// Floor of a topic's share of a document's tokens.
const SMALLEST_SHARE: f32 = 1e-9;

thread_local! {
    static SCRATCH: RefCell<(Scratch, NonzeroBuffer, Vec<f32>, Vec<f32>)> = RefCell::default();
}

/// Memory of a fit besides the counts. `descent`: rows of L are updated by coordinate descent, which gathers the rows of F
/// at the nonzero counts of a document.
pub(crate) fn memory(shape: &Shape, descent: bool) -> Vec<Item> {
    let (documents, terms, topics) = (shape.documents, shape.terms, shape.topics);
    let width = topics.next_multiple_of(LANES as u64);
    // Each thread copies the nonzero counts of a dense row and their columns. The mean number is used; the longest row
    // may have as many as there are terms.
    let per_nonzero = if descent { 8 + 4 * (topics + 2) } else { 8 };
    let scratch = per_nonzero * shape.nonzeros * rayon::current_num_threads() as u64;
    vec![
        Item::ram("L and F", Phase::Fit, 4 * topics * (documents + terms)),
        Item::ram("documents' lengths", Phase::Fit, 8 * documents),
        Item::ram(
            "F, padded to whole registers",
            Phase::Fit,
            4 * width * terms,
        ),
        Item::ram(
            "statistics of F, in double precision",
            Phase::Fit,
            8 * width * terms,
        ),
        Item::ram("scratch buffers, one per thread", Phase::Steps, scratch),
    ]
}

/// Documents per block. It depends on the number of terms alone, so that the same counts give the same fit in memory
/// and from a file.
pub(crate) fn documents_in_block(terms: usize) -> usize {
    (CELLS_PER_BLOCK / terms).clamp(*DOCUMENTS_PER_BLOCK.start(), *DOCUMENTS_PER_BLOCK.end())
}

/// How rows of L are updated.
#[derive(Clone, Copy, PartialEq)]
enum LUpdate {
    Em,
    CoordinateDescent,
}

pub(crate) struct StreamingEm {
    l_update: LUpdate,
    streamed: bool,
    lengths: Vec<f64>,
    entropy: f64,
    tokens: f64,
    /// L in tokens.
    l: Factor,
    /// F in probabilities (terms x topics).
    f: Factor,
    /// F with rows padded to whole registers, refilled at the start of each pass. It is kept between passes, like the
    /// statistics, because the page faults of a new allocation cost as much as a pass over a few documents.
    padded_f: Vec<f32>,
    statistics: Vec<f64>,
}

impl StreamingEm {
    /// Expectation-maximisation for L and F.
    pub(crate) fn by_em(counts: &Counts, streamed: bool, start: Start) -> Result<Self> {
        Self::new(LUpdate::Em, counts, streamed, start)
    }

    /// Coordinate descent for L, expectation-maximisation for F.
    pub(crate) fn by_descent(counts: &Counts, streamed: bool, start: Start) -> Result<Self> {
        Self::new(LUpdate::CoordinateDescent, counts, streamed, start)
    }

    fn new(l_update: LUpdate, counts: &Counts, streamed: bool, start: Start) -> Result<Self> {
        let summary = counts.summary()?;
        let [l, f] = match start {
            Start::New(l, f) => {
                let (mut l, mut f) = (Factor::from_l(l), Factor::from_f(f));
                l.scale_rows(summary.document_lengths());
                f.scale_columns(&reciprocals(&f.column_sums()));
                [l, f]
            }
            Start::Saved(state) => state.into_factors()?,
        };
        let padded = f.values.len() / f.topics * f.topics.next_multiple_of(LANES);
        Ok(Self {
            padded_f: vec![0.0; padded],
            statistics: vec![0.0; padded],
            l_update,
            streamed,
            lengths: summary.document_lengths().to_vec(),
            entropy: entropy(summary.document_lengths()),
            tokens: summary.total(),
            l,
            f,
        })
    }

    /// Refills the padded F and clears the statistics.
    fn start_pass(&mut self) {
        let topics = self.f.topics;
        let rows = self.padded_f.chunks_mut(topics.next_multiple_of(LANES));
        for (to, from) in rows.zip(self.f.values.chunks(topics)) {
            to[..topics].copy_from_slice(from);
        }
        self.statistics.fill(0.0);
    }

    /// Updates the rows of L of a block and returns their KKT residual.
    fn update_l(&mut self, block: &Block<'_>) -> f64 {
        let topics = self.l.topics;
        let width = topics.next_multiple_of(LANES);
        let terms = self.f.values.len() / topics;
        // The columns of F are normalised.
        let column_sums = vec![1.0; topics];
        let problem = RowProblem {
            factor: &self.f.values,
            column_sums: &column_sums,
            sweeps: SWEEPS,
        };
        let range = block.first * topics..(block.first + block.rows.len()) * topics;
        let (l_update, lengths, padded_f) = (self.l_update, &self.lengths, &self.padded_f);
        let parts: Vec<f64> = self.l.values[range]
            .par_chunks_mut(CHUNK * topics)
            .enumerate()
            .map(|(chunk, rows)| {
                SCRATCH.with_borrow_mut(|(scratch, buffer, padded_row, multipliers)| {
                    let rows = rows.chunks_mut(topics).enumerate();
                    rows.map(|(row, weights)| {
                        let row = chunk * CHUNK + row;
                        let (columns, counts) =
                            nonzeros_of_row(&block.view, terms, block.rows.start + row, buffer);
                        if l_update == LUpdate::CoordinateDescent {
                            let floor = SMALLEST_SHARE * lengths[block.first + row] as f32;
                            return improve(columns, counts, &problem, floor, weights, scratch)
                                .kkt_residual;
                        }
                        pad(weights, width, padded_row);
                        multipliers.clear();
                        multipliers.resize(width, 0.0);
                        accumulate_multipliers(
                            columns,
                            counts,
                            padded_f,
                            padded_row,
                            multipliers,
                            &mut 0.0,
                        );
                        let mut residual = 0.0;
                        for (weight, multiplier) in weights.iter_mut().zip(multipliers.iter()) {
                            residual += f64::from(*weight) * f64::from((multiplier - 1.0).abs());
                            *weight *= multiplier;
                        }
                        residual
                    })
                    .sum::<f64>()
                })
            })
            .collect();
        parts.into_iter().sum()
    }

    /// Adds a block's contribution to the statistics and returns its sum of x log rate.
    fn add_statistics(&mut self, block: &Block<'_>) -> f64 {
        let topics = self.l.topics;
        let width = topics.next_multiple_of(LANES);
        let (l, padded_f) = (&self.l, &self.padded_f);
        let terms = padded_f.len() / width;
        let per_part = terms.div_ceil(PARTS);
        let parts: Vec<f64> = self
            .statistics
            .par_chunks_mut(per_part * width)
            .enumerate()
            .map(|(part, statistics)| {
                let range = part * per_part..terms.min((part + 1) * per_part);
                SCRATCH.with_borrow_mut(|(_, buffer, padded_row, _)| {
                    let mut likelihood = 0.0;
                    for row in 0..block.rows.len() {
                        let (columns, counts) =
                            nonzeros_of_row(&block.view, terms, block.rows.start + row, buffer);
                        let positions = positions(columns, &range);
                        pad(l.row(block.first + row), width, padded_row);
                        accumulate_statistics(
                            &columns[positions.clone()],
                            &counts[positions],
                            padded_f,
                            padded_row,
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

/// Copies `row` to `padded_row`, padded with zeros to `width`.
fn pad(row: &[f32], width: usize, padded_row: &mut Vec<f32>) {
    padded_row.clear();
    padded_row.extend_from_slice(row);
    padded_row.resize(width, 0.0);
}

/// The positions of a range of terms in the sorted columns of a row, by binary search.
fn positions(columns: &[u32], terms: &Range<usize>) -> Range<usize> {
    let position = |term: usize| columns.partition_point(|&column| (column as usize) < term);
    position(terms.start)..position(terms.end)
}

impl Iterate for StreamingEm {
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration> {
        let topics = self.f.topics;
        let width = topics.next_multiple_of(LANES);
        self.start_pass();
        let (mut likelihood, mut kkt_residual) = (0.0, 0.0);
        let documents = documents_in_block(counts.terms());
        for_each_block(counts, self.streamed, documents, &mut |block| {
            kkt_residual += self.update_l(&block);
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
        self.f.scale_columns(&reciprocals(&self.f.column_sums()));
        Ok(Iteration {
            score: likelihood - self.entropy,
            residual: kkt_residual / self.tokens,
        })
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        Ok((self.l.proportions(), self.f.probabilities()))
    }

    fn state(&self) -> Result<SolverState<'_>> {
        let (l, f) = (
            Cow::Borrowed(&*self.l.values),
            Cow::Borrowed(&*self.f.values),
        );
        Ok(SolverState::of_factors(l, f, self.l.topics))
    }
}
