//! Coordinate descent with extrapolation for both factors, for counts in memory.

use std::cell::RefCell;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::counts::rows::{NonzeroBuffer, nonzeros_of_row};
use crate::counts::{Counts, View};
use crate::data::{Matrix, NamedTable};
use crate::error::Result;

use super::factor::{CHUNK, Factor, reciprocals};
use super::row_update::{DescentScratch, Outcome, RowProblem, improve};
use super::state::{ASCENT, SavedTables, other_solver};
use super::transpose::TransposedCounts;
use super::{Iterate, Iteration, Numbers, SolverState, Start};

/// Sweeps over the coordinates of a row. Gathering a row's counts and computing its rates costs as much as one sweep.
pub const SWEEPS: usize = 4;
/// Tokens of a row, for each topic, below which it is short.
const SHORT_ROW: f64 = 10.0;
/// Floor of a topic's share of a document's tokens. Coordinates at exactly zero would grow again only slowly. The floor
/// also keeps rates positive.
const SMALLEST_SHARE: f32 = 1e-9;
/// Floor of a term's probability in a topic.
const SMALLEST_PROBABILITY: f32 = 1e-12;

/// Relative difference of scores below which rounding may explain it.
const ROUNDING: f64 = 1e-8;

thread_local! {
    static SCRATCH: RefCell<(DescentScratch, NonzeroBuffer)> = RefCell::default();
}

/// Columns of all tables that an [`Ascent`] stores, for documents and for terms.
pub fn saved_columns(topics: u64) -> u64 {
    2 * topics
}

/// L in tokens (documents x topics) and F in probabilities (terms x topics).
#[derive(Clone, Default)]
pub struct Factors {
    pub l: Factor,
    pub f: Factor,
}

impl Factors {
    /// L and F with rows that sum to one.
    pub fn topics(&self) -> (Matrix, Matrix) {
        (self.l.proportions(), self.f.probabilities())
    }

    /// Copies factors of the same shape without allocating.
    fn copy_from(&mut self, other: &Self) {
        self.l.values.copy_from_slice(&other.l.values);
        self.f.values.copy_from_slice(&other.f.values);
    }

    /// Divides the columns of F by `sums` and multiplies the columns of L by them, which leaves all rates unchanged.
    fn normalise(&mut self, sums: &[f64]) {
        self.l.scale_columns(sums);
        self.f.scale_columns(&reciprocals(sums));
    }
}

/// How often an iteration sweeps over the coordinates of a row of L or F.
#[derive(Clone, Copy)]
pub enum Sweeps {
    Each(usize),
    /// Once where the document or term has few tokens for each topic, and [`SWEEPS`] times elsewhere. A row of few tokens can
    /// be fitted closely to any topics, and would keep the topics of the start.
    FewWhereShort,
}

impl Sweeps {
    fn of_row(self, topics: usize, tokens: impl FnOnce() -> f64) -> usize {
        match self {
            Self::Each(sweeps) => sweeps,
            Self::FewWhereShort if tokens() < SHORT_ROW * topics as f64 => 1,
            Self::FewWhereShort => SWEEPS,
        }
    }
}

/// Data derived from the counts once per fit.
pub struct Data {
    by_term: TransposedCounts,
    pub lengths: Vec<f64>,
    pub tokens: f64,
}

/// State of an alternating ascent over L and F with extrapolation (Ang and Gillis 2019; constants as in fastTopics).
/// Each updated factor is extrapolated along its last change, by a step that grows while the likelihood rises. When the
/// likelihood falls, the ascent restarts from the best factors, without extrapolation for one iteration.
#[derive(Clone)]
pub struct Ascent {
    /// The factors of the highest score: L with and F without extrapolation.
    pub best: Factors,
    /// The previous iterate, without extrapolation. Its F equals the F of `best`.
    previous: Factors,
    /// The extrapolated iterate, from which the next iteration starts. Its L equals the L of `best`.
    extrapolated: Factors,
    extrapolation: Extrapolation,
    pub score: f64,
}

