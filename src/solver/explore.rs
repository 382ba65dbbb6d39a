//! Coordinate descent that does not stay where it first arrives.
//!
//! A topic model's likelihood has many local maxima: topics that should be one are two, and two are one. No small step
//! leads from one to the other. So a few topics are added where documents are explained worst, all are fitted for some
//! iterations, and the topics that are most alike are merged until there are k again: splits and merges (Ueda, Nakano,
//! Ghahramani and Hinton 2000), of which the added topics choose the splits. What is better after that is kept. Where a
//! trial brings nothing and the start has settled, another random start is taken; the best of all is the fit.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::descent::{Climb, Data, Pair, SWEEPS, climb_memory, shared_memory};
use super::nonzeros::{Room, row_of};
use super::table::{CHUNK, Table, inverse};
use super::{Gain, Iterate};
use crate::counts::{Counts, View};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::model::vector::ln;
use crate::plan::{Item, Shape, When};
use crate::random::{Purpose, stream};

/// Iterations before the first trial.
const FIRST: usize = 10;
/// Topics that a trial adds, at most as many as there are.
pub(super) const ADDED: usize = 3;
/// The share of every document that they begin with.
const SHARE: f64 = 0.2;
/// Iterations with the added topics.
const GROW: usize = 5;
/// Rounds over the coordinates of a row while there are more topics than asked for.
const ROUGH: usize = 2;
/// Iterations after the last merge.
const SETTLE: usize = 12;
/// A trial is given up halfway when it is behind by more than this many nats a token.
const HOPELESS: f64 = 1.2e-3;
/// Between trials the best pair is improved until an iteration gains less than this part of the likelihood.
const SETTLED: f64 = 1e-6;
/// Trials without a gain, one after the other, that end the search from a start: other starts were seen to bring more
/// (NIPS, five seeds, 20 s: a median of -24,866,168 after one, -24,875,431 after four).
const PATIENCE: usize = 1;
/// Starts without a gain, one after the other, that end it all.
const STARTS: usize = 8;

/// What a fit takes besides the counts.
pub(super) fn memory(shape: &Shape) -> Vec<Item> {
    let (topics, more) = (shape.topics, shape.topics + ADDED as u64);
    let pair = 4 * topics * (shape.documents + shape.terms);
    let mut items = shared_memory(shape, more);
    items.push(Item::ram(
        "L and F of the best start before",
        When::Fit,
        pair,
    ));
    let best = climb_memory(shape, topics);
    // Best and trial take turns, so that only one of them is in an iteration.
    items.extend(best.into_iter().filter(|item| item.when != When::Pass));
    let trial = climb_memory(shape, more).into_iter().map(|item| Item {
        what: format!("{}, with topics on trial", item.what),
        ..item
    });
    items.extend(trial);
    items
}

pub(super) struct Explorer {
    data: Data,
    /// The best pair of the starts before this one, and its score.
    before: Option<(Pair, f64)>,
    /// The best of this start.
    best: Climb,
    trial: Option<Trial>,
    seed: u64,
    trials: u64,
    failures: usize,
    /// Starts that brought nothing.
    idle: usize,
    /// Iterations of the best pair before the next trial may begin.
    owed: usize,
    /// Whether the last iteration of the best pair gained next to nothing.
    settled: bool,
}

struct Trial {
    climb: Climb,
    /// Iterations before the next merge, or the end.
    left: usize,
}

impl Explorer {
    pub(super) fn new(counts: &Counts, l: &Matrix, f: &Matrix, seed: u64) -> Result<Self> {
        let data = Data::new(counts)?;
        let best = Climb::new(data.pair(l, f));
        Ok(Self {
            data,
            before: None,
            best,
            idle: 0,
            trial: None,
            seed,
            trials: 0,
            failures: 0,
            owed: FIRST,
            settled: false,
        })
    }

    fn topics_asked(&self) -> usize {
        self.best.best.f.topics
    }

    fn begin_trial(&mut self, view: &View<'_>) {
        let mut random = stream(self.seed, Purpose::Trial, self.trials);
        self.trials += 1;
        let added = ADDED.min(self.topics_asked());
        let start = expand(&self.best.best, &self.data, view, added, &mut random);
        self.trial = Some(Trial {
            climb: Climb::new(start),
            left: GROW,
        });
    }

    /// Keeps the better of this start and those before, and goes on elsewhere.
    fn start_again(&mut self) {
        self.trials += 1;
        let mut random = stream(self.seed, Purpose::Trial, self.trials);
        let topics = self.topics_asked();
        let random = random_start(&self.data, &self.best.best, topics, &mut random);
        let old = std::mem::replace(&mut self.best, Climb::new(random));
        if self
            .before
            .as_ref()
            .is_none_or(|(_, score)| old.score > *score)
        {
            self.before = Some((old.best, old.score));
            self.idle = 0;
        } else {
            self.idle += 1;
        }
        (self.failures, self.owed, self.settled) = (0, FIRST, false);
    }

