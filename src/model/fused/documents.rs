//! The table behind L, one row per document, under AdamW's law for dense tables at the price of the rows in the batch.
//!
//! AdamW moves every row at every step, also the rows whose gradient is zero. For those the law has a closed form: with
//! m and v the moments after step s, step t > s moves an entry by
//! `size(t) b1^(t-s) m / (root(t) b2^((t-s)/2) sqrt(v))`, a number of the step times a number of the entry. The sums of
//! the steps' numbers are kept per starting step, so a row catches up in O(topics) when it is next needed, however
//! long it slept.

use super::adamw::{BETA1, BETA2, EPSILON, Rates};
use crate::matrix::Matrix;

/// Steps after which a sleeping row hardly moves: (0.9 / sqrt(0.999))^256 is 2e-12.
const WINDOW: usize = 256;

pub(super) struct Documents {
    topics: usize,
    free: Vec<f32>,
    moment1: Vec<f32>,
    moment2: Vec<f32>,
    /// The step (since the last refresh) that a row is up to date with.
    updated: Vec<u32>,
    /// For each step since the last refresh: the product of the decays up to it.
    decays: Vec<f64>,
    /// For each step since the last refresh: how far a row that slept since then has to move, over the last decay.
    moves: Vec<f64>,
    /// (b1 / sqrt(b2))^i
    powers: Vec<f64>,
}

impl Documents {
    pub(super) fn new(free: &Matrix, moments: [&Matrix; 2]) -> Self {
        let ratio = BETA1 / BETA2.sqrt();
        Self {
            topics: free.columns(),
            free: free.values().to_vec(),
            moment1: moments[0].values().to_vec(),
            moment2: moments[1].values().to_vec(),
            updated: vec![0; free.rows()],
            decays: vec![1.0],
            moves: vec![0.0],
            powers: (0..=WINDOW).map(|i| ratio.powi(i as i32)).collect(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.updated.len()
    }

    /// Steps taken since the last refresh.
    pub(super) fn now(&self) -> usize {
        self.decays.len() - 1
    }

    /// Writes the softmax of a document's row into `weights`.
    pub(super) fn weights(&mut self, document: usize, weights: &mut [f32]) {
        self.catch_up(document);
        self.softmax(document, weights);
    }

    /// The same for a row that is up to date, as all are after [`refresh`](Self::refresh).
    pub(super) fn softmax(&self, document: usize, weights: &mut [f32]) {
        let row = &self.free[document * self.topics..(document + 1) * self.topics];
        let largest = row.iter().copied().fold(f32::MIN, f32::max);
        let mut sum = 0.0;
        for (weight, value) in weights.iter_mut().zip(row) {
            *weight = (value - largest).exp();
            sum += *weight;
        }
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// The rows of the batch take a step along their gradients (documents x topics); all others fall asleep.
    pub(super) fn step(&mut self, documents: &[usize], gradients: &[f32], rates: Rates) {
        let now = self.now() + 1;
        let (decay, size) = (rates.decay as f32, rates.size as f32);
        let (root, epsilon) = (rates.root as f32, EPSILON as f32);
        for (&document, gradients) in documents.iter().zip(gradients.chunks(self.topics)) {
            let row = document * self.topics..(document + 1) * self.topics;
            let moments = self.moment1[row.clone()]
                .iter_mut()
                .zip(&mut self.moment2[row.clone()]);
            for ((value, (m, v)), g) in self.free[row].iter_mut().zip(moments).zip(gradients) {
                *m = BETA1 as f32 * *m + (1.0 - BETA1) as f32 * g;
                *v = BETA2 as f32 * *v + (1.0 - BETA2) as f32 * g * g;
                *value = *value * decay - size * *m / (v.sqrt() * root + epsilon);
            }
            self.updated[document] = now as u32;
        }
        let product = self.decays[now - 1] * rates.decay;
        self.decays.push(product);
        self.moves.push(0.0);
        let unit = rates.size / rates.root / product;
        let first = now.saturating_sub(WINDOW);
        for (slept, total) in (1..=now - first).rev().zip(&mut self.moves[first..now]) {
            *total += unit * self.powers[slept];
        }
    }

    fn catch_up(&mut self, document: usize) {
        let (now, since) = (self.now(), self.updated[document] as usize);
        if since == now {
            return;
        }
        let slept = (now - since) as i32;
        let shrink = (self.decays[now] / self.decays[since]) as f32;
        let shift = (self.moves[since] * self.decays[now]) as f32;
        let (fade1, fade2) = (BETA1.powi(slept) as f32, BETA2.powi(slept) as f32);
        let row = document * self.topics..(document + 1) * self.topics;
        let moments = self.moment1[row.clone()]
            .iter_mut()
            .zip(&mut self.moment2[row.clone()]);
        for (value, (m, v)) in self.free[row].iter_mut().zip(moments) {
            // The law adds epsilon / root(t); root is within (1, 32] and the term only matters where v is nearly zero.
            *value = *value * shrink - shift * *m / (v.sqrt() + EPSILON as f32);
            *m *= fade1;
            *v *= fade2;
        }
        self.updated[document] = now as u32;
    }

    /// Brings every row up to date and starts counting steps anew.
    pub(super) fn refresh(&mut self) {
        (0..self.updated.len()).for_each(|document| self.catch_up(document));
        self.updated.fill(0);
        self.decays = vec![1.0];
        self.moves = vec![0.0];
    }

    /// The free table and its moments; call after [`refresh`](Self::refresh).
    pub(super) fn tables(&self) -> [Matrix; 3] {
        [&self.free, &self.moment1, &self.moment2].map(|values| {
            Matrix::from_parts(values.len() / self.topics, self.topics, values.clone())
        })
    }
}
