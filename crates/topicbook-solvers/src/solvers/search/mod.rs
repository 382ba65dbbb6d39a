//! Coordinate descent, and a search for a higher maximum among many.
//!
//! A topic model's likelihood has many local maxima, in which one true topic is split into two or two are merged into
//! one. No sequence of small uphill steps leads from one maximum to another. The search starts from topics that are
//! noise, the same for frequent and for rare terms: they differ from the first iteration on, while topics around the corpus's
//! frequencies are nearly alike. The first iterations change L and F less where documents or terms have few tokens, which leads
//! to higher maxima. The search fits the best factors until they converge, and then candidates, of two origins in turn:
//!
//! - the best factors with a few topics more where documents have the largest deviance, which are fitted and then merged
//!   until k are left. This is split and merge (Ueda, Nakano, Ghahramani and Hinton 2000), where the added topics determine
//!   which topics are split;
//! - new topics of noise.
//!
//! A candidate ends when it is better than the best factors, which it then replaces, or when it promises to stay worse. The
//! next one begins when the best factors have converged again.

mod candidate;
mod merge_topics;
mod new_topics;
mod numbers;
mod settings;

use crate::cost::{Item, Phase, Shape};
use crate::counts::{Counts, View};
use crate::data::Matrix;
use crate::error::Result;
use crate::system::{Purpose, stream};

use super::ascent_memory::{ascent_memory, data_memory};
use super::coordinate_descent::{Ascent, Data, saved_columns as saved_columns_of_ascent};
use super::state::{ASCENT, SavedState, SavedTables, other_solver};
use super::{Iterate, Iteration, Numbers, SolverState, Start};

use candidate::{Candidate, Origin, SWEEPS, Verdict, sweeps_from_noise};
use new_topics::{add_topics, start_from_noise, topics_of_misfits};
use numbers::Progress;
pub use numbers::SearchNumbers;
use settings::SearchSettings;

/// Iterations of the best factors before a candidate may start: of new factors, and of factors that were a candidate.
const FIRST_ITERATIONS: usize = 10;
const MORE_ITERATIONS: usize = 6;
/// Number of consecutive candidates without success after which the search ends.
const MOST_FAILURES: usize = 120;
/// Memory of a fit without the counts.
pub fn memory(shape: &Shape) -> Vec<Item> {
    let (topics, more) = (shape.topics, with_added(shape.topics));
    let mut items = data_memory(shape, more);
    let best = ascent_memory(shape, topics);
    // An iteration updates either the best factors or the candidate, so its extra copy is counted once.
    items.extend(best.into_iter().filter(|item| item.phase != Phase::Pass));
    let candidate = ascent_memory(shape, more).into_iter().map(|item| Item {
        what: format!("{}, candidate", item.what),
        ..item
    });
    items.extend(candidate);
    items
}

/// The maximum number of columns of all tables in a checkpoint, for documents and for terms alike: of the best factors and a
/// candidate.
pub fn saved_columns(topics: u64) -> u64 {
    saved_columns_of_ascent(topics) + saved_columns_of_ascent(with_added(topics))
}

/// The maximum number of topics of a candidate.
fn with_added(topics: u64) -> u64 {
    topics + SearchSettings::of(topics as usize).added as u64
}

pub struct Search {
    data: Data,
    best: Ascent,
    candidate: Option<Candidate>,
    seed: u64,
    progress: Progress,
}

impl Search {
    pub fn new(counts: &Counts, start: Start, seed: u64) -> Result<Self> {
        let data = Data::new(counts)?;
        let shape = match start {
            Start::New(_, f) => f.shape(),
            Start::Saved(state) => return Self::saved(data, state, seed),
        };
        Ok(Self {
            best: Ascent::new(start_from_noise(shape, &data, seed, 0)),
            data,
            candidate: None,
            seed,
            progress: Progress::new(FIRST_ITERATIONS),
        })
    }

