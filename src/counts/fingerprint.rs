//! Recognises counts that a fit or a checkpoint has seen before.

use serde::{Deserialize, Serialize};

use crate::error::Result;

use super::Counts;

/// Identifies the counts of a fit or a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    pub(crate) documents: usize,
    pub(crate) terms: usize,
    nonzeros: u64,
    #[serde(with = "crate::system::serde_f64")]
    total: f64,
    /// The sum of the documents' lengths, each times the document's number, which depends on the order of the
    /// documents.
    #[serde(with = "crate::system::serde_f64")]
    weighted: f64,
}

impl Fingerprint {
    /// Computed from the counts' summary, which every fit needs anyway.
    pub(crate) fn of(counts: &Counts) -> Result<Self> {
        let summary = counts.summary()?;
        let lengths = summary.document_lengths().iter().enumerate();
        Ok(Self {
            documents: counts.documents(),
            terms: counts.terms(),
            nonzeros: summary.nonzeros(),
            total: summary.total(),
            weighted: lengths
                .map(|(document, length)| (document + 1) as f64 * length)
                .sum(),
        })
    }
}
