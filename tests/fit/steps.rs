//! The fused step and the fused operation against the reference, Burn's tensors with automatic differentiation, in
//! short fits to counts of random shape and density.

use proptest::prelude::*;
use testkit::{Random, reference};
use topicbook::bench_hooks::{self, Path, Replayed};
use topicbook::{Counts, Matrix, Solver, TableStorage, TopicModel};

/// A matrix of logits, uniform in [0, 0.4).
fn random_logits(random: &mut Random, rows: usize, columns: usize) -> Matrix {
    let values = (0..rows * columns)
        .map(|_| (random.uniform() * 0.4) as f32)
        .collect();
    Matrix::new(rows, columns, values).unwrap()
}

/// Compares the losses of steps. Where rates are near one, a loss is a sum of many logarithms near zero, so errors
/// are relative to the number of tokens.
fn assert_losses_agree(losses: &[f64], expected: &[f64], tolerance: f64, tokens: f64) {
    assert_eq!(losses.len(), expected.len());
    for (step, (loss, expected)) in losses.iter().zip(expected).enumerate() {
        let error = (loss - expected).abs() / (1.0 + expected.abs() + tokens);
        assert!(
            error < tolerance,
            "loss of step {step}: {loss}, expected {expected}: {error:e}"
        );
    }
}

/// The loss of a batch in double precision, from the logits of L and F.
fn reference_loss(counts: &Counts, l: &Matrix, f: &Matrix, batch: &[usize]) -> f64 {
    let softmax = |logits: &[f32]| {
        let logits: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
        reference::softmax(&logits)
    };
    let f: Vec<Vec<f64>> = (0..f.rows()).map(|topic| softmax(f.row(topic))).collect();
    let f: Vec<&[f64]> = f.iter().map(Vec::as_slice).collect();
    let mut row = vec![0.0; counts.terms()];
    batch
        .iter()
        .map(|&document| {
            counts.fill_rows(&[document], &mut row).unwrap();
            reference::loss(&row, &reference::rates(&softmax(l.row(document)), &f))
        })
        .sum()
}

