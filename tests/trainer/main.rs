//! Modules of one's own, trained by the loop that fits have. Memory is measured by malloc's counter of the process, and dropout
//! draws from its random numbers, so one test runs at a time.

#![cfg(all(feature = "cuda", feature = "notebook"))]

use std::ops::ControlFlow;

use testkit::alone;
use topicbook::burn;
use topicbook::burn::module::{AutodiffModule, Module};
use topicbook::burn::nn::loss::CrossEntropyLossConfig;
use topicbook::burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use topicbook::burn::tensor::backend::Backend;
use topicbook::burn::tensor::{Int, Tensor, activation};
use topicbook::{
    Batches, Budget, Checkpointing, CountBatch, Cpu, Matrix, Table, Trainer, checkpointed, memory,
};

#[derive(Module, Debug)]
struct Block<B: Backend> {
    linear: Linear<B>,
    dropout: Dropout,
}

impl<B: Backend> Block<B> {
    fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        x.clone()
            + self
                .dropout
                .forward(activation::gelu(self.linear.forward(x)))
    }
}

#[derive(Module, Debug)]
struct Net<B: Backend> {
    first: Linear<B>,
    blocks: Vec<Block<B>>,
    last: Linear<B>,
}

/// The same network at each call.
fn net(width: usize, dropout: f64) -> Net<Cpu> {
    let device = Default::default();
    let linear = |rows: usize, columns: usize| {
        let layer = LinearConfig::new(rows, columns).init::<Cpu>(&device);
        let value = |i: usize| ((i * 7919) % 1009) as f32 / 5045.0 - 0.1;
        let weight = Matrix::new(rows, columns, (0..rows * columns).map(value).collect()).unwrap();
        let mut record = layer.clone().into_record();
        record.weight = topicbook::burn::module::Param::from_tensor(weight.to_tensor(&device));
        record.bias = record
            .bias
            .map(|bias| bias.map(|bias| bias.zeros_like().require_grad()));
        layer.load_record(record)
    };
    let block = |_| Block {
        linear: linear(width, width),
        dropout: DropoutConfig::new(dropout).init(),
    };
    Net {
        first: linear(3, width),
        blocks: (0..6).map(block).collect(),
        last: linear(width, 1),
    }
}

fn features(rows: usize) -> Matrix {
    let value = |i: usize| ((i * 31) % 17) as f32 / 8.0 - 1.0;
    Matrix::new(rows, 3, (0..rows * 3).map(value).collect()).unwrap()
}

fn loss(net: &Net<Cpu>, batch: &CountBatch) -> Tensor<Cpu, 1> {
    let x = batch.rows().to_tensor(&Default::default());
    let target = x.clone().sum_dim(1);
    let mut y = net.first.forward(x);
    for (i, block) in net.blocks.iter().enumerate() {
        y = checkpointed(&format!("blocks.{i}"), block, y, Block::forward);
    }
    (net.last.forward(y) - target).powf_scalar(2.0).mean()
}

fn error<B: Backend>(net: &Net<B>, batch: &CountBatch) -> Tensor<B, 1> {
    let x = batch.rows().to_tensor(&Default::default());
    let target = x.clone().sum_dim(1);
    let mut y = net.first.forward(x);
    for block in &net.blocks {
        y = block.forward(y);
    }
    (net.last.forward(y) - target).powf_scalar(2.0).mean()
}

fn numbers(net: &Net<Cpu>) -> Vec<f32> {
    let weight = |linear: &Linear<Cpu>| linear.weight.val().into_data().to_vec::<f32>().unwrap();
    let blocks = net.blocks.iter().flat_map(|block| weight(&block.linear));
    weight(&net.first)
        .into_iter()
        .chain(blocks)
        .chain(weight(&net.last))
        .collect()
}

