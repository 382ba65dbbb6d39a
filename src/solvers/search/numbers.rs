//! The numbers of a search, as checkpoints store them.

use serde::{Deserialize, Serialize};

use crate::solvers::coordinate_descent::AscentNumbers;

use super::candidate::CandidateNumbers;
use super::members::MEMBERS;
use super::{FIRST_ITERATIONS, FIRST_RATE, KEPT_RATE, MORE_ITERATIONS, MOST_FAILURES, TURNS};

/// The numbers of a search in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SearchNumbers {
    pub(super) best: AscentNumbers,
    pub(crate) candidate: Option<CandidateNumbers>,
    /// The scores of the earlier fits.
    pub(crate) earlier: Vec<Score>,
    pub(super) progress: Progress,
}

/// A score, exact to the last bit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score(#[serde(with = "crate::system::serde_f64")] pub(super) f64);

/// Where a search is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Number of the random stream of the next candidate.
    pub(super) stream_number: u64,
    /// Candidates in turn that were not better.
    pub(super) failures: usize,
    /// The share of candidates with added topics that has been better lately.
    #[serde(with = "crate::system::serde_f64")]
    pub(super) added_rate: f64,
    /// Iterations of other candidates since the last one with added topics.
    pub(super) other_iterations: usize,
    /// Which of the other candidates is next.
    pub(super) turn: usize,
    /// Iterations of the best factors before a candidate may start.
    pub(super) iterations_first: usize,
    /// What an iteration of the best factors gains.
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
            added_rate: FIRST_RATE,
            other_iterations: 0,
            turn: 0,
            iterations_first,
            gain: f64::INFINITY,
            converged: false,
        }
    }

    /// Notes that a candidate is the best one, whose iterations gain so much.
    pub(super) fn improved(&mut self, gain: f64) {
        *self = Self {
            stream_number: self.stream_number,
            added_rate: self.added_rate,
            other_iterations: self.other_iterations,
            turn: self.turn,
            gain,
            ..Self::new(MORE_ITERATIONS)
        };
    }

    /// Notes whether a candidate with added topics was better.
    pub(super) fn note_added(&mut self, is_better: bool) {
        self.other_iterations = 0;
        self.added_rate *= KEPT_RATE;
        if is_better {
            self.added_rate += 1.0 - KEPT_RATE;
        }
    }
}

impl SearchNumbers {
    /// Topics that the candidate has in addition.
    pub(crate) fn added_topics(&self) -> usize {
        self.candidate
            .as_ref()
            .map_or(0, |candidate| candidate.added)
    }

    /// Whether a search reaches these numbers.
    pub(crate) fn are_in_range(&self) -> bool {
        let progress = &self.progress;
        self.best.are_in_range()
            && self.candidate.as_ref().is_none_or(CandidateNumbers::are_in_range)
            && self.earlier.len() <= MEMBERS
            && self.earlier.iter().all(|score| score.0 < f64::INFINITY)
            // One number of a stream an iteration at most.
            && progress.stream_number <= u64::from(u32::MAX)
            && progress.failures <= MOST_FAILURES
            && progress.iterations_first <= FIRST_ITERATIONS
            && progress.turn < TURNS.len()
            && (0.0..=1.0).contains(&progress.added_rate)
            && !progress.gain.is_nan()
    }
}
