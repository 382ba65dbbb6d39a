//! A shard: a range of terms with F's logits and their optimizer state, and the optimizer's update.

use crate::data::Matrix;
use crate::step::divergence;
use crate::step::update::{Rule, UpdateRule, step_entry, with_rule};
use crate::system::{LANES, exp, simd_dispatch};

use super::accumulate::{Accumulator, TermGradients};

pub(crate) struct Shard {
    pub(crate) accumulator: Accumulator,
    /// Terms x topics, like each table of the optimizer's state.
    logits: Vec<f32>,
    state: Vec<Vec<f32>>,
    /// The largest logit over the shard's terms, per topic.
    pub(crate) largest: Vec<f32>,
}

/// Minimum number of values in a chunk of the update, so that its fixed cost is small.
const CHUNK_VALUES: usize = 320;

/// Terms in a chunk of the update: as many as have [`CHUNK_VALUES`] values in whole registers.
fn terms_per_chunk(topics: usize) -> usize {
    let terms = LANES >> topics.trailing_zeros().min(LANES.trailing_zeros());
    terms * CHUNK_VALUES.div_ceil(terms * topics)
}

/// Per-topic constants of an update, repeated for each term of a chunk.
pub(crate) struct ChunkConstants {
    /// The topic's expected number of tokens over its sum of exponentials: the inner product in softmax's backward.
    scaled_totals: Vec<f32>,
    offsets: Vec<f32>,
}

impl ChunkConstants {
    pub(crate) fn new(scales: &[f64], totals: &[f64], offsets: &[f32]) -> Self {
        let terms = terms_per_chunk(offsets.len());
        let scaled_totals: Vec<f32> = scales
            .iter()
            .zip(totals)
            .map(|(scale, total)| (scale * total) as f32)
            .collect();
        Self {
            scaled_totals: scaled_totals.repeat(terms),
            offsets: offsets.repeat(terms),
        }
    }
}

impl Shard {
    /// Copies the terms of `range` from F's logits and their optimizer state (topics x all terms).
    pub(crate) fn new(range: std::ops::Range<usize>, logits: &Matrix, state: &[Matrix]) -> Self {
        let topics = logits.rows();
        let part = |table: &Matrix| -> Vec<f32> {
            range
                .clone()
                .flat_map(|term| {
                    (0..topics).map(move |topic| table.values()[topic * table.columns() + term])
                })
                .collect()
        };
        Self {
            logits: part(logits),
            state: state.iter().map(part).collect(),
            largest: vec![0.0; topics],
            accumulator: Accumulator::new(range, topics),
        }
    }

    /// Recomputes the largest logit of every topic.
    pub(crate) fn find_largest(&mut self) {
        self.largest.fill(f32::MIN);
        for row in self.logits.chunks(self.accumulator.topics) {
            for (largest, value) in self.largest.iter_mut().zip(row) {
                *largest = largest.max(*value);
            }
        }
    }

    /// The largest absolute value of a logit; infinity where one is NaN.
    pub(crate) fn extent(&self) -> f32 {
        divergence::extent(&self.logits)
    }

    /// Recomputes the exponentials and their sums from the logits.
    pub(crate) fn recompute_exps(&mut self, offsets: &[f32]) {
        self.accumulator.set_logits(&self.logits, offsets);
    }

    /// Updates the shard's logits with their accumulated gradients, which are cleared, and recomputes the exponentials
    /// and their sums.
    pub(crate) fn update(&mut self, constants: &ChunkConstants, rule: UpdateRule) {
        let topics = self.accumulator.topics;
        let size = constants.scaled_totals.len();
        let mut sums = vec![0.0; size];
        let mut largest = vec![f32::MIN; size];
        let (exps, gradients) = self.accumulator.exps_and_gradients();
        update_table(
            &mut self.logits,
            &mut self.state,
            exps,
            &gradients,
            topics,
            constants,
            rule,
            &mut sums,
            &mut largest,
        );
        self.accumulator.clear_gradients();
        self.accumulator.exp_sums.fill(0.0);
        self.largest.fill(f32::MIN);
        for (sums, values) in sums.chunks(topics).zip(largest.chunks(topics)) {
            for topic in 0..topics {
                self.accumulator.exp_sums[topic] += f64::from(sums[topic]);
                self.largest[topic] = self.largest[topic].max(values[topic]);
            }
        }
    }

