//! The same step as the tensor library's, in a few passes over memory (CPU).
//!
//! With W the batch's rows of L and r = W F: the rates of a document sum to one, so only nonzero counts carry a
//! gradient. One pass over them gives the loss and both gradients without the batch x terms table of rates; one pass
//! over F's table applies softmax's backward, AdamW and the next softmax's exponentials. Work is split into ranges of
//! terms whose number depends on the shape alone, so results do not depend on the number of threads.

mod clock;
mod dense;
mod documents;
mod gather;
mod memory;
mod once;
mod rule;
mod shard;
mod sparse;
pub(crate) mod vector;

use rayon::prelude::*;

pub(in crate::model) use clock::Clock;
pub(in crate::model) use documents::Documents;
pub(in crate::model) use memory::place_of_l;
pub(crate) use once::loss_and_gradients;
pub(in crate::model) use rule::Law;

use gather::{Gather, Weights};
use shard::{Shard, Turn};
use vector::{LANES, exp};

use super::optimizer::Optimizer;
use super::settings::Settings;
use super::step::{State, Step};
use crate::error::Result;
use crate::loader::Batch;
use crate::matrix::Matrix;
use crate::plan::Placement;
use crate::simd::simd_dispatch;

/// Values of F's table in one shard, roughly: small enough to share out, large enough to be worth a task.
const SHARD: usize = 1 << 14;

/// Small tables are cut into about this many shards, so that all threads have work.
const SHARES: usize = 8;

/// Terms in a shard.
fn per_shard(topics: usize, terms: usize) -> usize {
    (SHARD / topics)
        .min(terms / SHARES)
        .max(1)
        .next_multiple_of(LANES)
}

pub(crate) struct FusedStep {
    topics: usize,
    terms: usize,
    micro_batch: usize,
    clock: Clock,
    documents: Documents,
    shards: Vec<Shard>,
    /// 1 / sum over terms of exp, per topic.
    scales: Vec<f64>,
    /// What was taken away before exp, per topic.
    offsets: Vec<f32>,
    losses: Vec<f64>,
}

impl FusedStep {
    pub(crate) fn new(settings: &Settings, placement: Placement, state: State) -> Result<Self> {
        let (topics, terms) = state.f.shape();
        let per_shard = per_shard(topics, terms);
        let shards = (0..terms)
            .step_by(per_shard)
            .map(|first| {
                let range = first..terms.min(first + per_shard);
                Shard::new(range, &state.f, [&state.f_moments[0], &state.f_moments[1]])
            })
            .collect();
        let mut step = Self {
            topics,
            terms,
            micro_batch: placement.micro_batch.max(1),
            clock: Clock::new(settings, &state),
            documents: Documents::new(
                &state.l,
                [&state.l_moments[0], &state.l_moments[1]],
                settings.optimizer == Optimizer::AdamW,
                &settings.table_place,
            )?,
            shards,
            scales: vec![0.0; topics],
            offsets: vec![0.0; topics],
            losses: Vec::new(),
        };
        step.refresh();
        Ok(step)
    }

    /// Everything that is derived is derived anew: a continued fit starts here with the same bits.
    fn refresh(&mut self) {
        self.clock.rested();
        self.documents.refresh();
        self.shards.iter_mut().for_each(Shard::find_largest);
        self.take_offsets();
        let offsets = &self.offsets;
        self.shards
            .par_iter_mut()
            .for_each(|shard| shard.refresh(offsets));
        self.take_scales();
    }

    fn take_offsets(&mut self) {
        for topic in 0..self.topics {
            self.offsets[topic] = self
                .shards
                .iter()
                .map(|shard| shard.largest[topic])
                .fold(f32::MIN, f32::max);
        }
    }

    fn take_scales(&mut self) {
        for topic in 0..self.topics {
            let sum: f64 = self
                .shards
                .iter()
                .map(|shard| shard.gather.sums[topic])
                .sum();
            self.scales[topic] = 1.0 / sum;
        }
    }

