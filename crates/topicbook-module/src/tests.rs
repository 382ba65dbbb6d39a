//! Steps with all ways of keeping activations and of cutting batches, against the plain loop in Burn. Burn's random numbers and
//! malloc's counter belong to the process, so one test runs at a time.

use burn::module::{AutodiffModule, Module};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams, Optimizer, SgdConfig};
use burn::tensor::{Tensor, activation};

use testkit::alone;
use topicbook_counts::Batches;
use topicbook_data::Matrix;

use crate::*;

/// A layer with dropout and a residual connection.
#[derive(Module, Debug)]
struct Block<B: burn::tensor::backend::Backend> {
    linear: Linear<B>,
    dropout: Dropout,
}

impl<B: burn::tensor::backend::Backend> Block<B> {
    fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        let y = activation::gelu(self.linear.forward(x.clone()));
        x + self.dropout.forward(y)
    }
}

#[derive(Module, Debug)]
struct Net<B: burn::tensor::backend::Backend> {
    first: Linear<B>,
    blocks: Vec<Block<B>>,
    last: Linear<B>,
}

const WIDTH: usize = 32;

fn net(blocks: usize, dropout: f64) -> Net<Cpu> {
    checkpointed::seed_backend(7);
    let device = Default::default();
    let block = |_| Block {
        linear: LinearConfig::new(WIDTH, WIDTH).init(&device),
        dropout: DropoutConfig::new(dropout).init(),
    };
    Net {
        first: LinearConfig::new(4, WIDTH).init(&device),
        blocks: (0..blocks).map(block).collect(),
        last: LinearConfig::new(WIDTH, 1).init(&device),
    }
}

fn loss(net: &Net<Cpu>, batch: &CountBatch) -> Tensor<Cpu, 1> {
    let mut x = net
        .first
        .forward(batch.rows().to_tensor(&Default::default()));
    for (i, block) in net.blocks.iter().enumerate() {
        x = checkpointed(&format!("block {i}"), block, x, Block::forward);
    }
    net.last.forward(x).powf_scalar(2.0).mean()
}

fn batch(rows: usize) -> CountBatch {
    let values = (0..rows * 4).map(|i| ((i * 37) % 11) as f32 / 5.0 - 1.0);
    let matrix = Matrix::new(rows, 4, values.collect()).unwrap();
    let mut batches = Batches::of_matrix(&matrix, rows).unwrap().in_order();
    batches.next().unwrap().unwrap()
}

fn stepper(optimizer: impl Into<ModuleOptimizer>, checkpointing: Checkpointing) -> Stepper {
    Stepper {
        optimizer: optimizer.into().create(),
        loss_scale: LossScale::None,
        scaler: Scaler::new(LossScale::None),
        clipping: Clipping::default(),
        checkpointing,
        micro_rows: usize::MAX,
        watch: Box::new(|_| {}),
    }
}

fn values(parameters: &[Parameter]) -> Vec<f32> {
    let value = |parameter: &Parameter| parameter.numbers(parameter.plain()).unwrap();
    parameters.iter().flat_map(value).collect()
}

/// The parameters after three steps, and the report of the last.
fn trained(mut stepper: Stepper, blocks: usize, dropout: f64) -> (Vec<f32>, StepReport) {
    let mut network = OwnNetwork::new(net(blocks, dropout), loss, None);
    let mut report = StepReport::default();
    for step in 0..3 {
        report = stepper.step(&mut network, &batch(512), 0.01, step).unwrap();
    }
    (values(&network.parameters()), report)
}

#[test]
fn steps_are_those_of_a_loop_in_burn() {
    alone(|| {
        let mut module = net(2, 0.0);
        let mut adam = AdamConfig::new().init();
        for _ in 0..3 {
            let gradients = loss(&module, &batch(512)).backward();
            let gradients = GradientsParams::from_grads(gradients, &module);
            module = adam.step(0.01, module, gradients);
        }
        let theirs = values(&parameters::parameters(&module));
        let (ours, report) = trained(stepper(AdamConfig::new(), Checkpointing::None), 2, 0.0);
        assert_eq!(ours, theirs);
        assert!(report.loss > 0.0 && report.grad_norm > 0.0 && report.memory.activations > 0);
        let expected = parameters::parameters(&module);
        assert_eq!(expected[2].path, "blocks.0.linear.weight");
        assert!(module.valid().blocks.len() == 2);
    });
}

#[test]
fn checkpointing_changes_no_bit() {
    alone(|| {
        let names = ["block 1".to_string()];
        for dropout in [0.0, 0.3] {
            let plain = trained(stepper(SgdConfig::new(), Checkpointing::None), 5, dropout);
            assert!(
                plain
                    .1
                    .modules
                    .iter()
                    .all(|module| module.kept > 0 && !module.again)
            );
            for mode in [
                Checkpointing::All,
                Checkpointing::Every(2),
                Checkpointing::Every(9),
                Checkpointing::Only(names.to_vec()),
            ] {
                let (values, report) = trained(stepper(SgdConfig::new(), mode.clone()), 5, dropout);
                assert_eq!(values, plain.0, "{mode:?}");
                let starts = report
                    .modules
                    .iter()
                    .filter(|module| module.again && module.kept > 0);
                let expected = match mode {
                    Checkpointing::All => 5,
                    Checkpointing::Every(2) => 3,
                    _ => 1,
                };
                assert_eq!(starts.count(), expected, "{mode:?}");
                let (kept, all) = (report.memory.activations, plain.1.memory.activations);
                assert!(
                    kept < all,
                    "{mode:?}: {kept} of {all}: {:?} {:?}",
                    report.modules,
                    plain.1.modules
                );
            }
        }
    });
}

