//! Counts in memory: both factors by coordinate descent, with extrapolation.

use std::cell::RefCell;

use rayon::prelude::*;

use super::kernel::{Against, Outcome, Scratch, improve};
use super::nonzeros::{ByTerm, Room, row_of};
use super::table::{CHUNK, Table, inverse};
use super::{Gain, Iterate};
use crate::counts::{Counts, View};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::plan::{Item, Shape, When};

/// Rounds over the coordinates of a row. Reading a row's counts and rates costs as much as one of them.
pub(super) const SWEEPS: usize = 4;
/// No share of a row's tokens is smaller: an exact zero would be left only slowly, and rates stay above zero.
const SMALLEST_SHARE: f32 = 1e-9;
/// No probability of a term is smaller.
const SMALLEST_PROBABILITY: f32 = 1e-12;

/// Scores that differ by less than this part of them differ by rounding.
const ROUNDING: f64 = 1e-8;

thread_local! {
    static ROOM: RefCell<(Scratch, Room)> = RefCell::default();
}

/// What a fit takes besides the counts.
pub(super) fn memory(shape: &Shape) -> Vec<Item> {
    let mut items = shared_memory(shape, shape.topics);
    items.extend(climb_memory(shape, shape.topics));
    items
}

/// What all climbs share.
pub(super) fn shared_memory(shape: &Shape, topics: u64) -> Vec<Item> {
    // The longest row of either side is that of a term that every document has.
    let longest = shape.documents.max(shape.nonzeros);
    let scratch = 4 * (topics + 2) * longest * rayon::current_num_threads() as u64;
    vec![
        Item::ram(
            "the counts by term",
            When::Fit,
            8 * shape.nonzeros * shape.documents + 16 * shape.terms,
        ),
        Item::ram("documents' lengths", When::Fit, 8 * shape.documents),
        Item::ram("rows at hand, one a thread", When::Steps, scratch),
    ]
}

/// What a climb takes: of both tables the best, the last and the extrapolated, and a fourth while an iteration runs.
pub(super) fn climb_memory(shape: &Shape, topics: u64) -> Vec<Item> {
    let pair = 4 * topics * (shape.documents + shape.terms);
    vec![
        Item::ram("L and F: the best, the last, the next", When::Fit, 3 * pair),
        Item::ram("L and F of the iteration at hand", When::Pass, pair),
    ]
}

/// A pair of tables: L in tokens, F in probabilities.
#[derive(Clone, Default)]
pub(super) struct Pair {
    pub(super) l: Table,
    pub(super) f: Table,
}

impl Pair {
    /// L and F with rows that sum to one.
    pub(super) fn topics(&self) -> (Matrix, Matrix) {
        (self.l.proportions(), self.f.probabilities())
    }

    /// Becomes a pair of the same shape, in the memory that it has.
    fn copy_from(&mut self, other: &Self) {
        self.l.values.copy_from_slice(&other.l.values);
        self.f.values.copy_from_slice(&other.f.values);
    }

    /// Makes the columns of F sum to one, without a change of any rate.
    fn normalise(&mut self, sums: &[f64]) {
        self.l.scale(sums);
        self.f.scale(&inverse(sums));
    }
}

/// What the counts are to coordinate descent, besides themselves.
pub(super) struct Data {
    by_term: ByTerm,
    pub(super) lengths: Vec<f64>,
    pub(super) tokens: f64,
}

/// Alternates between L and F. Each new table is taken further along the way it has come, by a factor that grows as long
/// as the likelihood rises; when it falls, the last good pair is taken up again, without (Ang and Gillis 2019; the
/// numbers are those of fastTopics).
#[derive(Clone)]
pub(super) struct Climb {
    pub(super) best: Pair,
    /// Before extrapolation.
    last: Pair,
    /// After it: where the next iteration starts.
    ahead: Pair,
    pace: Pace,
    pub(super) score: f64,
}

/// Climbs from one start until nothing is gained.
pub(super) struct Descent {
    data: Data,
    climb: Climb,
}

