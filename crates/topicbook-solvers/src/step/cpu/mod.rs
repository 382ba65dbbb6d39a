//! The gradient step on the CPU: the result of `TensorStep` in a few passes over memory.
//!
//! With W the batch's rows of L and r = W F: the rates of a document sum to one, so only nonzero counts carry a
//! gradient. One pass over them gives the loss and both gradients without the batch x terms table of rates. One pass
//! over F's logits applies softmax's backward, the optimizer and the exponentials of the next softmax. The work is
//! split into term shards (ranges of terms) whose number depends on the shape alone, so that results do not depend on
//! the number of threads. A shard with many counts is processed as dense tiles.

mod batch_gradient;
mod footprint;
mod kept;
mod lane_sums;
mod row_gradient;
mod scratch;
mod shard;
mod sparse;
mod tiles;
mod update_pass;
mod update_tiles;
mod weights;

use rayon::prelude::*;

pub use batch_gradient::loss_and_gradients;
pub use footprint::l_memory;

use crate::batches::Batch;
use crate::config::{MiniBatch, Settings};
use crate::cost::Placement;
use crate::data::Matrix;
use crate::error::Result;
use crate::kernels::BLOCK_TERMS;
use crate::step::update::{LazyRows, StepCounter};
use crate::system::{LANES, Team, simd_dispatch};

use super::{State, Step, divergence, team};
use shard::TermShard;
use update_pass::Constants;
use weights::Weights;

/// Approximate number of F's values in a term shard: few enough to balance the threads, enough to be worth a task.
const SHARD_VALUES: usize = 1 << 14;

/// Approximate minimum number of shards, so that small tables have work for several threads too.
const MIN_SHARDS: usize = 8;

/// Minimum additions to the gradients of L's rows that are worth a section of the team.
const MIN_ADDITIONS: usize = 1 << 16;

/// Values of the gradients of L's rows that a task sums.
const SUMS_AT_ONCE: usize = 256;

/// Terms in a shard: whole blocks of a tile ([`BLOCK_TERMS`]).
fn terms_per_shard(topics: usize, terms: usize) -> usize {
    (SHARD_VALUES / topics)
        .min(terms / MIN_SHARDS)
        .max(1)
        .next_multiple_of(BLOCK_TERMS)
}

pub struct FusedStep {
    topics: usize,
    terms: usize,
    micro_batch: usize,
    parameters: MiniBatch,
    counter: StepCounter,
    l: LazyRows,
    shards: Vec<TermShard>,
    /// The threads that work on shards.
    team: Team,
    /// Whether the shards have the layouts that are faster for the first batch since the last flush. A resumed fit chooses
    /// by the same batch.
    layouts_chosen: bool,
    /// One over the sum of the exponentials over all terms, per topic.
    scales: Vec<f64>,
    /// Subtracted from the logits before the exponential, per topic.
    offsets: Vec<f32>,
    losses: Vec<f64>,
    /// Norms of gradients that were clipped.
    norms: Vec<f64>,
}

/// The sums of a micro-batch, or of the micro-batches of a batch so far.
#[derive(Default)]
struct MicroBatchSums {
    loss: f64,
    /// With respect to the documents' logits of L: documents x topics.
    l_gradients: Vec<f32>,
    /// Each topic's expected number of tokens.
    totals: Vec<f64>,
    /// The padded weights of the last micro-batch's documents.
    weights: Vec<f32>,
}

impl MicroBatchSums {
    /// Adds the next micro-batch.
    fn add(&mut self, next: Self) {
        self.loss += next.loss;
        self.l_gradients.extend(next.l_gradients);
        self.totals.resize(next.totals.len(), 0.0);
        for (total, next) in self.totals.iter_mut().zip(next.totals) {
            *total += next;
        }
        self.weights = next.weights;
    }
}

impl FusedStep {
    pub fn new(settings: &Settings, placement: Placement, state: State) -> Result<Self> {
        let (topics, terms) = state.f.shape();
        let per_shard = terms_per_shard(topics, terms);
        let shards = (0..terms)
            .into_par_iter()
            .step_by(per_shard)
            .map(|first| {
                let range = first..terms.min(first + per_shard);
                TermShard::new(range, &state.f, &state.f_state)
            })
            .collect();
        let mut step = Self {
            topics,
            terms,
            micro_batch: placement.micro_batch.max(1),
            counter: StepCounter::new(&settings.mini_batch(), state.l.rows(), state.steps),
            l: LazyRows::new(
                (&state.l, &state.l_state),
                state.steps,
                &settings.mini_batch(),
            )?,
            parameters: settings.mini_batch(),
            shards,
            team: team()?,
            layouts_chosen: false,
            scales: vec![0.0; topics],
            offsets: vec![0.0; topics],
            losses: Vec::new(),
            norms: Vec::new(),
        };
        step.flush();
        Ok(step)
    }

