//! Recommendations: the terms that a document will have next, and how well they are ranked.

mod evaluate;
mod evaluation;
mod ranker;
#[cfg(feature = "polars")]
mod tables;
#[cfg(test)]
mod tests;

pub use evaluation::RankingEvaluation;

use crate::batches::Reading;
use crate::counts::Counts;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::solvers::{documents_in_block, fold_in_bytes};

use super::Fit;

impl Fit {
    /// Fails if the counts have other terms than the fit, or no terms are requested.
    fn check_ranking(&self, counts: &Counts, n: usize) -> Result<()> {
        if counts.terms() != self.terms() {
            return Err(self.shape_error(counts, "rank terms by"));
        }
        match n {
            0 => Err(Error::setting("a ranking of 0 terms")
                .fix("ask for at least 1 term; 10 to 100 are usual")),
            _ => Ok(()),
        }
    }

    /// L of the counts, and whether the model was fitted to them. L is then the fit's, and otherwise what
    /// [`transform`](Self::transform) computes.
    fn topics_of(&self, counts: &Counts) -> Result<(Matrix, bool)> {
        Ok(match self.is_fitted_to(counts)? {
            true => (self.l.clone(), true),
            false => (self.transform(counts)?, false),
        })
    }

    /// Bytes that [`topics_of`](Self::topics_of) takes at most, including counts that are read into memory.
    fn topics_bytes(&self, counts: &Counts) -> u64 {
        fold_in_bytes(counts.shape(), self.topics()).saturating_add(counts.in_memory().to_read)
    }
}

/// Documents of a block in a pass over the counts, and whether their file is streamed.
fn reading(counts: &Counts) -> Result<(usize, bool)> {
    let per_block = documents_in_block(counts.terms());
    let reading = Reading::Auto.resolve(counts, per_block)?;
    Ok((per_block, reading.shuffle().is_some()))
}
