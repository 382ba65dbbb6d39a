//! Counts in memory: both factors by coordinate descent, with extrapolation.

use std::cell::RefCell;

use rayon::prelude::*;

use super::kernel::{Against, Outcome, Scratch, improve};
use super::nonzeros::{ByTerm, Room, row_of};
use super::table::{CHUNK, Table, inverse};
use super::{Gain, Iterate};
use crate::counts::{Counts, Layout, View};
use crate::error::Result;
use crate::matrix::Matrix;

/// Rounds over the coordinates of a row. Reading a row's counts and rates costs as much as one of them.
const SWEEPS: usize = 4;
/// No share of a row's tokens is smaller: an exact zero would be left only slowly, and rates stay above zero.
const SMALLEST_SHARE: f32 = 1e-9;
/// No probability of a term is smaller.
const SMALLEST_PROBABILITY: f32 = 1e-12;

thread_local! {
    static ROOM: RefCell<(Scratch, Room)> = RefCell::default();
}

/// Bytes besides the counts: the counts by term; of both tables the best, the last and the extrapolated, and while an
/// iteration runs a fourth.
pub(super) fn bytes_needed(counts: &Counts, topics: usize) -> Result<u64> {
    let (documents, terms) = counts.shape();
    let tables = 16 * topics as u64 * (documents + terms) as u64;
    // The longest row of either side is a document with every term, or a term in every document.
    let longest = documents.max(terms) as u64;
    let scratch = 4 * (topics as u64 + 2) * longest * rayon::current_num_threads() as u64;
    let by_term = match counts.layout() {
        Layout::Csr => counts.bytes_stored(),
        Layout::Dense => 8 * counts.summary()?.nonzeros(),
    };
    Ok(by_term + 8 * terms as u64 + tables + scratch)
}

/// A pair of tables: L in tokens, F in probabilities.
#[derive(Clone)]
struct Pair {
    l: Table,
    f: Table,
}

impl Pair {
    /// Makes the columns of F sum to one, without a change of any rate.
    fn normalise(&mut self, sums: &[f64]) {
        self.l.scale(sums);
        self.f.scale(&inverse(sums));
    }
}

/// Alternates between L and F. Each new table is taken further along the way it has come, by a factor that grows as long
/// as the likelihood rises; when it falls, the last good pair is taken up again, without (Ang and Gillis 2019; the
/// numbers are those of fastTopics).
pub(super) struct Descent {
    by_term: ByTerm,
    lengths: Vec<f64>,
    tokens: f64,
    best: Pair,
    /// Before extrapolation.
    last: Pair,
    /// After it: where the next iteration starts.
    ahead: Pair,
    pace: Pace,
    score: f64,
}

/// How far to extrapolate.
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

impl Descent {
    pub(super) fn new(counts: &Counts, l: &Matrix, f: &Matrix) -> Result<Self> {
        let (documents, terms) = counts.shape();
        let summary = counts.summary()?;
        let lengths = summary.document_lengths().to_vec();
        let mut start = Pair {
            l: Table::of_documents(l),
            f: Table::of_terms(f),
        };
        start.f.scale(&inverse(&start.f.sums()));
        start.l.scale_rows(&lengths);
        Ok(Self {
            by_term: ByTerm::new(&counts.view()?, documents, terms),
            lengths,
            tokens: summary.total(),
            best: start.clone(),
            last: start.clone(),
            ahead: start,
            pace: Pace::new(),
            score: f64::NEG_INFINITY,
        })
    }

    #[cfg(test)]
    pub(super) fn without_extrapolation(mut self) -> Self {
        (self.pace.factor, self.pace.largest) = (0.0, 0.0);
        self
    }

    fn documents(&self, view: &View<'_>, l: &mut Table, f: &Table) -> f64 {
        let pulls = pulls(f);
        let against = Against {
            table: &f.values,
            pulls: &pulls,
            sweeps: SWEEPS,
        };
        let terms = f.values.len() / f.topics;
        let outcome = rows(l, |document, weights, (scratch, room)| {
            let (columns, counts) = row_of(view, terms, document, room);
            let floor = SMALLEST_SHARE * self.lengths[document] as f32;
            improve(columns, counts, &against, floor, weights, scratch)
        });
        outcome.moved
    }

    fn terms(&self, f: &mut Table, l: &Table) -> Outcome {
        let pulls = pulls(l);
        let against = Against {
            table: &l.values,
            pulls: &pulls,
            sweeps: SWEEPS,
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

impl Iterate for Descent {
    fn iterate(&mut self, counts: &Counts) -> Result<Gain> {
        let factor = self.pace.now();
        let mut l = self.ahead.l.clone();
        let moved_l = self.documents(&counts.view()?, &mut l, &self.ahead.f);
        let l_ahead = beyond(&l, &self.last.l, factor, |document| {
            SMALLEST_SHARE * self.lengths[document] as f32
        });
        let mut f = self.ahead.f.clone();
        let outcome = self.terms(&mut f, &l_ahead);
        let sums = f.sums();
        let score = self.score(&l_ahead, &sums, outcome.likelihood);
        let residual = (moved_l + outcome.moved) / self.tokens;
        if score < self.score {
            self.pace.lost();
            self.last = self.best.clone();
            self.ahead = self.best.clone();
            // Not the end, however small the loss.
            return Ok(Gain {
                score: self.score,
                residual: f64::INFINITY,
            });
        }
        self.pace.gained();
        self.score = score;
        // A term that nobody has stays at zero.
        let f_ahead = beyond(&f, &self.last.f, factor, |term| {
            match self.by_term.term(term).0.is_empty() {
                true => 0.0,
                false => SMALLEST_PROBABILITY,
            }
        });
        self.best = Pair {
            l: l_ahead.clone(),
            f: f.clone(),
        };
        self.last = Pair { l, f };
        self.ahead = Pair {
            l: l_ahead,
            f: f_ahead,
        };
        for pair in [&mut self.best, &mut self.last, &mut self.ahead] {
            pair.normalise(&sums);
        }
        Ok(Gain { score, residual })
    }

    fn topics(&self) -> (Matrix, Matrix) {
        (self.best.l.proportions(), self.best.f.probabilities())
    }
}