    /// Flushes L's stale rows and recomputes all derived values from the logits, so that a resumed fit and an
    /// uninterrupted one continue with the same bits.
    fn flush(&mut self) {
        self.counter.mark_flushed();
        self.layouts_chosen = false;
        self.l.flush(&mut self.team);
        self.team
            .for_each(&mut self.shards, TermShard::find_largest);
        self.update_offsets();
        let offsets = &self.offsets;
        self.team
            .for_each(&mut self.shards, |shard| shard.recompute_sums(offsets));
        self.update_scales();
    }

    fn update_offsets(&mut self) {
        self.offsets.fill(f32::MIN);
        for shard in &self.shards {
            for (offset, largest) in self.offsets.iter_mut().zip(&shard.largest) {
                *offset = offset.max(*largest);
            }
        }
    }

    fn update_scales(&mut self) {
        self.scales.fill(0.0);
        for shard in &self.shards {
            for (sum, part) in self.scales.iter_mut().zip(&shard.exp_sums) {
                *sum += part;
            }
        }
        self.scales.iter_mut().for_each(|sum| *sum = 1.0 / *sum);
    }

    /// Computes the sums of a micro-batch. The gradient with respect to F's logits stays in the shards: in their accumulators, or
    /// as nonzero counts that [`FusedStep::add_kept`] or the update adds. [`TermShard::update`] applies and clears it.
    fn accumulate(&mut self, batch: &Batch<'_>) -> MicroBatchSums {
        let topics = self.topics;
        let mut l = vec![0.0; batch.documents.len() * topics];
        self.l.prefetch(batch.documents);
        for (&document, weights) in batch.documents.iter().zip(l.chunks_exact_mut(topics)) {
            self.l.weights(document, weights);
        }
        let weights = Weights::new(batch.rows, &l, &self.scales, &self.offsets);
        let terms = self.terms;
        if !self.layouts_chosen {
            let offsets = &self.offsets;
            self.team.for_each(&mut self.shards, |shard| {
                shard.choose_layout(&batch.view, terms, batch.rows, offsets);
            });
            self.layouts_chosen = true;
        }
        self.team.for_each(&mut self.shards, |shard| {
            shard.accumulate(&batch.view, terms, &weights);
        });
        let sums = self.weight_gradients(batch.documents.len() * weights.width);
        let (likelihood, totals) = reduce(&self.shards, sums, &self.scales, &mut l);
        MicroBatchSums {
            loss: batch.documents.len() as f64 - likelihood,
            l_gradients: l,
            totals,
            weights: weights.padded,
        }
    }
}

impl FusedStep {
    /// The gradients with respect to a batch's weights (documents x width).
    fn weight_gradients(&mut self, length: usize) -> Vec<f64> {
        let shards = &self.shards;
        let mut sums = vec![0.0; length];
        // Too few additions to share them among threads.
        match shards.len() * length < MIN_ADDITIONS {
            true => add_parts(shards, 0, &mut sums),
            false => {
                let mut parts: Vec<_> = sums.chunks_mut(SUMS_AT_ONCE).enumerate().collect();
                self.team.for_each(&mut parts, |(at, sums)| {
                    add_parts(shards, *at * SUMS_AT_ONCE, sums);
                });
            }
        }
        sums
    }

    /// Adds the nonzero counts that the shards have kept of the last micro-batch, if there is one, to their gradients.
    fn add_kept(&mut self, part: &MicroBatchSums) {
        if part.weights.is_empty() {
            return;
        }
        self.team.for_each(&mut self.shards, |shard| {
            shard.add_kept(&part.weights);
        });
    }

    /// Scales the gradients of L's rows and the accumulated gradient of F, so that their common norm is at most
    /// `clip_grad_norm`. Returns the factor.
    fn clip(&mut self, sums: &mut MicroBatchSums) -> f64 {
        let totals: Vec<f64> = (self.scales.iter().zip(&sums.totals))
            .map(|(scale, total)| scale * total)
            .collect();
        // One sum for each shard, added in order: the result is the same for any number of threads.
        let mut squares: Vec<_> = self.shards.iter().map(|shard| (shard, 0.0)).collect();
        self.team.for_each(&mut squares, |(shard, squares)| {
            *squares = shard.squared_gradient(&totals, &self.offsets);
        });
        let of_l = sums
            .l_gradients
            .iter()
            .map(|value| f64::from(*value).powi(2));
        let of_f = squares.iter().map(|(_, squares)| squares);
        let norm = (of_l.sum::<f64>() + of_f.sum::<f64>()).sqrt();
        self.norms.push(norm);
        let factor = (self.parameters.clip_grad_norm / norm).min(1.0);
        if factor < 1.0 {
            let of_l = sums.l_gradients.iter_mut();
            of_l.for_each(|value| *value *= factor as f32);
            self.team.for_each(&mut self.shards, |shard| {
                shard.scale_gradient(factor as f32);
            });
        }
        factor
    }
}

