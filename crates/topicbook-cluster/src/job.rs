//! The job of the ranks.

use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::{MiniBatch, StateValues};
use crate::counts::{Counts, Fingerprint};
use crate::error::{Error, Result};
use crate::text::shown_path;

use super::run_folder::{RunFolder, write_json};

/// What the ranks compute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
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
    /// Documents of a batch of gradient steps.
    pub fn batch_size(&self) -> Option<usize> {
        match self {
            Self::Steps { parameters, .. } => Some(parameters.batch_size),
            _ => None,
        }
    }

    /// Tables of optimizer state, in addition to the tables of L and F.
    pub fn state_values(&self) -> StateValues {
        match self {
            Self::Steps { parameters, .. } => parameters.optimizer.state_values(),
            _ => StateValues::default(),
        }
    }
}

/// Files of counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Files {
    /// Absolute paths.
    paths: Vec<PathBuf>,
    /// The number of documents of each.
    documents: Vec<usize>,
}

impl Files {
    pub fn of(counts: &Counts) -> Result<Self> {
        let absolute =
            |path: &PathBuf| std::path::absolute(path).map_err(|e| Error::io("find", path, e));
        Ok(Self {
            paths: counts.files().iter().map(absolute).collect::<Result<_>>()?,
            documents: counts.documents_of_files(),
        })
    }

    pub fn number(&self) -> usize {
        self.paths.len()
    }

    /// The files that have some of these documents; there must be at least one document.
    pub fn with(&self, documents: &Range<usize>) -> Range<usize> {
        let mut end = 0;
        let ends = self.documents.iter().map(|documents| {
            end += documents;
            end
        });
        let ends: Vec<usize> = ends.collect();
        let first = ends.partition_point(|end| *end <= documents.start);
        let last = ends.partition_point(|end| *end < documents.end);
        first..(last + 1).min(ends.len())
    }

    /// The first and the last of some consecutive files, without their folders.
    pub fn range_text(&self, range: Range<usize>) -> String {
        let name = |path: &PathBuf| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            shown_path(Path::new(name))
        };
        match &self.paths[range] {
            [] => String::new(),
            [path] => name(path),
            [first, .., last] => format!("{} to {}", name(first), name(last)),
        }
    }

    /// The error for files whose counts differ from what the notebook has seen.
    fn have(&self, found: impl Display) -> Error {
        let paths: Vec<_> = self.paths.iter().map(|path| shown_path(path)).collect();
        let have = if paths.len() == 1 { "has" } else { "have" };
        Error::cluster(format!("{} {have} {found}", paths.join(", ")))
            .fix("every rank must see the files of its documents under the same paths")
    }
}

/// A fit, or a computation with one, as each rank reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The version of this crate, which the worker's must equal.
    pub version: String,
    /// The number of ranks that were planned.
    pub ranks: usize,
    /// Threads of a rank; `None` for all cores of its machine.
    pub threads: Option<usize>,
    /// Anonymous memory that the largest rank needs, in bytes.
    pub memory: u64,
    /// The files of the counts, in the order of their documents.
    pub files: Files,
    pub fingerprint: Fingerprint,
    /// The sum of n log n over the documents' lengths n, which is subtracted from the score.
    #[serde(with = "crate::system::serde_f64")]
    pub entropy: f64,
    pub task: Task,
    pub topics: usize,
    /// Maximum number of passes.
    pub passes: usize,
    #[serde(with = "crate::system::serde_f64")]
    pub tolerance: f64,
}

impl Job {
    /// Opens all files of the counts. None of them are read.
    ///
    /// # Errors
    /// When a file is missing, or the shape of the counts differs from the fit's.
    pub fn open_counts(&self) -> Result<Counts> {
        self.open(&self.files)
    }

    /// Opens the files that have some of these documents: a rank need not see the others. Returns the number of documents before
    /// these files, too.
    ///
    /// # Errors
    /// As [`open_counts`](Self::open_counts).
    pub fn open_counts_with(&self, documents: &Range<usize>) -> Result<(Counts, usize)> {
        let range = self.files.with(documents);
        let first = self.files.documents[..range.start].iter().sum();
        let files = Files {
            paths: self.files.paths[range.clone()].to_vec(),
            documents: self.files.documents[range].to_vec(),
        };
        Ok((self.open(&files)?, first))
    }

    fn open(&self, files: &Files) -> Result<Counts> {
        let counts = match &*files.paths {
            [path] => Counts::open(path)?,
            paths => Counts::open_files(paths)?,
        };
        let (documents, terms) = (files.documents.iter().sum(), self.fingerprint.terms);
        match counts.shape() == (documents, terms) {
            true => Ok(counts),
            false => {
                let (found, found_terms) = counts.shape();
                Err(files.have(format!(
                    "{found} documents × {found_terms} terms in the place of {documents} × {terms}"
                )))
            }
        }
    }

    /// The error for counts that differ from what the notebook has seen.
    pub(super) fn other_counts(&self, found: impl Display) -> Error {
        self.files.have(found)
    }

    /// Writes the job, for the ranks.
    pub fn write(&self, folder: &RunFolder) -> Result<()> {
        write_json(&folder.job(), self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_documents_are_found() {
        let files = Files {
            paths: ["a.npy", "b.npy", "c.npy"].map(PathBuf::from).to_vec(),
            documents: vec![3, 4, 5],
        };
        for (documents, expected) in [
            (0..1, 0..1),
            (0..3, 0..1),
            (2..4, 0..2),
            (3..7, 1..2),
            (6..8, 1..3),
            (7..12, 2..3),
            (0..12, 0..3),
        ] {
            assert_eq!(files.with(&documents), expected, "{documents:?}");
        }
        assert_eq!(files.range_text(0..3), "a.npy to c.npy");
        assert_eq!(files.range_text(1..2), "b.npy");
    }
}
