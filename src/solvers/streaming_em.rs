//! Expectation-maximisation with one pass over the documents per iteration, in their order: each block's rows of L are
//! updated given F, then its contribution is added to F's sufficient statistics (terms x topics). Counts are read once
//! per iteration and may be in a file, because the statistics of blocks add up.

use std::borrow::Cow;
use std::cell::RefCell;

use rayon::prelude::*;

use crate::cost::{Consumer, Item, Phase, Shape};
use crate::counts::Counts;
use crate::counts::rows::{Block, NonzeroBuffer, for_each_block, nonzeros_of_row};
use crate::data::Matrix;
use crate::error::Result;
use crate::kernels::DOCUMENTS;

use super::factor::{CHUNK, Factor, reciprocals};
use super::parts::{NEWTON_DOCUMENTS, NewtonRows, Parts, Pending};
use super::row_update::{RowProblem, Rows, Scratch, improve};
use super::{Iterate, Iteration, SolverState, Start, entropy};

/// Cells (documents x terms) and documents of a block: enough work for all threads, but little memory.
const CELLS_PER_BLOCK: usize = 1 << 23;
const DOCUMENTS_PER_BLOCK: std::ops::RangeInclusive<usize> = 16..=1024;
/// Documents in a task of coordinate descent: few, because a block of dense documents has not many.
const DOCUMENTS_AT_ONCE: usize = 4;
/// Sweeps over the coordinates of a row of L.
const SWEEPS: usize = 2;
/// Floor of a topic's share of a document's tokens.
const SMALLEST_SHARE: f32 = 1e-9;

thread_local! {
    static SCRATCH: RefCell<(NonzeroBuffer, Scratch)> = RefCell::default();
}

/// Memory of a fit besides the counts. `descent`: rows of L are updated by coordinate descent, which gathers the rows of F
/// at the nonzero counts of a document.
pub(crate) fn memory(shape: &Shape, descent: bool) -> Vec<Item> {
    let (documents, terms, topics) = (shape.documents, shape.terms, shape.topics);
    let padded = Parts::values(terms, topics);
    let in_block = documents.min(documents_in_block(terms as usize) as u64);
    // Each thread copies the nonzero counts of a dense row and their columns. The mean number is used; the longest row
    // may have as many as there are terms.
    let per_nonzero = if descent { 8 + 4 * (topics + 2) } else { 8 };
    let scratch = per_nonzero * shape.nonzeros * rayon::current_num_threads() as u64;
    let newton = match descent {
        true => Parts::newton_bytes(topics) * rayon::current_num_threads() as u64,
        false => 0,
    };
    let multipliers = match descent {
        true => 0,
        false => Parts::multiplier_bytes(terms, in_block, topics),
    };
    vec![
        Item::ram(
            Consumer::Parameters,
            "L and F",
            Phase::Fit,
            4 * topics * (documents + terms),
        ),
        Item::ram(
            Consumer::Counts,
            "documents' lengths",
            Phase::Fit,
            8 * documents,
        ),
        Item::ram(
            Consumer::Parameters,
            "F, padded to whole registers",
            Phase::Fit,
            4 * padded,
        ),
        Item::ram(
            Consumer::Gradients,
            "statistics of F, in double precision",
            Phase::Fit,
            8 * padded,
        ),
        Item::ram(
            Consumer::Gradients,
            "multipliers of a block of L",
            Phase::Steps,
            multipliers,
        ),
        Item::ram(
            Consumer::Gradients,
            "counts that are added to the statistics together",
            Phase::Steps,
            Pending::bytes(shape.nonzeros, terms, documents, padded / terms),
        ),
        Item::ram(
            Consumer::Rest,
            "scratch buffers, one per thread",
            Phase::Steps,
            scratch + newton,
        ),
    ]
}

