//! Expectation-maximisation with one pass over the documents per iteration, in their order. Each block's rows of L are
//! updated given F, then its contribution is added to F's sufficient statistics (terms x topics). Counts are read once
//! per iteration and may be in a file, because the statistics of blocks add up.

mod rank;

use std::borrow::Cow;
use std::cell::RefCell;

use rayon::prelude::*;

use crate::cost::{Consumer, Item, Phase, Shape};
use crate::counts::Counts;
use crate::counts::rows::{Block, NonzeroBuffer, Visit, for_each_block, nonzeros_of_row};
use crate::data::Matrix;
use crate::error::Result;
use crate::kernels::DOCUMENTS;

use super::factor::{CHUNK, Factor, reciprocals};
use super::parts::{NEWTON_DOCUMENTS, NewtonRows, Parts, Pending};
use super::row_update::{DescentScratch, RowProblem, improve};
use super::shards::{DocumentShards, Tree};
use super::{Iterate, Iteration, SolverState, Start, entropy};

pub use rank::RankStart;

/// Cells (documents x terms) and documents of a block: enough work for all threads, but little memory.
const CELLS_PER_BLOCK: usize = 1 << 23;
const DOCUMENTS_PER_BLOCK: std::ops::RangeInclusive<usize> = 16..=1024;
/// Documents in a task of coordinate descent: few, because a block of dense counts has few documents.
const DOCUMENTS_AT_ONCE: usize = 4;
/// Sweeps over the coordinates of a row of L.
const SWEEPS: usize = 2;
/// Floor of a topic's share of a document's tokens.
const SMALLEST_SHARE: f32 = 1e-9;

thread_local! {
    static SCRATCH: RefCell<(NonzeroBuffer, DescentScratch)> = RefCell::default();
}

