//! tinytopics' own run, step by step: same start, same batches, same numbers.
//!
//! The trace was made by `make_trace.py` with tinytopics 0.9.3 and PyTorch (64 documents, 200 terms, k = 5, 30 epochs).

use std::fs::File;
use std::path::Path;

use topicbook::{Counts, Matrix, TopicModel, replay};

const TRACE: &str = "../shared/golden/tinytopics_trace.npz";

/// The arrays of the trace.
struct Trace(zip::ZipArchive<File>);

impl Trace {
    fn open() -> Option<Self> {
        if !Path::new(TRACE).exists() {
            println!("SKIPPED: {TRACE} is not there");
            return None;
        }
        Some(Self(
            zip::ZipArchive::new(File::open(TRACE).unwrap()).unwrap(),
        ))
    }

    fn array(&mut self, name: &str) -> (Vec<u64>, Vec<f64>) {
        let entry = self.0.by_name(&format!("{name}.npy")).unwrap();
        let npy = npyz::NpyFile::new(entry).unwrap();
        let shape = npy.shape().to_vec();
        let values = match npy.dtype().descr().as_str() {
            "'<f4'" => npy
                .into_vec::<f32>()
                .unwrap()
                .into_iter()
                .map(f64::from)
                .collect(),
            "'<i8'" => npy
                .into_vec::<i64>()
                .unwrap()
                .into_iter()
                .map(|value| value as f64)
                .collect(),
            "'<f8'" => npy.into_vec::<f64>().unwrap(),
            other => panic!("{name} has dtype {other}"),
        };
        (shape, values)
    }

    fn matrix(&mut self, name: &str) -> Matrix {
        let (shape, values) = self.array(name);
        Matrix::new(
            shape[0] as usize,
            shape[1] as usize,
            values.into_iter().map(|value| value as f32).collect(),
        )
        .unwrap()
    }

    fn counts(&mut self) -> Counts {
        let x = self.matrix("X");
        Counts::dense(x.rows(), x.columns(), x.values().to_vec()).unwrap()
    }

    fn orders(&mut self) -> Vec<Vec<usize>> {
        let (shape, values) = self.array("order");
        values
            .chunks(shape[1] as usize)
            .map(|epoch| epoch.iter().map(|&document| document as usize).collect())
            .collect()
    }
}

fn largest_difference(left: &Matrix, right: &Matrix) -> f64 {
    assert_eq!(left.shape(), right.shape());
    left.values()
        .iter()
        .zip(right.values())
        .map(|(left, right)| f64::from((left - right).abs()))
        .fold(0.0, f64::max)
}

#[test]
fn the_first_gradients_are_tinytopics() {
    let Some(mut trace) = Trace::open() else {
        return;
    };
    let order = trace.orders();
    let (loss, gradient_l, gradient_f) = replay::gradient(
        &trace.counts(),
        &trace.matrix("L0"),
        &trace.matrix("F0"),
        &order[0][..16],
    )
    .unwrap();
    let first_loss = trace.array("step_losses").1[0];
    assert!(
        (loss / first_loss - 1.0).abs() < 1e-5,
        "{loss} {first_loss}"
    );
    // Against the largest entry of the whole gradient. A row of L's own gradient is a small difference of large sums
    // (435 against 0.36 here), so tinytopics' f32 value is itself 2.6e-5 away from the exact one.
    let tables = [
        (gradient_l, trace.matrix("grad_L_step0")),
        (gradient_f, trace.matrix("grad_F_step0")),
    ];
    let scale = tables
        .iter()
        .flat_map(|(_, expected)| expected.values())
        .fold(0.0, |largest: f64, value| {
            largest.max(f64::from(value.abs()))
        });
    for (name, (gradient, expected)) in ["L", "F"].iter().zip(&tables) {
        let error = largest_difference(gradient, expected) / scale;
        println!("gradient of {name}: largest difference {error:.2e} of the largest entry");
        assert!(error < 1e-5, "{name}: {error:.2e}");
    }
}

#[test]
fn the_whole_run_is_tinytopics() {
    let Some(mut trace) = Trace::open() else {
        return;
    };
    let orders = trace.orders();
    let settings = TopicModel::new(5).epochs(orders.len()).settings();
    for path in [
        replay::Path::Tensor,
        replay::Path::Operation,
        replay::Path::Fused,
    ] {
        let replayed = replay::run(
            path,
            &settings,
            &trace.counts(),
            &trace.matrix("L0"),
            &trace.matrix("F0"),
            &orders,
        )
        .unwrap();
        println!("{path:?}");
        compare(&mut trace, &replayed);
    }
}

fn compare(trace: &mut Trace, replayed: &replay::Replayed) {
    for (name, ours, tolerance) in [
        ("step_losses", &replayed.step_losses, 1e-4),
        ("epoch_losses", &replayed.epoch_losses, 1e-4),
        ("step_lrs", &replayed.learning_rates, 1e-6),
    ] {
        let (_, theirs) = trace.array(name);
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let worst = ours
            .iter()
            .zip(&theirs)
            .map(|(ours, theirs)| (ours / theirs - 1.0).abs())
            .fold(0.0, f64::max);
        println!("{name}: largest relative difference {worst:.2e}");
        assert!(worst < tolerance, "{name}: {worst:.2e}");
    }
    for (name, ours) in [("L_final", &replayed.l), ("F_final", &replayed.f)] {
        let worst = largest_difference(ours, &trace.matrix(name));
        println!("{name}: largest difference {worst:.2e}");
        assert!(worst < 1e-3, "{name}: {worst:.2e}");
    }
}
