//! L's logits and their optimizer state, one row per document, with lazy updates.
//!
//! Row-wise optimizers update the rows of the batch only. Dense AdamW updates every row at every step, also the rows
//! whose gradient is zero. For these the update has a closed form: with m and v the moments after step s, step t > s
//! subtracts `size(t) b1^(t-s) m / (root(t) b2^((t-s)/2) sqrt(v))` from an entry, which is a factor of the step times a
//! factor of the entry. The sums of the step factors are kept for each starting step s, so that a stale row is replayed
//! in O(topics) when it is next needed, for any number of skipped steps.

use crate::config::{MiniBatch, TableStorage};
use crate::data::Matrix;
use crate::error::Result;
use crate::step::divergence::extent;
use crate::system::{Team, simd_dispatch, softmax};

use super::rows::{Rows, rounding_key};
use super::rule::{AdamWStep, Rule, UpdateRule, step_entry, with_rule};
use super::skipped_steps::{SkippedSteps, replay_row};

pub(crate) struct LazyRows {
    topics: usize,
    /// Values per entry of L: its logit, and the state that the optimizer keeps for it.
    tables: usize,
    /// Documents x tables x topics, so that all values of a document are contiguous.
    rows: Rows,
    storage: TableStorage,
    /// Steps taken since the start of the fit: rounding in `bf16` differs from step to step.
    steps: u64,
    /// The steps that stale rows have to replay; `None` for row-wise optimizers.
    skipped: Option<SkippedSteps>,
}

/// Why a row changes. It may change once for either reason between two steps.
#[derive(Clone, Copy)]
enum Change {
    Update,
    Replay,
}

impl LazyRows {
    /// Copies the logits of L and their optimizer state into the storage that the parameters name. With dense AdamW, rows
    /// outside the batch become stale.
    pub(crate) fn new(
        (l, l_state): (&Matrix, &[Matrix]),
        steps: u64,
        parameters: &MiniBatch,
    ) -> Result<Self> {
        let storage = &parameters.table_storage;
        let dense = parameters.optimizer.moves_all_rows();
        let (documents, topics) = l.shape();
        let tables = 1 + l_state.len();
        let width = topics * tables;
        let mut rows = Rows::zeros(documents, width, storage, parameters.table_precision)?;
        for document in 0..documents {
            rows.change(document, None, |row| {
                let tables = std::iter::once(l).chain(l_state);
                for (table, part) in tables.zip(row.chunks_exact_mut(topics)) {
                    part.copy_from_slice(table.row(document));
                }
            });
        }
        // They may be in mapped files, whose lost pages read as zeros.
        for table in std::iter::once(l).chain(l_state) {
            table.check_kept()?;
        }
        rows.advise_random();
        Ok(Self {
            topics,
            tables,
            rows,
            storage: storage.clone(),
            steps,
            skipped: dense.then(|| SkippedSteps::new(documents)),
        })
    }

    /// Asks the OS to read the rows of these documents now, if they are in a mapped file.
    pub(crate) fn prefetch(&self, documents: &[usize]) {
        documents
            .iter()
            .for_each(|document| self.rows.prefetch(*document));
    }

    /// Replays the steps that a row has skipped.
    pub(crate) fn bring_up_to_date(&mut self, document: usize) {
        if let Some(replay) = self.skipped.as_mut().and_then(|all| all.replay(document)) {
            let (topics, key) = (self.topics, key(document, Change::Replay, self.steps));
            self.rows
                .change(document, key, |row| replay_row(row, replay, topics));
        }
    }

    /// Copies the logits of a document, which are only valid if its row is up to date.
    pub(crate) fn copy_logits(&self, document: usize, out: &mut [f32]) {
        self.rows.copy(document, 0..self.topics, out);
    }

    /// Brings a document's row up to date and writes the softmax of its logits into `weights`.
    pub(crate) fn weights(&mut self, document: usize, weights: &mut [f32]) {
        self.bring_up_to_date(document);
        self.softmax(document, weights);
    }

    /// Writes the softmax of a document's logits, whose row has to be up to date.
    fn softmax(&self, document: usize, weights: &mut [f32]) {
        self.copy_logits(document, weights);
        softmax(weights);
    }

    /// Updates the rows of the batch with their gradients (documents x topics). Under dense AdamW all other rows skip
    /// this step, whose sizes are `step_sizes`.
    pub(crate) fn step(
        &mut self,
        documents: &[usize],
        gradients: &[f32],
        rule: UpdateRule,
        step_sizes: AdamWStep,
    ) {
        self.update_rows(documents, gradients, rule);
        self.mark_updated(documents, step_sizes);
    }

    /// The first half of [`step`](Self::step): updates the rows of the batch. It may run after the second half, as long
    /// as these rows are not read in between.
    pub(crate) fn update_rows(&mut self, documents: &[usize], gradients: &[f32], rule: UpdateRule) {
        let rows = gradients.chunks_exact(self.topics);
        for (&document, gradients) in documents.iter().zip(rows) {
            let key = key(document, Change::Update, self.steps);
            self.rows
                .change(document, key, |row| step_row(row, gradients, rule));
        }
    }

