//! Topics of new documents, with F fixed.

use crate::counts::Counts;
use crate::data::{Matrix, OrRef};
use crate::error::Result;
use crate::solvers::{fold_in, fold_in_bytes};
use crate::system::memory::check_free;

use super::Fit;

impl Fit {
    /// Computes the topics of new documents: L (documents x topics, rows summing to one) for counts over the same
    /// terms, with F fixed.
    ///
    /// Each document's proportions maximise its likelihood, a concave problem, with the coordinate descent of
    /// [`Solver::CoordinateDescent`](crate::Solver::CoordinateDescent). A document has converged when a step of
    /// expectation-maximisation (Hofmann 1999, folding in) would move at most one millionth of its tokens. A document
    /// without counts gets equal proportions.
    ///
    /// ```
    /// use topicbook::{Counts, Synthetic, TopicModel};
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    /// let new = Counts::dense(2, 30, [vec![1u8; 30], vec![0; 30]].concat())?;
    /// let l = fit.transform(&new)?;
    /// assert_eq!(l.shape(), (2, 3));
    /// assert_eq!(l.row(1), [1.0 / 3.0; 3]); // a document without counts
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the counts have another number of terms, cannot be read or hold something that is not a count, or when
    /// memory is too small for what the conversion allocates. The memory is checked before anything is allocated.
    ///
    /// # Cost
    /// O(nonzeros x k) operations per round, on all cores; memory for L twice, F once, and the counts if they are read
    /// into memory.
    #[doc(alias = "predict")]
    #[doc(alias = "fold_in")]
    #[doc(alias = "infer_vector")]
    pub fn transform(&self, counts: impl OrRef<Counts>) -> Result<Matrix> {
        let counts = counts.value();
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "transform"));
        }
        let needed =
            fold_in_bytes(counts.shape(), self.f.rows()).saturating_add(counts.in_memory().to_read);
        check_free(needed, "the topics of these documents")?;
        counts.summary()?;
        fold_in(counts, &self.f)
    }
}