    /// The score of the best pair of all.
    fn score(&self) -> f64 {
        let before = self.before.as_ref().map(|(_, score)| *score);
        before.map_or(self.best.score, |score| score.max(self.best.score))
    }

    /// One iteration of a trial; gives it back as long as it goes on.
    fn go_on(&mut self, mut trial: Trial, view: &View<'_>) -> Option<Trial> {
        let asked = self.topics_asked();
        let merging = trial.climb.best.f.topics > asked;
        let sweeps = if merging { ROUGH } else { SWEEPS };
        trial.climb.step(&self.data, view, sweeps);
        trial.left -= 1;
        if merging {
            if trial.left == 0 {
                trial.climb = Climb::new(merge_most_alike(&trial.climb.best));
                let done = trial.climb.best.f.topics == asked;
                trial.left = if done { SETTLE } else { 1 };
            }
            return Some(trial);
        }
        let behind = self.best.score - trial.climb.score;
        if trial.left > 0 && !(trial.left == SETTLE / 2 && behind > HOPELESS * self.data.tokens) {
            return Some(trial);
        }
        if behind < 0.0 {
            self.best = trial.climb;
            self.failures = 0;
            self.owed = SETTLE / 2;
        } else {
            self.failures += 1;
        }
        None
    }
}

impl Iterate for Explorer {
    fn iterate(&mut self, counts: &Counts) -> Result<Gain> {
        let view = counts.view()?;
        if let Some(trial) = self.trial.take() {
            self.trial = self.go_on(trial, &view);
            return Ok(Gain {
                score: self.score(),
                residual: f64::INFINITY,
            });
        }
        if self.settled && self.failures >= PATIENCE && self.idle < STARTS {
            self.start_again();
            if self.idle == STARTS
                && let Some((pair, score)) = self.before.take()
            {
                self.best = Climb::new(pair);
                self.best.score = score;
            }
        }
        let before = self.best.score;
        let gain = self.best.step(&self.data, &view, SWEEPS);
        if self.idle == STARTS {
            // The rest is coordinate descent to its end.
            return Ok(gain);
        }
        self.owed = self.owed.saturating_sub(1);
        self.settled = gain.score - before <= SETTLED * gain.score.abs();
        if self.owed == 0 && self.failures < PATIENCE {
            self.begin_trial(&view);
        }
        Ok(Gain {
            score: self.score(),
            residual: f64::INFINITY,
        })
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        Ok(match &self.before {
            Some((pair, score)) if *score > self.best.score => pair.topics(),
            _ => self.best.best.topics(),
        })
    }
}

/// Every document in equal parts in topics of random terms.
fn random_start(data: &Data, like: &Pair, topics: usize, random: &mut Xoshiro256PlusPlus) -> Pair {
    let f = like.f.values.iter();
    let mut f = Table {
        topics,
        values: f.map(|_| 0.01 + random.random::<f32>()).collect(),
    };
    f.scale(&inverse(&f.sums()));
    let lengths = data.lengths.iter();
    let l =
        lengths.flat_map(|length| std::iter::repeat_n((*length / topics as f64) as f32, topics));
    let l = Table {
        topics,
        values: l.collect(),
    };
    Pair { l, f }
}

/// Adds topics: each begins as half the present mixture, half the terms of a document, drawn with a probability that
/// grows with how badly it is explained (its deviance).
fn expand(
    pair: &Pair,
    data: &Data,
    view: &View<'_>,
    added: usize,
    random: &mut Xoshiro256PlusPlus,
) -> Pair {
    let (topics, terms) = (pair.f.topics, pair.f.values.len() / pair.f.topics);
    let deviances = deviances(pair, data, view);
    let all: f64 = deviances.iter().sum();
    let tokens = pair.l.sums();
    let mixture: Vec<f64> = pair
        .f
        .values
        .chunks(topics)
        .map(|row| {
            let parts = row.iter().zip(&tokens);
            parts.map(|(f, tokens)| f64::from(*f) * tokens).sum::<f64>() / data.tokens
        })
        .collect();
    let mut room = Room::default();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for _ in 0..added {
        let mut left = random.random::<f64>() * all;
        let drawn = deviances.iter().position(|deviance| {
            left -= deviance;
            left <= 0.0
        });
        let document = drawn.unwrap_or(0);
        let mut column: Vec<f64> = mixture.iter().map(|share| 0.5 * share).collect();
        let (indices, counts) = row_of(view, terms, document, &mut room);
        for (&term, &count) in indices.iter().zip(counts) {
            column[term as usize] += 0.5 * f64::from(count) / data.lengths[document].max(1.0);
        }
        columns.push(column);
    }
    let wide = topics + added;
    let mut f = Vec::with_capacity(terms * wide);
    for (term, row) in pair.f.values.chunks(topics).enumerate() {
        f.extend_from_slice(row);
        f.extend(columns.iter().map(|column| column[term] as f32));
    }
    let mut l = Vec::with_capacity(data.lengths.len() * wide);
    for (row, length) in pair.l.values.chunks(topics).zip(&data.lengths) {
        l.extend(row.iter().map(|weight| *weight * (1.0 - SHARE) as f32));
        l.extend((0..added).map(|_| (length * SHARE / added as f64) as f32));
    }
    let table = |values| Table {
        topics: wide,
        values,
    };
    let (l, mut f) = (table(l), table(f));
    f.scale(&inverse(&f.sums()));
    Pair { l, f }
}

