//! The factors of the Poisson factorisation: nonnegative matrices with one row per document (L) or term (F) and one
//! column per topic.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::data::{Matrix, NamedTable};
use crate::system::{exp, simd_dispatch};

/// Rows per parallel task. Partial sums of chunks are added in the order of the chunks, so that results do not depend
/// on the number of threads.
pub const CHUNK: usize = 32;

/// A row-major matrix with `topics` columns.
#[derive(Clone, Default)]
pub struct Factor {
    pub topics: usize,
    pub values: Vec<f32>,
}

impl Factor {
    /// A copy of L (documents x topics).
    pub fn from_l(l: &Matrix) -> Self {
        Self {
            topics: l.columns(),
            values: l.values().to_vec(),
        }
    }

    /// A table whose columns are topics; its values are moved.
    pub fn from_table(table: Matrix) -> Self {
        Self {
            topics: table.columns(),
            values: table.into_values(),
        }
    }

    /// The transpose of F, which is topics x terms.
    pub fn from_f(f: &Matrix) -> Self {
        let (topics, terms) = f.shape();
        let mut values = vec![0.0; topics * terms];
        for (topic, row) in f.values().chunks(terms).enumerate() {
            for (term, value) in row.iter().enumerate() {
                values[term * topics + topic] = *value;
            }
        }
        Self { topics, values }
    }

    /// The factor as a table of a checkpoint.
    pub fn named(&self, name: &'static str) -> NamedTable<'_> {
        NamedTable {
            name,
            columns: self.topics,
            values: Cow::Borrowed(&self.values),
            of: None,
        }
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.topics..(row + 1) * self.topics]
    }

    /// The sum of each column, in double precision.
    pub fn column_sums(&self) -> Vec<f64> {
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

    /// Multiplies each column by its factor.
    pub fn scale_columns(&mut self, factors: &[f64]) {
        let topics = self.topics;
        self.values.par_chunks_mut(CHUNK * topics).for_each(|rows| {
            for row in rows.chunks_mut(topics) {
                for (value, factor) in row.iter_mut().zip(factors) {
                    *value = (f64::from(*value) * factor) as f32;
                }
            }
        });
    }

    /// Scales each row so that it sums to its value in `totals`. A row of zeros stays zero.
    pub fn scale_rows(&mut self, totals: &[f64]) {
        let topics = self.topics;
        for (row, total) in self.values.chunks_mut(topics).zip(totals) {
            let sum: f64 = row.iter().map(|value| f64::from(*value)).sum();
            let factor = if sum > 0.0 { total / sum } else { 0.0 };
            for value in row {
                *value = (f64::from(*value) * factor) as f32;
            }
        }
    }

    /// L (documents x topics) with rows that sum to one; rows of zeros become uniform.
    pub fn proportions(&self) -> Matrix {
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

    /// The transpose: topics x rows.
    pub fn transposed(&self) -> Matrix {
        let rows = self.values.len() / self.topics;
        Matrix::from_parts(rows, self.topics, self.values.clone()).transposed()
    }

    /// F (topics x terms) with rows that sum to one; topics whose column is zero become uniform.
    pub fn probabilities(&self) -> Matrix {
        let terms = self.values.len() / self.topics;
        let sums = self.column_sums();
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

/// Writes the exponentials of logits into a factor, scaled so that the largest of each topic is 1. `rows` has `width` values for
/// each row of the factor, beginning with its logits.
pub fn exponentials_of(rows: &[f32], width: usize, factor: &mut Factor) {
    let topics = factor.topics;
    let mut largest = vec![f32::MIN; topics];
    for row in rows.chunks_exact(width) {
        for (largest, logit) in largest.iter_mut().zip(row) {
            *largest = largest.max(*logit);
        }
    }
    let out = factor.values.par_chunks_mut(CHUNK * topics);
    rows.par_chunks(CHUNK * width)
        .zip(out)
        .for_each(|(rows, out)| exponentials(rows, width, &largest, out));
}

simd_dispatch! {
    /// Writes exp(logit - offset), for rows that begin with the logits.
    fn exponentials(rows: &[f32], width: usize, offsets: &[f32], out: &mut [f32]) {
        let out = out.chunks_exact_mut(offsets.len());
        for (row, out) in rows.chunks_exact(width).zip(out) {
            for ((value, logit), offset) in out.iter_mut().zip(row).zip(offsets) {
                *value = exp(logit - offset);
            }
        }
    }
}

/// The reciprocal of each number, and 0 for 0.
pub fn reciprocals(numbers: &[f64]) -> Vec<f64> {
    numbers
        .iter()
        .map(|&number| if number > 0.0 { 1.0 / number } else { 0.0 })
        .collect()
}
