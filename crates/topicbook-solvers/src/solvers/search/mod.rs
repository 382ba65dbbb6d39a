//! Coordinate descent, and a search for a higher maximum among many.
//!
//! A topic model's likelihood has many local maxima, in which one true topic is split into two or two are merged into
//! one. No sequence of small uphill steps leads from one maximum to another. The search starts from topics that are
//! noise, the same for frequent and for rare terms: they differ from the first iteration on, while topics around the corpus's
//! frequencies are nearly alike. Many topics are fitted to a sample of the documents first. The first iterations change L and F
//! less where documents or terms have few tokens, which leads to higher maxima. The search fits the best factors until they gain
//! little, and then candidates, of three origins:
//!
//! - the best factors with a few topics more where documents have the largest deviance, which are fitted and then merged
//!   until k are left. This is split and merge (Ueda, Nakano, Ghahramani and Hinton 2000), where the added topics determine
//!   which topics are split;
//! - new topics of noise;
//! - the topics of two earlier fits, one of each pair that is alike. Two maxima differ in some topics and agree in
//!   others, so such a candidate is near a maximum at once, and often near a higher one. This is the crossover of Gribel
//!   and Vidal (2019), who search for clusters.
//!
//! A candidate ends when it is better than the best factors, which it then replaces, or when it promises to stay worse.
//! The first candidate begins when the best factors have converged. A further one begins when their iterations gain less than
//! candidates have gained or, after a candidate that was not better, when they have converged again. Added topics gain much on
//! some corpora, again and again, and little on others. They are tried first; with few topics, a new start is. Then the choice is
//! whichever has gained more per iteration recently: added topics, or a new start, whose topics are combined with the best fit
//! when they have converged or were given up. When neither gains more than chance, they alternate.

mod arms;
mod candidate;
mod crossover;
mod members;
mod merge_topics;
mod new_topics;
mod numbers;
mod sample;
mod settings;

use crate::cost::{Consumer, Item, Phase, Shape};
use crate::counts::{Counts, View};
use crate::data::Matrix;
use crate::error::Result;
use crate::system::{Purpose, stream};

use super::ascent_memory::{ascent_memory, data_memory};
use super::coordinate_descent::{
    Ascent, Data, Factors, Sweeps, saved_columns as saved_columns_of_ascent,
};
use super::factor::Factor;
use super::state::{ASCENT, EARLIER, SavedState, SavedTables, other_solver};
use super::{Iterate, Iteration, Numbers, SolverState, Start};

use arms::Arm;
use candidate::{Candidate, Origin, SWEEPS, Verdict, sweeps_from_noise};
pub use members::MEMBERS;
use members::Members;
use new_topics::{add_topics, equal_shares, start_from_noise, topics_of_misfits};
pub use numbers::SearchNumbers;
use numbers::{Progress, Score};
use sample::{first_start, sample_bytes};
use settings::SearchSettings;

/// Iterations of the best factors before a candidate may start: of new factors, and of factors that were a candidate.
const FIRST_ITERATIONS: usize = 10;
const MORE_ITERATIONS: usize = 6;
/// Candidates without added topics, one after the other.
const TURNS: [Origin; 3] = [Origin::Random, Origin::CrossedNewest, Origin::CrossedAny];
/// Number of consecutive candidates without success after which the search ends.
const MOST_FAILURES: usize = 120;
/// Sweeps over the coordinates of a row of L before the first iteration of a candidate that has F only.
const FIRST_SWEEPS: Sweeps = Sweeps::Each(8);

/// Memory of a fit without the counts.
pub fn memory(shape: &Shape) -> Vec<Item> {
    let (topics, more) = (shape.topics, with_added(shape.topics));
    let mut items = vec![Item::ram(
        Consumer::Parameters,
        "F of earlier fits",
        Phase::Fit,
        4 * MEMBERS as u64 * topics * shape.terms,
    )];
    let best = ascent_memory(shape, topics);
    // An iteration updates either the best factors or the candidate, so its extra copy is counted once.
    items.extend(best.into_iter().filter(|item| item.phase != Phase::Pass));
    let candidate = ascent_memory(shape, more).into_iter().map(|item| Item {
        what: format!("{}, candidate", item.what),
        ..item
    });
    items.extend(candidate);
    // The tables of the fit do not exist yet while the first topics are fitted to a sample.
    let of_fit = items.iter().filter(|item| item.phase == Phase::Fit);
    let later: u64 = of_fit.map(|item| item.bytes).sum();
    let mut all = data_memory(shape, more);
    all.push(Item::ram(
        Consumer::Counts,
        "sample of the documents",
        Phase::Starting,
        sample_bytes(shape).saturating_sub(later),
    ));
    all.extend(items);
    all
}

/// The maximum number of columns of all tables in a checkpoint, for documents and for terms: of the best factors and a
/// candidate, and for terms of the earlier fits.
pub fn saved_columns(topics: u64) -> [u64; 2] {
    let both = saved_columns_of_ascent(topics) + saved_columns_of_ascent(with_added(topics));
    [both, both + MEMBERS as u64 * topics]
}

