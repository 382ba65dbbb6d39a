//! A term shard: a range of terms with F's logits and their optimizer state, and a batch's sums over these terms.

use std::ops::Range;

use crate::counts::View;
use crate::data::Matrix;
use crate::kernels::{DocumentNonzeros, TableShape, TermLayout};
use crate::step::divergence;
use crate::step::update::UpdateRule;
use crate::system::{Aligned, Values, aligned_zeros, exp, lazy_zeroed, simd_dispatch};

use super::kept::add_kept;
use super::row_gradient::RowGradient;
use super::scratch::{SCRATCH, StepScratch};
use super::sparse::RowSums;
use super::tiles::TileSums;
use super::update_pass::{Constants, Gradients, Tables, update_tables};
use super::weights::Weights;

pub struct TermShard {
    /// The shape of the logits, and of each other table of the shard.
    shape: TableShape,
    logits: Aligned<f32>,
    state: Vec<Aligned<f32>>,
    /// In tiles, the exponentials of the logits minus the offsets of the last sums, padded with zeros: gradients need all of them,
    /// and so does the update. Empty in rows, where gradients need few of them.
    exps: Aligned<f32>,
    gradient: Gradient,
    /// The largest logit over the shard's terms, per topic.
    pub largest: Vec<f32>,
    /// Sums of the exponentials over the terms, per topic.
    pub exp_sums: Vec<f64>,
    /// These terms' contribution to the gradients with respect to the batch's weights: documents x width.
    pub weight_gradients: Vec<f32>,
    /// These terms' contribution to the batch's sum of x log rate.
    pub likelihood: f64,
}

/// The accumulated gradients of the sum of x log rate, for the terms of a shard.
enum Gradient {
    Rows {
        /// Nonzero counts of the last micro-batch, whose gradients are still to be added.
        kept: DocumentNonzeros,
        /// The gradients that were added since the last update.
        table: RowGradient,
    },
    Tiles {
        values: Values,
        /// Whether nothing has been added yet. The values are then left over from an earlier step.
        is_clear: bool,
    },
}

impl Gradient {
    fn new(shape: &TableShape) -> Self {
        match shape.layout {
            TermLayout::Rows => Self::Rows {
                kept: DocumentNonzeros::default(),
                table: RowGradient::new(shape.terms.len(), shape.topics),
            },
            TermLayout::Tiles => Self::Tiles {
                values: lazy_zeroed(shape.values()),
                is_clear: true,
            },
        }
    }

    /// The accumulated gradient at an index, without the nonzero counts that are kept.
    fn value(&self, at: usize) -> f32 {
        match self {
            Self::Rows { table, .. } => table.value(at),
            Self::Tiles { is_clear: true, .. } => 0.0,
            Self::Tiles { values, .. } => values[at],
        }
    }
}

impl TermShard {
    /// Copies the terms of `range` from F's logits and their optimizer state (topics x all terms).
    pub fn new(range: Range<usize>, logits: &Matrix, state: &[Matrix]) -> Self {
        let topics = logits.rows();
        let shape = TableShape::packed(range, topics, TermLayout::Rows);
        Self {
            logits: shape.cut(logits),
            state: state.iter().map(|table| shape.cut(table)).collect(),
            exps: aligned_zeros(0),
            gradient: Gradient::new(&shape),
            largest: vec![0.0; topics],
            exp_sums: vec![0.0; topics],
            weight_gradients: Vec::new(),
            likelihood: 0.0,
            shape,
        }
    }

    /// Changes to the layout that is faster for a batch, whose documents are `rows` of the counts. Accumulated gradients are lost.
    pub fn choose_layout(
        &mut self,
        counts: &View<'_>,
        all_terms: usize,
        rows: &[usize],
        offsets: &[f32],
    ) {
        let terms = self.shape.terms.clone();
        let layout = TermLayout::of(counts, all_terms, rows.iter().copied(), &terms);
        if layout == self.shape.layout {
            return;
        }
        let shape = TableShape::packed(terms, self.shape.topics, layout);
        for table in std::iter::once(&mut self.logits).chain(&mut self.state) {
            *table = self.shape.convert(table, &shape);
        }
        self.exps = aligned_zeros(match layout {
            TermLayout::Rows => 0,
            TermLayout::Tiles => shape.values(),
        });
        self.gradient = Gradient::new(&shape);
        self.shape = shape;
        self.recompute_sums(offsets);
    }

    /// Computes the contribution of the shard's terms to a batch's likelihood and weight gradients. Adds the gradients of the terms
    /// to the accumulated ones, or keeps the nonzero counts that they are computed from.
    pub fn accumulate(&mut self, counts: &View<'_>, all_terms: usize, weights: &Weights<'_>) {
        let sums = &mut self.weight_gradients;
        sums.clear();
        sums.resize(weights.padded.len(), 0.0);
        self.likelihood = 0.0;
        match &mut self.gradient {
            Gradient::Tiles { values, is_clear } => {
                let sums = TileSums {
                    weights,
                    exps: &self.exps,
                    gradient: values,
                    weight_gradients: sums,
                    likelihood: &mut self.likelihood,
                };
                sums.accumulate(counts, all_terms, &self.shape, is_clear);
            }
            Gradient::Rows { kept, table } => {
                let sums = RowSums {
                    weights,
                    logits: &self.logits,
                    kept,
                    gradient: table,
                    weight_gradients: sums,
                    likelihood: &mut self.likelihood,
                };
                sums.accumulate(counts, all_terms, &self.shape.terms);
            }
        }
    }