simd_dispatch! {
    fn add(sums: &mut [f64], values: &[f32]) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += f64::from(*value);
        }
    }
}

/// Adds the shards' gradients with respect to a batch's weights (documents x width), from index `first` on, to the sums.
fn add_parts(shards: &[TermShard], first: usize, sums: &mut [f64]) {
    for shard in shards {
        let part = &shard.weight_gradients;
        add(sums, &part[first..first + sums.len()]);
    }
}

/// Returns the batch's sum of x log rate, and the expected number of its tokens from each topic under the current model. `sums` are
/// the gradients with respect to the documents' weights (documents x width). Replaces the weights in `l` by the gradients with
/// respect to their logits.
fn reduce(
    shards: &[TermShard],
    mut sums: Vec<f64>,
    scales: &[f64],
    l: &mut [f32],
) -> (f64, Vec<f64>) {
    let topics = scales.len();
    let width = topics.next_multiple_of(LANES);
    let likelihoods = shards.iter().map(|shard| shard.likelihood);
    let mut totals = vec![0.0; topics];
    for (l, sums) in l.chunks_exact_mut(topics).zip(sums.chunks_exact_mut(width)) {
        // `sums` becomes the expected number of the document's tokens from each topic.
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
    (likelihoods.sum(), totals)
}

impl Step for FusedStep {
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()> {
        let mut sums = MicroBatchSums::default();
        // Gradient accumulation: F's gradient is summed in the shards, and buffers are only as long as a micro-batch.
        for part in batch.parts(self.micro_batch) {
            self.add_kept(&sums);
            sums.add(self.accumulate(&part));
        }
        self.losses.push(sums.loss);
        let factor = match self.parameters.clips() {
            true => {
                self.add_kept(&sums);
                self.clip(&mut sums)
            }
            false => 1.0,
        };
        let rules = self.counter.step(learning_rate);
        self.l.step(
            batch.documents,
            &sums.l_gradients,
            rules.l_rule,
            rules.step_sizes,
        );
        let old_offsets = self.offsets.clone();
        self.update_offsets();
        let totals = sums.totals.iter_mut();
        totals.for_each(|total| *total *= factor);
        let constants = Constants::new(&self.scales, &sums.totals, &old_offsets, &self.offsets);
        self.team.for_each(&mut self.shards, |shard| {
            shard.update(&constants, rules.f_rule, &sums.weights);
        });
        self.update_scales();
        if self.counter.flush_due() {
            self.flush();
        }
        Ok(())
    }

    fn take_grad_norms(&mut self) -> Result<Vec<f64>> {
        Ok(std::mem::take(&mut self.norms))
    }

    fn take_losses(&mut self) -> Result<Vec<f64>> {
        self.flush();
        let mut extents: Vec<_> = self.shards.iter().map(|shard| (shard, 0.0)).collect();
        self.team
            .for_each(&mut extents, |(shard, extent)| *extent = shard.extent());
        let extent = extents
            .iter()
            .fold(0.0, |extent, (_, of_shard)| f32::max(extent, *of_shard));
        divergence::check("F", extent, &self.parameters)?;
        Ok(std::mem::take(&mut self.losses))
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        let mut f = vec![0.0; self.topics * self.terms];
        let rows = f.par_chunks_exact_mut(self.terms).zip(&self.scales);
        rows.enumerate().for_each(|(topic, (row, scale))| {
            for shard in &self.shards {
                shard.copy_probabilities(topic, *scale, &self.offsets, row);
            }
        });
        divergence::check("L", self.l.extent(), &self.parameters)?;
        Ok((
            self.l.probabilities()?,
            Matrix::from_parts(self.topics, self.terms, f),
        ))
    }

    fn is_flushed(&self) -> bool {
        self.counter.is_flushed()
    }

    fn state(&self) -> Result<State> {
        let (l, l_state) = self.l.tables()?;
        let f_table = |table: usize| {
            let mut values = vec![0.0; self.topics * self.terms];
            let rows = values.par_chunks_exact_mut(self.terms).enumerate();
            rows.for_each(|(topic, row)| {
                for shard in &self.shards {
                    shard.copy_table(table, topic, row);
                }
            });
            Matrix::from_parts(self.topics, self.terms, values)
        };
        let f_values = self.parameters.optimizer.state_values().f;
        Ok(State {
            f: f_table(0),
            f_state: (1..=f_values).map(f_table).collect(),
            l,
            l_state,
            steps: self.counter.steps(),
        })
    }
}