/// Documents per block. It depends on the number of terms alone, so that the same counts give the same fit in memory
/// and from a file.
pub(crate) fn documents_in_block(terms: usize) -> usize {
    let whole_tiles = CELLS_PER_BLOCK / terms / DOCUMENTS * DOCUMENTS;
    whole_tiles.clamp(*DOCUMENTS_PER_BLOCK.start(), *DOCUMENTS_PER_BLOCK.end())
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
    /// A copy of F and its statistics. They are kept between passes, because the page faults of a new allocation cost as much
    /// as a pass over a few documents.
    parts: Parts,
    statistics: Vec<f64>,
    pending: Pending,
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
        let padded = Parts::values(counts.terms() as u64, f.topics as u64);
        Ok(Self {
            parts: Parts::new(counts.terms(), f.topics),
            statistics: vec![0.0; padded as usize],
            pending: Pending::default(),
            l_update,
            streamed,
            lengths: summary.document_lengths().to_vec(),
            entropy: entropy(summary.document_lengths()),
            tokens: summary.total(),
            l,
            f,
        })
    }

    /// Updates the rows of L of a block and returns their KKT residual.
    fn update_l(&mut self, block: &Block<'_>) -> f64 {
        if self.l_update == LUpdate::CoordinateDescent {
            return self.descend(block);
        }
        let topics = self.l.topics;
        let multipliers = self.parts.multipliers(block, &self.l.values);
        let rows = self.l.values[block.first * topics..].par_chunks_mut(CHUNK * topics);
        let residuals: Vec<f64> = rows
            .zip(multipliers.par_chunks(CHUNK * topics))
            .map(|(weights, multipliers)| {
                let mut residual = 0.0;
                for (weight, multiplier) in weights.iter_mut().zip(multipliers) {
                    residual += f64::from(*weight) * f64::from((multiplier - 1.0).abs());
                    *weight *= multiplier;
                }
                residual
            })
            .collect();
        residuals.into_iter().sum()
    }

    /// Updates the rows of L of a block by coordinate descent and returns their KKT residual.
    fn descend(&mut self, block: &Block<'_>) -> f64 {
        let (terms, topics) = (self.parts.terms(), self.l.topics);
        // The columns of F are normalised.
        let column_sums = vec![1.0; topics];
        let range = block.first * topics..(block.first + block.rows.len()) * topics;
        let lengths = &self.lengths;
        if self.parts.prefers_newton() {
            let rows = self.l.values[range].par_chunks_mut(NEWTON_DOCUMENTS * topics);
            let tasks = rows.enumerate().with_max_len(1);
            let residuals: Vec<f64> = tasks
                .map(|(task, weights)| {
                    let documents = weights.len() / topics;
                    let first = task * NEWTON_DOCUMENTS;
                    let rows = NewtonRows {
                        view: &block.view,
                        rows: block.rows.start + first..block.rows.start + first + documents,
                        tokens: &lengths[block.first + first..][..documents],
                        column_sums: &column_sums,
                        smallest_share: SMALLEST_SHARE,
                    };
                    self.parts.improve_rows(&rows, weights).iter().sum()
                })
                .collect();
            return residuals.into_iter().sum();
        }
        let problem = RowProblem {
            factor: match self.parts.has_tiles() {
                true => Rows::Parts(&self.parts),
                false => Rows::Table(&self.f.values),
            },
            column_sums: &column_sums,
            sweeps: SWEEPS,
        };
        let residuals: Vec<f64> = self.l.values[range]
            .par_chunks_mut(DOCUMENTS_AT_ONCE * topics)
            .enumerate()
            .with_max_len(1)
            .map(|(chunk, rows)| {
                SCRATCH.with_borrow_mut(|(nonzeros, descent)| {
                    let rows = rows.chunks_mut(topics).enumerate();
                    rows.map(|(row, weights)| {
                        let row = chunk * DOCUMENTS_AT_ONCE + row;
                        let (columns, counts) =
                            nonzeros_of_row(&block.view, terms, block.rows.start + row, nonzeros);
                        let floor = SMALLEST_SHARE * lengths[block.first + row] as f32;
                        improve(columns, counts, &problem, floor, weights, descent).kkt_residual
                    })
                    .sum::<f64>()
                })
            })
            .collect();
        residuals.into_iter().sum()
    }
}

impl Iterate for StreamingEm {
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration> {
        let (mut likelihood, mut kkt_residual) = (0.0, 0.0);
        let documents = documents_in_block(counts.terms());
        for_each_block(counts, self.streamed, documents, &mut |block| {
            if block.first == 0 {
                self.parts.start_pass(&self.f.values, &block);
                self.statistics.fill(0.0);
            }
            kkt_residual += self.update_l(&block);
            let (parts, l) = (&self.parts, &self.l.values);
            likelihood += parts.add_tiles(&block, l, &mut self.statistics);
            if parts.collect(&block, &mut self.pending) {
                likelihood += parts.add_pending(&mut self.pending, l, &mut self.statistics);
            }
            Ok(())
        })?;
        likelihood +=
            self.parts
                .add_pending(&mut self.pending, &self.l.values, &mut self.statistics);
        self.parts.multiply(&mut self.f.values, &self.statistics);
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
