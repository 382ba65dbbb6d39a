//! A range of terms: its part of the table behind F and its update.

use super::gather::{Gather, Gradients};
use super::rule::{Law, Rule, with_rule};
use super::vector::{LANES, exp};
use crate::matrix::Matrix;
use crate::simd::simd_dispatch;

pub(super) struct Shard {
    pub(super) gather: Gather,
    /// Terms x topics, like the moments.
    free: Vec<f32>,
    moment1: Vec<f32>,
    moment2: Vec<f32>,
    /// Largest free value over the shard's terms, per topic.
    pub(super) largest: Vec<f32>,
}

/// Values in one turn of the update, at least: to begin one costs as well.
const TURN: usize = 320;

/// Terms in one turn of the update: their rows of `topics` values fill whole registers.
fn terms_in_a_turn(topics: usize) -> usize {
    let terms = LANES >> topics.trailing_zeros().min(LANES.trailing_zeros());
    terms * TURN.div_ceil(terms * topics)
}

/// Per-topic numbers of an update, repeated for the terms of one turn.
pub(super) struct Turn {
    /// 1 / sum of exp, times the topic's total.
    pull: Vec<f32>,
    offset: Vec<f32>,
}

impl Turn {
    pub(super) fn new(scales: &[f64], totals: &[f64], offsets: &[f32]) -> Self {
        let terms = terms_in_a_turn(offsets.len());
        let pull: Vec<f32> = scales
            .iter()
            .zip(totals)
            .map(|(scale, total)| (scale * total) as f32)
            .collect();
        Self {
            pull: pull.repeat(terms),
            offset: offsets.repeat(terms),
        }
    }
}

impl Shard {
    pub(super) fn new(range: std::ops::Range<usize>, free: &Matrix, moments: [&Matrix; 2]) -> Self {
        let topics = free.rows();
        let part = |table: &Matrix| -> Vec<f32> {
            range
                .clone()
                .flat_map(|term| {
                    (0..topics).map(move |topic| table.values()[topic * table.columns() + term])
                })
                .collect()
        };
        Self {
            free: part(free),
            moment1: part(moments[0]),
            moment2: part(moments[1]),
            largest: vec![0.0; topics],
            gather: Gather::new(range, topics),
        }
    }

    /// The largest free value of every topic.
    pub(super) fn find_largest(&mut self) {
        self.largest.fill(f32::MIN);
        for row in self.free.chunks(self.gather.topics) {
            for (largest, value) in self.largest.iter_mut().zip(row) {
                *largest = largest.max(*value);
            }
        }
    }

    /// Computes the exponentials and their sums afresh.
    pub(super) fn refresh(&mut self, offsets: &[f32]) {
        self.gather.set(&self.free, offsets);
    }

    /// A step of the shard's free values, and the next exponentials with their sums.
    pub(super) fn update(&mut self, turn: &Turn, law: Law) {
        let topics = self.gather.topics;
        let size = turn.pull.len();
        let mut sums = vec![0.0; size];
        let mut largest = vec![f32::MIN; size];
        let (exps, gradients) = self.gather.parts();
        update_table(
            &mut self.free,
            &mut self.moment1,
            &mut self.moment2,
            exps,
            &gradients,
            topics,
            turn,
            law,
            &mut sums,
            &mut largest,
        );
        self.gather.clear();
        self.gather.sums.fill(0.0);
        self.largest.fill(f32::MIN);
        for (sums, values) in sums.chunks(topics).zip(largest.chunks(topics)) {
            for topic in 0..topics {
                self.gather.sums[topic] += f64::from(sums[topic]);
                self.largest[topic] = self.largest[topic].max(values[topic]);
            }
        }
    }

    /// Copies the shard's part into tables of topics x `all_terms`: free values and moments.
    pub(super) fn copy_tables(&self, all_terms: usize, tables: &mut [Vec<f32>; 3]) {
        for (table, part) in tables
            .iter_mut()
            .zip([&self.free, &self.moment1, &self.moment2])
        {
            for (term, row) in part.chunks(self.gather.topics).enumerate() {
                for (topic, value) in row.iter().enumerate() {
                    table[topic * all_terms + self.gather.first + term] = *value;
                }
            }
        }
    }

    /// Copies the shard's part into F (topics x `all_terms`).
    pub(super) fn copy_probabilities(&self, all_terms: usize, scales: &[f64], f: &mut [f32]) {
        for (term, row) in self.gather.exps().chunks(self.gather.topics).enumerate() {
            for (topic, value) in row.iter().enumerate() {
                f[topic * all_terms + self.gather.first + term] =
                    (f64::from(*value) * scales[topic]) as f32;
            }
        }
    }
}

simd_dispatch! {
    /// One pass over a shard's table: gradient through the softmax, the optimizer's law, exp of the result.
    #[allow(clippy::too_many_arguments)]
    fn update_table(
        free: &mut [f32],
        moment1: &mut [f32],
        moment2: &mut [f32],
        exps: &mut [f32],
        gradients: &Gradients<'_>,
        topics: usize,
        turn: &Turn,
        law: Law,
        sums: &mut [f32],
        largest: &mut [f32],
    ) {
        with_rule!(law, rule => update(
            rule, free, moment1, moment2, exps, gradients, topics, turn, sums, largest,
        ))
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn update<R: Rule>(
    rule: R,
    free: &mut [f32],
    moment1: &mut [f32],
    moment2: &mut [f32],
    exps: &mut [f32],
    gradients: &Gradients<'_>,
    topics: usize,
    turn: &Turn,
    sums: &mut [f32],
    largest: &mut [f32],
) {
    let length = turn.pull.len();
    let mut packed = vec![0.0; length + LANES];
    let mut clean = true;
    let tables = free
        .chunks_mut(length)
        .zip(moment1.chunks_mut(length))
        .zip(moment2.chunks_mut(length))
        .zip(exps.chunks_mut(length));
    let mut first = 0;
    for (((free, moment1), moment2), exps) in tables {
        // Equal lengths that the compiler can see.
        let length = free.len();
        let last = first + length / topics;
        gradients.pack(first..last, topics, &mut packed, &mut clean);
        first = last;
        let (moment1, moment2) = (&mut moment1[..length], &mut moment2[..length]);
        let (exps, gradient) = (&mut exps[..length], &packed[..length]);
        let (pull, offset) = (&turn.pull[..length], &turn.offset[..length]);
        let (sums, largest) = (&mut sums[..length], &mut largest[..length]);
        for i in 0..length {
            let g = exps[i] * (pull[i] - gradient[i]);
            let (mut m, mut v) = (moment1[i], moment2[i]);
            let value = rule.step(free[i], g, &mut m, &mut v);
            let power = exp(value - offset[i]);
            moment1[i] = m;
            moment2[i] = v;
            free[i] = value;
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
