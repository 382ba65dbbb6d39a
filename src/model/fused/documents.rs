//! The table behind L, one row per document.
//!
//! Row-wise optimizers move the rows of the batch. Dense AdamW moves every row at every step, also the rows whose gradient
//! is zero. For those the law has a closed form: with m and v the moments after step s, step t > s moves an entry by
//! `size(t) b1^(t-s) m / (root(t) b2^((t-s)/2) sqrt(v))`, a number of the step times a number of the entry. The sums of
//! the steps' numbers are kept per starting step, so a row catches up in O(topics) when it is next needed, however
//! long it slept.

use super::rule::{BETA1, BETA2, EPSILON, Law, Rates, Rule, with_rule};
use super::softmax;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::place::{TablePlace, Values};
use crate::simd::simd_dispatch;

/// Steps after which a sleeping row hardly moves: (0.9 / sqrt(0.999))^256 is 2e-12.
const WINDOW: usize = 256;
/// A row's free values and what the optimizer remembers of them.
const TABLES: usize = 3;

pub(in crate::model) struct Documents {
    topics: usize,
    /// Documents x tables x topics: all that a step needs of a document lies side by side.
    rows: Values,
    place: TablePlace,
    asleep: Option<Asleep>,
}

/// What rows outside the batch have missed, under dense AdamW.
struct Asleep {
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
    /// `dense` when all rows move at every step, by AdamW.
    pub(in crate::model) fn new(
        free: &Matrix,
        moments: [&Matrix; 2],
        dense: bool,
        place: &TablePlace,
    ) -> Result<Self> {
        let (documents, topics) = free.shape();
        let mut rows = place.zeros(free.values().len() * TABLES)?;
        for (document, rows) in rows.chunks_exact_mut(topics * TABLES).enumerate() {
            let tables = [free, moments[0], moments[1]];
            for (table, part) in tables.iter().zip(rows.chunks_exact_mut(topics)) {
                part.copy_from_slice(table.row(document));
            }
        }
        rows.in_no_order();
        Ok(Self {
            topics,
            rows,
            place: place.clone(),
            asleep: dense.then(|| Asleep::new(documents)),
        })
    }

    pub(in crate::model) fn rows(&self) -> usize {
        self.rows.len() / (self.topics * TABLES)
    }

    fn row(&mut self, document: usize) -> &mut [f32] {
        let length = self.topics * TABLES;
        &mut self.rows[document * length..(document + 1) * length]
    }

    /// These documents are the next batch.
    pub(in crate::model) fn soon(&self, documents: &[usize]) {
        let length = self.topics * TABLES;
        for document in documents {
            self.rows.soon(document * length..(document + 1) * length);
        }
    }

    /// Brings a row up to date.
    pub(in crate::model) fn catch_up(&mut self, document: usize) {
        if let Some(missed) = self.asleep.as_mut().and_then(|all| all.wake(document)) {
            catch_up_row(self.row(document), missed);
        }
    }

    /// A document's free values, if it is up to date.
    pub(in crate::model) fn free(&self, document: usize) -> &[f32] {
        &self.rows[document * self.topics * TABLES..][..self.topics]
    }

    /// Writes the softmax of a document's row into `weights`.
    pub(super) fn weights(&mut self, document: usize, weights: &mut [f32]) {
        self.catch_up(document);
        self.softmax(document, weights);
    }

    /// The same for a row that is up to date, as all are after [`refresh`](Self::refresh).
    fn softmax(&self, document: usize, weights: &mut [f32]) {
        weights.copy_from_slice(self.free(document));
        softmax(weights);
    }

    /// The rows of the batch take a step along their gradients (documents x topics). Under dense AdamW, whose numbers
    /// are `rates`, all others fall asleep.
    pub(super) fn step(&mut self, documents: &[usize], gradients: &[f32], law: Law, rates: Rates) {
        self.move_rows(documents, gradients, law);
        self.fall_asleep(documents, rates);
    }

    /// The first half of [`step`](Self::step): these rows move. It may come later than the second, as long as nobody asks
    /// for them.
    pub(in crate::model) fn move_rows(&mut self, documents: &[usize], gradients: &[f32], law: Law) {
        let rows = gradients.chunks_exact(self.topics);
        for (&document, gradients) in documents.iter().zip(rows) {
            step_row(self.row(document), gradients, law);
        }
    }