#[test]
fn a_training_resumes_bit_for_bit() {
    alone(|| {
        let (_folder, path) = testkit::temp_path("net.ckpt");
        let batches = Batches::of_matrix(&features(50), 8).unwrap().seed(3);
        let (train, valid) = batches.split(0.8, 1).unwrap();
        let trainer = Trainer::new(net(16, 0.2))
            .epochs(6)
            .validation(&valid, error)
            .patience(100)
            .quiet();
        let whole = trainer.fit(&train, loss).unwrap();
        let with_files = trainer.checkpoint(&path);
        let stopped = with_files.on_epoch(|epoch| match epoch.epoch {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert_eq!(stopped.fit(&train, loss).unwrap().epochs().len(), 3);
        let resumed = with_files.resume(&train, loss).unwrap();
        assert_eq!(numbers(&resumed.module()), numbers(&whole.module()));
        let losses = |trained: &topicbook::Trained<Net<Cpu>>| -> Vec<(f64, Option<f64>)> {
            trained
                .epochs()
                .iter()
                .map(|epoch| (epoch.loss, epoch.validation_loss))
                .collect()
        };
        assert_eq!(losses(&resumed), losses(&whole));
        assert!(whole.validation_loss().unwrap() < whole.epochs()[0].validation_loss.unwrap());

        testkit::refused! {
            Trainer::new(net(17, 0.0)).checkpoint(&path).resume(&train, loss), "first.weight";
            Trainer::new(net(16, 0.0)).resume(&train, loss), "checkpoint(";
        }
    });
}

#[test]
fn checkpointing_and_micro_batches_save_memory_and_change_nothing() {
    alone(|| {
        let batches = Batches::of_matrix(&features(512), 256).unwrap();
        let trainer = Trainer::new(net(64, 0.1)).epochs(2).quiet();
        let plain = trainer.fit(&batches, loss).unwrap();
        let again = trainer
            .checkpointing(Checkpointing::All)
            .fit(&batches, loss)
            .unwrap();
        assert_eq!(numbers(&plain.module()), numbers(&again.module()));
        assert!(2 * again.activations() < plain.activations());
        assert!(again.peak_of_a_step() < plain.peak_of_a_step());
        let parts = Trainer::new(net(64, 0.0)).epochs(2).quiet();
        let (whole, parts) = (
            parts.fit(&batches, loss).unwrap(),
            parts.micro_batch(50).fit(&batches, loss).unwrap(),
        );
        assert!(3 * parts.activations() < whole.activations());
        let (whole, parts) = (numbers(&whole.module()), numbers(&parts.module()));
        let differences = whole.iter().zip(&parts).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f32::max) < 1e-4);

        let table = plain.memory_by_module();
        let names = table.column("module").unwrap();
        assert_eq!(names.len(), 8, "{table}");
        assert!(plain.times().to_string().contains("backward"));
        for (checkpointing, trained) in
            [(Checkpointing::None, &plain), (Checkpointing::All, &again)]
        {
            let trainer = trainer.checkpointing(checkpointing);
            let estimate = trainer.estimate(&batches, loss).unwrap();
            let predicted = estimate.activations(256) as f64;
            let measured = trained.peak_of_a_step() as f64;
            assert!(
                (predicted / measured - 1.0).abs() < 0.25,
                "{predicted} {measured}"
            );
        }
        assert_eq!(
            numbers(&plain.module()),
            numbers(&trainer.fit(&batches, loss).unwrap().module())
        );
    });
}

#[test]
fn a_budget_cuts_batches() {
    alone(|| {
        let batches = Batches::of_matrix(&features(4096), 4096).unwrap();
        let trainer = Trainer::new(net(256, 0.0)).epochs(1).quiet();
        let plain = trainer.fit(&batches, loss).unwrap();
        let room = plain.peak_of_a_step() / 3;
        let used = memory().anonymous + room;
        let within = trainer
            .budget(Budget::new().ram(used).unwrap())
            .fit(&batches, loss)
            .unwrap();
        assert!(
            within.notes()[0].contains("micro-batches"),
            "{:?}",
            within.notes()
        );
        assert!(2 * within.peak_of_a_step() < plain.peak_of_a_step());
        let none = trainer
            .budget(Budget::new().ram(1 << 20).unwrap())
            .fit(&batches, loss);
        assert!(none.unwrap_err().to_string().contains("one row takes"));
    });
}

