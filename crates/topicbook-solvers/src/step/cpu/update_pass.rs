//! One pass over a term shard's logits: the gradient through the softmax, the update rule, the sums of the next exponentials.
//!
//! The tables are terms x topics in `f32`: the logits z, the optimizer's state S, and G, the gradient of the batch's sum of
//! x log rate with respect to `e`. Offsets, scales and totals (expected tokens of the batch) are per topic. The plain loop is:
//!
//! ```text
//! for each term j of the shard, for each topic k:
//!     e = exp(z[j][k] - old_offset[k])                       // the probability F[k][j] is e * scale[k]
//!     g = e * (scale[k] * total[k] - G[j][k])                // the softmax's backward pass
//!     z[j][k], S[j][k] = rule.step(z[j][k], g, S[j][k])
//!     G[j][k] = 0
//!     sums[k] += exp(z[j][k] - offset[k])                    // gives the next step's scale
//!     largest[k] = max(largest[k], z[j][k])                  // becomes the next step's offset
//! ```
//!
//! Tables in tiles are updated topic by topic (`update_tiles.rs`). Tables in rows differ from the plain loop in four ways:
//!
//! 1. The unit is a chunk: whole terms in whole registers, at least [`CHUNK_VALUES`] values. Value i of each chunk has the same topic,
//!    so constants, `sums` and `largest` have one entry for each value of a chunk, and additions do not wait for each other.
//! 2. Each entry of `sums` adds the chunks in order, in `f32`; [`LaneSums::reduce`] adds the entries of a topic in `f64`. This order
//!    depends on the shape alone, and multiply-adds are fused by name: the bits are the same for all processors and thread counts.
//! 3. A chunk without gradients reads zeros, because [`RowGradient`] notes which groups of terms have any.
//! 4. [`update_rows`] takes one loop after the other for a chunk: `e`, the step, the sums, the largest logits. With AVX-512,
//!    [`update_rows_together`] is a software pipeline: iteration c takes the step of chunk c, computes `e` of chunk c + 1, and adds
//!    up chunk c - 1. The three are independent, so multiply-adds of the exponentials run while the rule waits for its square root
//!    and its quotient. Sums have the same order, so the bits are the same.

use std::ops::Range;

use crate::kernels::TableShape;
use crate::step::update::{Rule, UpdateRule, step_entry, with_rule};
use crate::system::{
    Aligned, LANES, Vector, exp, max_of_numbers, per_lane, prefetch_lines, simd_dispatch,
};

use super::lane_sums::LaneSums;
use super::row_gradient::RowGradient;
use super::update_tiles::update_tiles;

/// Minimum number of values in a chunk of rows, so that its fixed cost is small.
const CHUNK_VALUES: usize = 320;

/// Terms in a chunk of rows: the fewest that fill whole registers and have [`CHUNK_VALUES`] values.
fn terms_per_chunk(topics: usize) -> usize {
    let terms = LANES >> topics.trailing_zeros().min(LANES.trailing_zeros());
    terms * CHUNK_VALUES.div_ceil(terms * topics)
}

/// Per-topic constants of an update, repeated for each term of a chunk of rows.
pub struct Constants {
    topics: usize,
    /// The topic's expected number of tokens over its sum of exponentials: the inner product in softmax's backward.
    scaled_totals: Vec<f32>,
    /// Offsets of the exponentials that the gradients were computed with.
    old_offsets: Vec<f32>,
    /// Offsets of the next exponentials.
    offsets: Vec<f32>,
}

impl Constants {
    pub fn new(scales: &[f64], totals: &[f64], old_offsets: &[f32], offsets: &[f32]) -> Self {
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

    pub(super) fn topics(&self) -> usize {
        self.topics
    }

    /// A topic's scaled total, and the offset of its next exponentials.
    pub(super) fn of(&self, topic: usize) -> (f32, f32) {
        (self.scaled_totals[topic], self.offsets[topic])
    }

    /// Values in a chunk of rows.
    pub(super) fn chunk(&self) -> usize {
        self.offsets.len()
    }
}

/// The gradients of an update.
pub(super) enum Gradients<'a> {
    /// They are cleared.
    Rows(&'a mut RowGradient),
    /// In tiles, zero without values. The exponentials before the step, which the exponentials after it replace.
    Tiles(Option<&'a [f32]>, &'a mut [f32]),
}

/// The tables that an update changes.
pub(super) struct Tables<'a> {
    pub(super) logits: &'a mut [f32],
    /// One or two tables.
    pub(super) state: &'a mut [Aligned<f32>],
    pub(super) lanes: &'a mut LaneSums,
}

simd_dispatch! {
    /// Updates the logits of a shard.
    pub(super) fn update_tables<V: Vector>(
        tables: Tables<'_>,
        gradients: Gradients<'_>,
        shape: &TableShape,
        constants: &Constants,
        rule: UpdateRule,
    ) {
        let terms = shape.terms.len();
        with_rule!(rule, rule => match gradients {
            Gradients::Rows(gradient) if V::IS_WIDE => {
                update_rows_together::<V, _>(rule, tables, gradient, terms, constants);
            }
            Gradients::Rows(gradient) => {
                update_rows::<V, _>(rule, tables, gradient, terms, constants);
            }
            Gradients::Tiles(values, exps) => {
                update_tiles::<V, _>(rule, tables, exps, values, shape, constants);
            }
        })
    }
}