    /// The second half of [`step`](Self::step): counts a step, with which the rows of the batch are up to date and all
    /// others are not.
    pub(crate) fn mark_updated(&mut self, documents: &[usize], step_sizes: AdamWStep) {
        self.steps = self.steps.wrapping_add(1);
        if let Some(skipped) = &mut self.skipped {
            skipped.step(documents, step_sizes);
        }
    }

    /// Brings every row up to date and restarts the count of skipped steps. Costs O(documents x topics).
    pub(crate) fn flush(&mut self, team: &mut Team) {
        let (topics, steps) = (self.topics, self.steps);
        let Some(skipped) = &mut self.skipped else {
            return;
        };
        let all = &*skipped;
        self.rows.change_all(
            team,
            |document| key(document, Change::Replay, steps),
            |document, row| {
                if let Some(replay) = all.of(document) {
                    replay_row(row, replay, topics);
                }
            },
        );
        skipped.reset();
    }

    /// Copies of the logits and of their optimizer state. Call after [`flush`](Self::flush).
    pub(crate) fn tables(&self) -> Result<(Matrix, Vec<Matrix>)> {
        let table = |table: usize| {
            let part = table * self.topics..(table + 1) * self.topics;
            self.table(|document, row| self.rows.copy(document, part.clone(), row))
        };
        let state = (1..self.tables).map(table).collect::<Result<_>>()?;
        Ok((table(0)?, state))
    }

    /// The largest absolute value of a logit; infinity where one is NaN. Call after [`flush`](Self::flush).
    pub(crate) fn extent(&self) -> f32 {
        let mut logits = vec![0.0; self.topics];
        let rows = (0..self.rows.len()).map(|document| {
            self.rows.read_ahead(document);
            self.copy_logits(document, &mut logits);
            extent(&logits)
        });
        rows.fold(0.0, f32::max)
    }

    /// L: the softmax of every row. Call after [`flush`](Self::flush).
    pub(crate) fn probabilities(&self) -> Result<Matrix> {
        self.table(|document, row| self.softmax(document, row))
    }

    /// A new table of documents x topics in the same kind of storage as the rows, in `f32`.
    fn table(&self, mut fill: impl FnMut(usize, &mut [f32])) -> Result<Matrix> {
        let mut values = self.storage.zeros::<f32>(self.rows.len() * self.topics)?;
        for (document, row) in values.chunks_exact_mut(self.topics).enumerate() {
            self.rows.read_ahead(document);
            fill(document, row);
        }
        self.rows.check_kept()?;
        values.check_kept()?;
        Ok(Matrix::of(self.rows.len(), self.topics, values))
    }
}

/// The key of the random bits for a change of a row after so many steps: no two changes have the same one.
fn key(document: usize, change: Change, steps: u64) -> Option<u64> {
    Some(rounding_key(2 * document as u64 + change as u64, steps))
}

simd_dispatch! {
    /// Updates a row, its values and then their state, with the gradients of its values.
    pub(crate) fn step_row(row: &mut [f32], gradients: &[f32], rule: UpdateRule) {
        with_rule!(rule, rule => step_entries(rule, row, gradients))
    }
}

#[inline(always)]
fn step_entries<const S: usize, R: Rule<S>>(rule: R, row: &mut [f32], gradients: &[f32]) {
    let topics = gradients.len();
    let (logits, state) = row.split_at_mut(topics);
    let (first, second) = state.split_at_mut(topics);
    let second = &mut second[..if S > 1 { topics } else { 0 }];
    for entry in 0..topics {
        let gradient = gradients[entry];
        logits[entry] = step_entry(rule, logits[entry], gradient, first, second, entry);
    }
}

