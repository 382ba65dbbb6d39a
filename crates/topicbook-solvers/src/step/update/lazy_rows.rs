//! L's logits and their optimizer state, one row per document, with lazy updates.
//!
//! Row-wise optimizers update the rows of the batch only. The plain loop of dense AdamW, with the factors of [`AdamWStep`], is:
//!
//! ```text
//! for each step t, for each document, for each topic:
//!     g = gradient of the entry, or 0 if the document is not in the batch
//!     m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//!     x = decay[t] x - size[t] m / (root[t] sqrt(v) + EPSILON)
//! ```
//!
//! Without a gradient, m and v shrink by constant factors, so the steps s + 1 to t of a stale row have a closed form:
//!
//! ```text
//! D[t] = decay[1] ... decay[t]                       // steps are counted from the last flush
//! shift[s] = sum of size[i] / (root[i] D[i]) (b1 / sqrt(b2))^(i - s) over i = s + 1, ..., t
//! x = D[t] / D[s] x - D[t] shift[s] m / (sqrt(v) + EPSILON);  m = b1^(t - s) m;  v = b2^(t - s) v
//! ```
//!
//! `skipped_steps.rs` stores D and shift of each step in `f64`, and s of each row. A row is replayed in O(topics) when it is next in
//! a batch, or at a flush, so a step costs O(batch x topics). A flush brings all rows up to date and restarts D. Checkpoints are
//! written after a flush, so a resumed fit has the same bits. Three things differ from the loop:
//!
//! 1. A step adds to the shifts of the last 256 steps only: it omits terms whose power of b1 / sqrt(b2) is below 2e-12.
//! 2. EPSILON is added to sqrt(v), not to root sqrt(v). As root is in (1, 32], this matters only where v is nearly zero.
//! 3. An entry is rounded to `f32` (or `bf16`) once for all the steps of a replay: results equal the loop's up to rounding.

use crate::config::{MiniBatch, TableStorage};
use crate::data::Matrix;
use crate::error::Result;
use crate::step::divergence::extent;
use crate::system::{Team, simd_dispatch, softmax};

use super::rows::{StoredRows, rounding_key};
use super::rule::{AdamWStep, Rule, UpdateRule, step_entry, with_rule};
use super::skipped_steps::{SkippedSteps, replay_row};

pub struct LazyRows {
    topics: usize,
    /// Values per entry of L: its logit, and the state that the optimizer keeps for it.
    tables: usize,
    /// Documents x tables x topics, so that all values of a document are contiguous.
    rows: StoredRows,
    storage: TableStorage,
    /// Steps taken since the start of the fit: rounding in `bf16` differs from step to step.
    steps: u64,
    /// The steps that stale rows have to replay; `None` for row-wise optimizers.
    skipped: Option<SkippedSteps>,
}

/// Why a row changes: between two steps it may change once for each reason.
#[derive(Clone, Copy)]
enum RowChange {
    Update,
    Replay,
}

impl LazyRows {
    /// Copies the logits of L and their optimizer state into the storage that the parameters name. With dense AdamW, rows
    /// outside the batch become stale.
    pub fn new(
        (l, l_state): (&Matrix, &[Matrix]),
        steps: u64,
        parameters: &MiniBatch,
    ) -> Result<Self> {
        let storage = &parameters.table_storage;
        let dense = parameters.optimizer.moves_all_rows();
        let (documents, topics) = l.shape();
        let tables = 1 + l_state.len();
        let width = topics * tables;
        let mut rows = StoredRows::zeros(documents, width, storage, parameters.table_precision)?;
        for document in 0..documents {
            rows.change(document, None, |row| {
                let tables = std::iter::once(l).chain(l_state);
                for (table, part) in tables.zip(row.chunks_exact_mut(topics)) {
                    part.copy_from_slice(table.row(document));
                }
            });
        }
        // They may be in mapped files, whose lost pages read as zeros.
        for table in std::iter::once(l).chain(l_state) {
            table.check_kept()?;
        }
        rows.advise_random();
        Ok(Self {
            topics,
            tables,
            rows,
            storage: storage.clone(),
            steps,
            skipped: dense.then(|| SkippedSteps::new(documents)),
        })
    }

    /// Prefetches the rows of these documents, if they are in a mapped file (`MADV_WILLNEED`).
    pub fn prefetch(&self, documents: &[usize]) {
        documents
            .iter()
            .for_each(|document| self.rows.prefetch(*document));
    }

    /// Replays the steps that a row has skipped.
    pub fn bring_up_to_date(&mut self, document: usize) {
        if let Some(replay) = self.skipped.as_mut().and_then(|all| all.replay(document)) {
            let (topics, key) = (self.topics, key(document, RowChange::Replay, self.steps));
            self.rows
                .change(document, key, |row| replay_row(row, replay, topics));
        }
    }

    /// Copies the logits of a document, which are only valid if its row is up to date.
    pub fn copy_logits(&self, document: usize, out: &mut [f32]) {
        self.rows.copy(document, 0..self.topics, out);
    }

