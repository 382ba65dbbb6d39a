//! The numbers of a search, as checkpoints store them.

use serde::{Deserialize, Serialize};

use crate::solvers::coordinate_descent::AscentNumbers;

use super::candidate::CandidateNumbers;
use super::{FIRST_ITERATIONS, MORE_ITERATIONS, MOST_FAILURES};

/// The numbers of a search in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchNumbers {
    pub(super) best: AscentNumbers,
    pub candidate: Option<CandidateNumbers>,
    pub(super) progress: Progress,
}

/// Where a search is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Candidates that have begun. The next one has the random stream of this number.
    pub(super) candidates: u64,
    /// Consecutive candidates that were not better.
    pub(super) failures: usize,
    /// Iterations of the best factors before a candidate may start.
    pub(super) iterations_first: usize,
    /// Whether the best factors have converged.
    pub(super) converged: bool,
}

impl Progress {
    pub(super) const fn new(iterations_first: usize) -> Self {
        Self {
            candidates: 0,
            failures: 0,
            iterations_first,
            converged: false,
        }
    }

    /// Records that a candidate has become the best one.
    pub(super) fn improved(&mut self) {
        *self = Self {
            candidates: self.candidates,
            ..Self::new(MORE_ITERATIONS)
        };
    }
}

impl SearchNumbers {
    /// Additional topics of the candidate.
    pub fn added_topics(&self) -> usize {
        self.candidate
            .as_ref()
            .map_or(0, |candidate| candidate.added)
    }

    /// Whether a search can reach these numbers.
    pub fn are_in_range(&self) -> bool {
        let progress = &self.progress;
        self.best.are_in_range()
            && self.candidate.as_ref().is_none_or(CandidateNumbers::are_in_range)
            // At most one candidate per iteration.
            && progress.candidates <= u64::from(u32::MAX)
            && progress.failures <= MOST_FAILURES
            && progress.iterations_first <= FIRST_ITERATIONS
    }
}