/// Coordinate descent from one start.
pub struct Descent {
    data: Data,
    ascent: Ascent,
}

/// The numbers of an [`Ascent`] in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AscentNumbers {
    extrapolation: Extrapolation,
    #[serde(with = "crate::system::serde_f64")]
    score: f64,
}

impl AscentNumbers {
    /// Whether an ascent can reach these numbers.
    pub fn are_in_range(&self) -> bool {
        let Extrapolation {
            step,
            last_accepted,
            limit,
            ..
        } = self.extrapolation;
        let steps_are_shares = [step, last_accepted, limit]
            .iter()
            .all(|step| (0.0..=1.0).contains(step));
        // An ascent without an iteration has a score of negative infinity.
        steps_are_shares && self.score < f64::INFINITY
    }
}

/// The adaptive extrapolation step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Extrapolation {
    #[serde(with = "crate::system::serde_f64")]
    step: f64,
    /// The step of the last accepted iteration.
    #[serde(with = "crate::system::serde_f64")]
    last_accepted: f64,
    /// Upper limit of the step.
    #[serde(with = "crate::system::serde_f64")]
    limit: f64,
    /// Whether the next iteration does not extrapolate.
    skip_next: bool,
}

impl Extrapolation {
    fn new() -> Self {
        Self {
            step: 0.5,
            last_accepted: 0.5,
            limit: 1.0,
            skip_next: true,
        }
    }

    /// The step of the next iteration.
    fn next_step(&self) -> f32 {
        if self.skip_next {
            0.0
        } else {
            self.step as f32
        }
    }

    fn accepted(&mut self) {
        if !self.skip_next {
            self.last_accepted = self.step;
            self.step = (self.step * 1.1).min(self.limit);
            self.limit = (self.limit * 1.05).min(0.99);
        }
        self.skip_next = false;
    }

    fn rejected(&mut self) {
        self.limit = self.last_accepted;
        self.step /= 1.5;
        self.skip_next = true;
    }
}

impl Data {
    pub fn new(counts: &Counts) -> Result<Self> {
        let (documents, terms) = counts.shape();
        let summary = counts.summary()?;
        Ok(Self {
            by_term: TransposedCounts::new(&counts.view()?, documents, terms),
            lengths: summary.document_lengths().to_vec(),
            tokens: summary.total(),
        })
    }

    /// Scales positive L (documents x topics) and F (topics x terms), whose rows need not sum to one, to tokens and
    /// probabilities.
    pub fn factors(&self, l: &Matrix, f: &Matrix) -> Factors {
        let mut factors = Factors {
            l: Factor::from_l(l),
            f: Factor::from_f(f),
        };
        factors
            .f
            .scale_columns(&reciprocals(&factors.f.column_sums()));
        factors.l.scale_rows(&self.lengths);
        factors
    }

    /// Updates all rows of L and returns their KKT residual.
    pub fn update_l(&self, view: &View<'_>, sweeps: Sweeps, l: &mut Factor, f: &Factor) -> f64 {
        let column_sums = column_sums(f);
        let terms = f.values.len() / f.topics;
        let outcome = for_each_row(l, |document, weights, (scratch, buffer)| {
            let (columns, counts) = nonzeros_of_row(view, terms, document, buffer);
            let tokens = self.lengths[document];
            let problem = RowProblem {
                factor: &f.values,
                column_sums: &column_sums,
                sweeps: sweeps.of_row(f.topics, || tokens),
            };
            let floor = SMALLEST_SHARE * tokens as f32;
            improve(columns, counts, &problem, floor, weights, scratch)
        });
        outcome.kkt_residual
    }

    /// Updates all rows of F.
    fn update_f(&self, sweeps: Sweeps, f: &mut Factor, l: &Factor) -> Outcome {
        let column_sums = column_sums(l);
        for_each_row(f, |term, weights, (scratch, _)| {
            let (documents, counts) = self.by_term.term(term);
            let tokens = || counts.iter().map(|count| f64::from(*count)).sum();
            let problem = RowProblem {
                factor: &l.values,
                column_sums: &column_sums,
                sweeps: sweeps.of_row(l.topics, tokens),
            };
            improve(
                documents,
                counts,
                &problem,
                SMALLEST_PROBABILITY,
                weights,
                scratch,
            )
        })
    }