    /// Brings a document's row up to date and writes the softmax of its logits into `weights`.
    pub fn weights(&mut self, document: usize, weights: &mut [f32]) {
        self.bring_up_to_date(document);
        self.softmax(document, weights);
    }

    /// Writes the softmax of a document's logits, whose row has to be up to date.
    fn softmax(&self, document: usize, weights: &mut [f32]) {
        self.copy_logits(document, weights);
        softmax(weights);
    }

    /// Updates the rows of the batch with their gradients (documents x topics). Under dense AdamW all other rows skip
    /// this step, whose sizes are `step_sizes`.
    pub fn step(
        &mut self,
        documents: &[usize],
        gradients: &[f32],
        rule: UpdateRule,
        step_sizes: AdamWStep,
    ) {
        self.update_rows(documents, gradients, rule);
        self.mark_updated(documents, step_sizes);
    }

    /// The first half of [`step`](Self::step): updates the rows of the batch. It may run after the second half, as long
    /// as these rows are not read in between.
    pub fn update_rows(&mut self, documents: &[usize], gradients: &[f32], rule: UpdateRule) {
        let rows = gradients.chunks_exact(self.topics);
        for (&document, gradients) in documents.iter().zip(rows) {
            let key = key(document, RowChange::Update, self.steps);
            self.rows
                .change(document, key, |row| step_row(row, gradients, rule));
        }
    }

    /// The second half of [`step`](Self::step): counts a step, with which the rows of the batch are up to date and all
    /// others are not.
    pub fn mark_updated(&mut self, documents: &[usize], step_sizes: AdamWStep) {
        self.steps = self.steps.wrapping_add(1);
        if let Some(skipped) = &mut self.skipped {
            skipped.step(documents, step_sizes);
        }
    }

    /// Brings every row up to date and restarts the count of skipped steps. Costs O(documents x topics).
    pub fn flush(&mut self, team: &mut Team) {
        let (topics, steps) = (self.topics, self.steps);
        let Some(skipped) = &mut self.skipped else {
            return;
        };
        let all = &*skipped;
        self.rows.change_all(
            team,
            |document| key(document, RowChange::Replay, steps),
            |document, row| {
                if let Some(replay) = all.of(document) {
                    replay_row(row, replay, topics);
                }
            },
        );
        skipped.reset();
    }

    /// Copies of the logits and of their optimizer state. Call after [`flush`](Self::flush).
    pub fn tables(&self) -> Result<(Matrix, Vec<Matrix>)> {
        let table = |table: usize| {
            let part = table * self.topics..(table + 1) * self.topics;
            self.table(|document, row| self.rows.copy(document, part.clone(), row))
        };
        let state = (1..self.tables).map(table).collect::<Result<_>>()?;
        Ok((table(0)?, state))
    }

    /// The largest absolute value of a logit; infinity where one is NaN. Call after [`flush`](Self::flush).
    pub fn extent(&self) -> f32 {
        let mut logits = vec![0.0; self.topics];
        let rows = (0..self.rows.len()).map(|document| {
            self.rows.read_ahead(document);
            self.copy_logits(document, &mut logits);
            extent(&logits)
        });
        rows.fold(0.0, f32::max)
    }

    /// L: the softmax of every row. Call after [`flush`](Self::flush).
    pub fn probabilities(&self) -> Result<Matrix> {
        self.table(|document, row| self.softmax(document, row))
    }

    /// A new table of documents x topics in the same kind of storage as the rows, in `f32`.
    fn table(&self, mut fill: impl FnMut(usize, &mut [f32])) -> Result<Matrix> {
        let mut values = self.storage.zeros::<f32>(self.rows.len() * self.topics)?;
        for (document, row) in values.chunks_exact_mut(self.topics).enumerate() {
            self.rows.read_ahead(document);
            fill(document, row);
        }
        self.rows.check_kept()?;
        values.check_kept()?;
        Ok(Matrix::of(self.rows.len(), self.topics, values))
    }
}

/// The key of the random bits for a change of a row after `steps` steps. No two changes have the same key.
fn key(document: usize, change: RowChange, steps: u64) -> Option<u64> {
    Some(rounding_key(2 * document as u64 + change as u64, steps))
}

simd_dispatch! {
    /// Updates a row, its values and then their state, with the gradients of its values.
    pub fn step_row(row: &mut [f32], gradients: &[f32], rule: UpdateRule) {
        with_rule!(rule, rule => step_entries(rule, row, gradients))
    }
}

#[inline(always)]
fn step_entries<const S: usize, R: Rule<S>>(rule: R, row: &mut [f32], gradients: &[f32]) {
    let topics = gradients.len();
    let (logits, state) = row.split_at_mut(topics);
    let (first, second) = state.split_at_mut(topics);
    let second = &mut second[..if S > 1 { topics } else { 0 }];
    for entry in 0..topics {
        let gradient = gradients[entry];
        logits[entry] = step_entry(rule, logits[entry], gradient, first, second, entry);
    }
}
