//! Coordinate descent with split-merge moves and random restarts, to escape local maxima.
//!
//! A topic model's likelihood has many local maxima, in which one true topic is split into two or two are merged into
//! one, and no sequence of small uphill steps leads from one maximum to another. The search therefore adds a few topics
//! where documents have the largest deviance, fits all topics for some iterations, and merges the most similar topics
//! until k are left: split and merge (Ueda, Nakano, Ghahramani and Hinton 2000), where the added topics decide what is
//! split. The candidate replaces the current factors if its score is higher. When a candidate fails and the current
//! factors have settled, the search restarts from random factors. A new start that settles, or that promises less than the best
//! one, gives it the topics that it lacks most, as a candidate's. The result is the best of all.

use serde::{Deserialize, Serialize};

use crate::cost::{Consumer, Item, Phase, Shape};
use crate::counts::{Counts, View};
use crate::data::Matrix;
use crate::error::Result;
use crate::system::{Purpose, stream};

use super::ascent_memory::{ascent_memory, data_memory};
use super::coordinate_descent::{
    Ascent, AscentNumbers, Data, Factors, SWEEPS, saved_columns as saved_columns_of_ascent,
};
use super::merge_topics::merge_most_similar;
use super::new_topics::{add_topics, random_start, topics_of_another, topics_of_documents};
use super::state::{ASCENT, CANDIDATE, EARLIER, SavedState, SavedTables, other_solver};
use super::{Iterate, Iteration, Numbers, SolverState, Start};

/// Iterations of a new start before its first candidate.
const WARM_UP: usize = 10;
/// Topics that a candidate adds, but at most k.
const ADDED: usize = 3;
/// Iterations with the added topics before the first merge.
const GROW_ITERATIONS: usize = 5;
/// Sweeps over the coordinates of a row while there are more than k topics.
const GROW_SWEEPS: usize = 2;
/// Iterations after the last merge.
const SETTLE_ITERATIONS: usize = 12;
/// Halfway through these iterations a candidate is abandoned if its score is lower than the current one by more than
/// this, in nats per token.
const ABANDON_GAP: f64 = 1.2e-3;
/// The current factors have settled when an iteration gains less than this fraction of the score.
const SETTLED_GAIN: f64 = 1e-6;
/// Consecutive candidates without improvement that end the search from a start. Restarting at once was measured to be
/// better (NIPS, five seeds, 20 s: a median score of -24,866,168 with 1, -24,875,431 with 4).
const MAX_FAILED_CANDIDATES: usize = 1;
/// Consecutive starts without improvement that end the search.
const MAX_FAILED_STARTS: usize = 32;
/// A candidate starts only when an iteration gains less than this, in nats per token: before, further iterations gain more.
const CANDIDATE_GAIN: f64 = 2e-4;
/// A new start is given up when it would be lower than the best one even if it gained that many times its last gain: while an
/// ascent settles, it still gains about ten times as much as in its last iteration.
const PROMISE: f64 = 15.0;

/// Memory of a fit besides the counts.
pub(crate) fn memory(shape: &Shape) -> Vec<Item> {
    let (topics, more) = (shape.topics, shape.topics + ADDED as u64);
    let factors = 4 * topics * (shape.documents + shape.terms);
    let mut items = data_memory(shape, more);
    items.push(Item::ram(
        Consumer::Parameters,
        "L and F of the best earlier start",
        Phase::Fit,
        factors,
    ));
    let best = ascent_memory(shape, topics);
    // An iteration updates either the current factors or the candidate, so its extra copy is counted once.
    items.extend(best.into_iter().filter(|item| item.phase != Phase::Pass));
    let candidate = ascent_memory(shape, more).into_iter().map(|item| Item {
        what: format!("{}, split-merge candidate", item.what),
        ..item
    });
    items.extend(candidate);
    items
}

/// The most columns of all tables in a checkpoint, for documents and for terms: the best earlier start, the current
/// ascent and a candidate.
pub(crate) fn saved_columns(topics: u64) -> u64 {
    topics + saved_columns_of_ascent(topics) + saved_columns_of_ascent(topics + ADDED as u64)
}

pub(crate) struct SplitMerge {
    data: Data,
    /// The best factors of the earlier starts, and their score.
    best_earlier: Option<(Factors, f64)>,
    /// The best ascent of this start.
    current: Ascent,
    candidate: Option<Candidate>,
    seed: u64,
    search: Search,
}

/// Where the search is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Search {
    /// Number of the random stream of the next candidate.
    stream_number: u64,
    /// Consecutive candidates without improvement.
    failed_candidates: usize,
    /// Consecutive starts without improvement.
    failed_starts: usize,
    /// Iterations of `current` before the next candidate may start.
    iterations_before_candidate: usize,
    /// Whether the last iteration of the current factors gained less than [`SETTLED_GAIN`].
    settled: bool,
}

/// The numbers of the search in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SearchNumbers {
    current: AscentNumbers,
    pub(crate) candidate: Option<CandidateNumbers>,
    /// The score of the best earlier start.
    pub(crate) earlier_score: Option<Score>,
    search: Search,
}