/// A chunk of a table and its neighbours, which are empty or shorter at the table's ends.
struct Chunks<'a> {
    before: &'a [f32],
    current: &'a mut [f32],
    next: &'a [f32],
    /// The chunk after the next.
    later: &'a [f32],
}

impl<'a> Chunks<'a> {
    /// The chunk of `length` values that begins at `start`.
    #[inline(always)]
    fn at(table: &'a mut [f32], start: usize, length: usize) -> Self {
        let (before, rest) = table.split_at_mut(start);
        let (current, rest) = rest.split_at_mut(length.min(rest.len()));
        let (next, rest) = rest.split_at(length.min(rest.len()));
        Self {
            before: &before[start.saturating_sub(length)..],
            current,
            next,
            later: &rest[..length.min(rest.len())],
        }
    }
}

/// The tables of the optimizer's state. The second is empty where there is only one.
#[inline(always)]
pub(super) fn state_tables(
    state: &mut [Aligned<f32>],
    at: Range<usize>,
) -> (&mut [f32], &mut [f32]) {
    let [first, rest @ ..] = state else {
        return (&mut [], &mut []);
    };
    let second = match rest {
        [second, ..] => &mut second[at.clone()],
        [] => &mut [],
    };
    (&mut first[at], second)
}

/// Updates rows chunk by chunk.
#[inline(always)]
fn update_rows<V: Vector, const S: usize>(
    rule: impl Rule<S>,
    tables: Tables<'_>,
    gradient: &mut RowGradient,
    terms: usize,
    constants: &Constants,
) {
    let (length, all) = (constants.offsets.len(), terms * constants.topics);
    let LaneSums { sums, largest, .. } = tables.lanes;
    let zeros = vec![0.0; length];
    let mut exps = vec![0.0; length];
    for start in (0..all).step_by(length) {
        let at = start..all.min(start + length);
        // Slices of equal lengths let the compiler drop the bounds checks.
        let totals = &constants.scaled_totals[..at.len()];
        let offsets = &constants.offsets[..at.len()];
        let old_offsets = &constants.old_offsets[..at.len()];
        let exps = &mut exps[..at.len()];
        let gradient = gradient.of(at.start / constants.topics..at.end / constants.topics);
        let values = gradient.as_deref().unwrap_or(&zeros);
        let logits = &mut tables.logits[at.clone()];
        let (first, second) = state_tables(tables.state, at);
        exponentials(logits, |i| old_offsets[i], exps);
        // Two loops: the processor's reorder buffer holds less than two iterations of a single loop, whose instructions would
        // wait for each other.
        advance(rule, logits, first, second, exps, values, |i| totals[i]);
        add_exponentials(logits, |i| offsets[i], sums);
        raise::<V>(largest, logits);
        if let Some(gradient) = gradient {
            gradient.fill(0.0);
        }
    }
    gradient.mark_clear();
}

/// [`update_rows`] as a software pipeline, for processors with 32 vector registers.
#[inline(always)]
fn update_rows_together<V: Vector, const S: usize>(
    rule: impl Rule<S>,
    tables: Tables<'_>,
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
    let LaneSums { sums, largest, .. } = tables.lanes;
    let (length, all) = (offsets.len(), terms * topics);
    let logits = &mut tables.logits[..all];
    let (first_state, second_state) = state_tables(tables.state, 0..all);
    let mut zeros = vec![0.0; length];
    let (mut exps, mut next_exps) = (vec![0.0; length], vec![0.0; length]);
    exponentials(&logits[..length.min(all)], |i| old_offsets[i], &mut exps);
    for start in (0..all).step_by(length) {
        let logits = Chunks::at(logits, start, length);
        let first_state = Chunks::at(first_state, start, length);
        let second_state = Chunks::at(second_state, start.min(second_state.len()), length);
        let gradient = gradient.of(start / topics..(start + logits.current.len()) / topics);
        let gradient = gradient.unwrap_or(&mut zeros);
        match logits.before.len() == length && logits.next.len() == length {
            true => {
                let tables = WholeChunks {
                    logits,
                    first_state,
                    second_state,
                    gradient,
                    exps: &exps,
                    next_exps: &mut next_exps,
                    sums,
                    largest,
                };
                advance_together::<V, S>(rule, tables, constants);
            }
            false => {
                let (first, second) = (first_state.current, second_state.current);
                let total = |i: usize| scaled_totals[i];
                advance(rule, logits.current, first, second, &exps, gradient, total);
                gradient.fill(0.0);
                exponentials(logits.next, |i| old_offsets[i], &mut next_exps);
                add_exponentials(logits.before, |i| offsets[i], sums);
                raise::<V>(largest, logits.before);
            }
        }
        std::mem::swap(&mut exps, &mut next_exps);
    }
    let last = logits.chunks(length).next_back().unwrap_or(&[]);
    add_exponentials(last, |i| offsets[i], sums);
    raise::<V>(largest, last);
    gradient.mark_clear();
}

