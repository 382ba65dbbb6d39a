//! A shard: a range of terms with F's logits and their optimizer state, and the optimizer's update.

use std::ops::Range;

use crate::counts::View;
use crate::data::Matrix;
use crate::kernels::{BLOCK_TERMS, Form, TERMS, tiled_terms, tiles};
use crate::step::divergence;
use crate::step::update::{Rule, UpdateRule, step_entry, with_rule};
use crate::system::{Aligned, LANES, Vector, aligned_zeros, exp, max_of_numbers, simd_dispatch};

use super::accumulate::{Accumulator, Gradient, Weights, reorder};
use super::row_gradient::RowGradient;

pub(crate) struct Shard {
    pub(crate) accumulator: Accumulator,
    /// In the order of the accumulator's form, like each table of the optimizer's state.
    logits: Aligned<f32>,
    state: Vec<Aligned<f32>>,
    /// The largest logit over the shard's terms, per topic.
    pub(crate) largest: Vec<f32>,
}

/// Minimum number of values in a chunk of the update, so that its fixed cost is small.
const CHUNK_VALUES: usize = 320;

/// Terms in a chunk of the update of rows: as many as have [`CHUNK_VALUES`] values in whole registers.
fn terms_per_chunk(topics: usize) -> usize {
    let terms = LANES >> topics.trailing_zeros().min(LANES.trailing_zeros());
    terms * CHUNK_VALUES.div_ceil(terms * topics)
}

/// Per-topic constants of an update, repeated for each term of a chunk of rows.
pub(crate) struct Constants {
    topics: usize,
    /// The topic's expected number of tokens over its sum of exponentials: the inner product in softmax's backward.
    scaled_totals: Vec<f32>,
    /// Offsets of the exponentials that the gradients were computed with.
    old_offsets: Vec<f32>,
    /// Offsets of the next exponentials.
    offsets: Vec<f32>,
}

impl Constants {
    pub(crate) fn new(
        scales: &[f64],
        totals: &[f64],
        old_offsets: &[f32],
        offsets: &[f32],
    ) -> Self {
        let topics = offsets.len();
        let terms = terms_per_chunk(topics);
        let scaled_totals: Vec<f32> = scales
            .iter()
            .zip(totals)
            .map(|(scale, total)| (scale * total) as f32)
            .collect();
        Self {
            topics,
            scaled_totals: scaled_totals.repeat(terms),
            old_offsets: old_offsets.repeat(terms),
            offsets: offsets.repeat(terms),
        }
    }
}

impl Shard {
    /// Copies the terms of `range` from F's logits and their optimizer state (topics x all terms).
    pub(crate) fn new(range: Range<usize>, logits: &Matrix, state: &[Matrix]) -> Self {
        let topics = logits.rows();
        let part = |table: &Matrix| {
            // One register more: the last row is read in whole registers.
            let mut part = aligned_zeros(tiled_terms(range.len()) * topics + LANES);
            for topic in 0..topics {
                let values = &table.row(topic)[range.clone()];
                for (row, value) in part.chunks_exact_mut(topics).zip(values) {
                    row[topic] = *value;
                }
            }
            part
        };
        Self {
            logits: part(logits),
            state: state.iter().map(part).collect(),
            largest: vec![0.0; topics],
            accumulator: Accumulator::new(range, topics, Form::Rows),
        }
    }

    /// Takes the form that is the faster one for a batch.
    pub(crate) fn choose_form(&mut self, counts: &View<'_>, all_terms: usize, rows: &[usize]) {
        let (old, new) = (
            self.accumulator.form(),
            self.accumulator.best_form(counts, all_terms, rows),
        );
        if old == new {
            return;
        }
        let shape = (self.terms(), self.topics());
        for table in std::iter::once(&mut self.logits).chain(&mut self.state) {
            let mut reordered = aligned_zeros(table.len());
            reorder(table, &mut reordered, old, new, shape);
            *table = reordered;
        }
        self.accumulator.set_form(new);
    }

    /// Adds the part that the shard's terms have in a batch's likelihood and gradients.
    pub(crate) fn accumulate(
        &mut self,
        counts: &View<'_>,
        all_terms: usize,
        weights: &Weights<'_>,
    ) {
        let logits = &self.logits;
        self.accumulator
            .accumulate(logits, counts, all_terms, weights);
    }

    fn terms(&self) -> usize {
        self.accumulator.range.len()
    }

    fn topics(&self) -> usize {
        self.accumulator.topics
    }