/// A score, exact to the last bit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score(#[serde(with = "crate::system::serde_f64")] f64);

/// The numbers of a candidate in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CandidateNumbers {
    ascent: AscentNumbers,
    iterations_left: usize,
    /// Topics in addition to those requested.
    added: usize,
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
        let candidate_is = self.candidate.as_ref().is_none_or(|candidate| {
            candidate.ascent.are_in_range()
                && (1..=SETTLE_ITERATIONS).contains(&candidate.iterations_left)
                && candidate.added <= ADDED
        });
        let search = &self.search;
        candidate_is
            && self.current.are_in_range()
            && self
                .earlier_score
                .is_none_or(|score| score.0 < f64::INFINITY)
            // Two numbers of a stream an iteration at most.
            && search.stream_number <= u64::from(u32::MAX)
            && search.failed_candidates <= MAX_FAILED_CANDIDATES
            && search.failed_starts <= MAX_FAILED_STARTS
            && search.iterations_before_candidate <= SETTLE_ITERATIONS
    }
}

/// Factors with added topics, while they are fitted and merged.
struct Candidate {
    ascent: Ascent,
    /// Iterations before the next merge or, with k topics, before it is accepted or rejected.
    iterations_left: usize,
}

impl SplitMerge {
    pub(crate) fn new(counts: &Counts, start: Start, seed: u64) -> Result<Self> {
        let data = Data::new(counts)?;
        let (l, f) = match start {
            Start::New(l, f) => (l, f),
            Start::Saved(state) => return Self::saved(data, state, seed),
        };
        Ok(Self {
            current: Ascent::new(data.factors(l, f)),
            data,
            best_earlier: None,
            candidate: None,
            seed,
            search: Search {
                stream_number: 0,
                failed_candidates: 0,
                failed_starts: 0,
                iterations_before_candidate: WARM_UP,
                settled: false,
            },
        })
    }

    /// The search of a checkpoint. Its tables are in the order of [`state`](Iterate::state).
    fn saved(data: Data, state: SavedState, seed: u64) -> Result<Self> {
        let Numbers::Search(numbers) = state.numbers else {
            return Err(other_solver());
        };
        let mut tables = SavedTables::new(state.tables);
        let current = Ascent::saved(numbers.current, &mut tables)?;
        let candidate = match numbers.candidate {
            Some(candidate) => Some(Candidate {
                ascent: Ascent::saved(candidate.ascent, &mut tables)?,
                iterations_left: candidate.iterations_left,
            }),
            None => None,
        };
        let best_earlier = match numbers.earlier_score {
            Some(Score(score)) => {
                let [l, f] = tables.take()?;
                Some((Factors { l, f }, score))
            }
            None => None,
        };
        Ok(Self {
            data,
            best_earlier,
            current,
            candidate,
            seed,
            search: numbers.search,
        })
    }

    fn topics_requested(&self) -> usize {
        self.current.best.f.topics
    }

    fn start_candidate(&mut self, view: &View<'_>) {
        let mut random = stream(self.seed, Purpose::Candidate, self.search.stream_number);
        self.search.stream_number += 1;
        let added = ADDED.min(self.topics_requested());
        let current = &self.current.best;
        let columns = topics_of_documents(current, &self.data, view, added, &mut random);
        self.start_with(&columns);
    }

    /// Starts a candidate with these topics in addition.
    fn start_with(&mut self, columns: &[Vec<f64>]) {
        let start = add_topics(&self.current.best, &self.data, columns);
        self.candidate = Some(Candidate {
            ascent: Ascent::new(start),
            iterations_left: GROW_ITERATIONS,
        });
    }

    /// Takes the better one of this start and the earlier ones, with the topics of the other one that it lacks most.
    fn cross(&mut self, (mut other, score): (Factors, f64)) {
        self.search.failed_starts += 1;
        // The candidate that begins here is counted by itself.
        self.search.failed_candidates = 0;
        if self.current.score > score {
            self.search.failed_starts = 0;
        } else {
            std::mem::swap(&mut self.current.best, &mut other);
            let best = std::mem::take(&mut self.current.best);
            self.current = Ascent::new(best);
            self.current.score = score;
        }
        let added = ADDED.min(self.topics_requested());
        let columns = topics_of_another(&self.current.best, &other, added);
        self.start_with(&columns);
    }

    /// Keeps the current factors as the best of the earlier starts, and starts again from random ones.
    fn restart(&mut self) {
        self.search.stream_number += 1;
        let mut random = stream(self.seed, Purpose::Candidate, self.search.stream_number);
        let topics = self.topics_requested();
        let start = random_start(&self.data, &self.current.best, topics, &mut random);
        let old = std::mem::replace(&mut self.current, Ascent::new(start));
        self.best_earlier = Some((old.best, old.score));
        self.search.failed_candidates = 0;
        self.search.iterations_before_candidate = WARM_UP;
        self.search.settled = false;
    }