    /// The second half: all other rows begin to miss a step, where all move at every step.
    pub(in crate::model) fn fall_asleep(&mut self, documents: &[usize], rates: Rates) {
        if let Some(asleep) = &mut self.asleep {
            asleep.step(documents, rates);
        }
    }

    /// Brings every row up to date and starts counting steps anew.
    pub(in crate::model) fn refresh(&mut self) {
        (0..self.rows()).for_each(|document| self.catch_up(document));
        if let Some(asleep) = &mut self.asleep {
            asleep.start_anew();
        }
    }

    /// The free table and its moments; call after [`refresh`](Self::refresh).
    pub(in crate::model) fn tables(&self) -> Result<[Matrix; TABLES]> {
        let table = |table: usize| {
            let parts = self.rows.chunks_exact(self.topics);
            let mut parts = parts.skip(table).step_by(TABLES);
            self.table(|_, row| row.copy_from_slice(parts.next().unwrap_or_default()))
        };
        Ok([table(0)?, table(1)?, table(2)?])
    }

    /// L: the softmax of every row; call after [`refresh`](Self::refresh).
    pub(in crate::model) fn probabilities(&self) -> Result<Matrix> {
        self.table(|document, row| self.softmax(document, row))
    }

    /// A table of documents x topics, where the rows live.
    fn table(&self, mut fill: impl FnMut(usize, &mut [f32])) -> Result<Matrix> {
        let mut values = self.place.zeros(self.rows() * self.topics)?;
        for (document, row) in values.chunks_exact_mut(self.topics).enumerate() {
            fill(document, row);
        }
        Ok(Matrix::of(self.rows(), self.topics, values))
    }
}

/// What a row has missed.
#[derive(Clone, Copy)]
struct Missed {
    shrink: f32,
    shift: f32,
    fade: [f32; 2],
}

impl Asleep {
    fn new(documents: usize) -> Self {
        let ratio = BETA1 / BETA2.sqrt();
        Self {
            updated: vec![0; documents],
            decays: vec![1.0],
            moves: vec![0.0],
            powers: (0..=WINDOW).map(|i| ratio.powi(i as i32)).collect(),
        }
    }

    /// Steps taken since the last refresh.
    fn now(&self) -> usize {
        self.decays.len() - 1
    }

