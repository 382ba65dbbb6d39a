//! New documents under topics that stay as they are.

use std::borrow::Borrow;

use super::Fit;
use crate::counts::Counts;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::memory::check_free;
use crate::solver::{fold_in, fold_in_bytes};

impl Fit {
    /// The topics of new documents: L (documents x topics, rows summing to one) for counts over the same terms, with F
    /// held fixed.
    ///
    /// Each document's proportions maximise its likelihood, a concave problem, by the coordinate descent that
    /// [`Solver::CoordinateDescent`](crate::Solver::CoordinateDescent) uses, until a step of expectation-maximisation
    /// (Hofmann 1999, folding in) would move at most one part in a million of its tokens. A document without counts
    /// gets equal proportions. Costs O(nonzeros x k) a round, on all cores.
    ///
    /// # Errors
    /// When the counts have another number of terms, cannot be read, or memory does not suffice: L twice, F once, and
    /// the counts where they are read into memory. That is asked before anything is allocated.
    pub fn transform(&self, counts: impl Borrow<Counts>) -> Result<Matrix> {
        let counts = counts.borrow();
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "transform"));
        }
        let needed =
            fold_in_bytes(counts, self.f.rows()).saturating_add(counts.in_memory().to_read);
        check_free(needed, "the topics of these documents")?;
        counts.summary()?;
        fold_in(counts, &self.f)
    }
}
