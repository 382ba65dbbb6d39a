//! What the ranks are to do.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::counts::Fingerprint;
use crate::error::Result;

use super::run_folder::{RunFolder, write_json};

/// A fit, as each rank reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The version of this crate, which the worker's must equal.
    pub(crate) version: String,
    /// The number of ranks that were planned.
    pub(crate) ranks: usize,
    /// Threads of a rank; `None` for all cores of its machine.
    pub(crate) threads: Option<usize>,
    /// The files of the counts, absolute, in the order of their documents.
    pub(crate) counts: Vec<PathBuf>,
    pub(crate) fingerprint: Fingerprint,
    /// Whether rows of L are updated by coordinate descent.
    pub(crate) descent: bool,
    pub(crate) topics: usize,
    /// Passes at most.
    pub(crate) passes: usize,
    #[serde(with = "crate::system::serde_f64")]
    pub(crate) tolerance: f64,
}

impl Job {
    /// Writes the job, for the ranks.
    pub(crate) fn write(&self, folder: &RunFolder) -> Result<()> {
        write_json(&folder.job(), self)
    }
}
