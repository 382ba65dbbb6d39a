//! Folding-in: rows of L for new documents, with F fixed.

use std::cell::RefCell;

use rayon::prelude::*;

use crate::batches::Reading;
use crate::config::SMALLEST_RATE;
use crate::counts::Counts;
use crate::counts::rows::{Block, NonzeroBuffer, for_each_block, nonzeros_of_row};
use crate::data::Matrix;
use crate::error::Result;

use super::factor::{CHUNK, Factor};
use super::parts::TermLayouts;
use super::parts::{NEWTON_DOCUMENTS, NewtonRows, Parts};
use super::row_update::{DescentScratch, RowProblem, improve};
use super::streaming_em::documents_in_block;

/// Sweeps over a document's coordinates in a round, that is, between two convergence checks.
const SWEEPS: usize = 8;
/// Maximum number of rounds.
const MAX_ROUNDS: usize = 100;
/// A document has converged when a step of expectation-maximisation would move at most this fraction of its tokens.
const TOLERANCE: f64 = 1e-6;
/// Floor of a topic's share of a document's tokens.
const SMALLEST_SHARE: f32 = 1e-10;

thread_local! {
    static SCRATCH: RefCell<(DescentScratch, NonzeroBuffer)> = RefCell::default();
}

/// Bytes that [`fold_in`] allocates for counts of this shape, without the counts: L in tokens and in proportions, and F transposed.
pub fn fold_in_bytes((documents, terms): (usize, usize), topics: usize) -> u64 {
    let (terms, topics) = (terms as u64, topics as u64);
    let rows = 2 * documents as u64 + terms;
    let newton = Parts::newton_bytes(topics) * rayon::current_num_threads() as u64;
    rows.saturating_mul(4 * topics)
        .saturating_add(4 * Parts::values(terms, topics) + newton)
}

/// The maximum-likelihood L (documents x topics, rows summing to one) given F (topics x terms, rows summing to one).
/// Documents without counts get equal proportions.
pub fn fold_in(counts: &Counts, f: &Matrix) -> Result<Matrix> {
    let mut fold_in = FoldIn::new(Factor::from_f(f));
    let topics = fold_in.f.topics;
    let mut l = Factor {
        topics,
        values: vec![0.0; counts.documents() * topics],
    };
    let documents = documents_in_block(counts.terms());
    let streamed = Reading::Auto
        .resolve(counts, documents)?
        .shuffle()
        .is_some();
    for_each_block(counts, streamed, documents, &mut |block| {
        if block.first == 0 {
            fold_in.start(&block);
        }
        let range = block.first * topics..(block.first + block.rows.len()) * topics;
        fold_in.rows(&block, &mut l.values[range]);
        Ok(())
    })?;
    Ok(l.proportions())
}

/// Folding-in block by block.
pub struct FoldIn {
    /// F in probabilities (terms x topics).
    f: Factor,
    column_sums: Vec<f32>,
    parts: Parts,
}

impl FoldIn {
    fn new(f: Factor) -> Self {
        let sums = f.column_sums().into_iter();
        Self {
            column_sums: sums.map(|sum| sum as f32).collect(),
            parts: Parts::new(f.values.len() / f.topics, f.topics),
            f,
        }
    }

    /// For F in probabilities (terms x topics), whose term shards have these layouts.
    pub fn for_documents(f: Vec<f32>, topics: usize, layouts: TermLayouts) -> Self {
        let mut fold_in = Self::new(Factor { topics, values: f });
        fold_in.parts.set_layouts(layouts);
        fold_in.parts.copy(&fold_in.f.values);
        fold_in
    }

    fn start(&mut self, first: &Block<'_>) {
        self.parts.start_pass(&self.f.values, first);
    }

    /// Computes the rows of L of a block, in tokens.
    fn rows(&self, block: &Block<'_>, rows: &mut [f32]) {
        if self.parts.prefers_newton() {
            return fold_in_dense(block, &self.parts, &self.column_sums, rows);
        }
        let (terms, topics) = (self.parts.terms(), self.f.topics);
        let problem = RowProblem {
            factor: &self.f.values,
            column_sums: &self.column_sums,
            sweeps: SWEEPS,
        };
        let chunks = rows.par_chunks_mut(CHUNK * topics).enumerate();
        chunks.for_each(|(chunk, rows)| {
            SCRATCH.with_borrow_mut(|(scratch, buffer)| {
                for (row, weights) in rows.chunks_mut(topics).enumerate() {
                    let row = block.rows.start + chunk * CHUNK + row;
                    let (columns, counts) = nonzeros_of_row(&block.view, terms, row, buffer);
                    let total: f64 = counts.iter().map(|count| f64::from(*count)).sum();
                    let floor = SMALLEST_SHARE * total as f32;
                    weights.fill(total as f32 / topics as f32);
                    for _ in 0..MAX_ROUNDS {
                        let outcome = improve(columns, counts, &problem, floor, weights, scratch);
                        if outcome.kkt_residual <= TOLERANCE * total {
                            break;
                        }
                    }
                }
            });
        });
    }

    /// The rows of L of a block, which sum to one.
    pub fn proportions(&self, block: &Block<'_>) -> Vec<f32> {
        let topics = self.f.topics;
        let mut values = vec![0.0; block.rows.len() * topics];
        self.rows(block, &mut values);
        Factor { topics, values }.proportions().into_values()
    }

    /// The sum of x log rate of a block, whose rows of L sum to one.
    pub fn log_likelihood(&self, block: &Block<'_>, rows: &[f32]) -> f64 {
        let block = Block {
            first: 0,
            ..block.clone()
        };
        self.parts.log_likelihood(&block, rows, SMALLEST_RATE)
    }
}

/// Folds in a block of dense counts.
fn fold_in_dense(block: &Block<'_>, parts: &Parts, column_sums: &[f32], rows: &mut [f32]) {
    let (terms, topics) = (parts.terms(), column_sums.len());
    let rows = rows.par_chunks_mut(NEWTON_DOCUMENTS * topics);
    let tasks = rows.enumerate().with_max_len(1);
    tasks.for_each(|(task, weights)| {
        let first = block.rows.start + task * NEWTON_DOCUMENTS;
        let rows = first..first + weights.len() / topics;
        let tokens: Vec<f64> = SCRATCH.with_borrow_mut(|(_, buffer)| {
            let totals = rows.clone().map(|row| {
                let (_, counts) = nonzeros_of_row(&block.view, terms, row, buffer);
                counts.iter().map(|count| f64::from(*count)).sum()
            });
            totals.collect()
        });
        for (weights, tokens) in weights.chunks_mut(topics).zip(&tokens) {
            weights.fill((*tokens / topics as f64) as f32);
        }
        let rows = NewtonRows {
            view: &block.view,
            rows,
            tokens: &tokens,
            column_sums,
            smallest_share: SMALLEST_SHARE,
        };
        for _ in 0..MAX_ROUNDS {
            let residuals = parts.improve_rows(&rows, weights);
            let mut documents = residuals.iter().zip(&tokens);
            if documents.all(|(residual, tokens)| *residual <= TOLERANCE * tokens) {
                break;
            }
        }
    });
}
