//! Reorders topics to match the topics of another F.

use crate::data::{Matrix, OrRef, cosine};
use crate::error::{Error, Result};

use super::Fit;

impl Fit {
    /// Returns the fit with its topics reordered to match the rows of `true_f` (topics x terms).
    ///
    /// The order maximises the sum of the cosine similarities of paired rows, by linear assignment, like tinytopics'
    /// `align_topics`. L's columns and F's rows get the same order, and topics
    /// keep their [names](Self::name_topics).
    ///
    /// ```
    /// use topicbook::{Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// let aligned = fit.align_to(fit.f().select_rows([2, 0, 1])?)?;
    /// assert_eq!(aligned.f().row(0), fit.f().row(2));
    /// assert_eq!(aligned.l(), fit.l().select_columns([2, 0, 1])?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `true_f` has another number of topics or terms than F, or one of the two contains NaN.
    ///
    /// # Cost
    /// O(k^2 terms + k^3) operations, and a copy of L and F.
    #[doc(alias("align_topics", "Hungarian"))]
    pub fn align_to(&self, true_f: impl OrRef<Matrix>) -> Result<Fit> {
        let true_f = true_f.value();
        if true_f.shape() != self.f.shape() {
            return Err(Error::shape(format!(
                "the topics to align to are {} × {}, the fit's F is {} × {}",
                true_f.rows(),
                true_f.columns(),
                self.f.rows(),
                self.f.columns()
            ))
            .fix("fit the same number of topics, over the same terms, as in the F to align to"));
        }
        for (name, f) in [("the F to align to", true_f), ("the fit's F", &self.f)] {
            if let Some(position) = f.values().iter().position(|value| !value.is_finite()) {
                let (row, column) = (position / f.columns(), position % f.columns());
                return Err(Error::value(format!(
                        "cannot match the topics: {name} has {}",
                        f.values()[position]
                    ))
                .at(format!("topic {row}, term {column} (counted from 0)"))
                .fix(
                    "align to the F of a fit or of a corpus, and check that this fit has not diverged",
                ));
            }
        }
        let order = best_match(true_f, &self.f)?;
        self.in_order(&order)
    }
}

/// The mean cosine similarity of the rows of two F of the same shape, paired by linear assignment: 1 where they are the same
/// topics in any order.
pub(crate) fn mean_cosine(target: &Matrix, candidate: &Matrix) -> Result<f64> {
    let order = best_match(target, candidate)?;
    let cosines = order.iter().enumerate();
    let cosines = cosines.map(|(row, &other)| cosine(target.row(row), candidate.row(other)));
    Ok(cosines.sum::<f64>() / order.len() as f64)
}

/// For every row of `target`, the index of its paired row of `candidate`.
fn best_match(target: &Matrix, candidate: &Matrix) -> Result<Vec<usize>> {
    let k = target.rows();
    let similarities: Vec<f64> = (0..k * k)
        .map(|pair| cosine(target.row(pair / k), candidate.row(pair % k)))
        .collect();
    let (rows, columns) = lsap::solve(k, k, &similarities, true).map_err(|error| {
        Error::value(format!("cannot match the topics: {error:?}"))
            .fix("check that neither F contains NaN")
    })?;
    let mut order = vec![0; k];
    for (row, column) in rows.into_iter().zip(columns) {
        order[row] = column;
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_is_undone() {
        let rows = [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]];
        let target = Matrix::new(3, 3, rows.concat()).unwrap();
        let shuffled = target.select_rows([2, 0, 1]).unwrap();
        let order = best_match(&target, &shuffled).unwrap();
        assert_eq!(shuffled.select_rows(&order).unwrap(), target);
    }
}
