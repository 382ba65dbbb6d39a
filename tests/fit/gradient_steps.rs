//! The ways of computing gradients: the same fits, with parts of batches and with clipped gradients; and what is refused.

use testkit::refused;
use topicbook::{
    Budget, Counts, Device, ErrorKind, Fit, GradientStep, MiniBatch, Optimizer, Precision, Solver,
    Synthetic, TableStorage, TopicModel,
};

const STEPS: [GradientStep; 4] = [
    GradientStep::Fused,
    GradientStep::Autodiff,
    GradientStep::Checkpointing,
    GradientStep::CustomBackward,
];

fn steps() -> MiniBatch {
    Solver::mini_batch()
}

fn model() -> TopicModel {
    TopicModel::new(4)
        .epochs(3)
        .batch_size(16)
        .device(Device::Cpu)
        .seed(3)
        .quiet()
}

/// Dense and sparse counts, with a last batch that is smaller than the others.
fn corpora() -> [Counts; 2] {
    let dense = Synthetic::new(150, 120, 4).avg_doc_length(300).seed(1);
    let sparse = Synthetic::new(150, 900, 4).avg_doc_length(60).seed(2);
    [dense, sparse].map(|recipe| recipe.generate().unwrap().counts())
}

/// Losses within a ten-thousandth: tensors add up a batch's loss in f32. L and F after 30 steps within a hundredth, which is a
/// fifth of what AdamW moves a logit by in a step.
fn assert_alike(fit: &Fit, expected: &Fit) {
    for (epoch, expected) in fit.epochs().iter().zip(expected.epochs()) {
        let (loss, expected) = (epoch.loss, expected.loss);
        assert!((loss / expected - 1.0).abs() < 1e-4, "{loss} {expected}");
    }
    for (table, expected) in [(fit.l(), expected.l()), (fit.f(), expected.f())] {
        for (value, expected) in table.values().iter().zip(expected.values()) {
            assert!((value - expected).abs() < 0.01 * (0.01 + expected));
        }
    }
}

#[test]
fn all_steps_give_the_same_fit() {
    for counts in corpora() {
        let expected = model().fit(&counts).unwrap();
        for step in STEPS {
            let fit = model().solver(steps().step(step)).fit(&counts).unwrap();
            assert_alike(&fit, &expected);
            let parts = model().solver(steps().step(step).micro_batch(5));
            let parts = parts.fit(&counts).unwrap();
            assert_alike(&parts, &expected);
            let Solver::MiniBatch(parameters) = &parts.settings().solver else {
                unreachable!()
            };
            assert_eq!((parameters.step, parameters.micro_batch), (step, Some(5)));
        }
    }
}

#[test]
fn gradients_are_clipped_to_one_norm_by_every_step() {
    for counts in corpora() {
        // Row-wise SGD feels the length of a gradient, AdamW hardly does.
        let clipped = steps().clip_grad_norm(8.0);
        let expected = model().solver(&clipped).fit(&counts).unwrap();
        let norms = |fit: &Fit| -> Vec<f64> {
            fit.epochs()
                .iter()
                .filter_map(|epoch| epoch.grad_norm)
                .collect()
        };
        assert!(norms(&expected)[0] > 8.0, "{:?}", norms(&expected));
        for step in STEPS {
            let whole = clipped.step(step);
            for solver in [whole.clone(), whole.micro_batch(3)] {
                let fit = model().solver(solver).fit(&counts).unwrap();
                assert_alike(&fit, &expected);
                for (norm, expected) in norms(&fit).iter().zip(norms(&expected)) {
                    assert!((norm / expected - 1.0).abs() < 1e-3, "{norm} {expected}");
                }
            }
        }
        assert!(expected.history().column("grad_norm").is_ok());
        let free = model().fit(&counts).unwrap();
        assert!(norms(&free).is_empty() && free.history().column("grad_norm").is_err());
        // A limit that is never reached changes no bit.
        let unreached = model().solver(steps().clip_grad_norm(1e30));
        assert_eq!(unreached.fit(&counts).unwrap().f(), free.f());
        let sgd = steps().optimizer(Optimizer::RowwiseSgd);
        let sgd = sgd.max_lr(0.5).base_lr(0.5).clip_grad_norm(0.1);
        let short = model().solver(sgd).fit(&counts).unwrap();
        // Steps of at most 0.1 x 0.5 / (1 - 0.9) move no logit by more than 0.5 each: the loss stays as at the start.
        assert!(short.loss().unwrap() > free.loss().unwrap());
    }
}

#[test]
fn a_clipped_fit_continues_with_the_same_bits() {
    let (_folder, path) = testkit::temp_path("fit.ckpt");
    let [counts, _] = corpora();
    let model = model().solver(steps().clip_grad_norm(8.0));
    let whole = model.epochs(6).fit(&counts).unwrap();
    model.checkpoint(&path).fit(&counts).unwrap();
    let checkpoint = topicbook::Checkpoint::open(&path).unwrap().quiet();
    let continued = checkpoint.epochs(6).fit(&counts).unwrap();
    assert_eq!(continued.f(), whole.f());
    let norms = |fit: &Fit| -> Vec<_> { fit.epochs().iter().map(|e| e.grad_norm).collect() };
    assert_eq!(norms(&continued), norms(&whole));
}

#[test]
fn combinations_without_sense_are_refused() {
    let [counts, _] = corpora();
    let tensors = steps().step(GradientStep::Autodiff);
    let file = TableStorage::File(std::env::temp_dir());
    let fit = |steps| model().solver(steps).fit(&counts);
    refused! {
        fit(steps().micro_batch(0)) => Setting, "micro_batch is 0";
        fit(steps().micro_batch(17)) => Setting, "a batch has 16 documents";
        fit(steps().clip_grad_norm(0.0)) => Setting, "clip_grad_norm is 0";
        fit(steps().clip_grad_norm(-1.0)) => Setting, "clip_grad_norm is -1";
        fit(steps().clip_grad_norm(f64::NAN)) => Setting, "clip_grad_norm is NaN";
        fit(tensors.optimizer(Optimizer::RowwiseAdamW)) => Setting, "with GradientStep::Autodiff";
        fit(tensors.table_storage(&file)) => Setting, "L in a file with GradientStep::Autodiff";
        fit(tensors.gpu_precision(Precision::Bf16)) => Setting, "bf16";
        fit(tensors.table_precision(Precision::Bf16)) => Setting, "tables in bf16 with GradientStep::Autodiff";
    }
    // Steps that have a meaning are not refused.
    let own = steps().step(GradientStep::CustomBackward);
    let own = model().solver(own.gpu_precision(Precision::Bf16));
    assert!(own.fit(&counts).is_ok());
    let budget = Budget::new().vram("1 GiB").unwrap();
    let tensors = model().solver(tensors).budget(budget);
    assert!(tensors.plan(&counts).is_ok());
}
