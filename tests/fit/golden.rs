//! Replays a recorded run of tinytopics from the same start with the same batches, and compares every step.
//!
//! `tests/data/make_trace.py` recorded the trace with tinytopics 0.9.3 and PyTorch (64 documents, 200 terms, k = 5, 30 epochs).

use std::fs::File;

use topicbook::{Counts, Device, Matrix, TopicModel, bench_hooks};

const TRACE: &str = "tests/data/tinytopics_trace.npz";

/// The recorded run: an archive of `.npy` arrays.
pub(super) struct Trace(zip::ZipArchive<File>);

impl Trace {
    pub(super) fn open() -> Self {
        Self(zip::ZipArchive::new(File::open(TRACE).unwrap()).unwrap())
    }

    /// Shape and values of an array.
    pub(super) fn array(&mut self, name: &str) -> (Vec<u64>, Vec<f64>) {
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

    pub(super) fn matrix(&mut self, name: &str) -> Matrix {
        let (shape, values) = self.array(name);
        Matrix::new(
            shape[0] as usize,
            shape[1] as usize,
            values.into_iter().map(|value| value as f32).collect(),
        )
        .unwrap()
    }

    pub(super) fn counts(&mut self) -> Counts {
        let x = self.matrix("X");
        Counts::dense(x.rows(), x.columns(), x.values().to_vec()).unwrap()
    }

    /// The order of the documents in every epoch.
    pub(super) fn orders(&mut self) -> Vec<Vec<usize>> {
        let (shape, values) = self.array("order");
        values
            .chunks(shape[1] as usize)
            .map(|epoch| epoch.iter().map(|&document| document as usize).collect())
            .collect()
    }
}

pub(super) fn largest_difference(left: &Matrix, right: &Matrix) -> f64 {
    assert_eq!(left.shape(), right.shape());
    left.values()
        .iter()
        .zip(right.values())
        .map(|(left, right)| f64::from((left - right).abs()))
        .fold(0.0, f64::max)
}

#[test]
fn the_first_gradients_match_those_of_tinytopics() {
    let mut trace = Trace::open();
    let order = trace.orders();
    let (loss, gradient_l, gradient_f) = bench_hooks::gradient(
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
    // Errors are relative to the largest entry of the whole gradient. An entry of L's gradient is a small difference
    // of large sums (0.36 from sums of 435 here), so tinytopics' f32 value itself is 2.6e-5 from the exact one.
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
fn the_whole_run_matches_that_of_tinytopics() {
    replay(&[
        bench_hooks::Path::Tensor,
        bench_hooks::Path::Operation,
        bench_hooks::Path::Fused,
    ]);
}

#[test]
fn the_whole_run_on_a_gpu_matches_that_of_tinytopics() {
    match Device::Cuda(0).describe().as_str() {
        "CUDA GPU 0" => replay(&[bench_hooks::Path::Gpu]),
        other => println!("SKIPPED: {other}"),
    }
}

/// Repeats the recorded run by each of the paths, and compares.
fn replay(paths: &[bench_hooks::Path]) {
    let mut trace = Trace::open();
    let orders = trace.orders();
    let settings = TopicModel::new(5).epochs(orders.len()).settings();
    for &path in paths {
        let replayed = bench_hooks::run(
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

fn compare(trace: &mut Trace, replayed: &bench_hooks::Replayed) {
    for (name, values, tolerance) in [
        ("step_losses", &replayed.step_losses, 1e-4),
        ("epoch_losses", &replayed.epoch_losses, 1e-4),
        ("step_lrs", &replayed.learning_rates, 1e-6),
    ] {
        let (_, expected) = trace.array(name);
        assert_eq!(values.len(), expected.len(), "{name}");
        let worst = values
            .iter()
            .zip(&expected)
            .map(|(value, expected)| (value / expected - 1.0).abs())
            .fold(0.0, f64::max);
        println!("{name}: largest relative difference {worst:.2e}");
        assert!(worst < tolerance, "{name}: {worst:.2e}");
    }
    for (name, matrix) in [("L_final", &replayed.l), ("F_final", &replayed.f)] {
        let worst = largest_difference(matrix, &trace.matrix(name));
        println!("{name}: largest difference {worst:.2e}");
        assert!(worst < 1e-3, "{name}: {worst:.2e}");
    }
}
