//! The same step as the tensor library's, in a few passes over memory (CPU).
//!
//! With W the batch's rows of L and r = W F: the rates of a document sum to one, so only nonzero counts carry a
//! gradient. One pass over them gives the loss and both gradients without the batch x terms table of rates; one pass
//! over F's table applies softmax's backward, AdamW and the next softmax's exponentials. Work is split into ranges of
//! terms whose number depends on the shape alone, so results do not depend on the number of threads.

mod adamw;
mod documents;
mod shard;
pub(crate) mod vector;

use rayon::prelude::*;

use adamw::Rates;
use documents::Documents;
use shard::{Shard, TURN, Turn, Weights};
use vector::LANES;

use super::settings::Settings;
use super::step::{State, Step};
use crate::error::Result;
use crate::loader::Batch;
use crate::matrix::Matrix;

/// Values of F's table in one shard, roughly: small enough to share out, large enough to be worth a task.
const SHARD: usize = 1 << 14;

/// Small tables are cut into about this many shards, so that all threads have work.
const SHARES: usize = 8;

pub(crate) struct FusedStep {
    topics: usize,
    terms: usize,
    weight_decay: f64,
    steps: u64,
    steps_between_rests: usize,
    documents: Documents,
    shards: Vec<Shard>,
    /// 1 / sum over terms of exp, per topic.
    scales: Vec<f64>,
    /// What was taken away before exp, per topic.
    offsets: Vec<f32>,
    losses: Vec<f64>,
}

impl FusedStep {
    pub(crate) fn new(settings: &Settings, state: State) -> Self {
        let (topics, terms) = state.f.shape();
        let per_shard = (SHARD / topics)
            .min(terms / SHARES)
            .max(1)
            .next_multiple_of(TURN);
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
            weight_decay: settings.weight_decay,
            steps: state.steps,
            // Eight times an epoch every sleeping row is woken; in small fits, seldom enough to cost nothing.
            steps_between_rests: (state.l.rows() / (8 * settings.batch_size)).max(64),
            documents: Documents::new(&state.l, [&state.l_moments[0], &state.l_moments[1]]),
            shards,
            scales: vec![0.0; topics],
            offsets: vec![0.0; topics],
            losses: Vec::new(),
        };
        step.refresh();
        step
    }

    /// Everything that is derived is derived anew: a continued fit starts here with the same bits.
    fn refresh(&mut self) {
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
            let sum: f64 = self.shards.iter().map(|shard| shard.sums[topic]).sum();
            self.scales[topic] = 1.0 / sum;
        }
    }

    /// The softmaxes of the batch's rows of L (documents x topics), and the same times F's scales, padded with zeros.
    fn weights(&mut self, documents: &[usize], width: usize) -> (Vec<f32>, Vec<f32>) {
        let mut weights = vec![0.0; documents.len() * self.topics];
        let mut scaled = vec![0.0; documents.len() * width];
        for ((&document, weights), scaled) in documents
            .iter()
            .zip(weights.chunks_mut(self.topics))
            .zip(scaled.chunks_mut(width))
        {
            self.documents.weights(document, weights);
            for ((scaled, weight), scale) in scaled.iter_mut().zip(weights).zip(&self.scales) {
                *scaled = (f64::from(*weight) * scale) as f32;
            }
        }
        (weights, scaled)
    }

    /// Loss and gradients: the batch's loss, the gradients of its rows of L's table, and per topic what softmax's
    /// backward takes from every term of F. The gradient of F's table stays in the shards.
    fn gather(&mut self, batch: &Batch<'_>) -> (f64, Vec<f32>, Vec<f64>) {
        let width = self.topics.next_multiple_of(LANES);
        let (weights, scaled) = self.weights(batch.documents, width);
        let shared = Weights {
            rows: batch.rows,
            values: &scaled,
            width,
        };
        let terms = self.terms;
        self.shards
            .par_iter_mut()
            .for_each(|shard| shard.gather(&batch.view, terms, &shared));
        let mut sums = vec![0.0f64; scaled.len()];
        let mut likelihood = 0.0;
        for shard in &self.shards {
            likelihood += shard.likelihood;
            for (sum, gradient) in sums.iter_mut().zip(&shard.weight_gradients) {
                *sum += f64::from(*gradient);
            }
        }
        let mut totals = vec![0.0; self.topics];
        let mut gradients = vec![0.0; weights.len()];
        for (row, gradients) in gradients.chunks_mut(self.topics).enumerate() {
            let weights = &weights[row * self.topics..(row + 1) * self.topics];
            let sums = &sums[row * width..row * width + self.topics];
            // Each topic's share of the document's tokens under the present model.
            let slopes: Vec<f64> = sums
                .iter()
                .zip(&self.scales)
                .map(|(sum, scale)| sum * scale)
                .collect();
            let explained: Vec<f64> = weights
                .iter()
                .zip(&slopes)
                .map(|(&weight, slope)| f64::from(weight) * slope)
                .collect();
            let all: f64 = explained.iter().sum();
            for topic in 0..self.topics {
                gradients[topic] = (f64::from(weights[topic]) * all - explained[topic]) as f32;
                totals[topic] += explained[topic];
            }
        }
        (batch.documents.len() as f64 - likelihood, gradients, totals)
    }
}

impl Step for FusedStep {
    fn step(&mut self, batch: &Batch<'_>, learning_rate: f64) -> Result<()> {
        let (loss, gradients, totals) = self.gather(batch);
        self.losses.push(loss);
        self.steps += 1;
        let rates = Rates::at(self.steps, learning_rate, self.weight_decay);
        self.documents.step(batch.documents, &gradients, rates);
        self.take_offsets();
        let topics = self.topics;
        let turn = Turn {
            pull: (0..TURN * topics)
                .map(|index| (self.scales[index % topics] * totals[index % topics]) as f32)
                .collect(),
            offset: (0..TURN * topics)
                .map(|index| self.offsets[index % topics])
                .collect(),
        };
        self.shards
            .par_iter_mut()
            .for_each(|shard| shard.update(&turn, rates));
        self.take_scales();
        if self.documents.now() == self.steps_between_rests {
            self.refresh();
        }
        Ok(())
    }

    fn take_losses(&mut self) -> Result<Vec<f64>> {
        self.refresh();
        Ok(std::mem::take(&mut self.losses))
    }

    fn topics(&self) -> Result<(Matrix, Matrix)> {
        let mut l = vec![0.0; self.documents.rows() * self.topics];
        for (document, weights) in l.chunks_mut(self.topics).enumerate() {
            self.documents.softmax(document, weights);
        }
        let mut f = vec![0.0; self.topics * self.terms];
        for shard in &self.shards {
            shard.copy_probabilities(self.terms, &self.scales, &mut f);
        }
        Ok((
            Matrix::from_parts(self.documents.rows(), self.topics, l),
            Matrix::from_parts(self.topics, self.terms, f),
        ))
    }

    fn at_rest(&self) -> bool {
        self.documents.now() == 0
    }

    fn state(&self) -> Result<State> {
        let mut f = [(); 3].map(|()| vec![0.0; self.topics * self.terms]);
        self.shards
            .iter()
            .for_each(|shard| shard.copy_tables(self.terms, &mut f));
        let [f, f_moment1, f_moment2] =
            f.map(|values| Matrix::from_parts(self.topics, self.terms, values));
        let [l, l_moment1, l_moment2] = self.documents.tables();
        Ok(State {
            l,
            f,
            l_moments: [l_moment1, l_moment2],
            f_moments: [f_moment1, f_moment2],
            steps: self.steps,
        })
    }
}
