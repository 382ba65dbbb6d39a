//! A term shard: a range of terms with F's logits and their optimizer state.

use std::ops::Range;

use crate::counts::View;
use crate::data::Matrix;
use crate::kernels::{TermLayout, tiled_terms, tiles};
use crate::step::divergence;
use crate::step::update::UpdateRule;
use crate::system::{Aligned, LANES, aligned_zeros, exp, simd_dispatch};

use super::accumulate::{Accumulator, Gradient, Weights, reorder};
use super::exps::{exponentials_of_tiles, sum_of_rows, sum_of_tiles};
use super::scratch::{SCRATCH, StepScratch};
use super::update_pass::{Constants, Gradients, Tables, update_tables};

pub struct TermShard {
    pub accumulator: Accumulator,
    /// In the accumulator's layout, like each table of the optimizer's state.
    logits: Aligned<f32>,
    state: Vec<Aligned<f32>>,
    /// In tiles, the exponentials of the logits minus the offsets of the last sums, padded with zeros: gradients need all of them,
    /// and so does the update. Empty in rows, where gradients need few of them.
    exps: Aligned<f32>,
    /// The largest logit over the shard's terms, per topic.
    pub largest: Vec<f32>,
}

impl TermShard {
    /// Copies the terms of `range` from F's logits and their optimizer state (topics x all terms).
    pub fn new(range: Range<usize>, logits: &Matrix, state: &[Matrix]) -> Self {
        let topics = logits.rows();
        let part = |table: &Matrix| {
            // Padded by one register, because the last row is read in whole registers.
            let mut part = aligned_zeros(tiled_terms(range.len()) * topics + LANES);
            for topic in 0..topics {
                let values = &table.row(topic)[range.clone()];
                for (row, value) in part.chunks_exact_mut(topics).zip(values) {
                    row[topic] = *value;
                }
            }
            part
        };
        Self {
            logits: part(logits),
            state: state.iter().map(part).collect(),
            exps: aligned_zeros(0),
            largest: vec![0.0; topics],
            accumulator: Accumulator::new(range, topics, TermLayout::Rows),
        }
    }

    /// Changes to the layout that is faster for a batch, whose documents are `rows` of the counts.
    pub fn choose_form(
        &mut self,
        counts: &View<'_>,
        all_terms: usize,
        rows: &[usize],
        offsets: &[f32],
    ) {
        let (old, new) = (
            self.accumulator.form(),
            self.accumulator.best_form(counts, all_terms, rows),
        );
        if old == new {
            return;
        }
        let shape = (self.terms(), self.topics());
        for table in std::iter::once(&mut self.logits).chain(&mut self.state) {
            let mut reordered = aligned_zeros(table.len());
            reorder(table, &mut reordered, old, new, shape);
            *table = reordered;
        }
        self.accumulator.set_form(new);
        let exps = match new {
            TermLayout::Rows => 0,
            TermLayout::Tiles => tiled_terms(shape.0) * shape.1,
        };
        self.exps = aligned_zeros(exps);
        self.recompute_sums(offsets);
    }

    /// Computes the contribution of the shard's terms to a batch's likelihood and gradients.
    pub fn accumulate(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        let values = match self.accumulator.form() {
            TermLayout::Rows => &self.logits,
            TermLayout::Tiles => &self.exps,
        };
        self.accumulator
            .accumulate(values, counts, all_terms, weights);
    }

    fn terms(&self) -> usize {
        self.accumulator.range.len()
    }

    fn topics(&self) -> usize {
        self.accumulator.topics
    }

    /// Recomputes the largest logit of every topic.
    pub fn find_largest(&mut self) {
        let (terms, topics) = (self.terms(), self.topics());
        self.largest.fill(f32::MIN);
        match self.accumulator.form() {
            TermLayout::Rows => {
                for row in self.logits[..terms * topics].chunks_exact(topics) {
                    for (largest, value) in self.largest.iter_mut().zip(row) {
                        *largest = largest.max(*value);
                    }
                }
            }
            TermLayout::Tiles => {
                for tile in tiles(0..terms) {
                    let rows = self.logits[tile.terms.start * topics..].chunks_exact(tile.width);
                    for (largest, row) in self.largest.iter_mut().zip(rows) {
                        let values = row[..tile.terms.len()].iter().copied();
                        *largest = values.fold(*largest, f32::max);
                    }
                }
            }
        }
    }

    /// The largest absolute value of a logit; infinity where one is NaN.
    pub fn extent(&self) -> f32 {
        divergence::extent(&self.logits)
    }

    /// Recomputes the exponentials and their sums from the logits.
    pub fn recompute_sums(&mut self, offsets: &[f32]) {
        let (terms, topics) = (self.terms(), self.topics());
        let sums = &mut self.accumulator.exp_sums;
        match self.exps.is_empty() {
            true => sum_of_rows(&self.logits[..terms * topics], offsets, sums),
            false => {
                exponentials_of_tiles(&self.logits, offsets, terms, &mut self.exps);
                sum_of_tiles(&self.exps, terms, sums);
            }
        }
    }

