//! Tables of positive numbers with one row per document or per term, and one column per topic.

use rayon::prelude::*;

use crate::matrix::Matrix;

/// Rows that one task works on. Sums are taken over such chunks in their order, whatever thread had which.
pub(super) const CHUNK: usize = 32;

/// A row per document or term, topics side by side.
#[derive(Clone, Default)]
pub(super) struct Table {
    pub(super) topics: usize,
    pub(super) values: Vec<f32>,
}

impl Table {
    /// L as it is given: documents x topics.
    pub(super) fn of_documents(l: &Matrix) -> Self {
        Self {
            topics: l.columns(),
            values: l.values().to_vec(),
        }
    }

    /// F, which is given as topics x terms.
    pub(super) fn of_terms(f: &Matrix) -> Self {
        let (topics, terms) = f.shape();
        let mut values = vec![0.0; topics * terms];
        for (topic, row) in f.values().chunks(terms).enumerate() {
            for (term, value) in row.iter().enumerate() {
                values[term * topics + topic] = *value;
            }
        }
        Self { topics, values }
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.topics..(row + 1) * self.topics]
    }

    /// The sum of each column.
    pub(super) fn sums(&self) -> Vec<f64> {
        let parts: Vec<Vec<f64>> = self
            .values
            .par_chunks(CHUNK * self.topics)
            .map(|rows| {
                let mut sums = vec![0.0; self.topics];
                for row in rows.chunks(self.topics) {
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum += f64::from(*value);
                    }
                }
                sums
            })
            .collect();
        let mut sums = vec![0.0; self.topics];
        for part in parts {
            sums.iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum += part);
        }
        sums
    }

    /// Multiplies each column by its own number.
    pub(super) fn scale(&mut self, factors: &[f64]) {
        let topics = self.topics;
        self.values.par_chunks_mut(CHUNK * topics).for_each(|rows| {
            for row in rows.chunks_mut(topics) {
                for (value, factor) in row.iter_mut().zip(factors) {
                    *value = (f64::from(*value) * factor) as f32;
                }
            }
        });
    }

    /// Scales each row to a sum of its own; a row that is all zero, or asked to be, becomes zero.
    pub(super) fn scale_rows(&mut self, totals: &[f64]) {
        let topics = self.topics;
        for (row, total) in self.values.chunks_mut(topics).zip(totals) {
            let sum: f64 = row.iter().map(|value| f64::from(*value)).sum();
            let factor = if sum > 0.0 { total / sum } else { 0.0 };
            for value in row {
                *value = (f64::from(*value) * factor) as f32;
            }
        }
    }

    /// Documents x topics with rows that sum to one; documents without tokens have equal shares.
    pub(super) fn proportions(&self) -> Matrix {
        let mut values = self.values.clone();
        for row in values.chunks_mut(self.topics) {
            let sum: f64 = row.iter().map(|value| f64::from(*value)).sum();
            for value in row {
                *value = match sum > 0.0 {
                    true => (f64::from(*value) / sum) as f32,
                    false => 1.0 / self.topics as f32,
                };
            }
        }
        Matrix::from_parts(values.len() / self.topics, self.topics, values)
    }

    /// Topics x terms with rows that sum to one.
    pub(super) fn probabilities(&self) -> Matrix {
        let terms = self.values.len() / self.topics;
        let sums = self.sums();
        let mut values = vec![0.0; self.values.len()];
        for (term, row) in self.values.chunks(self.topics).enumerate() {
            for (topic, value) in row.iter().enumerate() {
                values[topic * terms + term] = match sums[topic] > 0.0 {
                    true => (f64::from(*value) / sums[topic]) as f32,
                    false => 1.0 / terms as f32,
                };
            }
        }
        Matrix::from_parts(self.topics, terms, values)
    }
}

/// One over each number, and zero for zero.
pub(super) fn inverse(sums: &[f64]) -> Vec<f64> {
    sums.iter()
        .map(|&sum| if sum > 0.0 { 1.0 / sum } else { 0.0 })
        .collect()
}