    /// Adds the kept nonzero counts of the last batch, which had these padded weights, to the gradients of the terms.
    pub fn add_kept(&mut self, weights: &[f32]) {
        if let Gradient::Rows { kept, table } = &mut self.gradient {
            add_kept(kept, table, weights);
        }
    }

    /// Multiplies the accumulated gradients of the terms by a factor.
    pub fn scale_gradient(&mut self, factor: f32) {
        match &mut self.gradient {
            Gradient::Rows { table, .. } => table.scale(factor),
            Gradient::Tiles { is_clear: true, .. } => {}
            Gradient::Tiles { values, .. } => values.iter_mut().for_each(|value| *value *= factor),
        }
    }

    /// Recomputes the largest logit of every topic.
    pub fn find_largest(&mut self) {
        self.largest.fill(f32::MIN);
        for term in 0..self.shape.terms.len() {
            for (largest, at) in self.largest.iter_mut().zip(self.shape.row(term)) {
                *largest = largest.max(self.logits[at]);
            }
        }
    }

    /// The largest absolute value of a logit; infinity where one is NaN.
    pub fn extent(&self) -> f32 {
        divergence::extent(&self.logits)
    }

    /// Recomputes the exponentials and their sums from the logits.
    pub fn recompute_sums(&mut self, offsets: &[f32]) {
        let (logits, sums) = (&self.logits, &mut self.exp_sums);
        add_exponentials(&self.shape, logits, offsets, &mut self.exps, sums);
    }

    /// Updates the shard's logits with their accumulated gradients, clears these, and recomputes the sums of the
    /// exponentials. `weights` are the padded weights of the last batch.
    pub fn update(&mut self, constants: &Constants, rule: UpdateRule, weights: &[f32]) {
        let shape = &self.shape;
        SCRATCH.with_borrow_mut(
            |StepScratch {
                 gradient: shared,
                 lanes,
                 ..
             }| {
                lanes.start(shape.layout, constants);
                let tables = Tables {
                    logits: &mut self.logits,
                    state: &mut self.state,
                    lanes,
                };
                let gradient = match &mut self.gradient {
                    Gradient::Rows { kept, table } => {
                        let table = match table.is_clear() {
                            true => {
                                shared.start(shape.terms.len(), shape.topics);
                                shared
                            }
                            false => table,
                        };
                        add_kept(kept, table, weights);
                        Gradients::Rows(table)
                    }
                    Gradient::Tiles { values, is_clear } => {
                        let values = (!std::mem::replace(is_clear, true)).then_some(&**values);
                        Gradients::Tiles(values, &mut self.exps)
                    }
                };
                update_tables(tables, gradient, shape, constants, rule);
                lanes.reduce(shape.layout, &mut self.exp_sums, &mut self.largest);
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
        for (term, value) in row[self.shape.terms.clone()].iter_mut().enumerate() {
            *value = part[self.shape.at(term, topic)];
        }
    }

    /// Copies the shard's terms of a topic's row of F. `row` has all terms.
    pub fn copy_probabilities(&self, topic: usize, scale: f64, offsets: &[f32], row: &mut [f32]) {
        let row = &mut row[self.shape.terms.clone()];
        probabilities(self, topic, scale, offsets, row);
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
            let row = &mut row[self.shape.terms.clone()];
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
        let at = self.shape.at(term, topic);
        let exp = exp(self.logits[at] - offsets[topic]);
        f64::from(exp) * (scaled_totals[topic] - f64::from(self.gradient.value(at)))
    }
}

simd_dispatch! {
    /// Writes each topic's sum of the exponentials of a shard's logits minus their offsets; in tiles, also the exponentials.
    fn add_exponentials(
        shape: &TableShape,
        logits: &[f32],
        offsets: &[f32],
        exps: &mut [f32],
        sums: &mut [f64],
    ) {
        sums.fill(0.0);
        if shape.layout == TermLayout::Rows {
            let terms = shape.terms.len();
            for row in logits.chunks_exact(offsets.len()).take(terms) {
                for ((sum, value), offset) in sums.iter_mut().zip(row).zip(offsets) {
                    *sum += f64::from(exp(value - offset));
                }
            }
            return;
        }
        for (tile, at) in shape.tiles() {
            let logits = logits[at.clone()].chunks_exact(tile.width);
            let rows = logits.zip(exps[at].chunks_exact_mut(tile.width));
            for ((sum, offset), (logits, exps)) in sums.iter_mut().zip(offsets).zip(rows) {
                let exps = &mut exps[..tile.terms.len()];
                for (power, value) in exps.iter_mut().zip(logits) {
                    *power = exp(value - offset);
                }
                for power in exps {
                    *sum += f64::from(*power);
                }
            }
        }
    }
}

simd_dispatch! {
    /// Writes a topic's probabilities of the shard's terms.
    fn probabilities(shard: &TermShard, topic: usize, scale: f64, offsets: &[f32], row: &mut [f32]) {
        for (term, value) in row.iter_mut().enumerate() {
            let logit = shard.logits[shard.shape.at(term, topic)];
            *value = (f64::from(exp(logit - offsets[topic])) * scale) as f32;
        }
    }
}

simd_dispatch! {
    /// Adds the squared gradients of the shard's logits.
    fn add_squares(shard: &TermShard, scaled_totals: &[f64], offsets: &[f32], squares: &mut f64) {
        for term in 0..shard.shape.terms.len() {
            for topic in 0..shard.shape.topics {
                *squares += shard.gradient(term, topic, scaled_totals, offsets).powi(2);
            }
        }
    }
}