    /// Decides after an iteration with this gain whether a start is given up, or a candidate begins.
    fn decide(&mut self, gain: f64, view: &View<'_>) {
        if self.search.iterations_before_candidate > 0
            || self.search.failed_candidates >= MAX_FAILED_CANDIDATES
        {
            return;
        }
        let best = self.best_earlier.as_ref().map(|(_, score)| *score);
        if best.is_some_and(|best| self.current.score + PROMISE * gain < best) {
            self.search.settled = true;
            self.search.failed_candidates = MAX_FAILED_CANDIDATES;
        } else if gain <= CANDIDATE_GAIN * self.data.tokens {
            self.start_candidate(view);
        }
    }

    /// The best score of all starts.
    fn score(&self) -> f64 {
        let earlier = self.best_earlier.as_ref().map(|(_, score)| *score);
        earlier.map_or(self.current.score, |score| score.max(self.current.score))
    }

    /// Runs one iteration of a candidate. Returns the candidate while it continues, and `None` once it has been
    /// accepted or rejected.
    fn advance(&mut self, mut candidate: Candidate, view: &View<'_>) -> Option<Candidate> {
        let requested = self.topics_requested();
        let merging = candidate.ascent.best.f.topics > requested;
        let sweeps = if merging { GROW_SWEEPS } else { SWEEPS };
        candidate.ascent.step(&self.data, view, sweeps);
        candidate.iterations_left -= 1;
        if merging {
            if candidate.iterations_left == 0 {
                candidate.ascent = Ascent::new(merge_most_similar(&candidate.ascent.best));
                let done = candidate.ascent.best.f.topics == requested;
                candidate.iterations_left = if done { SETTLE_ITERATIONS } else { 1 };
            }
            return Some(candidate);
        }
        let gap = self.current.score - candidate.ascent.score;
        let abandoned = candidate.iterations_left == SETTLE_ITERATIONS / 2
            && gap > ABANDON_GAP * self.data.tokens;
        if candidate.iterations_left > 0 && !abandoned && gap >= 0.0 {
            return Some(candidate);
        }
        if gap < 0.0 {
            self.current = candidate.ascent;
            self.search.failed_candidates = 0;
            self.search.failed_starts = 0;
            self.search.settled = false;
            self.search.iterations_before_candidate = SETTLE_ITERATIONS / 2;
        } else {
            self.search.failed_candidates += 1;
        }
        None
    }
}

impl Iterate for SplitMerge {
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration> {
        let view = counts.view()?;
        if let Some(candidate) = self.candidate.take() {
            self.candidate = self.advance(candidate, &view);
            return Ok(Iteration {
                score: self.score(),
                residual: f64::INFINITY,
            });
        }
        if self.search.settled
            && self.search.failed_candidates >= MAX_FAILED_CANDIDATES
            && self.search.failed_starts < MAX_FAILED_STARTS
        {
            if let Some(earlier) = self.best_earlier.take() {
                self.cross(earlier);
                return self.iterate(counts);
            }
            self.restart();
        }
        let previous_score = self.current.score;
        let iteration = self.current.step(&self.data, &view, SWEEPS);
        if self.search.failed_starts == MAX_FAILED_STARTS {
            // The search is over: plain coordinate descent until it converges.
            return Ok(iteration);
        }
        self.search.iterations_before_candidate =
            self.search.iterations_before_candidate.saturating_sub(1);
        let gain = iteration.score - previous_score;
        let was_rejected = gain <= 0.0 && iteration.residual.is_infinite();
        if !was_rejected {
            self.search.settled = gain <= SETTLED_GAIN * iteration.score.abs();
            self.decide(gain, &view);
        }
        Ok(Iteration {
            score: self.score(),
            residual: f64::INFINITY,
        })
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        Ok(match &self.best_earlier {
            Some((factors, score)) if *score > self.current.score => factors.topics(),
            _ => self.current.best.topics(),
        })
    }

    fn stage(&self) -> Option<String> {
        let stage = match &self.candidate {
            Some(candidate) => match candidate.ascent.best.f.topics - self.topics_requested() {
                0 => "merged topics".into(),
                added => format!("{added} more topics"),
            },
            None if self.best_earlier.is_some() => "a new start".into(),
            None => "the first start".into(),
        };
        Some(stage)
    }

    fn state(&self) -> Result<SolverState<'_>> {
        let (current, tables) = self.current.state(ASCENT);
        let mut tables = Vec::from(tables);
        let candidate = self.candidate.as_ref().map(|candidate| {
            let (ascent, own) = candidate.ascent.state(CANDIDATE);
            tables.extend(own);
            CandidateNumbers {
                ascent,
                iterations_left: candidate.iterations_left,
                added: candidate.ascent.best.f.topics - self.topics_requested(),
            }
        });
        let earlier_score = self.best_earlier.as_ref().map(|(factors, score)| {
            let [l, f] = EARLIER;
            tables.extend([factors.l.named(l), factors.f.named(f)]);
            Score(*score)
        });
        Ok(SolverState {
            numbers: Numbers::Search(SearchNumbers {
                current,
                candidate,
                earlier_score,
                search: self.search.clone(),
            }),
            tables,
        })
    }
}