    /// Recomputes the largest logit of every topic.
    pub(crate) fn find_largest(&mut self) {
        let (terms, topics) = (self.terms(), self.topics());
        self.largest.fill(f32::MIN);
        match self.accumulator.form() {
            Form::Rows => {
                for row in self.logits[..terms * topics].chunks_exact(topics) {
                    for (largest, value) in self.largest.iter_mut().zip(row) {
                        *largest = largest.max(*value);
                    }
                }
            }
            Form::Tiles => {
                for tile in tiles(0..terms) {
                    let rows = self.logits[tile.terms.start * topics..].chunks_exact(tile.width);
                    for (largest, row) in self.largest.iter_mut().zip(rows) {
                        let values = row[..tile.terms.len()].iter().copied();
                        *largest = values.fold(*largest, f32::max);
                    }
                }
            }
        }
    }

    /// The largest absolute value of a logit; infinity where one is NaN.
    pub(crate) fn extent(&self) -> f32 {
        divergence::extent(&self.logits)
    }

    /// Recomputes the sums of the exponentials from the logits.
    pub(crate) fn recompute_sums(&mut self, offsets: &[f32]) {
        self.accumulator.set_logits(&self.logits, offsets);
    }

    /// Updates the shard's logits with their accumulated gradients, which are cleared, and recomputes the sums of
    /// the exponentials.
    pub(crate) fn update(&mut self, constants: &Constants, rule: UpdateRule) {
        let (terms, topics) = (self.terms(), self.topics());
        // A topic has as many sums as a chunk has lanes for it.
        let lanes = match self.accumulator.form() {
            Form::Rows => constants.offsets.len() / topics,
            Form::Tiles => BLOCK_TERMS,
        };
        let mut sums = vec![0.0; lanes * topics];
        let mut largest = vec![f32::MIN; lanes * topics];
        let gradient = self.accumulator.gradients_mut();
        let tables = Tables {
            logits: &mut self.logits,
            state: &mut self.state,
            sums: &mut sums,
            largest: &mut largest,
        };
        update_tables(tables, gradient, terms, constants, rule);
        let form = self.accumulator.form();
        let totals = self.accumulator.exp_sums.iter_mut();
        let totals = totals.zip(&mut self.largest);
        match form {
            Form::Rows => {
                for (topic, (total, max)) in totals.enumerate() {
                    let of_topic = || (topic..sums.len()).step_by(topics);
                    *total = of_topic().map(|at| f64::from(sums[at])).sum();
                    *max = of_topic().map(|at| largest[at]).fold(f32::MIN, f32::max);
                }
            }
            Form::Tiles => {
                let lanes = sums.chunks_exact(lanes).zip(largest.chunks_exact(lanes));
                for ((total, max), (sums, largest)) in totals.zip(lanes) {
                    // The lanes of a register each have their own sum, so that additions do not wait for each other.
                    let mut registers = [0.0; LANES];
                    for sums in sums.as_chunks::<LANES>().0 {
                        for (register, sum) in registers.iter_mut().zip(sums) {
                            *register += f64::from(*sum);
                        }
                    }
                    *total = registers.iter().sum();
                    *max = largest.iter().copied().fold(f32::MIN, max_of_numbers);
                }
            }
        }
    }

    /// Copies the shard's part of a topic's row of a table: 0 is that of the logits, the others are the optimizer's state.
    /// `row` has all terms.
    pub(crate) fn copy_table(&self, table: usize, topic: usize, row: &mut [f32]) {
        let part = match table {
            0 => &self.logits,
            table => &self.state[table - 1],
        };
        for (term, value) in row[self.accumulator.range.clone()].iter_mut().enumerate() {
            *value = part[self.at(term, topic)];
        }
    }

    /// Copies the shard's part of a topic's row of F, which has all terms.
    pub(crate) fn copy_probabilities(
        &self,
        topic: usize,
        scale: f64,
        offsets: &[f32],
        row: &mut [f32],
    ) {
        let row = &mut row[self.accumulator.range.clone()];
        probabilities(self, topic, scale, offsets, row);
    }

    /// The place of a term and topic in the tables.
    #[inline(always)]
    fn at(&self, term: usize, topic: usize) -> usize {
        let form = self.accumulator.form();
        form.at(self.terms(), self.topics(), term, topic)
    }

    /// The exponential of a term and topic.
    #[inline(always)]
    fn exp(&self, term: usize, topic: usize, offsets: &[f32]) -> f32 {
        exp(self.logits[self.at(term, topic)] - offsets[topic])
    }

