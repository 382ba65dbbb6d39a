//! Factors that may replace the best ones: their starts, and how long they are fitted.

use serde::{Deserialize, Serialize};

use crate::counts::View;
use crate::data::NamedTable;
use crate::error::Result;
use crate::solvers::coordinate_descent::{Ascent, AscentNumbers, Data, Factors, Sweeps};
use crate::solvers::state::{CANDIDATE, SavedTables};

use super::merge_topics::merge_most_similar;
use super::settings::{MOST_ADDED, SearchSettings};

/// Iterations with the added topics before the first merge.
const GROW_ITERATIONS: usize = 5;
/// Iterations of a start from noise with few sweeps over short rows.
const START_ITERATIONS: usize = 5;
/// Sweeps over the coordinates of a row in all other iterations. Coordinate descent alone sweeps four times, as fastTopics does.
/// With two, an iteration gains less but costs little more than half, and the same score is reached earlier.
pub(super) const SWEEPS: Sweeps = Sweeps::Each(2);
/// A candidate has converged when an iteration gains less than this fraction of the score, and the residual is small.
const CONVERGED: f64 = 1e-6;

/// The start of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Origin {
    /// The best factors with added topics, which are merged until k are left.
    Added,
    /// Topics of noise.
    Random,
}

impl Origin {
    /// Iterations with k topics before a candidate may be given up.
    const fn least_iterations(self) -> usize {
        match self {
            Self::Added => 3,
            Self::Random => 10,
        }
    }
}

/// The sweeps of the iteration after `iterations` iterations from a start of noise.
pub(super) const fn sweeps_from_noise(iterations: usize) -> Sweeps {
    match iterations < START_ITERATIONS {
        true => Sweeps::FewWhereShort,
        false => SWEEPS,
    }
}

/// Factors that are fitted as long as they may become better than the best ones.
pub(super) struct Candidate {
    pub(super) ascent: Ascent,
    pub(super) origin: Origin,
    /// Iterations with the current number of topics.
    iterations: usize,
    /// The gain of an iteration.
    gain: f64,
}

/// The numbers of a candidate in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateNumbers {
    ascent: AscentNumbers,
    origin: Origin,
    iterations: usize,
    #[serde(with = "crate::system::serde_f64")]
    gain: f64,
    /// Topics in addition to those requested.
    pub(super) added: usize,
}

impl CandidateNumbers {
    /// Whether a search can reach these numbers.
    pub(super) fn are_in_range(&self) -> bool {
        let most_added = match self.origin {
            Origin::Added => MOST_ADDED,
            Origin::Random => 0,
        };
        self.ascent.are_in_range() && !self.gain.is_nan() && self.added <= most_added
    }
}

/// The result of an iteration of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Continues,
    Better,
    /// It has converged to a lower score than the best one, or promises less.
    Worse,
}

impl Candidate {
    pub(super) fn new(start: Factors, origin: Origin) -> Self {
        Self {
            ascent: Ascent::new(start),
            origin,
            iterations: 0,
            gain: f64::INFINITY,
        }
    }

    /// The topics that it has in addition to those requested.
    pub(super) fn added(&self, requested: usize) -> usize {
        self.ascent.best.f.topics - requested
    }

    /// Runs one iteration, and then merges two topics if there are more than `requested`.
    pub(super) fn advance(
        &mut self,
        data: &Data,
        view: &View<'_>,
        (requested, best): (usize, f64),
    ) -> Verdict {
        let (added, settings) = (self.added(requested), SearchSettings::of(requested));
        let sweeps = match self.origin {
            Origin::Random => sweeps_from_noise(self.iterations),
            Origin::Added => SWEEPS,
        };
        let before = self.ascent.score;
        let iteration = self.ascent.step(data, view, sweeps);
        self.iterations += 1;
        if added > 0 {
            // Topics that are merged one after the other need one iteration each.
            let grows = added == settings.added && self.iterations < GROW_ITERATIONS;
            if !grows {
                let merged = merge_most_similar(&self.ascent.best);
                *self = Self::new(merged, self.origin);
            }
            return Verdict::Continues;
        }
        self.gain = iteration.gain(before, self.gain);
        let promised = self.ascent.score + settings.promise * self.gain;
        if self.ascent.score > best {
            Verdict::Better
        } else if iteration.converged(before, CONVERGED)
            || self.iterations >= self.origin.least_iterations() && promised < best
        {
            Verdict::Worse
        } else {
            Verdict::Continues
        }
    }

    /// The state that a checkpoint stores.
    pub(super) fn state(&self, requested: usize) -> (CandidateNumbers, [NamedTable<'_>; 4]) {
        let (ascent, tables) = self.ascent.state(CANDIDATE);
        let numbers = CandidateNumbers {
            ascent,
            origin: self.origin,
            iterations: self.iterations,
            gain: self.gain,
            added: self.added(requested),
        };
        (numbers, tables)
    }

    /// The candidate of a checkpoint.
    pub(super) fn saved(numbers: CandidateNumbers, tables: &mut SavedTables) -> Result<Self> {
        Ok(Self {
            ascent: Ascent::saved(numbers.ascent, tables)?,
            origin: numbers.origin,
            iterations: numbers.iterations,
            gain: numbers.gain,
        })
    }
}
