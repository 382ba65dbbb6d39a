//! The numbers of a search, as checkpoints store them.

use serde::{Deserialize, Serialize};

use crate::solvers::coordinate_descent::AscentNumbers;

use super::arms::Arms;
use super::candidate::CandidateNumbers;
use super::members::MEMBERS;
use super::{FIRST_ITERATIONS, MORE_ITERATIONS, MOST_FAILURES, TURNS};

/// The numbers of a search in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchNumbers {
    pub(super) best: AscentNumbers,
    pub candidate: Option<CandidateNumbers>,
    /// The scores of the earlier fits.
    pub earlier: Vec<Score>,
    pub(super) progress: Progress,
}

/// A score, exact to the last bit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score(#[serde(with = "crate::system::serde_f64")] pub(super) f64);

/// Where a search is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Number of the random stream of the next candidate.
    pub(super) stream_number: u64,
    /// Consecutive candidates that were not better.
    pub(super) failures: usize,
    pub(super) arms: Arms,
    /// The index of the next of the [`TURNS`].
    pub(super) turn: usize,
    /// Iterations of the best factors before a candidate may start.
    pub(super) iterations_first: usize,
    /// The gain of an iteration of the best factors.
    #[serde(with = "crate::system::serde_f64")]
    pub(super) gain: f64,
    /// Whether the best factors have converged.
    pub(super) converged: bool,
}

impl Progress {
    pub(super) const fn new(iterations_first: usize) -> Self {
        Self {
            stream_number: 0,
            failures: 0,
            arms: Arms::NONE,
            turn: 0,
            iterations_first,
            gain: f64::INFINITY,
            converged: false,
        }
    }

    /// Records that a candidate has become the best one; an iteration of it gains `gain`.
    pub(super) fn improved(&mut self, gain: f64) {
        *self = Self {
            stream_number: self.stream_number,
            arms: self.arms.clone(),
            turn: self.turn,
            gain,
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
            && self.earlier.len() <= MEMBERS
            && self.earlier.iter().all(|score| score.0 < f64::INFINITY)
            // At most one stream number per iteration.
            && progress.stream_number <= u64::from(u32::MAX)
            && progress.failures <= MOST_FAILURES
            && progress.iterations_first <= FIRST_ITERATIONS
            && progress.turn < TURNS.len()
            && progress.arms.are_in_range()
            && !progress.gain.is_nan()
    }
}