    /// Copies the gradients with respect to the shard's logits into a table of topics x `all_terms`; `scaled_totals` is each
    /// topic's expected number of the batch's tokens times its scale.
    pub(crate) fn copy_gradients(
        &self,
        scaled_totals: &[f64],
        offsets: &[f32],
        all_terms: usize,
        table: &mut [f32],
    ) {
        for (topic, row) in table.chunks_exact_mut(all_terms).enumerate() {
            let row = &mut row[self.accumulator.range.clone()];
            for (term, value) in row.iter_mut().enumerate() {
                *value = self.gradient(term, topic, scaled_totals, offsets) as f32;
            }
        }
    }

    /// The sum of the squared gradients with respect to the shard's logits.
    pub(crate) fn squared_gradient(&self, scaled_totals: &[f64], offsets: &[f32]) -> f64 {
        let mut squares = 0.0;
        add_squares(self, scaled_totals, offsets, &mut squares);
        squares
    }

    /// The gradient through the softmax.
    #[inline(always)]
    fn gradient(&self, term: usize, topic: usize, scaled_totals: &[f64], offsets: &[f32]) -> f64 {
        let accumulated = f64::from(self.accumulator.gradient(term, topic));
        f64::from(self.exp(term, topic, offsets)) * (scaled_totals[topic] - accumulated)
    }
}

simd_dispatch! {
    /// Writes a topic's probabilities of the shard's terms.
    fn probabilities(shard: &Shard, topic: usize, scale: f64, offsets: &[f32], row: &mut [f32]) {
        for (term, value) in row.iter_mut().enumerate() {
            *value = (f64::from(shard.exp(term, topic, offsets)) * scale) as f32;
        }
    }
}

simd_dispatch! {
    /// Adds the squared gradients of the shard's logits.
    fn add_squares(shard: &Shard, scaled_totals: &[f64], offsets: &[f32], squares: &mut f64) {
        for term in 0..shard.terms() {
            for topic in 0..shard.topics() {
                *squares += shard.gradient(term, topic, scaled_totals, offsets).powi(2);
            }
        }
    }
}

/// What an update changes.
struct Tables<'a> {
    logits: &'a mut [f32],
    /// One or two tables.
    state: &'a mut [Aligned<f32>],
    /// Sums of the new exponentials, and the largest new logits, by lanes.
    sums: &'a mut [f32],
    largest: &'a mut [f32],
}

simd_dispatch! {
    /// One pass over a shard's logits: the gradient through the softmax, the update rule, the next exponentials.
    fn update_tables<V: Vector>(
        tables: Tables<'_>,
        gradient: &mut Gradient,
        terms: usize,
        constants: &Constants,
        rule: UpdateRule,
    ) {
        with_rule!(rule, rule => match gradient {
            Gradient::Rows(gradient) => {
                update_rows::<V, _>(rule, tables, gradient, terms, constants);
            }
            Gradient::Tiles { values, is_clear } => {
                update_tiles::<V, _>(rule, tables, values, *is_clear, terms, constants);
                *is_clear = true;
            }
        })
    }
}

#[inline(always)]
fn update_rows<V: Vector, const S: usize>(
    rule: impl Rule<S>,
    mut tables: Tables<'_>,
    gradient: &mut RowGradient,
    terms: usize,
    constants: &Constants,
) {
    let Constants {
        topics,
        scaled_totals,
        old_offsets,
        offsets,
    } = constants;
    let per_chunk = offsets.len() / topics;
    let zeros = vec![0.0; offsets.len()];
    let mut exps = vec![0.0; offsets.len()];
    for first in (0..terms).step_by(per_chunk) {
        let chunk = first..terms.min(first + per_chunk);
        let at = chunk.start * topics..chunk.end * topics;
        let (scaled_totals, offsets) = (&scaled_totals[..at.len()], &offsets[..at.len()]);
        let exps = &mut exps[..at.len()];
        exponentials(&tables.logits[at.clone()], old_offsets, exps);
        let of_topic = (|i: usize| scaled_totals[i], |i: usize| offsets[i]);
        let gradient = gradient.of(chunk);
        let values = gradient.as_deref().unwrap_or(&zeros);
        let lanes = 0..at.len();
        update::<V, _>(rule, &mut tables, at, lanes, exps, values, of_topic);
        if let Some(gradient) = gradient {
            gradient.fill(0.0);
        }
    }
    gradient.mark_clear();
}