    /// Updates the shard's logits with their accumulated gradients, clears these, and recomputes the sums of the
    /// exponentials. `weights` are the padded weights of the last batch.
    pub fn update(&mut self, constants: &Constants, rule: UpdateRule, weights: &[f32]) {
        let (terms, topics) = (self.terms(), self.topics());
        let form = self.accumulator.form();
        SCRATCH.with_borrow_mut(
            |StepScratch {
                 gradient: shared,
                 lanes,
                 ..
             }| {
                lanes.start(form, constants);
                let tables = Tables {
                    logits: &mut self.logits,
                    state: &mut self.state,
                    lanes,
                };
                let gradient = match self.accumulator.gradient_mut() {
                    Gradient::Rows { kept, table } => {
                        let table = match table.is_clear() {
                            true => {
                                shared.start(terms, topics);
                                shared
                            }
                            false => table,
                        };
                        kept.add_to(table, weights);
                        Gradients::Rows(table)
                    }
                    Gradient::Tiles { values, is_clear } => {
                        let values = (!std::mem::replace(is_clear, true)).then_some(&**values);
                        Gradients::Tiles(values, &mut self.exps)
                    }
                };
                update_tables(tables, gradient, terms, constants, rule);
                lanes.reduce(form, &mut self.accumulator.exp_sums, &mut self.largest);
            },
        );
    }

    /// Copies the shard's terms of a topic's row of a table: 0 is the logits, the others are the optimizer's state. `row` has
    /// all terms.
    pub fn copy_table(&self, table: usize, topic: usize, row: &mut [f32]) {
        let part = match table {
            0 => &self.logits,
            table => &self.state[table - 1],
        };
        for (term, value) in row[self.accumulator.range.clone()].iter_mut().enumerate() {
            *value = part[self.at(term, topic)];
        }
    }

    /// Copies the shard's terms of a topic's row of F. `row` has all terms.
    pub fn copy_probabilities(&self, topic: usize, scale: f64, offsets: &[f32], row: &mut [f32]) {
        let row = &mut row[self.accumulator.range.clone()];
        probabilities(self, topic, scale, offsets, row);
    }

    /// The index of a term and topic in the tables.
    #[inline(always)]
    fn at(&self, term: usize, topic: usize) -> usize {
        let form = self.accumulator.form();
        form.at(self.terms(), self.topics(), term, topic)
    }

    /// The exponential of a term and topic.
    #[inline(always)]
    fn exp(&self, term: usize, topic: usize, offsets: &[f32]) -> f32 {
        exp(self.logits[self.at(term, topic)] - offsets[topic])
    }

    /// Copies the gradients with respect to the shard's logits into a table of topics x `all_terms`; `scaled_totals` is each
    /// topic's expected number of the batch's tokens times its scale.
    pub fn copy_gradients(
        &self,
        scaled_totals: &[f64],
        offsets: &[f32],
        all_terms: usize,
        table: &mut [f32],
    ) {
        for (topic, row) in table.chunks_exact_mut(all_terms).enumerate() {
            let row = &mut row[self.accumulator.range.clone()];
            for (term, value) in row.iter_mut().enumerate() {
                *value = self.gradient(term, topic, scaled_totals, offsets) as f32;
            }
        }
    }

    /// The sum of the squared gradients with respect to the shard's logits.
    pub fn squared_gradient(&self, scaled_totals: &[f64], offsets: &[f32]) -> f64 {
        let mut squares = 0.0;
        add_squares(self, scaled_totals, offsets, &mut squares);
        squares
    }

    /// The gradient through the softmax.
    #[inline(always)]
    fn gradient(&self, term: usize, topic: usize, scaled_totals: &[f64], offsets: &[f32]) -> f64 {
        let accumulated = f64::from(self.accumulator.gradient(term, topic));
        f64::from(self.exp(term, topic, offsets)) * (scaled_totals[topic] - accumulated)
    }
}

simd_dispatch! {
    /// Writes a topic's probabilities of the shard's terms.
    fn probabilities(shard: &TermShard, topic: usize, scale: f64, offsets: &[f32], row: &mut [f32]) {
        for (term, value) in row.iter_mut().enumerate() {
            *value = (f64::from(shard.exp(term, topic, offsets)) * scale) as f32;
        }
    }
}

simd_dispatch! {
    /// Adds the squared gradients of the shard's logits.
    fn add_squares(shard: &TermShard, scaled_totals: &[f64], offsets: &[f32], squares: &mut f64) {
        for term in 0..shard.terms() {
            for topic in 0..shard.topics() {
                *squares += shard.gradient(term, topic, scaled_totals, offsets).powi(2);
            }
        }
    }
}