/// How far to extrapolate.
#[derive(Clone)]
struct Pace {
    factor: f64,
    /// The factor of the last iteration that gained.
    proven: f64,
    largest: f64,
    /// The next iteration does without.
    pause: bool,
}

impl Pace {
    fn new() -> Self {
        Self {
            factor: 0.5,
            proven: 0.5,
            largest: 1.0,
            pause: true,
        }
    }

    fn now(&self) -> f32 {
        if self.pause { 0.0 } else { self.factor as f32 }
    }

    fn gained(&mut self) {
        if !self.pause {
            self.proven = self.factor;
            self.factor = (self.factor * 1.1).min(self.largest);
            self.largest = (self.largest * 1.05).min(0.99);
        }
        self.pause = false;
    }

    fn lost(&mut self) {
        self.largest = self.proven;
        self.factor /= 1.5;
        self.pause = true;
    }
}

impl Data {
    pub(super) fn new(counts: &Counts) -> Result<Self> {
        let (documents, terms) = counts.shape();
        let summary = counts.summary()?;
        Ok(Self {
            by_term: ByTerm::new(&counts.view()?, documents, terms),
            lengths: summary.document_lengths().to_vec(),
            tokens: summary.total(),
        })
    }

    /// Positive tables whose rows need not sum to one, in tokens and probabilities.
    pub(super) fn pair(&self, l: &Matrix, f: &Matrix) -> Pair {
        let mut pair = Pair {
            l: Table::of_documents(l),
            f: Table::of_terms(f),
        };
        pair.f.scale(&inverse(&pair.f.sums()));
        pair.l.scale_rows(&self.lengths);
        pair
    }

    fn documents(&self, view: &View<'_>, sweeps: usize, l: &mut Table, f: &Table) -> f64 {
        let pulls = pulls(f);
        let against = Against {
            table: &f.values,
            pulls: &pulls,
            sweeps,
        };
        let terms = f.values.len() / f.topics;
        let outcome = rows(l, |document, weights, (scratch, room)| {
            let (columns, counts) = row_of(view, terms, document, room);
            let floor = SMALLEST_SHARE * self.lengths[document] as f32;
            improve(columns, counts, &against, floor, weights, scratch)
        });
        outcome.moved
    }

    fn terms(&self, sweeps: usize, f: &mut Table, l: &Table) -> Outcome {
        let pulls = pulls(l);
        let against = Against {
            table: &l.values,
            pulls: &pulls,
            sweeps,
        };
        rows(f, |term, weights, (scratch, _)| {
            let (documents, counts) = self.by_term.term(term);
            improve(
                documents,
                counts,
                &against,
                SMALLEST_PROBABILITY,
                weights,
                scratch,
            )
        })
    }

    /// The score of a pair whose sum of x log (L F) is `likelihood`: rates are divided by the sums of their documents.
    fn score(&self, l: &Table, sums: &[f64], likelihood: f64) -> f64 {
        let parts: Vec<f64> = l
            .values
            .par_chunks(CHUNK * l.topics)
            .zip(self.lengths.par_chunks(CHUNK))
            .map(|(rows, lengths)| {
                let rows = rows.chunks(l.topics).zip(lengths);
                rows.filter(|(_, length)| **length > 0.0)
                    .map(|(row, length)| {
                        let rate: f64 = row.iter().zip(sums).map(|(w, s)| f64::from(*w) * s).sum();
                        length * rate.ln()
                    })
                    .sum()
            })
            .collect();
        likelihood - parts.into_iter().sum::<f64>()
    }
}

/// Works on every row of a table, on all threads; sums do not depend on their number.
fn rows(
    table: &mut Table,
    work: impl Fn(usize, &mut [f32], &mut (Scratch, Room)) -> Outcome + Sync,
) -> Outcome {
    let topics = table.topics;
    let parts: Vec<Outcome> = table
        .values
        .par_chunks_mut(CHUNK * topics)
        .enumerate()
        .map(|(chunk, rows)| {
            ROOM.with_borrow_mut(|room| {
                let rows = rows.chunks_mut(topics).enumerate();
                add(rows.map(|(row, weights)| work(chunk * CHUNK + row, weights, room)))
            })
        })
        .collect();
    add(parts.into_iter())
}

