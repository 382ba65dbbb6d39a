//! Weighted least squares of several responses, drawn again and again.

use std::collections::HashMap;

use rand::RngExt;
use rayon::prelude::*;

use crate::cholesky::{self, dot};
use crate::data::Matrix;
use crate::system::{Purpose, stream};

/// A column whose part that no other column explains is shorter than this part of it follows from them.
const DEPENDENT: f64 = 1e-8;

/// Regressions of topic proportions on the columns of a design, with weights of the documents.
pub(super) struct Regression<'a> {
    l: &'a Matrix,
    documents: &'a [usize],
    /// The cell of each document: those of a cell have the same row of the design.
    cells: Vec<usize>,
    /// The rows of an orthonormal basis of the columns (cells x columns).
    basis: Vec<f64>,
    /// The columns in that basis (upper triangle, columns x columns).
    triangle: Vec<f64>,
    columns: usize,
}

impl<'a> Regression<'a> {
    /// Fails with the number of a column that follows from those before it.
    pub fn new(l: &'a Matrix, documents: &'a [usize], columns: &[Vec<f64>]) -> Result<Self, usize> {
        let p = columns.len();
        let (mut basis, mut triangle): (Vec<Vec<f64>>, _) = (Vec::new(), vec![0.0; p * p]);
        for (at, column) in columns.iter().enumerate() {
            let mut left = column.clone();
            // Gram-Schmidt, twice, so that rounding leaves the basis orthogonal (Giraud, Langou and Rozloznik 2005).
            for _ in 0..2 {
                for (other, direction) in basis.iter().enumerate() {
                    let part = dot(direction, &left);
                    triangle[other * p + at] += part;
                    left.iter_mut()
                        .zip(direction)
                        .for_each(|(left, by)| *left -= part * by);
                }
            }
            let length = dot(&left, &left).sqrt();
            if length <= DEPENDENT * dot(column, column).sqrt() {
                return Err(at);
            }
            triangle[at * p + at] = length;
            left.iter_mut().for_each(|value| *value /= length);
            basis.push(left);
        }
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut rows = Vec::new();
        let cells = (0..documents.len()).map(|at| {
            let key = columns.iter().map(|column| column[at].to_bits()).collect();
            let next = known.len();
            let cell = *known.entry(key).or_insert(next);
            if cell == next {
                rows.extend(basis.iter().map(|direction| direction[at]));
            }
            cell
        });
        Ok(Self {
            l,
            documents,
            cells: cells.collect(),
            basis: rows,
            triangle,
            columns: p,
        })
    }

    /// The coefficients (columns x topics) of ordinary least squares.
    pub fn estimate(&self) -> Vec<f64> {
        self.weighted(|| 1.0)
    }

    /// The coefficients of `draws` regressions whose weights are drawn from the exponential distribution: Rubin's Bayesian
    /// bootstrap (1981), in which every document keeps a part, so that no group is ever without one.
    pub fn draws(&self, draws: usize) -> Vec<Vec<f64>> {
        let draws = (0..draws as u64).into_par_iter();
        draws
            .map(|draw| {
                let mut random = stream(0, Purpose::Bootstrap, draw);
                self.weighted(|| -(1.0 - random.random::<f64>()).ln())
            })
            .collect()
    }

    fn weighted(&self, mut weight: impl FnMut() -> f64) -> Vec<f64> {
        let (p, k) = (self.columns, self.l.columns());
        let cells = self.basis.len() / p;
        let (mut weights, mut sums) = (vec![0.0; cells], vec![0.0; cells * k]);
        for (&document, &cell) in self.documents.iter().zip(&self.cells) {
            let weight = weight();
            weights[cell] += weight;
            let sums = &mut sums[cell * k..][..k];
            for (sum, &proportion) in sums.iter_mut().zip(self.l.row(document)) {
                *sum += weight * f64::from(proportion);
            }
        }
        let (mut products, mut right) = (vec![0.0; p * p], vec![0.0; p * k]);
        let rows = self.basis.chunks_exact(p).zip(sums.chunks_exact(k));
        for ((row, sums), weight) in rows.zip(weights) {
            for (a, &value) in row.iter().enumerate() {
                let scaled = weight * value;
                for (product, &other) in products[a * p..][..=a].iter_mut().zip(row) {
                    *product += scaled * other;
                }
                for (right, &sum) in right[a * k..][..k].iter_mut().zip(sums) {
                    *right += value * sum;
                }
            }
        }
        cholesky::factor(&mut products, p);
        let mut of_topic = vec![0.0; p];
        for topic in 0..k {
            for (own, row) in of_topic.iter_mut().zip(right.chunks_exact(k)) {
                *own = row[topic];
            }
            cholesky::solve(&products, p, &mut of_topic);
            self.leave_basis(&mut of_topic);
            for (own, row) in of_topic.iter().zip(right.chunks_exact_mut(k)) {
                row[topic] = *own;
            }
        }
        right
    }

    /// The coefficients of the basis, of one topic, as those of the columns.
    fn leave_basis(&self, coefficients: &mut [f64]) {
        let p = self.columns;
        for at in (0..p).rev() {
            let line = &self.triangle[at * p..][..p];
            let known = dot(&line[at + 1..], &coefficients[at + 1..]);
            coefficients[at] = (coefficients[at] - known) / line[at];
        }
    }
}
