//! What the examples in the documentation start from.

use super::TopicModel;
use crate::counts::Counts;
use crate::error::Result;
use crate::fit::Fit;
use crate::synthetic::Synthetic;

/// Counts of 60 documents x 30 terms, and a fit of three topics to them.
#[doc(hidden)]
pub fn example_fit() -> Result<(Counts, Fit)> {
    let corpus = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1);
    let counts = corpus.generate()?.counts();
    let fit = TopicModel::new(3).epochs(5).quiet().fit(&counts)?;
    Ok((counts, fit))
}
