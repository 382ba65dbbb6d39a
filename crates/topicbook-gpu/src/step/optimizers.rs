//! Updates of rows, compared with the optimizers of Burn.

use burn::backend::Flex;
use burn::backend::flex::FlexDevice;
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdaGradConfig, AdamConfig, AdamWConfig, RmsPropConfig, SgdConfig, SimpleOptimizer,
};
use burn::tensor::{Tensor, TensorData};

use crate::config::{MiniBatch, Optimizer};
use crate::data::Matrix;
use crate::step::State;
use crate::step::update::{AdamWStep, LazyRows, UpdateRule, step_row};

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

/// Burn does not have these. The expected values come from PyTorch 2.15.0 in double precision (torch.optim.Adamax, and
/// torch.optim.Adadelta at 100 times the learning rate), with the same gradients.
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

/// Row-wise AdamW does at once what Burn's AdamW does after a gradient, in the following steps without one.
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
                (theirs, state) =
                    SimpleOptimizer::<Flex>::step(&burn, rate, theirs, tensor(&gradients), state);
            }
            let theirs: Vec<f32> = theirs.to_data().into_vec().unwrap();
            for (ours, theirs) in ours[..3].iter().zip(theirs) {
                let error = (ours * since - theirs).abs() / (1.0 + theirs.abs());
                assert!(error < tolerance, "visit {visit}: {ours} against {theirs}");
            }
        }
    }
}