/// The tables of three consecutive chunks of rows, all of full length.
struct WholeChunks<'a> {
    logits: Chunks<'a>,
    first_state: Chunks<'a>,
    second_state: Chunks<'a>,
    /// It is cleared.
    gradient: &'a mut [f32],
    exps: &'a [f32],
    next_exps: &'a mut [f32],
    sums: &'a mut [f32],
    largest: &'a mut [f32],
}

/// The step of a chunk, the exponentials of the next chunk, and the sums of the chunk before, register by register. A root and a
/// quotient take as long as sixteen multiply-adds. Prefetches the logits of the chunk after the next, and the next chunk's state.
#[inline(always)]
fn advance_together<V: Vector, const S: usize>(
    rule: impl Rule<S>,
    tables: WholeChunks<'_>,
    constants: &Constants,
) {
    let WholeChunks {
        logits,
        first_state,
        second_state,
        gradient,
        exps,
        next_exps,
        sums,
        largest,
    } = tables;
    let totals = registers(&constants.scaled_totals);
    let count = totals.len();
    // Slices of equal lengths let the compiler drop the bounds checks.
    let (old_offsets, offsets) = (
        &registers(&constants.old_offsets)[..count],
        &registers(&constants.offsets)[..count],
    );
    let (before, next) = (
        &registers(logits.before)[..count],
        &registers(logits.next)[..count],
    );
    let later = registers(logits.later);
    let later = if later.len() == count { later } else { next };
    let next_first = &registers(first_state.next)[..count];
    let next_second = &registers(second_state.next)[..if S > 1 { count } else { 0 }];
    let exps = &registers(exps)[..count];
    let gradient = &mut registers_mut(gradient)[..count];
    let current = &mut registers_mut(logits.current)[..count];
    let first = &mut registers_mut(first_state.current)[..count];
    let second = &mut registers_mut(second_state.current)[..if S > 1 { count } else { 0 }];
    let next_exps = &mut registers_mut(next_exps)[..count];
    let sums = &mut registers_mut(sums)[..count];
    let largest = &mut registers_mut(largest)[..count];
    for r in 0..count {
        prefetch_lines(&later[r]);
        prefetch_lines(&next_first[r]);
        if S > 1 {
            prefetch_lines(&next_second[r]);
        }
        let (mut values, next, before) = (current[r], next[r], before[r]);
        let mut state = [first[r], if S > 1 { second[r] } else { [0.0; LANES] }];
        let [first_state, second_state] = &mut state;
        let g = per_lane(|lane| exps[r][lane] * (totals[r][lane] - gradient[r][lane]));
        for lane in 0..LANES {
            let value = values[lane];
            values[lane] = step_entry(rule, value, g[lane], first_state, second_state, lane);
        }
        next_exps[r] = per_lane(|lane| exp(next[lane] - old_offsets[r][lane]));
        sums[r] = per_lane(|lane| sums[r][lane] + exp(before[lane] - offsets[r][lane]));
        let max = V::load(&before).max(V::load(&largest[r]));
        max.store(&mut largest[r]);
        gradient[r] = [0.0; LANES];
        current[r] = values;
        first[r] = state[0];
        if S > 1 {
            second[r] = state[1];
        }
    }
}

#[inline(always)]
fn registers(values: &[f32]) -> &[[f32; LANES]] {
    values.as_chunks().0
}

#[inline(always)]
fn registers_mut(values: &mut [f32]) -> &mut [[f32; LANES]] {
    values.as_chunks_mut().0
}

/// Computes the exponentials of some logits.
#[inline(always)]
fn exponentials(logits: &[f32], offset: impl Fn(usize) -> f32, exps: &mut [f32]) {
    let exps = &mut exps[..logits.len()];
    for i in 0..logits.len() {
        exps[i] = exp(logits[i] - offset(i));
    }
}

/// Takes the step of some logits, with `exps` their exponentials and `total` the scaled total of the topic of each. Tables are
/// separate arguments, so that the compiler can rely on `noalias`: they do not overlap.
#[inline(always)]
pub(super) fn advance<const S: usize>(
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
fn add_exponentials(logits: &[f32], offset: impl Fn(usize) -> f32, sums: &mut [f32]) {
    let sums = &mut sums[..logits.len()];
    for i in 0..logits.len() {
        sums[i] += exp(logits[i] - offset(i));
    }
}

/// Writes the larger of each pair of numbers to `largest`. Uses explicit vectors: LLVM turns the plain loop into masked
/// stores, and on AMD's processors with AVX2 each of them takes as long as the rest of an update.
#[inline(always)]
pub(super) fn raise<V: Vector>(largest: &mut [f32], values: &[f32]) {
    let (largest, rest) = largest[..values.len()].as_chunks_mut();
    let (values, rest_of_values) = values.as_chunks();
    for (largest, values) in largest.iter_mut().zip(values) {
        V::load(values).max(V::load(largest)).store(largest);
    }
    for (largest, value) in rest.iter_mut().zip(rest_of_values) {
        *largest = max_of_numbers(*value, *largest);
    }
}