    /// Loss and gradients: the batch's loss, the gradients of its rows of L's table, and per topic what softmax's
    /// backward takes from every term of F. The gradient of F's table stays in the shards, and grows from batch to batch
    /// until they are updated.
    fn gather(&mut self, batch: &Batch<'_>) -> (f64, Vec<f32>, Vec<f64>) {
        let topics = self.topics;
        let mut l = vec![0.0; batch.documents.len() * topics];
        self.documents.soon(batch.documents);
        for (&document, l) in batch.documents.iter().zip(l.chunks_exact_mut(topics)) {
            self.documents.weights(document, l);
        }
        let weights = Weights::new(batch.rows, &l, &self.scales);
        let terms = self.terms;
        self.shards
            .par_iter_mut()
            .for_each(|shard| shard.gather.gather(&batch.view, terms, &weights));
        let gathers = self.shards.iter().map(|shard| &shard.gather);
        let (likelihood, totals) = reduce(gathers, weights.width, &self.scales, &mut l);
        (batch.documents.len() as f64 - likelihood, l, totals)
    }
}

/// Adds up what the shards have gathered: the batch's sum of x log rate, and each topic's share of its tokens under the
/// present model. Turns the documents' weights in `l` into the gradients of their free values.
fn reduce<'a>(
    gathers: impl Iterator<Item = &'a Gather>,
    width: usize,
    scales: &[f64],
    l: &mut [f32],
) -> (f64, Vec<f64>) {
    let topics = scales.len();
    let mut sums = vec![0.0f64; l.len() / topics * width];
    let mut likelihood = 0.0;
    for gather in gathers {
        likelihood += gather.likelihood;
        for (sum, gradient) in sums.iter_mut().zip(&gather.weight_gradients) {
            *sum += f64::from(*gradient);
        }
    }
    let mut totals = vec![0.0; topics];
    for (l, sums) in l.chunks_exact_mut(topics).zip(sums.chunks_exact_mut(width)) {
        // Each topic's share of the document's tokens.
        let mut all = 0.0;
        for topic in 0..topics {
            sums[topic] *= f64::from(l[topic]) * scales[topic];
            totals[topic] += sums[topic];
            all += sums[topic];
        }
        for (weight, tokens) in l.iter_mut().zip(&*sums) {
            *weight = (f64::from(*weight) * all - tokens) as f32;
        }
    }
    (likelihood, totals)
}

simd_dispatch! {
    /// A row of free values becomes weights that sum to one.
    fn softmax(row: &mut [f32]) {
        let largest = row.iter().copied().fold(f32::MIN, f32::max);
        let mut sum = 0.0;
        for value in row.iter_mut() {
            *value = exp(*value - largest);
        }
        for value in &*row {
            sum += *value;
        }
        row.iter_mut().for_each(|value| *value /= sum);
    }
}

impl Step for FusedStep {
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()> {
        let (mut loss, mut gradients) = (0.0, Vec::new());
        let mut totals = vec![0.0; self.topics];
        // The shards' gradients grow from part to part; buffers are as long as a part.
        for part in batch.parts(self.micro_batch) {
            let (of_part, rows, shares) = self.gather(&part);
            loss += of_part;
            gradients.extend(rows);
            for (total, share) in totals.iter_mut().zip(shares) {
                *total += share;
            }
        }
        self.losses.push(loss);
        let laws = self.clock.step(learning_rate);
        self.documents
            .step(batch.documents, &gradients, laws.of_l, laws.asleep);
        self.take_offsets();
        let turn = Turn::new(&self.scales, &totals, &self.offsets);
        self.shards
            .par_iter_mut()
            .for_each(|shard| shard.update(&turn, laws.of_f));
        self.take_scales();
        if self.clock.rest_is_due() {
            self.refresh();
        }
        Ok(())
    }

    fn take_losses(&mut self) -> Result<Vec<f64>> {
        self.refresh();
        Ok(std::mem::take(&mut self.losses))
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        let mut f = vec![0.0; self.topics * self.terms];
        for shard in &self.shards {
            shard.copy_probabilities(self.terms, &self.scales, &mut f);
        }
        Ok((
            self.documents.probabilities()?,
            Matrix::from_parts(self.topics, self.terms, f),
        ))
    }

    fn at_rest(&self) -> bool {
        self.clock.at_rest()
    }

    fn state(&self) -> Result<State> {
        let mut f = [(); 3].map(|()| vec![0.0; self.topics * self.terms]);
        self.shards
            .iter()
            .for_each(|shard| shard.copy_tables(self.terms, &mut f));
        let [f, f_moment1, f_moment2] =
            f.map(|values| Matrix::from_parts(self.topics, self.terms, values));
        let [l, l_moment1, l_moment2] = self.documents.tables()?;
        Ok(State {
            l,
            f,
            l_moments: [l_moment1, l_moment2],
            f_moments: [f_moment1, f_moment2],
            steps: self.clock.steps(),
        })
    }
}