/// How much likelier each document is under its own frequencies than under the pair.
fn deviances(pair: &Pair, data: &Data, view: &View<'_>) -> Vec<f64> {
    let (topics, terms) = (pair.f.topics, pair.f.values.len() / pair.f.topics);
    let parts: Vec<Vec<f64>> = pair
        .l
        .values
        .par_chunks(CHUNK * topics)
        .enumerate()
        .map(|(chunk, rows)| {
            let mut room = Room::default();
            let rows = rows.chunks(topics).enumerate();
            rows.map(|(row, weights)| {
                let document = chunk * CHUNK + row;
                let (indices, counts) = row_of(view, terms, document, &mut room);
                let parts = indices
                    .iter()
                    .zip(counts)
                    .filter(|(_, count)| **count > 0.0);
                let deviance: f64 = parts
                    .map(|(&term, &count)| {
                        let f = pair.f.row(term as usize);
                        let rate: f64 = weights
                            .iter()
                            .zip(f)
                            .map(|(w, f)| f64::from(*w) * f64::from(*f))
                            .sum();
                        f64::from(count) * (f64::from(count) / rate.max(1e-30)).ln()
                    })
                    .sum();
                // A document has no rate beyond its length, but an extrapolated one may be off.
                deviance.clamp(0.0, 100.0 * data.lengths[document])
            })
            .collect()
        })
        .collect();
    parts.concat()
}

/// Makes one topic of the two whose tokens lose least by it: those of the smallest Jensen-Shannon divergence, weighted by
/// their tokens.
fn merge_most_alike(pair: &Pair) -> Pair {
    let topics = pair.f.topics;
    let tokens = pair.l.sums();
    let losses = merge_losses(pair, &tokens);
    let mut cheapest = (f64::INFINITY, 0, 1);
    for second in 1..topics {
        for first in 0..second {
            let loss = losses[second * topics + first];
            if loss < cheapest.0 {
                cheapest = (loss, first, second);
            }
        }
    }
    let (_, first, second) = cheapest;
    let share = tokens[first] / (tokens[first] + tokens[second]).max(f64::MIN_POSITIVE);
    let l = without(&pair.l, first, second, |a, b| a + b);
    let f = without(&pair.f, first, second, |a, b| {
        (f64::from(a) * share + f64::from(b) * (1.0 - share)) as f32
    });
    Pair { l, f }
}

/// For each pair of topics the nats that their tokens lose when both have the mean of their terms.
fn merge_losses(pair: &Pair, tokens: &[f64]) -> Vec<f64> {
    let topics = pair.f.topics;
    let entropy = |x: f64| if x > 0.0 { x * x.ln() } else { 0.0 };
    let quick = |x: f32| x * ln(x.max(f32::MIN_POSITIVE));
    let parts: Vec<Vec<f32>> = pair
        .f
        .values
        .par_chunks(CHUNK * topics)
        .map(|rows| {
            let mut losses = vec![0.0f32; topics * topics];
            let (mut masses, mut own) = (vec![0.0; topics], vec![0.0; topics]);
            for row in rows.chunks(topics) {
                for (topic, f) in row.iter().enumerate() {
                    masses[topic] = (f64::from(*f) * tokens[topic]) as f32;
                    own[topic] = quick(masses[topic]);
                }
                for second in 1..topics {
                    let (b, of_b) = (masses[second], own[second]);
                    let others = masses.iter().zip(&own);
                    let losses = &mut losses[second * topics..][..second];
                    for (loss, (a, of_a)) in losses.iter_mut().zip(others) {
                        *loss += of_a + of_b - quick(a + b);
                    }
                }
            }
            losses
        })
        .collect();
    let mut losses = vec![0.0; topics * topics];
    for part in parts {
        losses
            .iter_mut()
            .zip(part)
            .for_each(|(sum, part)| *sum += f64::from(part));
    }
    for second in 1..topics {
        for first in 0..second {
            let (a, b) = (tokens[first], tokens[second]);
            losses[second * topics + first] -= entropy(a) + entropy(b) - entropy(a + b);
        }
    }
    losses
}

/// The table with column `first` made of both, and column `second` left out.
fn without(table: &Table, first: usize, second: usize, both: impl Fn(f32, f32) -> f32) -> Table {
    let mut values = Vec::with_capacity(table.values.len() / table.topics * (table.topics - 1));
    for row in table.values.chunks(table.topics) {
        for (topic, value) in row.iter().enumerate() {
            if topic == first {
                values.push(both(*value, row[second]));
            } else if topic != second {
                values.push(*value);
            }
        }
    }
    Table {
        topics: table.topics - 1,
        values,
    }
}
