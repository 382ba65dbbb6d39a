//! The fused step and the fused operation against the reference, Burn's tensors with automatic differentiation: whole
//! short fits over random shapes, densities and counts.

use proptest::prelude::*;
use topicbook::replay::{self, Path, Replayed};
use topicbook::{Counts, Matrix, Optimizer, TablePlace, TopicModel};

/// Uniform numbers from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }

    fn table(&mut self, rows: usize, columns: usize) -> Matrix {
        let values = (0..rows * columns)
            .map(|_| (self.next() * 0.4) as f32)
            .collect();
        Matrix::new(rows, columns, values).unwrap()
    }
}

fn same(ours: &[f64], theirs: &[f64], tolerance: f64, tokens: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (step, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let error = (a - b).abs() / (1.0 + b.abs() + tokens);
        assert!(
            error < tolerance,
            "loss of step {step}: {a} against {b}: {error:e}"
        );
    }
}

/// The formula of the loss in double precision.
fn exact_loss(counts: &Counts, l: &Matrix, f: &Matrix, batch: &[usize]) -> f64 {
    let softmax = |row: &[f32]| -> Vec<f64> {
        let sum: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        row.iter().map(|&x| f64::from(x).exp() / sum).collect()
    };
    let f: Vec<Vec<f64>> = (0..f.rows()).map(|topic| softmax(f.row(topic))).collect();
    let mut counts_of_one = vec![0.0; counts.terms()];
    let mut loss = 0.0;
    for &document in batch {
        counts.fill_rows(&[document], &mut counts_of_one).unwrap();
        let weights = softmax(l.row(document));
        for (term, &count) in counts_of_one.iter().enumerate() {
            let rate: f64 = weights
                .iter()
                .zip(&f)
                .map(|(weight, row)| weight * row[term])
                .sum();
            loss += rate - f64::from(count) * rate.max(1e-10).ln();
        }
    }
    loss
}

fn compare(counts: &Counts, k: usize, batch: usize, seed: u64) {
    let mut random = Random(seed);
    let (documents, terms) = counts.shape();
    let (l, f) = (random.table(documents, k), random.table(k, terms));
    let orders: Vec<Vec<usize>> = (0..3)
        .map(|_| {
            let mut order: Vec<usize> = (0..documents).collect();
            order.sort_by_cached_key(|_| (random.next() * 1e9) as u64);
            order
        })
        .collect();
    let run = |path, epochs: usize, batch: usize| -> Replayed {
        let settings = TopicModel::new(k)
            .epochs(epochs)
            .batch_size(batch)
            .settings();
        replay::run(path, &settings, counts, &l, &f, &orders).unwrap()
    };
    let tensor = run(Path::Tensor, 3, batch);
    // Where the rates are near one, the loss is a sum of many logarithms near zero: errors are counted per token.
    let tokens = counts.summary().unwrap().total();
    let exact = exact_loss(counts, &l, &f, &orders[0][..batch.min(documents)]);
    for path in [Path::Fused, Path::Operation] {
        let fused = run(path, 3, batch);
        same(&fused.step_losses[..1], &[exact], 1e-6, tokens);
        // The tensors sum up in f32, one after the other; and later, rounding errors have moved the tables.
        same(&fused.step_losses, &tensor.step_losses, 1e-4, tokens);
    }
    // After one step the first moments are a tenth of the gradients. Later tables are not compared: where a gradient is
    // zero but for rounding errors (an empty document), AdamW divides one rounding error by another.
    let tensor = run(Path::Tensor, 1, documents);
    let fused = [Path::Fused, Path::Operation].map(|path| run(path, 1, documents));
    // An entry is the difference of sums, which f32 holds to seven digits: for a document, a topic's share of its tokens;
    // for a term, its part of a topic's tokens, or the gradient 1 of a rate, which the tensors sum up and take away again.
    let shared = tokens / (k * terms) as f64;
    let summary = counts.summary().unwrap();
    let longest = summary
        .document_lengths()
        .iter()
        .copied()
        .fold(0.0, f64::max);
    for (index, sums) in [longest / k as f64, shared.max(1.0)]
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
                    "table {index}: gradient {a} against {b}: {error:e}"
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
        let mut random = Random(seed);
        let values: Vec<u16> = (0..documents * terms)
            .map(|cell| {
                // Every fifth document is empty.
                let drawn = (random.next() < density && cell / terms % 5 != 4)
                    .then(|| (random.next() * largest) as u16);
                drawn.unwrap_or(0)
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
        compare(&counts, k, batch, seed);
    }
}

/// More topics than one pass over registers takes, and the number of threads.
#[test]
fn many_topics_and_any_number_of_threads() {
    let counts = topicbook::Synthetic::new(40, 350, 6)
        .avg_doc_length(900)
        .seed(3)
        .generate()
        .unwrap()
        .counts();
    for k in [16, 17, 64, 65, 130, 300] {
        compare(&counts, k, 16, k as u64);
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
    assert_eq!(one.loss().to_bits(), many.loss().to_bits());
}

/// Row-wise optimizers, and tables in a file: the same bits as in memory, and a fit that learns.
#[test]
fn every_optimizer_learns_and_a_table_in_a_file_is_the_same() {
    let corpus = topicbook::Synthetic::new(96, 60, 4)
        .avg_doc_length(500)
        .seed(5)
        .generate()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (optimizer, rate) in [
        (Optimizer::AdamW, 0.05),
        (Optimizer::RowwiseAdamW, 0.05),
        (Optimizer::RowwiseAdam, 0.05),
        (Optimizer::RowwiseRmsProp, 0.01),
        (Optimizer::RowwiseAdagrad, 0.5),
        (Optimizer::RowwiseSgd, 1e-4),
    ] {
        let model = TopicModel::new(4)
            .optimizer(optimizer)
            .max_lr(rate)
            .base_lr(rate / 5.0)
            .epochs(25)
            .seed(2)
            .quiet();
        let fit = model.fit(corpus.counts()).unwrap();
        let first = model.clone().epochs(1).fit(corpus.counts()).unwrap();
        let (start, end) = (
            first.log_likelihood_per_token(),
            fit.log_likelihood_per_token(),
        );
        assert!(end > start + 0.05, "{optimizer}: {start} to {end}");
        let in_file = model
            .table_place(TablePlace::File(folder.path().into()))
            .fit(corpus.counts())
            .unwrap();
        assert_eq!(fit.l(), in_file.l());
        assert_eq!(fit.f(), in_file.f());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