    fn step(&mut self, moved: &[usize], rates: Rates) {
        let now = self.now() + 1;
        for &document in moved {
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

    /// What a row has missed, if anything; from here on it is up to date.
    fn wake(&mut self, document: usize) -> Option<Missed> {
        let (now, since) = (self.now(), self.updated[document] as usize);
        if since == now {
            return None;
        }
        self.updated[document] = now as u32;
        let slept = (now - since) as i32;
        Some(Missed {
            shrink: (self.decays[now] / self.decays[since]) as f32,
            shift: (self.moves[since] * self.decays[now]) as f32,
            fade: [BETA1.powi(slept) as f32, BETA2.powi(slept) as f32],
        })
    }

    fn start_anew(&mut self) {
        self.updated.fill(0);
        self.decays = vec![1.0];
        self.moves = vec![0.0];
    }
}

/// A row's free values, first and second numbers.
#[inline(always)]
fn parts(row: &mut [f32]) -> (&mut [f32], &mut [f32], &mut [f32]) {
    let topics = row.len() / TABLES;
    let (free, moments) = row.split_at_mut(topics);
    let (first, second) = moments.split_at_mut(topics);
    (free, first, second)
}

simd_dispatch! {
    fn step_row(row: &mut [f32], gradients: &[f32], law: Law) {
        let (free, first, second) = parts(row);
        let entries = free.iter_mut().zip(first).zip(second).zip(gradients);
        with_rule!(law, rule => for (((value, first), second), gradient) in entries {
            *value = rule.step(*value, *gradient, first, second);
        })
    }
}

simd_dispatch! {
    fn catch_up_row(row: &mut [f32], missed: Missed) {
        let (free, first, second) = parts(row);
        for ((value, m), v) in free.iter_mut().zip(first).zip(second) {
            // The law adds epsilon / root(t); root is within (1, 32] and the term only matters where v is nearly zero.
            let step = missed.shift * *m / (v.sqrt() + EPSILON as f32);
            *value = value.mul_add(missed.shrink, -step);
            *m *= missed.fade[0];
            *v *= missed.fade[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Flex;
    use burn::backend::flex::FlexDevice;
    use burn::optim::decay::WeightDecayConfig;
    use burn::optim::momentum::MomentumConfig;
    use burn::optim::{
        AdaGradConfig, AdamConfig, AdamWConfig, RmsPropConfig, SgdConfig, SimpleOptimizer,
    };
    use burn::tensor::{Tensor, TensorData};

    use super::*;
    use crate::model::Optimizer;

    const DECAY: f64 = 0.01;

    /// Burn's dense optimizer on two rows, and ours on the same two of a table of four.
    fn compare<O: SimpleOptimizer<Flex>>(optimizer: Optimizer, burn: O) {
        let numbers = |seed: u32| -> Vec<f32> {
            (0..6)
                .map(|i| ((seed * 31 + i * 17) % 23) as f32 - 11.0)
                .collect()
        };
        let tensor = |values: &[f32]| {
            Tensor::<Flex, 2>::from_data(TensorData::new(values.to_vec(), [2, 3]), &FlexDevice)
        };
        let start = numbers(5);
        let mut table = vec![0.25; 12];
        table[..3].copy_from_slice(&start[..3]);
        table[6..9].copy_from_slice(&start[3..]);
        let zeros = Matrix::from_parts(4, 3, vec![0.0; 12]);
        let free = Matrix::from_parts(4, 3, table);
        let mut ours = Documents::new(&free, [&zeros, &zeros], false, &TablePlace::Memory).unwrap();
        let (mut theirs, mut state) = (tensor(&start), None);
        for time in 1..=50 {
            let (rate, gradients) = (0.05 / time as f64, numbers(time));
            let law = Law::at(optimizer, time.into(), rate, DECAY);
            ours.step(
                &[0, 2],
                &gradients,
                law,
                Rates::at(time.into(), rate, DECAY),
            );
            (theirs, state) = burn.step(rate, theirs, tensor(&gradients), state);
        }
        let [ours, ..] = ours.tables().unwrap();
        let theirs: Vec<f32> = theirs.into_data().into_vec().unwrap();
        for (ours, theirs) in [(ours.row(0), &theirs[..3]), (ours.row(2), &theirs[3..])] {
            for (a, b) in ours.iter().zip(theirs) {
                let error = (a - b).abs() / (1.0 + b.abs());
                assert!(error < 1e-5, "{optimizer:?}: {a} against {b}");
            }
        }
        assert_eq!(ours.row(1), [0.25; 3]);
        assert_eq!(ours.row(3), [0.25; 3]);
    }

    #[test]
    fn row_wise_optimizers_are_burns_dense_ones_on_the_rows_of_the_batch() {
        let decay = || Some(WeightDecayConfig::new(DECAY as f32));
        let adamw = AdamWConfig::new().with_epsilon(1e-8);
        compare(
            Optimizer::RowwiseAdamW,
            adamw.with_weight_decay(DECAY as f32).build(),
        );
        let adam = AdamConfig::new().with_epsilon(1e-8);
        compare(
            Optimizer::RowwiseAdam,
            adam.with_weight_decay(decay()).build(),
        );
        let rmsprop = RmsPropConfig::new().with_epsilon(1e-8);
        compare(
            Optimizer::RowwiseRmsProp,
            rmsprop.with_weight_decay(decay()).build(),
        );
        let adagrad = AdaGradConfig::new().with_epsilon(1e-8);
        compare(
            Optimizer::RowwiseAdagrad,
            adagrad.with_weight_decay(decay()).build(),
        );
        let momentum = MomentumConfig::new().with_dampening(0.0);
        let sgd = SgdConfig::new().with_momentum(Some(momentum));
        compare(
            Optimizer::RowwiseSgd,
            sgd.with_weight_decay(decay()).build::<Flex>(),
        );
    }
}