// Burn comes with CUDA.
#[cfg(all(test, feature = "cuda"))]
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
    use crate::config::Optimizer;
    use crate::step::State;

    const DECAY: f64 = 0.01;

    const STEPS: u64 = 50;

    /// Six numbers from -11 to 11: two rows.
    fn numbers(seed: u64) -> Vec<f32> {
        (0..6)
            .map(|i| ((seed * 31 + i * 17) % 23) as f32 - 11.0)
            .collect()
    }

    /// Rows 0 and 2 of a table of four after steps with gradients for these two and a falling learning rate.
    fn rows_after_steps(optimizer: Optimizer, learning_rate: f64) -> Vec<f32> {
        let start = numbers(5);
        let mut table = vec![0.25; 12];
        table[..3].copy_from_slice(&start[..3]);
        table[6..9].copy_from_slice(&start[3..]);
        let zeros = || Matrix::from_parts(4, 3, vec![0.0; 12]);
        let state = State {
            l: Matrix::from_parts(4, 3, table),
            f: zeros(),
            l_state: vec![zeros(); optimizer.state_values().l],
            f_state: Vec::new(),
            steps: 0,
        };
        let parameters = MiniBatch {
            optimizer,
            ..MiniBatch::default()
        };
        let mut rows = LazyRows::new((&state.l, &state.l_state), state.steps, &parameters).unwrap();
        for time in 1..=STEPS {
            let rate = learning_rate / time as f64;
            // An epoch of one batch: both rows are in each.
            let rule = UpdateRule::of_rows(optimizer, (time, 1), rate, DECAY);
            rows.step(
                &[0, 2],
                &numbers(time),
                rule,
                AdamWStep::at(time, rate, DECAY),
            );
        }
        let (table, _) = rows.tables().unwrap();
        assert_eq!(table.row(1), [0.25; 3]);
        assert_eq!(table.row(3), [0.25; 3]);
        [table.row(0), table.row(2)].concat()
    }

    fn assert_close(optimizer: Optimizer, ours: &[f32], theirs: &[f32]) {
        assert_eq!(ours.len(), theirs.len());
        for (a, b) in ours.iter().zip(theirs) {
            let error = (a - b).abs() / (1.0 + b.abs());
            assert!(error < 1e-5, "{optimizer:?}: {a} against {b}");
        }
    }

    /// Compares with Burn's dense optimizer on the two rows.
    fn compare<O: SimpleOptimizer<Flex>>(optimizer: Optimizer, burn: O) {
        let tensor = |values: &[f32]| {
            Tensor::<Flex, 2>::from_data(TensorData::new(values.to_vec(), [2, 3]), &FlexDevice)
        };
        let (mut theirs, mut state) = (tensor(&numbers(5)), None);
        for time in 1..=STEPS {
            let (rate, gradients) = (0.05 / time as f64, numbers(time));
            (theirs, state) = burn.step(rate, theirs, tensor(&gradients), state);
        }
        let theirs: Vec<f32> = theirs.into_data().into_vec().unwrap();
        assert_close(optimizer, &rows_after_steps(optimizer, 0.05), &theirs);
    }

    /// Burn does not have these. The expected values are those of PyTorch 2.15.0 in double precision
    /// (torch.optim.Adamax, and torch.optim.Adadelta at 100 times the learning rate), with the same gradients.
    #[test]
    fn row_wise_adamax_and_adadelta_are_pytorchs_on_the_rows_of_the_batch() {
        let adamax = [
            6.056_589, 0.069_258, -6.062_244, 10.919_967, 5.069_334, -0.921_972,
        ];
        let ours = rows_after_steps(Optimizer::RowwiseAdamax, 0.05);
        assert_close(Optimizer::RowwiseAdamax, &ours, &adamax);
        let adadelta = [
            6.014_609, 0.013_864, -6.013_132, 10.974_66, 5.018_676, -0.983_116,
        ];
        let ours = rows_after_steps(Optimizer::RowwiseAdadelta, 5.0);
        assert_close(Optimizer::RowwiseAdadelta, &ours, &adadelta);
    }

    #[test]
    fn row_wise_optimizers_are_burns_dense_ones_on_the_rows_of_the_batch() {
        let decay = || Some(WeightDecayConfig::new(DECAY as f32));
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

    /// Row-wise AdamW takes at once what Burn's AdamW makes of a gradient in the steps without one that follow it.
    #[test]
    fn row_wise_adamw_is_burns_dense_one_when_the_next_gradient_comes() {
        const INTERVAL: u64 = 250;
        let tensor = |values: &[f32]| {
            Tensor::<Flex, 1>::from_data(TensorData::new(values.to_vec(), [3]), &FlexDevice)
        };
        let rate = 0.02;
        // Weight decay shrinks a step's part that dense AdamW takes ten steps later a little less.
        for (weight_decay, tolerance) in [(0.0, 2e-5), (0.05, 1e-2)] {
            let config = AdamWConfig::new().with_epsilon(1e-8);
            let burn = config.with_weight_decay(weight_decay).build();
            // How much dense AdamW shrinks the weights between two gradients.
            let since = (1.0 - rate as f32 * weight_decay).powi(INTERVAL as i32 - 1);
            let mut ours = [0.5, -0.25, 1.0, 0.0, 0.0, 0.0];
            let start = [0.5, -0.25, 1.0].map(|value: f32| value * since);
            let (mut theirs, mut state) = (tensor(&start), None);
            for visit in 0..6_u64 {
                let gradients = [
                    3.0,
                    -1.0 - visit as f32,
                    if visit % 2 == 0 { 0.5 } else { -2.0 },
                ];
                let time = (visit * INTERVAL + 1, INTERVAL);
                let decay = f64::from(weight_decay);
                let rule = UpdateRule::of_rows(Optimizer::RowwiseAdamW, time, rate, decay);
                step_row(&mut ours, &gradients, rule);
                for step in 0..INTERVAL {
                    let gradients = if step == 0 { gradients } else { [0.0; 3] };
                    (theirs, state) = SimpleOptimizer::<Flex>::step(
                        &burn,
                        rate,
                        theirs,
                        tensor(&gradients),
                        state,
                    );
                }
                let theirs: Vec<f32> = theirs.to_data().into_vec().unwrap();
                for (ours, theirs) in ours[..3].iter().zip(theirs) {
                    let error = (ours * since - theirs).abs() / (1.0 + theirs.abs());
                    assert!(error < tolerance, "visit {visit}: {ours} against {theirs}");
                }
            }
        }
    }
}