    /// Copies the shard's part of a table, topics x `all_terms`: 0 is that of the logits, the others are the optimizer's
    /// state.
    pub(crate) fn copy_table(&self, table: usize, all_terms: usize, out: &mut [f32]) {
        let part = match table {
            0 => &self.logits,
            table => &self.state[table - 1],
        };
        for (term, row) in part.chunks(self.accumulator.topics).enumerate() {
            for (topic, value) in row.iter().enumerate() {
                out[topic * all_terms + self.accumulator.first + term] = *value;
            }
        }
    }

    /// Copies the shard's part into F (topics x `all_terms`).
    pub(crate) fn copy_probabilities(&self, all_terms: usize, scales: &[f64], f: &mut [f32]) {
        for (term, row) in self
            .accumulator
            .exps()
            .chunks(self.accumulator.topics)
            .enumerate()
        {
            for (topic, value) in row.iter().enumerate() {
                f[topic * all_terms + self.accumulator.first + term] =
                    (f64::from(*value) * scales[topic]) as f32;
            }
        }
    }
}

simd_dispatch! {
    /// One pass over a shard's logits: the gradient through the softmax, the update rule, the next exponentials.
    #[allow(clippy::too_many_arguments)]
    fn update_table(
        logits: &mut [f32],
        state: &mut [Vec<f32>],
        exps: &mut [f32],
        gradients: &TermGradients<'_>,
        topics: usize,
        constants: &ChunkConstants,
        rule: UpdateRule,
        sums: &mut [f32],
        largest: &mut [f32],
    ) {
        with_rule!(rule, rule => update(
            rule, logits, state, exps, gradients, topics, constants, sums, largest,
        ))
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn update<const S: usize, R: Rule<S>>(
    rule: R,
    logits: &mut [f32],
    state: &mut [Vec<f32>],
    exps: &mut [f32],
    gradients: &TermGradients<'_>,
    topics: usize,
    constants: &ChunkConstants,
    sums: &mut [f32],
    largest: &mut [f32],
) {
    let length = constants.scaled_totals.len();
    let mut packed = vec![0.0; length + LANES];
    let mut clean = true;
    let mut tables = state.iter_mut().map(Vec::as_mut_slice);
    let mut state = || tables.next().unwrap_or_default().chunks_mut(length);
    let (mut first_state, mut second_state) = (state(), state());
    let mut first = 0;
    for (logits, exps) in logits.chunks_mut(length).zip(exps.chunks_mut(length)) {
        // Reslicing to equal lengths lets the compiler drop the bounds checks.
        let length = logits.len();
        let last = first + length / topics;
        gradients.pack(first..last, topics, &mut packed, &mut clean);
        first = last;
        let first_state = &mut first_state.next().unwrap_or_default()[..length];
        let second_state = second_state.next().unwrap_or_default();
        let second_state = &mut second_state[..if S > 1 { length } else { 0 }];
        let (exps, gradient) = (&mut exps[..length], &packed[..length]);
        let scaled_totals = &constants.scaled_totals[..length];
        let offsets = &constants.offsets[..length];
        let (sums, largest) = (&mut sums[..length], &mut largest[..length]);
        for i in 0..length {
            let g = exps[i] * (scaled_totals[i] - gradient[i]);
            let value = step_entry(rule, logits[i], g, first_state, second_state, i);
            let power = exp(value - offsets[i]);
            logits[i] = value;
            exps[i] = power;
            sums[i] += power;
            largest[i] = if value > largest[i] {
                value
            } else {
                largest[i]
            };
        }
    }
}