#[inline(always)]
fn update_tiles<V: Vector, const S: usize>(
    rule: impl Rule<S>,
    mut tables: Tables<'_>,
    gradient: &[f32],
    is_clear: bool,
    terms: usize,
    constants: &Constants,
) {
    let zeros = [0.0; TERMS];
    let mut exps = [0.0; TERMS];
    for tile in tiles(0..terms) {
        for topic in 0..constants.topics {
            let (total, offset) = (constants.scaled_totals[topic], constants.offsets[topic]);
            let old_offset = [constants.old_offsets[topic]; TERMS];
            let row = tile.terms.start * constants.topics + topic * tile.width;
            let at = row..row + tile.terms.len();
            let gradient = match is_clear {
                true => &zeros[..],
                false => &gradient[at.clone()],
            };
            let exps = &mut exps[..at.len()];
            exponentials(&tables.logits[at.clone()], &old_offset, exps);
            let lanes = topic * BLOCK_TERMS..(topic + 1) * BLOCK_TERMS;
            let of_topic = (|_| total, |_| offset);
            update::<V, _>(rule, &mut tables, at, lanes, exps, gradient, of_topic);
        }
    }
}

/// Updates the values at `at`, one run of them after the other, as long as the sums at `lanes`; `of_topic` gives the total and
/// the offset of the topic of each. `exps` are their exponentials.
#[inline(always)]
fn update<V: Vector, const S: usize>(
    rule: impl Rule<S>,
    tables: &mut Tables<'_>,
    at: Range<usize>,
    lanes: Range<usize>,
    exps: &[f32],
    gradient: &[f32],
    (total, offset): (impl Fn(usize) -> f32, impl Fn(usize) -> f32),
) {
    let logits = &mut tables.logits[at.clone()];
    let state: (&mut [f32], &mut [f32]) = match &mut *tables.state {
        [first, second, ..] => (&mut first[at.clone()], &mut second[at]),
        [first] => (&mut first[at], &mut []),
        [] => (&mut [], &mut []),
    };
    let sums = &mut tables.sums[lanes.clone()];
    let largest = &mut tables.largest[lanes.clone()];
    // Two loops, because the instructions of one would wait for each other: the processor looks ahead by a fixed number of
    // instructions, which is then less than two turns of the loop.
    advance(rule, logits, state.0, state.1, exps, gradient, total);
    for logits in logits.chunks(lanes.len()) {
        add_exponentials(logits, &offset, sums);
        raise::<V>(largest, logits);
    }
}

/// Computes the exponentials of some logits.
#[inline(always)]
fn exponentials(logits: &[f32], offsets: &[f32], exps: &mut [f32]) {
    for ((power, value), offset) in exps.iter_mut().zip(logits).zip(offsets) {
        *power = exp(value - offset);
    }
}

/// Takes the step of some logits. Each table is an argument of its own, so that the compiler knows that they do not overlap.
#[inline(always)]
fn advance<const S: usize>(
    rule: impl Rule<S>,
    logits: &mut [f32],
    first_state: &mut [f32],
    second_state: &mut [f32],
    exps: &[f32],
    gradient: &[f32],
    total: impl Fn(usize) -> f32,
) {
    // Slices of equal lengths let the compiler drop the bounds checks.
    let length = logits.len();
    let first_state = &mut first_state[..length];
    let second_state = &mut second_state[..if S > 1 { length } else { 0 }];
    let (exps, gradient) = (&exps[..length], &gradient[..length]);
    for i in 0..length {
        let g = exps[i] * (total(i) - gradient[i]);
        logits[i] = step_entry(rule, logits[i], g, first_state, second_state, i);
    }
}

/// Adds the exponentials of logits after a step to the sums of their lanes.
#[inline(always)]
fn add_exponentials(logits: &[f32], offset: &impl Fn(usize) -> f32, sums: &mut [f32]) {
    let sums = &mut sums[..logits.len()];
    for i in 0..logits.len() {
        sums[i] += exp(logits[i] - offset(i));
    }
}

/// Replaces numbers by the larger ones of `values`. Written for registers: of a plain loop the compiler makes stores with a mask,
/// each of which takes AMD's processors with AVX2 as long as the rest of an update.
#[inline(always)]
fn raise<V: Vector>(largest: &mut [f32], values: &[f32]) {
    let (largest, rest) = largest[..values.len()].as_chunks_mut();
    let (values, rest_of_values) = values.as_chunks();
    for (largest, values) in largest.iter_mut().zip(values) {
        V::load(values).max(V::load(largest)).store(largest);
    }
    for (largest, value) in rest.iter_mut().zip(rest_of_values) {
        *largest = max_of_numbers(*value, *largest);
    }
}
