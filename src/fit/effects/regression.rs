//! Weighted least squares of several responses, drawn again and again.

use std::collections::HashMap;

use rand::RngExt;
use rayon::prelude::*;

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
        solve(&mut products, &mut right, (p, k));
        self.leave_basis(&mut right);
        right
    }

    /// Coefficients of the basis as those of the columns.
    fn leave_basis(&self, right: &mut [f64]) {
        let (p, k) = (self.columns, self.l.columns());
        for at in (0..p).rev() {
            let (above, own) = right.split_at_mut(at * k);
            let own = &mut own[..k];
            own.iter_mut()
                .for_each(|value| *value /= self.triangle[at * p + at]);
            for (row, above) in above.chunks_exact_mut(k).enumerate() {
                let factor = self.triangle[row * p + at];
                above
                    .iter_mut()
                    .zip(&*own)
                    .for_each(|(value, own)| *value -= factor * own);
            }
        }
    }
}

/// Solves symmetric, positive definite equations (p x p, the lower triangle) for k right sides (p x k), by Cholesky's
/// factors: L z = b, then L transposed x = z.
fn solve(a: &mut [f64], right: &mut [f64], (p, k): (usize, usize)) {
    for row in 0..p {
        for column in 0..=row {
            let known = dot(&a[row * p..][..column], &a[column * p..][..column]);
            let rest = a[row * p + column] - known;
            a[row * p + column] = match row == column {
                true => rest.sqrt(),
                false => rest / a[column * p + column],
            };
        }
    }
    for row in 0..p {
        let (above, own) = right.split_at_mut(row * k);
        for (column, above) in above.chunks_exact(k).enumerate() {
            let factor = a[row * p + column];
            own.iter_mut()
                .zip(above)
                .for_each(|(own, above)| *own -= factor * above);
        }
        own[..k]
            .iter_mut()
            .for_each(|value| *value /= a[row * p + row]);
    }
    for row in (0..p).rev() {
        let (above, own) = right.split_at_mut(row * k);
        let own = &mut own[..k];
        own.iter_mut().for_each(|value| *value /= a[row * p + row]);
        for (column, above) in above.chunks_exact_mut(k).enumerate() {
            let factor = a[row * p + column];
            above
                .iter_mut()
                .zip(&*own)
                .for_each(|(above, own)| *above -= factor * own);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