/// The maximum number of topics of a candidate.
fn with_added(topics: u64) -> u64 {
    topics + SearchSettings::of(topics as usize).added as u64
}

pub struct Search {
    data: Data,
    best: Ascent,
    candidate: Option<Candidate>,
    members: Members,
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
        let first = first_start(shape, (counts, &data), seed)?;
        Ok(Self {
            best: Ascent::new(first),
            data,
            candidate: None,
            members: Members::default(),
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
        let mut members = Members::default();
        for Score(score) in numbers.earlier {
            let [f] = tables.take()?;
            members.0.push((f, score));
        }
        Ok(Self {
            data,
            best,
            candidate,
            members,
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
        let gains_little = progress.gain <= progress.arms.rate();
        progress.failures < MOST_FAILURES
            && progress.iterations_first == 0
            && (progress.converged || progress.failures == 0 && gains_little)
    }

    /// The next candidate.
    fn begin(&mut self, view: &View<'_>) -> Candidate {
        let number = self.progress.stream_number;
        let mut random = stream(self.seed, Purpose::Candidate, number);
        self.progress.stream_number += 1;
        let topics = self.topics_requested();
        let settings = SearchSettings::of(topics);
        let progress = &mut self.progress;
        let is_other = progress.turn > 0
            || progress.arms.next(settings.first, self.data.tokens) == Arm::Others;
        let origin = if is_other {
            let origin = TURNS[progress.turn];
            progress.turn = (progress.turn + 1) % TURNS.len();
            origin
        } else {
            Origin::Added
        };
        let best = &self.best.best;
        let start = match origin {
            Origin::Added => {
                let more = topics_of_misfits(best, &self.data, view, settings.added, &mut random);
                add_topics(best, &self.data, &more)
            }
            Origin::Random => {
                let shape = (topics, best.f.values.len() / topics);
                start_from_noise(shape, &self.data, self.seed, 1 + number)
            }
            Origin::CrossedNewest => {
                self.with_l(self.members.cross_newest(&best.f, &mut random), view)
            }
            Origin::CrossedAny => self.with_l(self.members.cross_any(&best.f, &mut random), view),
        };
        Candidate::new(start, origin)
    }

    /// These topics, with an L that is fitted to them.
    fn with_l(&self, f: Factor, view: &View<'_>) -> Factors {
        let Factors { mut l, f } = equal_shares(f, &self.data);
        self.data.update_l(view, FIRST_SWEEPS, &mut l, &f);
        Factors { l, f }
    }

    /// Runs one iteration of a candidate. Returns the candidate while it continues.
    fn advance(&mut self, mut candidate: Candidate, view: &View<'_>) -> Option<Candidate> {
        let goal = (self.topics_requested(), self.best.score);
        let verdict = candidate.advance(&self.data, view, goal);
        if verdict == Verdict::Continues {
            return Some(candidate);
        }
        let Candidate {
            ascent,
            origin,
            gain,
            ..
        } = candidate;
        let is_better = verdict == Verdict::Better;
        let (f, score) = if is_better {
            self.progress.improved(gain);
            let earlier = std::mem::replace(&mut self.best, ascent);
            (earlier.best.f, earlier.score)
        } else {
            self.progress.failures += 1;
            (ascent.best.f, ascent.score)
        };
        // With added topics a fit differs from the best one in some topics only, so combining the two is of no use.
        if origin != Origin::Added {
            self.members.add(f, score, self.best.score);
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
            let score = self.best.score;
            self.progress.arms.count(score - before);
            return Ok(Iteration {
                score,
                residual: f64::INFINITY,
            });
        }
        let sweeps = match self.progress.stream_number {
            0 => sweeps_from_noise(FIRST_ITERATIONS - self.progress.iterations_first),
            _ => SWEEPS,
        };
        let iteration = self.best.step(&self.data, &view, sweeps);
        let converged = SearchSettings::of(self.topics_requested()).converged;
        let progress = &mut self.progress;
        match progress.iterations_first > 0 && progress.stream_number > 0 {
            true => progress.arms.count((iteration.score - before).max(0.0)),
            false => progress.arms.count_best(),
        }
        progress.iterations_first = progress.iterations_first.saturating_sub(1);
        progress.gain = iteration.gain(before, progress.gain);
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
                    Origin::CrossedNewest | Origin::CrossedAny => "mixed topics".into(),
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
        let members = self.members.0.iter().zip(EARLIER);
        tables.extend(members.map(|((f, _), name)| f.named(name)));
        Ok(SolverState {
            numbers: Numbers::Search(Box::new(SearchNumbers {
                best,
                candidate,
                earlier: Vec::from_iter(self.members.0.iter().map(|(_, score)| Score(*score))),
                progress: self.progress.clone(),
            })),
            tables,
        })
    }
}
