//! A fit of factors that were computed elsewhere.

use crate::config::Settings;
use crate::data::{Matrix, OrRef};
use crate::error::{Error, Result};

use super::Fit;

/// What stands in the place of a device for factors that nobody fitted here.
pub(crate) const GIVEN: &str = "none: L and F were given";

impl Fit {
    /// A fit of an L (documents x topics) and an F (topics x terms) that were computed by other means: a loop of one's own,
    /// another program, a paper. Charts, tables, scores and [`explore`](Self::explore) work on it as on any fit; there are no
    /// [`epochs`](Self::epochs), and [`settings`](Self::settings) are the defaults.
    ///
    /// Rows of L and F need not sum to one. F's rows are divided by their sums, L's columns multiplied by them, and then L's
    /// rows divided by theirs: what a document says about its terms, relative to each other, stays the same. A document
    /// whose row is zero has all topics alike. So the factors of an NMF, or `components_` and `transform` of scikit-learn's
    /// `LatentDirichletAllocation`, are taken as they are.
    ///
    /// ```
    /// use topicbook::{Counts, Fit, Matrix, Terms};
    /// let l = Matrix::new(3, 2, vec![3.0, 1.0, 0.0, 2.0, 0.0, 0.0])?;
    /// let f = Matrix::new(2, 3, vec![0.5, 0.5, 0.0, 0.0, 1.0, 3.0])?;
    /// let fit = Fit::from_matrices(l, f)?.with_terms(Terms::new(["ant", "bee", "cat"])?)?;
    /// assert_eq!(fit.f().row(1), [0.0, 0.25, 0.75]);
    /// assert_eq!(fit.l().row(1), [0.0, 1.0]);
    /// assert_eq!(fit.l().row(2), [0.5, 0.5]); // a document without a topic
    /// assert!(fit.evaluate(&Counts::dense(1, 3, vec![2u8, 4, 1])?).is_ok());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When L has not as many columns as F has rows, a value is negative or not finite (which, and where), or a row of F is
    /// zero.
    ///
    /// # Cost
    /// A copy of both: 4 bytes x k x (documents + terms).
    #[doc(alias = "components_")]
    pub fn from_matrices(l: impl OrRef<Matrix>, f: impl OrRef<Matrix>) -> Result<Self> {
        let (l, f) = (l.value(), f.value());
        let k = f.rows();
        if l.columns() != k || k == 0 || l.rows() == 0 || f.columns() == 0 {
            return Err(shape(format!(
                "L is {} × {} and F is {} × {}: L needs a column for each row of F",
                l.rows(),
                l.columns(),
                k,
                f.columns()
            ))
            .fix("pass L as documents x topics and F as topics x terms"));
        }
        check("L", l)?;
        check("F", f)?;
        let mut terms = f.clone().into_values();
        let mut sums = Vec::with_capacity(k);
        for (topic, row) in terms.chunks_mut(f.columns()).enumerate() {
            let sum: f64 = row.iter().map(|&value| f64::from(value)).sum();
            if sum <= 0.0 {
                return Err(
                    shape(format!("row {topic} of F is zero: the topic has no term"))
                        .fix("leave this topic out of L and F (select_columns, select_rows)"),
                );
            }
            row.iter_mut()
                .for_each(|value| *value = (f64::from(*value) / sum) as f32);
            sums.push(sum);
        }
        let mut proportions = l.clone().into_values();
        for row in proportions.chunks_mut(k) {
            let weights: Vec<f64> = row
                .iter()
                .zip(&sums)
                .map(|(&value, sum)| f64::from(value) * sum)
                .collect();
            let total: f64 = weights.iter().sum();
            for (value, weight) in row.iter_mut().zip(weights) {
                *value = match total > 0.0 {
                    true => (weight / total) as f32,
                    false => 1.0 / k as f32,
                };
            }
        }
        let l = Matrix::from_parts(l.rows(), k, proportions);
        let f = Matrix::from_parts(k, f.columns(), terms);
        let settings = Settings::new(k);
        Ok(Fit::new(
            settings,
            l,
            f,
            None,
            Vec::new(),
            GIVEN.into(),
            None,
        ))
    }
}

/// Fails on the first value that no proportion or probability is made of.
fn check(name: &str, matrix: &Matrix) -> Result<()> {
    for row in 0..matrix.rows() {
        let found = matrix
            .row(row)
            .iter()
            .position(|value| !value.is_finite() || *value < 0.0);
        if let Some(column) = found {
            let value = matrix.row(row)[column];
            return Err(Error::value(format!("{name} has {value} in row {row}, column {column}; its values must be finite and not negative"))
                .fix("pass what the model multiplies, not its logits: apply softmax or exp first"));
        }
    }
    Ok(())
}

fn shape(what: String) -> Error {
    Error::shape(what)
}