    /// The score of factors whose sum of x log (L F) is `likelihood`: the same sum with each rate divided by the sum of
    /// its document's rates. `f_sums`: the column sums of F.
    fn score(&self, l: &Factor, f_sums: &[f64], likelihood: f64) -> f64 {
        let parts: Vec<f64> = l
            .values
            .par_chunks(CHUNK * l.topics)
            .zip(self.lengths.par_chunks(CHUNK))
            .map(|(rows, lengths)| {
                let rows = rows.chunks(l.topics).zip(lengths);
                rows.filter(|(_, length)| **length > 0.0)
                    .map(|(row, length)| {
                        let products = row.iter().zip(f_sums);
                        let rate_sum: f64 = products.map(|(w, s)| f64::from(*w) * s).sum();
                        length * rate_sum.ln()
                    })
                    .sum()
            })
            .collect();
        likelihood - parts.into_iter().sum::<f64>()
    }
}

/// Applies `update` to every row of a factor in parallel and sums the outcomes. The sums do not depend on the number of
/// threads.
fn for_each_row(
    factor: &mut Factor,
    update: impl Fn(usize, &mut [f32], &mut (DescentScratch, NonzeroBuffer)) -> Outcome + Sync,
) -> Outcome {
    let topics = factor.topics;
    let parts: Vec<Outcome> = factor
        .values
        .par_chunks_mut(CHUNK * topics)
        .enumerate()
        .map(|(chunk, rows)| {
            SCRATCH.with_borrow_mut(|scratch| {
                let rows = rows.chunks_mut(topics).enumerate();
                add(rows.map(|(row, weights)| update(chunk * CHUNK + row, weights, scratch)))
            })
        })
        .collect();
    add(parts.into_iter())
}

fn add(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    outcomes.fold(Outcome::default(), |sum, part| Outcome {
        likelihood: sum.likelihood + part.likelihood,
        kkt_residual: sum.kkt_residual + part.kkt_residual,
    })
}

fn column_sums(factor: &Factor) -> Vec<f32> {
    factor
        .column_sums()
        .into_iter()
        .map(|sum| sum as f32)
        .collect()
}

/// `to + step * (to - from)`, not below `floor(row)`.
fn extrapolate(
    to: &Factor,
    from: &Factor,
    step: f32,
    floor: impl Fn(usize) -> f32 + Sync,
) -> Factor {
    let mut extrapolated = to.clone();
    if step > 0.0 {
        let topics = to.topics;
        extrapolated
            .values
            .par_chunks_mut(CHUNK * topics)
            .zip(from.values.par_chunks(CHUNK * topics))
            .enumerate()
            .for_each(|(chunk, (rows, from))| {
                let rows = rows.chunks_mut(topics).zip(from.chunks(topics));
                for (row, (values, from)) in rows.enumerate() {
                    let floor = floor(chunk * CHUNK + row);
                    for (value, from) in values.iter_mut().zip(from) {
                        *value = (*value + step * (*value - from)).max(floor);
                    }
                }
            });
    }
    extrapolated
}

impl Ascent {
    pub fn new(start: Factors) -> Self {
        Self {
            best: start.clone(),
            previous: start.clone(),
            extrapolated: start,
            extrapolation: Extrapolation::new(),
            score: f64::NEG_INFINITY,
        }
    }