#[test]
fn an_input_with_another_use_is_an_error() {
    alone(|| {
        let both = |net: &Net<Cpu>, batch: &CountBatch| {
            let x = activation::relu(
                net.first
                    .forward(batch.rows().to_tensor(&Default::default())),
            );
            let y = checkpointed("block 0", &net.blocks[0], x.clone(), Block::forward);
            net.last.forward(x + y).mean()
        };
        let mut network = OwnNetwork::new(net(1, 0.0), both, None);
        let mut stepper = stepper(SgdConfig::new(), Checkpointing::All);
        testkit::refused! { stepper.step(&mut network, &batch(8), 0.1, 0), "block 0"; }
    });
}

#[test]
fn micro_batches_and_scales_give_the_same_step() {
    alone(|| {
        let (whole, _) = trained(stepper(SgdConfig::new(), Checkpointing::None), 2, 0.0);
        let mut parts = stepper(SgdConfig::new(), Checkpointing::All);
        parts.micro_rows = 100;
        let mut scaled = stepper(SgdConfig::new(), Checkpointing::None);
        scaled.loss_scale = LossScale::Static(1024.0);
        scaled.scaler = Scaler::new(scaled.loss_scale);
        for other in [parts, scaled] {
            let (values, _) = trained(other, 2, 0.0);
            let error = values
                .iter()
                .zip(&whole)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f32::max);
            assert!(error < 1e-5, "{error}");
        }
    });
}

#[test]
fn losses_that_are_no_number_are_errors() {
    alone(|| {
        let many = |net: &Net<Cpu>, batch: &CountBatch| {
            let x = net
                .first
                .forward(batch.rows().to_tensor(&Default::default()));
            net.last.forward(x).flatten::<1>(0, 1)
        };
        let infinite =
            |net: &Net<Cpu>, batch: &CountBatch| loss(net, batch).log().mul_scalar(0.0).log();
        let root = |net: &Net<Cpu>, batch: &CountBatch| (loss(net, batch) * 0.0).sqrt();
        let error = |loss: fn(&Net<Cpu>, &CountBatch) -> Tensor<Cpu, 1>| {
            let mut network = OwnNetwork::new(net(1, 0.0), loss, None);
            let mut stepper = stepper(SgdConfig::new(), Checkpointing::None);
            stepper
                .step(&mut network, &batch(8), 0.1, 0)
                .unwrap_err()
                .to_string()
        };
        assert!(error(many).contains("8 numbers"));
        assert!(error(infinite).contains("the loss is"));
        assert!(error(root).contains("last.weight"), "{}", error(root));
    });
}

#[test]
fn a_dynamic_scale_halves_and_doubles() {
    alone(|| {
        let mut stepper = stepper(SgdConfig::new(), Checkpointing::None);
        stepper.loss_scale = LossScale::Dynamic {
            start: 1e38,
            growth_interval: 2,
        };
        stepper.scaler = Scaler::new(stepper.loss_scale);
        let mut network = OwnNetwork::new(
            net(1, 0.0),
            |net: &Net<Cpu>, batch: &CountBatch| loss(net, batch) * 1e3,
            None,
        );
        let before = values(&network.parameters());
        let report = stepper.step(&mut network, &batch(8), 0.1, 0).unwrap();
        assert!(report.skipped && stepper.scaler.scale == 5e37);
        assert_eq!(values(&network.parameters()), before);
        stepper.scaler.scale = 8.0;
        for _ in 0..2 {
            assert!(
                !stepper
                    .step(&mut network, &batch(8), 1e-6, 0)
                    .unwrap()
                    .skipped
            );
        }
        assert_eq!(stepper.scaler.scale, 16.0);
    });
}

#[test]
fn the_state_of_an_optimizer_is_saved_bit_for_bit() {
    alone(|| {
        let run = |resume: bool| {
            let mut network = OwnNetwork::new(net(1, 0.0), loss, None);
            let mut stepper = stepper(AdamConfig::new(), Checkpointing::None);
            for step in 0..6 {
                if resume && step == 3 {
                    let state = stepper.optimizer.state().unwrap();
                    stepper.optimizer = ModuleOptimizer::from(AdamConfig::new()).create();
                    stepper.optimizer.load(&state).unwrap();
                }
                stepper.step(&mut network, &batch(8), 0.01, step).unwrap();
            }
            values(&network.parameters())
        };
        assert_eq!(run(true), run(false));
    });
}