    /// The search of a checkpoint. Its tables are in the order of [`state`](Iterate::state).
    fn saved(data: Data, state: SavedState, seed: u64) -> Result<Self> {
        let Numbers::Search(numbers) = state.numbers else {
            return Err(other_solver());
        };
        let numbers = *numbers;
        let mut tables = SavedTables::new(state.tables);
        let best = Ascent::saved(numbers.best, &mut tables)?;
        let candidate = numbers.candidate;
        let candidate = candidate.map(|numbers| Candidate::saved(numbers, &mut tables));
        let candidate = candidate.transpose()?;
        Ok(Self {
            data,
            best,
            candidate,
            seed,
            progress: numbers.progress,
        })
    }

    fn topics_requested(&self) -> usize {
        self.best.best.f.topics
    }

    /// Whether a candidate may begin.
    fn may_begin(&self) -> bool {
        let progress = &self.progress;
        progress.failures < MOST_FAILURES && progress.iterations_first == 0 && progress.converged
    }

    /// The next candidate.
    fn begin(&mut self, view: &View<'_>) -> Candidate {
        let number = self.progress.candidates;
        self.progress.candidates += 1;
        let settings = SearchSettings::of(self.topics_requested());
        let best = &self.best.best;
        match number.is_multiple_of(2) == settings.noise_first {
            true => {
                let shape = (best.f.topics, best.f.values.len() / best.f.topics);
                let start = start_from_noise(shape, &self.data, self.seed, 1 + number);
                Candidate::new(start, Origin::Random)
            }
            false => {
                let mut random = stream(self.seed, Purpose::Candidate, number);
                let more = topics_of_misfits(best, &self.data, view, settings.added, &mut random);
                Candidate::new(add_topics(best, &self.data, &more), Origin::Added)
            }
        }
    }

    /// Runs one iteration of a candidate. Returns the candidate while it continues.
    fn advance(&mut self, mut candidate: Candidate, view: &View<'_>) -> Option<Candidate> {
        let goal = (self.topics_requested(), self.best.score);
        let verdict = candidate.advance(&self.data, view, goal);
        if verdict == Verdict::Continues {
            return Some(candidate);
        }
        match verdict {
            Verdict::Better => {
                self.progress.improved();
                self.best = candidate.ascent;
            }
            _ => self.progress.failures += 1,
        }
        None
    }
}

impl Iterate for Search {
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration> {
        let view = counts.view()?;
        if self.candidate.is_none() && self.may_begin() {
            self.candidate = Some(self.begin(&view));
        }
        let before = self.best.score;
        if let Some(candidate) = self.candidate.take() {
            self.candidate = self.advance(candidate, &view);
            return Ok(Iteration {
                score: self.best.score,
                residual: f64::INFINITY,
            });
        }
        let sweeps = match self.progress.candidates {
            0 => sweeps_from_noise(FIRST_ITERATIONS - self.progress.iterations_first),
            _ => SWEEPS,
        };
        let iteration = self.best.step(&self.data, &view, sweeps);
        let converged = SearchSettings::of(self.topics_requested()).converged;
        let progress = &mut self.progress;
        progress.iterations_first = progress.iterations_first.saturating_sub(1);
        progress.converged = iteration.converged(before, converged);
        Ok(match progress.failures < MOST_FAILURES {
            true => Iteration {
                residual: f64::INFINITY,
                ..iteration
            },
            // The search is over: plain coordinate descent until it converges.
            false => iteration,
        })
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        Ok(self.best.best.topics())
    }

    fn stage(&self) -> Option<String> {
        let stage = match &self.candidate {
            None => "the best fit".into(),
            Some(candidate) => match candidate.added(self.topics_requested()) {
                0 => match candidate.origin {
                    Origin::Added => "merged topics".into(),
                    Origin::Random => "a new start".into(),
                },
                added => format!("{added} more topics"),
            },
        };
        Some(stage)
    }

    fn state(&self) -> Result<SolverState<'_>> {
        let (best, tables) = self.best.state(ASCENT);
        let mut tables = Vec::from(tables);
        let candidate = self.candidate.as_ref().map(|candidate| {
            let (numbers, own) = candidate.state(self.topics_requested());
            tables.extend(own);
            numbers
        });
        Ok(SolverState {
            numbers: Numbers::Search(Box::new(SearchNumbers {
                best,
                candidate,
                progress: self.progress.clone(),
            })),
            tables,
        })
    }
}