#[test]
fn a_trainer_starts_from_the_same_values_each_time() {
    alone(|| {
        let batches = Batches::of_matrix(&features(16), 4).unwrap();
        let trainer =
            Trainer::new(LinearConfig::new(3, 1).init::<Cpu>(&Default::default())).quiet();
        let square = |layer: &Linear<Cpu>, batch: &CountBatch| {
            let x = batch.rows().to_tensor(&Default::default());
            layer.forward(x).powf_scalar(2.0).mean()
        };
        let losses = [1, 1, 2].map(|epochs| {
            let trained = trainer.epochs(epochs).fit(&batches, square).unwrap();
            trained.epochs()[0].loss
        });
        assert_eq!(losses, [losses[0]; 3]);
    });
}

#[test]
fn patience_returns_the_best_module() {
    alone(|| {
        let batches = Batches::of_matrix(&features(16), 16).unwrap();
        // What is validated grows with the epoch.
        let trained = Trainer::new(net(8, 0.0))
            .epochs(50)
            .validation(
                &batches,
                |net: &Net<topicbook::burn::backend::Flex>, _: &CountBatch| {
                    net.last.weight.val().powf_scalar(2.0).mean() * -1.0 + 1e6
                },
            )
            .patience(2)
            .learning_rate(0.5)
            .on_epoch(|_| ControlFlow::Continue(()))
            .quiet()
            .fit(&batches, loss)
            .unwrap();
        let epochs = trained.epochs();
        let best = trained.validation_loss().unwrap();
        assert!(
            epochs
                .iter()
                .all(|epoch| epoch.validation_loss.unwrap() >= best)
        );
        let table: Table = trained.table();
        assert_eq!(table.height(), epochs.len());
    });
}

#[test]
fn wrong_settings_and_data_say_what_to_do() {
    alone(|| {
        let batches = Batches::of_matrix(&features(16), 4).unwrap();
        let trainer = Trainer::new(net(4, 0.0)).quiet();
        let message =
            |trainer: Trainer<Net<Cpu>>| trainer.fit(&batches, loss).unwrap_err().to_string();
        assert!(message(trainer.learning_rate(-1.0)).contains("learning rate of -1"));
        assert!(message(trainer.micro_batch(0)).contains("micro_batch(1)"));
        assert!(message(trainer.patience(3)).contains("validation("));
        assert!(message(trainer.clip_grad_norm(0.0)).contains("clipped at 0"));
        assert!(message(trainer.checkpointing(Checkpointing::Every(0))).contains("Every(1)"));
        testkit::assert_has(batches.labels(["a"]).unwrap_err(), ["1 label for 16 rows"]);
        testkit::refused! { trainer.learning_rate(1e30).epochs(20).fit(&batches, loss), "of epoch"; }
        let dropout = DropoutConfig::new(0.5).init();
        #[derive(Module, Debug)]
        struct Empty<B: Backend> {
            dropout: Dropout,
            of: std::marker::PhantomData<B>,
        }
        let labelled = |net: &Net<Cpu>, batch: &CountBatch| {
            let classes = Tensor::<Cpu, 1, Int>::from_data(&*batch.labels(), &Default::default());
            let scores = net
                .first
                .forward(batch.rows().to_tensor(&Default::default()));
            CrossEntropyLossConfig::new()
                .init(&Default::default())
                .forward(scores, classes)
        };
        let error = trainer.fit(&batches, labelled).unwrap_err().to_string();
        assert!(error.contains("batches.labels("), "{error}");
        let empty = Empty::<Cpu> {
            dropout,
            of: std::marker::PhantomData,
        };
        let error = Trainer::new(empty).quiet().fit(&batches, |_, batch| {
            batch.rows().to_tensor::<Cpu>(&Default::default()).mean()
        });
        assert!(error.unwrap_err().to_string().contains("no parameter"));
        let training = trainer.epochs(1_000_000).spawn(&batches, loss).unwrap();
        training.stop();
        let trained = training.join().unwrap();
        assert!(trained.epochs().len() < 1_000_000 && trained.module().valid().blocks.len() == 6);
    });
}