    /// The state that a checkpoint stores: the tables that differ from each other, under these names.
    pub fn state(
        &self,
        [best_l, best_f, previous_l, extrapolated_f]: [&'static str; 4],
    ) -> (AscentNumbers, [NamedTable<'_>; 4]) {
        let numbers = AscentNumbers {
            extrapolation: self.extrapolation.clone(),
            score: self.score,
        };
        let tables = [
            self.best.l.named(best_l),
            self.best.f.named(best_f),
            self.previous.l.named(previous_l),
            self.extrapolated.f.named(extrapolated_f),
        ];
        (numbers, tables)
    }

    /// The ascent of a checkpoint.
    pub fn saved(numbers: AscentNumbers, tables: &mut SavedTables) -> Result<Self> {
        let [best_l, best_f, previous_l, extrapolated_f] = tables.take()?;
        Ok(Self {
            previous: Factors {
                l: previous_l,
                f: best_f.clone(),
            },
            extrapolated: Factors {
                l: best_l.clone(),
                f: extrapolated_f,
            },
            best: Factors {
                l: best_l,
                f: best_f,
            },
            extrapolation: numbers.extrapolation,
            score: numbers.score,
        })
    }

    /// One iteration: updates L, then F.
    pub fn step(&mut self, data: &Data, view: &View<'_>, sweeps: Sweeps) -> Iteration {
        let step = self.extrapolation.next_step();
        // Updated in place: the extrapolated iterate is not needed afterwards.
        let Factors { mut l, mut f } = std::mem::take(&mut self.extrapolated);
        let l_residual = data.update_l(view, sweeps, &mut l, &f);
        let extrapolated_l = extrapolate(&l, &self.previous.l, step, |document| {
            SMALLEST_SHARE * data.lengths[document] as f32
        });
        let outcome = data.update_f(sweeps, &mut f, &extrapolated_l);
        let f_sums = f.column_sums();
        let score = data.score(&extrapolated_l, &f_sums, outcome.likelihood);
        let residual = (l_residual + outcome.kkt_residual) / data.tokens;
        if score < self.score {
            self.extrapolation.rejected();
            self.previous.copy_from(&self.best);
            self.extrapolated = Factors { l, f };
            self.extrapolated.copy_from(&self.best);
            // After a rejected extrapolation the fit has not converged; after a loss within rounding errors it may
            // have.
            let rounding = self.score - score <= ROUNDING * score.abs();
            return Iteration {
                score: self.score,
                residual: if rounding { residual } else { f64::INFINITY },
            };
        }
        self.extrapolation.accepted();
        self.score = score;
        // A term that occurs in no document keeps probability zero.
        let extrapolated_f = extrapolate(&f, &self.previous.f, step, |term| {
            match data.by_term.term(term).0.is_empty() {
                true => 0.0,
                false => SMALLEST_PROBABILITY,
            }
        });
        self.best.l.values.copy_from_slice(&extrapolated_l.values);
        self.best.f.values.copy_from_slice(&f.values);
        self.previous = Factors { l, f };
        self.extrapolated = Factors {
            l: extrapolated_l,
            f: extrapolated_f,
        };
        for factors in [&mut self.best, &mut self.previous, &mut self.extrapolated] {
            factors.normalise(&f_sums);
        }
        Iteration { score, residual }
    }
}

impl Descent {
    pub fn new(counts: &Counts, start: Start) -> Result<Self> {
        let data = Data::new(counts)?;
        let ascent = match start {
            Start::New(l, f) => Ascent::new(data.factors(l, f)),
            Start::Saved(state) => match state.numbers {
                Numbers::Ascent(numbers) => {
                    Ascent::saved(numbers, &mut SavedTables::new(state.tables))?
                }
                _ => return Err(other_solver()),
            },
        };
        Ok(Self { data, ascent })
    }

    #[cfg(test)]
    pub fn without_extrapolation(mut self) -> Self {
        let extrapolation = &mut self.ascent.extrapolation;
        (extrapolation.step, extrapolation.limit) = (0.0, 0.0);
        self
    }
}

impl Iterate for Descent {
    fn iterate(&mut self, counts: &Counts) -> Result<Iteration> {
        let sweeps = Sweeps::Each(SWEEPS);
        Ok(self.ascent.step(&self.data, &counts.view()?, sweeps))
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        Ok(self.ascent.best.topics())
    }

    fn state(&self) -> Result<SolverState<'_>> {
        let (numbers, tables) = self.ascent.state(ASCENT);
        Ok(SolverState {
            numbers: Numbers::Ascent(numbers),
            tables: tables.into(),
        })
    }
}