/// Memory of a fit without the counts. `descent`: rows of L are updated by coordinate descent, which gathers the rows of F
/// at the nonzero counts of a document.
pub fn memory(shape: &Shape, shards: &DocumentShards, descent: bool) -> Vec<Item> {
    let (documents, terms, topics) = (shape.documents, shape.terms, shape.topics);
    let padded = Parts::values(terms, topics);
    let in_block = documents.min(documents_in_block(terms as usize) as u64);
    // Each thread copies the nonzero counts of a dense row and their columns. The formula uses their mean number; the longest
    // row may have one per term.
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
            sums_bytes(terms, topics) * shards.tables(),
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

/// Bytes of a table of sums, for one shard or for a whole pass.
pub fn sums_bytes(terms: u64, topics: u64) -> u64 {
    8 * (Parts::values(terms, topics) + PassSums::OTHERS as u64)
}

/// Documents per block. It depends on the number of terms alone, so that the same counts give the same fit in memory
/// and from a file.
pub fn documents_in_block(terms: usize) -> usize {
    let whole_tiles = CELLS_PER_BLOCK / terms / DOCUMENTS * DOCUMENTS;
    whole_tiles.clamp(*DOCUMENTS_PER_BLOCK.start(), *DOCUMENTS_PER_BLOCK.end())
}

/// L in tokens and F in probabilities (terms x topics) before the first pass. `lengths`: tokens of each document.
pub fn start_factors(start: Start<'_>, lengths: &[f64]) -> Result<[Factor; 2]> {
    match start {
        Start::New(l, f) => {
            let (mut l, mut f) = (Factor::from_l(l), Factor::from_f(f));
            l.scale_rows(lengths);
            f.scale_columns(&reciprocals(&f.column_sums()));
            Ok([l, f])
        }
        Start::Saved(state) => state.into_factors(),
    }
}

/// How rows of L are updated.
#[derive(Clone, Copy, PartialEq)]
enum LUpdate {
    Em,
    CoordinateDescent,
}

pub struct StreamingEm {
    l_update: LUpdate,
    streamed: bool,
    lengths: Vec<f64>,
    entropy: f64,
    tokens: f64,
    /// L in tokens.
    l: Factor,
    /// F in probabilities (terms x topics).
    f: Factor,
    shards: DocumentShards,
    /// The first shard and the first document: not 0 on a rank of a cluster, whose L has only its own documents.
    first_shard: usize,
    first_document: usize,
    /// A copy of F, kept between passes: the page faults of a new allocation cost as much as a pass over a few documents.
    parts: Parts,
    /// F's statistics, then the likelihood and the KKT residual.
    tree: Tree,
    pending: Pending,
}

impl StreamingEm {
    /// Expectation-maximisation for L and F.
    pub fn by_em(counts: &Counts, streamed: bool, start: Start) -> Result<Self> {
        Self::new(LUpdate::Em, counts, streamed, start)
    }

    /// Coordinate descent for L, expectation-maximisation for F.
    pub fn by_descent(counts: &Counts, streamed: bool, start: Start) -> Result<Self> {
        Self::new(LUpdate::CoordinateDescent, counts, streamed, start)
    }

    fn new(l_update: LUpdate, counts: &Counts, streamed: bool, start: Start) -> Result<Self> {
        let summary = counts.summary()?;
        let [l, f] = start_factors(start, summary.document_lengths())?;
        let padded = Parts::values(counts.terms() as u64, f.topics as u64);
        Ok(Self {
            first_shard: 0,
            first_document: 0,
            shards: DocumentShards::new(counts.documents(), counts.terms(), summary.nonzeros()),
            parts: Parts::new(counts.terms(), f.topics),
            tree: Tree::new(padded as usize + PassSums::OTHERS),
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
            factor: &self.f.values,
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

impl StreamingEm {
    /// Passes over the documents, which `read` reads in blocks. Updates their rows of L, and sums the statistics of F.
    fn pass(&mut self, read: impl FnOnce(Visit<'_>) -> Result<()>) -> Result<()> {
        let (shards, first) = (self.shards, self.first_document);
        let (mut shard, mut end) = (self.first_shard, first);
        self.tree.clear();
        if first > 0 {
            self.parts.copy(&self.f.values);
        }
        read(&mut |mut block| {
            if block.first == 0 {
                self.parts.start_pass(&self.f.values, &block);
            }
            if block.first == end {
                end = shards.documents(shard..shard + 1).end;
                self.tree.start(shard);
            }
            let ends = block.first + block.rows.len() == end;
            block.first -= first;
            self.add(&block);
            if ends {
                self.end_shard();
                shard += 1;
            }
            Ok(())
        })
    }

    /// Adds a block to the sums of its shard.
    fn add(&mut self, block: &Block<'_>) {
        let residual = self.update_l(block);
        let mut sums = PassSums::of(self.tree.current());
        *sums.kkt_residual += residual;
        sums.add(&self.parts, block, &self.l.values, &mut self.pending);
    }

    /// Adds the pending counts to the sums of the shard that ends here.
    fn end_shard(&mut self) {
        let mut sums = PassSums::of(self.tree.current());
        sums.add_pending(&self.parts, &self.l.values, &mut self.pending);
        self.tree.join();
    }

    /// Updates F by the sums of all shards.
    fn update_f(&mut self) -> Iteration {
        let sums = PassSums::of(self.tree.total());
        self.parts.multiply(&mut self.f.values, sums.statistics);
        self.f.scale_columns(&reciprocals(&self.f.column_sums()));
        Iteration {
            score: *sums.likelihood - self.entropy,
            residual: *sums.kkt_residual / self.tokens,
        }
    }
}

/// The sums of a pass over some documents, one after the other in a table.
pub(super) struct PassSums<'a> {
    /// The statistics of F, in the order of [`Parts`].
    pub(super) statistics: &'a mut [f64],
    pub(super) likelihood: &'a mut f64,
    kkt_residual: &'a mut f64,
}

impl<'a> PassSums<'a> {
    /// Number of sums in addition to the statistics.
    pub(super) const OTHERS: usize = 2;

    pub(super) fn of(table: &'a mut [f64]) -> Self {
        let (statistics, others) = table.split_at_mut(table.len() - Self::OTHERS);
        let (likelihood, kkt_residual) = others.split_at_mut(1);
        Self {
            statistics,
            likelihood: &mut likelihood[0],
            kkt_residual: &mut kkt_residual[0],
        }
    }

    /// Adds a block of documents: term shards in tiles to the sums, others to the pending counts. `l` has all rows of L.
    fn add(&mut self, parts: &Parts, block: &Block<'_>, l: &[f32], pending: &mut Pending) {
        *self.likelihood += parts.add_tiles(block, l, self.statistics);
        if parts.collect(block, pending) {
            self.add_pending(parts, l, pending);
        }
    }

    /// Adds a block of documents whose rows of L do not change until the pending counts are added, and returns the multipliers
    /// of these rows.
    pub(super) fn add_with_multipliers(
        &mut self,
        parts: &Parts,
        block: &Block<'_>,
        l: &[f32],
        pending: &mut Pending,
    ) -> Vec<f32> {
        *self.likelihood += parts.add_tiles(block, l, self.statistics);
        let (multipliers, likelihood, is_enough) = parts.collect_ratios(block, l, pending);
        *self.likelihood += likelihood;
        if is_enough {
            self.add_pending(parts, l, pending);
        }
        multipliers
    }

    /// Adds the pending counts.
    pub(super) fn add_pending(&mut self, parts: &Parts, l: &[f32], pending: &mut Pending) {
        *self.likelihood += parts.add_pending(pending, l, self.statistics);
    }
}

impl Iterate for StreamingEm {
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration> {
        let (streamed, documents) = (self.streamed, documents_in_block(counts.terms()));
        self.pass(|visit| for_each_block(counts, streamed, documents, visit))?;
        Ok(self.update_f())
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
