//! Topics have no order of their own: give them another's.

use std::borrow::Borrow;

use super::Fit;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;

impl Fit {
    /// The same fit with its topics in the order in which they match the rows of `true_f` (topics x terms) best.
    ///
    /// The match maximises the sum of the cosine similarities between paired rows, by linear assignment, as
    /// tinytopics' `align_topics` does. Costs O(k^2 terms + k^3).
    ///
    /// # Errors
    /// When `true_f` has another number of topics or terms.
    pub fn align_to(&self, true_f: impl Borrow<Matrix>) -> Result<Fit> {
        let true_f = true_f.borrow();
        if true_f.shape() != self.f.shape() {
            return Err(Error::new(
                ErrorKind::Shape,
                format!(
                    "the topics to align to are {} x {}, the fit's F is {} x {}",
                    true_f.rows(),
                    true_f.columns(),
                    self.f.rows(),
                    self.f.columns()
                ),
            )
            .fix("fit as many topics, over the same terms, as the F to align to has"));
        }
        let order = best_match(true_f, &self.f)?;
        let mut aligned = self.clone();
        aligned.l = self.l.select_columns(&order)?;
        aligned.f = self.f.select_rows(&order)?;
        Ok(aligned)
    }
}

/// For every row of `target` the row of `candidate` it is paired with.
fn best_match(target: &Matrix, candidate: &Matrix) -> Result<Vec<usize>> {
    let k = target.rows();
    let similarities: Vec<f64> = (0..k * k)
        .map(|pair| cosine(target.row(pair / k), candidate.row(pair % k)))
        .collect();
    let (rows, columns) = lsap::solve(k, k, &similarities, true).map_err(|error| {
        Error::new(
            ErrorKind::Value,
            format!("the topics could not be matched: {error:?}"),
        )
        .fix("check that neither F holds NaN")
    })?;
    let mut order = vec![0; k];
    for (row, column) in rows.into_iter().zip(columns) {
        order[row] = column;
    }
    Ok(order)
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum()
    };
    let norms = (dot(left, left) * dot(right, right)).sqrt();
    if norms > 0.0 {
        dot(left, right) / norms
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_is_undone() {
        let rows = [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]];
        let target = Matrix::new(3, 3, rows.concat()).unwrap();
        let shuffled = target.select_rows(&[2, 0, 1]).unwrap();
        let order = best_match(&target, &shuffled).unwrap();
        assert_eq!(shuffled.select_rows(&order).unwrap(), target);
    }
}
