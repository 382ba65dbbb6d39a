//! What the ranks are to do.

use std::fmt::Display;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::{MiniBatch, StateValues};
use crate::counts::{Counts, Fingerprint};
use crate::error::{Error, ErrorKind, Result};
use crate::text::shown_path;

use super::run_folder::{RunFolder, write_json};

/// What the ranks compute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Gradient steps, whose batches depend on the seed.
    Steps { parameters: MiniBatch, seed: u64 },
    /// Passes of expectation-maximisation.
    Em,
    /// Passes of coordinate descent for L, and of expectation-maximisation for F.
    Descent,
    /// L of documents, with F fixed, and its score.
    Transform,
    /// The score of L and F.
    Score,
}

impl Task {
    /// Tables that the optimizer keeps besides those of L and F.
    pub(crate) fn state_values(&self) -> StateValues {
        match self {
            Self::Steps { parameters, .. } => parameters.optimizer.state_values(),
            _ => StateValues::default(),
        }
    }
}

/// A fit, or what is computed with one, as each rank reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The version of this crate, which the worker's must equal.
    pub(crate) version: String,
    /// The number of ranks that were planned.
    pub(crate) ranks: usize,
    /// Threads of a rank; `None` for all cores of its machine.
    pub(crate) threads: Option<usize>,
    /// Anonymous memory that the largest rank needs, in bytes.
    pub(crate) memory: u64,
    /// The files of the counts, absolute, in the order of their documents.
    pub(crate) counts: Vec<PathBuf>,
    pub(crate) fingerprint: Fingerprint,
    /// The sum of n log n over the documents' lengths n, which the score is less.
    #[serde(with = "crate::system::serde_f64")]
    pub(crate) entropy: f64,
    pub(crate) task: Task,
    pub(crate) topics: usize,
    /// Passes at most.
    pub(crate) passes: usize,
    #[serde(with = "crate::system::serde_f64")]
    pub(crate) tolerance: f64,
}

impl Job {
    /// Opens the files of the counts. None of them are read.
    ///
    /// # Errors
    /// When a file has gone, or the counts have another shape than those of the fit.
    pub(crate) fn open_counts(&self) -> Result<Counts> {
        let counts = match &*self.counts {
            [path] => Counts::open(path)?,
            paths => Counts::open_files(paths)?,
        };
        let (documents, terms) = (self.fingerprint.documents, self.fingerprint.terms);
        match counts.shape() == (documents, terms) {
            true => Ok(counts),
            false => Err(self.other_counts(format!(
                "{} documents × {} terms in the place of {documents} × {terms}",
                counts.documents(),
                counts.terms()
            ))),
        }
    }

    /// The error for a file that differs from the one that the notebook has seen.
    pub(super) fn other_counts(&self, found: impl Display) -> Error {
        let paths: Vec<_> = self.counts.iter().map(|path| shown_path(path)).collect();
        Error::new(
            ErrorKind::Cluster,
            format!("{} has {found}", paths.join(", ")),
        )
        .fix("every rank must see the file of the fit under this path")
    }

    /// Writes the job, for the ranks.
    pub(crate) fn write(&self, folder: &RunFolder) -> Result<()> {
        write_json(&folder.job(), self)
    }
}
