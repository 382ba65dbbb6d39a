//! F's logits with the optimizer's state, a row for each term.

use rayon::prelude::*;

use crate::solvers::factor::{CHUNK, Factor, exponentials_of, reciprocals};
use crate::step::divergence;
use crate::step::update::{UpdateRule, step_row};

/// For each term a row: its logits, then its values of each table of the optimizer's state.
pub(super) struct TermRows {
    topics: usize,
    /// Values of a row.
    width: usize,
    values: Vec<f32>,
}

impl TermRows {
    /// From the logits and the tables of the optimizer's state, each terms x topics.
    pub(super) fn new(tables: &[Vec<f32>], topics: usize) -> Self {
        let width = tables.len() * topics;
        let values = tables.iter().map(Vec::len).sum();
        let mut values = vec![0.0; values];
        for (term, row) in values.chunks_exact_mut(width).enumerate() {
            for (part, table) in row.chunks_exact_mut(topics).zip(tables) {
                part.copy_from_slice(&table[term * topics..][..topics]);
            }
        }
        Self {
            topics,
            width,
            values,
        }
    }

    /// The tables that the rows were made from.
    pub(super) fn tables(&self) -> Vec<Vec<f32>> {
        let table = |first: usize| {
            let rows = self.values.chunks_exact(self.width);
            rows.flat_map(|row| row[first..first + self.topics].iter().copied())
                .collect()
        };
        (0..self.width).step_by(self.topics).map(table).collect()
    }

    /// One step of the optimizer. `f` are the probabilities. `expected` are the tokens that the model expects of each term from
    /// each topic, and `totals` their column sums.
    pub(super) fn step(
        &mut self,
        f: &Factor,
        (expected, totals): (&Factor, &[f64]),
        rule: UpdateRule,
    ) {
        let (topics, width) = (self.topics, self.width);
        let rows = self.values.par_chunks_mut(CHUNK * width);
        let f = f.values.par_chunks(CHUNK * topics);
        let expected = expected.values.par_chunks(CHUNK * topics);
        rows.zip(f).zip(expected).for_each(|((rows, f), expected)| {
            let mut gradients = vec![0.0; topics];
            let terms = f.chunks(topics).zip(expected.chunks(topics));
            for (row, (f, expected)) in rows.chunks_mut(width).zip(terms) {
                for (topic, gradient) in gradients.iter_mut().enumerate() {
                    let share = f64::from(f[topic]) * totals[topic];
                    *gradient = (share - f64::from(expected[topic])) as f32;
                }
                step_row(row, &gradients, rule);
            }
        });
    }

    /// Writes F in probabilities (terms x topics).
    pub(super) fn probabilities(&self, f: &mut Factor) {
        exponentials_of(&self.values, self.width, f);
        f.scale_columns(&reciprocals(&f.column_sums()));
    }

    /// The largest absolute value of a logit; infinity where one is NaN.
    pub(super) fn extent(&self) -> f32 {
        let rows = self.values.chunks_exact(self.width);
        rows.map(|row| divergence::extent(&row[..self.topics]))
            .fold(0.0, f32::max)
    }
}