/// Asserts that the fused paths agree with the tensors: losses of three epochs, and gradients of the first step.
fn assert_paths_agree(counts: &Counts, k: usize, batch: usize, seed: u64) {
    let mut random = Random::new(seed);
    let (documents, terms) = counts.shape();
    let l = random_logits(&mut random, documents, k);
    let f = random_logits(&mut random, k, terms);
    let orders: Vec<Vec<usize>> = (0..3)
        .map(|_| {
            let mut order: Vec<usize> = (0..documents).collect();
            order.sort_by_cached_key(|_| (random.uniform() * 1e9) as u64);
            order
        })
        .collect();
    let run = |path, epochs: usize, batch: usize| -> Replayed {
        let settings = TopicModel::new(k)
            .epochs(epochs)
            .batch_size(batch)
            .settings();
        bench_hooks::run(path, &settings, counts, &l, &f, &orders).unwrap()
    };
    let tensor = run(Path::Tensor, 3, batch);
    let tokens = counts.summary().unwrap().total();
    let first_loss = reference_loss(counts, &l, &f, &orders[0][..batch.min(documents)]);
    for path in [Path::Fused, Path::Operation] {
        let fused = run(path, 3, batch);
        assert_losses_agree(&fused.step_losses[..1], &[first_loss], 1e-6, tokens);
        // Less exact: the tensors sum sequentially in f32, and in later steps the logits differ by rounding errors.
        assert_losses_agree(&fused.step_losses, &tensor.step_losses, 1e-4, tokens);
    }
    // After one step AdamW's first moments are a tenth of the gradients. Later logits are not compared: where a
    // gradient is zero up to rounding errors (an empty document), AdamW divides one rounding error by another.
    let tensor = run(Path::Tensor, 1, documents);
    let fused = [Path::Fused, Path::Operation].map(|path| run(path, 1, documents));
    // A gradient is a difference of sums, each exact to seven digits in f32, so errors are relative to the size of
    // these sums. In L that is a topic's share of the longest document's tokens; in F a term's share of a topic's
    // tokens, or the gradient 1 of a rate, which the tensors add and subtract again.
    let tokens_of_term = tokens / (k * terms) as f64;
    let summary = counts.summary().unwrap();
    let longest = summary
        .document_lengths()
        .iter()
        .copied()
        .fold(0.0, f64::max);
    for (index, sums) in [longest / k as f64, tokens_of_term.max(1.0)]
        .into_iter()
        .enumerate()
    {
        let tensor = &tensor.moments[index];
        let scale = tensor
            .values()
            .iter()
            .fold(0.1 * sums as f32, |largest, value| largest.max(value.abs()));
        for fused in &fused {
            for (a, b) in fused.moments[index].values().iter().zip(tensor.values()) {
                let error = (a - b).abs() / scale;
                assert!(
                    error < 1e-5,
                    "table {index}: gradient {a}, expected {b}: {error:e}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::with_cases(100) })]

    #[test]
    fn fused_and_tensor_steps_agree(
        documents in 1usize..24, terms in 1usize..300, k in prop_oneof![3 => 1usize..90, 1 => 90usize..301], batch in 1usize..9,
        density in 0.01f64..1.0, largest in prop::sample::select(vec![2.0, 30.0, 60_000.0]),
        sparse in any::<bool>(), seed in 1u64..1_000_000,
    ) {
        let mut random = Random::new(seed);
        let values: Vec<u16> = (0..documents * terms)
            .map(|cell| {
                // Every fifth document is empty.
                let nonzero = random.uniform() < density && cell / terms % 5 != 4;
                if nonzero { (random.uniform() * largest) as u16 } else { 0 }
            })
            .collect();
        prop_assume!(values.iter().any(|&value| value > 0));
        let counts = if sparse {
            let (mut starts, mut columns, mut stored) = (vec![0], Vec::new(), Vec::new());
            for row in values.chunks(terms) {
                for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value > 0) {
                    columns.push(column as u32);
                    stored.push(f32::from(value));
                }
                starts.push(columns.len() as u64);
            }
            Counts::csr(documents, terms, starts, columns, stored).unwrap()
        } else {
            Counts::dense(documents, terms, values).unwrap()
        };
        assert_paths_agree(&counts, k, batch, seed);
    }
}

/// More topics than one pass over the vector registers handles, and different numbers of threads.
#[test]
fn steps_agree_for_many_topics_and_any_number_of_threads() {
    let counts = crate::drawn([40, 350, 6], 900, 3).counts();
    for k in [16, 17, 64, 65, 130, 300] {
        assert_paths_agree(&counts, k, 16, k as u64);
    }
    let fit = || {
        TopicModel::new(7)
            .epochs(3)
            .seed(2)
            .quiet()
            .fit(&counts)
            .unwrap()
    };
    let threads = |number| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(number)
            .build()
            .unwrap()
            .install(fit)
    };
    let (one, many) = (threads(1), threads(5));
    assert_eq!(one.f(), many.f());
    assert_eq!(one.l(), many.l());
    assert_eq!(
        one.loss().unwrap().to_bits(),
        many.loss().unwrap().to_bits()
    );
}

#[test]
fn every_optimizer_learns_and_gives_the_same_bits_with_l_in_a_file() {
    let corpus = crate::drawn([96, 60, 4], 500, 5);
    let folder = tempfile::tempdir().unwrap();
    for (optimizer, learning_rate) in crate::OPTIMIZERS {
        let steps = Solver::mini_batch()
            .optimizer(optimizer)
            .max_lr(learning_rate)
            .base_lr(learning_rate / 5.0);
        let model = TopicModel::new(4)
            .solver(&steps)
            .device(topicbook::Device::Cpu)
            .epochs(25)
            .seed(2)
            .quiet();
        let fit = model.fit(corpus.counts()).unwrap();
        let first = model.clone().epochs(1).fit(corpus.counts()).unwrap();
        let (start, end) = (
            first.log_likelihood_per_token().unwrap(),
            fit.log_likelihood_per_token().unwrap(),
        );
        assert!(end > start + 0.05, "{optimizer}: {start} to {end}");
        let in_file = model
            .solver(steps.table_storage(TableStorage::File(folder.path().into())))
            .fit(corpus.counts())
            .unwrap();
        assert_eq!(fit.l(), in_file.l());
        assert_eq!(fit.f(), in_file.f());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