fn add(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    outcomes.fold(Outcome::default(), |sum, part| Outcome {
        likelihood: sum.likelihood + part.likelihood,
        moved: sum.moved + part.moved,
    })
}

fn pulls(table: &Table) -> Vec<f32> {
    table.sums().into_iter().map(|sum| sum as f32).collect()
}

/// `to`, taken further along the way from `from`.
fn beyond(to: &Table, from: &Table, factor: f32, floor: impl Fn(usize) -> f32 + Sync) -> Table {
    let mut ahead = to.clone();
    if factor > 0.0 {
        let topics = to.topics;
        ahead
            .values
            .par_chunks_mut(CHUNK * topics)
            .zip(from.values.par_chunks(CHUNK * topics))
            .enumerate()
            .for_each(|(chunk, (rows, from))| {
                let rows = rows.chunks_mut(topics).zip(from.chunks(topics));
                for (row, (values, from)) in rows.enumerate() {
                    let floor = floor(chunk * CHUNK + row);
                    for (value, from) in values.iter_mut().zip(from) {
                        *value = (*value + factor * (*value - from)).max(floor);
                    }
                }
            });
    }
    ahead
}

impl Climb {
    pub(super) fn new(start: Pair) -> Self {
        Self {
            best: start.clone(),
            last: start.clone(),
            ahead: start,
            pace: Pace::new(),
            score: f64::NEG_INFINITY,
        }
    }

    /// One iteration: L by documents, F by terms, each by so many rounds over the coordinates of its rows.
    pub(super) fn step(&mut self, data: &Data, view: &View<'_>, sweeps: usize) -> Gain {
        let factor = self.pace.now();
        // Worked on where they are: nobody needs them as they were.
        let Pair { mut l, mut f } = std::mem::take(&mut self.ahead);
        let moved_l = data.documents(view, sweeps, &mut l, &f);
        let l_ahead = beyond(&l, &self.last.l, factor, |document| {
            SMALLEST_SHARE * data.lengths[document] as f32
        });
        let outcome = data.terms(sweeps, &mut f, &l_ahead);
        let sums = f.sums();
        let score = data.score(&l_ahead, &sums, outcome.likelihood);
        let residual = (moved_l + outcome.moved) / data.tokens;
        if score < self.score {
            self.pace.lost();
            self.last.copy_from(&self.best);
            self.ahead = Pair { l, f };
            self.ahead.copy_from(&self.best);
            // A step too far is not the end; one that only rounding tells from the best may be.
            let rounding = self.score - score <= ROUNDING * score.abs();
            return Gain {
                score: self.score,
                residual: if rounding { residual } else { f64::INFINITY },
            };
        }
        self.pace.gained();
        self.score = score;
        // A term that nobody has stays at zero.
        let f_ahead = beyond(&f, &self.last.f, factor, |term| {
            match data.by_term.term(term).0.is_empty() {
                true => 0.0,
                false => SMALLEST_PROBABILITY,
            }
        });
        self.best.l.values.copy_from_slice(&l_ahead.values);
        self.best.f.values.copy_from_slice(&f.values);
        self.last = Pair { l, f };
        self.ahead = Pair {
            l: l_ahead,
            f: f_ahead,
        };
        for pair in [&mut self.best, &mut self.last, &mut self.ahead] {
            pair.normalise(&sums);
        }
        Gain { score, residual }
    }
}

impl Descent {
    pub(super) fn new(counts: &Counts, l: &Matrix, f: &Matrix) -> Result<Self> {
        let data = Data::new(counts)?;
        let climb = Climb::new(data.pair(l, f));
        Ok(Self { data, climb })
    }

    #[cfg(test)]
    pub(super) fn without_extrapolation(mut self) -> Self {
        let pace = &mut self.climb.pace;
        (pace.factor, pace.largest) = (0.0, 0.0);
        self
    }
}

impl Iterate for Descent {
    fn iterate(&mut self, counts: &Counts) -> Result<Gain> {
        Ok(self.climb.step(&self.data, &counts.view()?, SWEEPS))
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        Ok(self.climb.best.topics())
    }
}
