//! Fits by gradient steps: recovered topics, reproducibility, gradients, tables, files, and settings that are refused.

use crate::{cosine, drawn, score};
use proptest::prelude::*;
use testkit::{Random, reference, refused};
use topicbook::{
    Corpus, Counts, Device, ErrorKind, Fit, Matrix, Solver, Synthetic, Terms, TopicModel,
    bench_hooks,
};

fn corpus() -> Corpus {
    drawn([300, 80, 3], 2_000, 4)
}

fn model() -> TopicModel {
    TopicModel::new(3)
        .epochs(40)
        .seed(1)
        .device(Device::Cpu)
        .quiet()
}

#[test]
fn topics_are_recovered() {
    let corpus = corpus();
    let fit = model()
        .fit(corpus.counts())
        .unwrap()
        .align_to(corpus.true_f())
        .unwrap();
    for topic in 0..3 {
        let similarity = cosine(fit.f().row(topic), corpus.true_f().row(topic));
        assert!(similarity > 0.97, "topic {topic}: cosine {similarity}");
    }
    for document in 0..fit.documents() {
        let sum: f32 = fit.l().row(document).iter().sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }
    // The score of the counts is the log-likelihood that the fit reports.
    let score = fit.score(corpus.counts()).unwrap();
    let tokens = corpus.counts().summary().unwrap().total();
    let per_token = score / tokens;
    assert!(
        (per_token - fit.log_likelihood_per_token().unwrap()).abs() < 0.01,
        "{per_token}"
    );
}

#[test]
fn the_same_seed_gives_the_same_fit_bit_for_bit() {
    let counts = corpus().counts();
    let (first, second) = (model().fit(&counts).unwrap(), model().fit(&counts).unwrap());
    assert_eq!(first.l(), second.l());
    assert_eq!(first.f(), second.f());
    assert_eq!(
        first.loss().unwrap().to_bits(),
        second.loss().unwrap().to_bits()
    );
    let other = model().seed(2).fit(&counts).unwrap();
    assert_ne!(first.f(), other.f());
}

#[test]
fn the_reported_loss_is_the_loss() {
    // In one epoch of one batch the loss is the loss at the start, and the score follows from it.
    let counts = corpus().counts();
    let tokens = counts.summary().unwrap().total();
    let one = model().epochs(1).batch_size(300).fit(&counts).unwrap();
    let from_loss = (300.0 - one.loss().unwrap()) / tokens;
    assert!((from_loss - one.log_likelihood_per_token().unwrap()).abs() < 1e-9);
    // With a tiny learning rate L and F hardly change, so the score of the result is the score at the start.
    let steps = Solver::mini_batch().base_lr(1e-9).max_lr(1e-9);
    let unchanged = model()
        .epochs(1)
        .solver(steps.batch_size(300))
        .fit(&counts)
        .unwrap();
    let score = unchanged.score(&counts).unwrap() / tokens;
    let reported = unchanged.log_likelihood_per_token().unwrap();
    assert!((score - reported).abs() < 2e-5, "{score} {reported}");
}

#[test]
fn transform_finds_the_best_l_for_new_documents() {
    let corpus = corpus();
    let fit = model().fit(corpus.counts()).unwrap();
    let folded = fit.transform(corpus.counts()).unwrap();
    assert_eq!(folded.shape(), (300, 3));
    // With F fixed, the folded-in L scores at least as well as the fit's own L.
    let score = |l: &Matrix| score(&corpus.counts(), l, &fit.f());
    let (own, best) = (score(&fit.l()), score(&folded));
    assert!((own - fit.score(corpus.counts()).unwrap()).abs() < 1e-6 * own.abs());
    assert!(best >= own - 1e-6 * own.abs(), "{best} {own}");
    let empty = Counts::dense(1, 80, vec![0u8; 80]).unwrap();
    assert_eq!(fit.transform(&empty).unwrap().row(0), &[1.0 / 3.0; 3]);
    refused! { fit.transform(Counts::dense(1, 2, vec![1u8, 2]).unwrap()) => Shape; }
}

#[test]
fn a_saved_fit_is_loaded_unchanged() {
    let (folder, path) = testkit::temp_path("fit.safetensors");
    let names = Terms::new((0..80).map(|term| format!("term-{term}"))).unwrap();
    let fit = model()
        .epochs(3)
        .terms(names)
        .fit(corpus().counts())
        .unwrap();
    fit.save(&path).unwrap();
    let loaded = Fit::load(&path).unwrap();
    assert_eq!(loaded.l(), fit.l());
    assert_eq!(loaded.f(), fit.f());
    assert_eq!(loaded.settings(), fit.settings());
    assert_eq!(loaded.epochs().len(), 3);
    assert_eq!(
        loaded.loss().unwrap().to_bits(),
        fit.loss().unwrap().to_bits()
    );
    let tables = |fit: &Fit| format!("{:?}", fit.top_terms(4));
    assert_eq!(tables(&loaded), tables(&fit));
    assert!(tables(&fit).contains("term-"));

    let whole = std::fs::read(&path).unwrap();
    for cut in [0, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        refused! { Fit::load(&path) => Format; }
    }
    refused! { Fit::load(folder.path().join("missing")) => Io; }
    assert!(fit.save(folder.path().join("no folder").join("x")).is_err());
}

#[test]
fn tables_have_the_documented_shapes() {
    let fit = model().epochs(2).fit(corpus().counts()).unwrap();
    assert_eq!(fit.top_terms(5).shape(), (5, 4));
    assert_eq!(fit.top_terms(500).height(), 80);
    assert_eq!(fit.top_terms(0).height(), 0);
    assert_eq!(fit.doc_topics().shape(), (300, 6));
    assert_eq!(fit.history().height(), 2);
    let order = fit.sort_documents();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..300).collect::<Vec<_>>());
}

#[test]
fn impossible_settings_are_refused_before_the_fit_starts() {
    let counts = corpus().counts();
    let names = Terms::new(["one", "two"]).unwrap();
    let nothing = Counts::dense(4, 4, vec![0u8; 16]).unwrap();
    let negative = Counts::dense(4, 4, vec![-1.0f32; 16]).unwrap();
    let other = Synthetic::new(10, 7, 3).generate().unwrap();
    let fit = model().epochs(1).fit(&counts).unwrap();
    refused! {
        TopicModel::new(0).fit(&counts) => Setting;
        TopicModel::new(81).fit(&counts) => Setting;
        model().epochs(0).fit(&counts) => Setting;
        model().terms(names).fit(&counts) => Shape;
        TopicModel::new(0).spawn(&counts) => Setting;
        model().fit(&nothing) => Value;
        model().fit(&negative) => Value;
        model().device(Device::Cuda(99)).fit(&counts) => Device;
        fit.align_to(other.true_f()) => Shape;
        fit.score(other.counts()) => Shape;
    }
    for value in [f32::NAN, f32::INFINITY] {
        let mut f = fit.f().values().to_vec();
        f[5] = value;
        let (rows, columns) = fit.f().shape();
        let error = fit
            .align_to(Matrix::new(rows, columns, f).unwrap())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        let place = format!("topic {}, term {}", 5 / columns, 5 % columns);
        assert!(error.to_string().contains(&place), "{error}");
    }
}

/// The loss of a batch in double precision, from the logits of L (documents x k) and F (k x terms).
fn reference_loss(counts: &[f32], l: &[f64], f: &[f64], k: usize, batch: &[usize]) -> f64 {
    let terms = f.len() / k;
    let f: Vec<Vec<f64>> = f.chunks(terms).map(reference::softmax).collect();
    let f: Vec<&[f64]> = f.iter().map(Vec::as_slice).collect();
    batch
        .iter()
        .map(|&document| {
            let l = reference::softmax(&l[document * k..(document + 1) * k]);
            let counts = &counts[document * terms..(document + 1) * terms];
            reference::loss(counts, &reference::rates(&l, &f))
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::with_cases(40) })]

    #[test]
    fn loss_and_gradients_match_the_formula_and_its_central_differences(
        documents in 1usize..6, terms in 2usize..12, k in 1usize..7, seed in 0u64..1_000,
    ) {
        let mut random = Random::new(2 * seed + 1);
        let counts: Vec<f32> = (0..documents * terms).map(|_| (random.uniform() * 6.0).floor() as f32).collect();
        let mut logits: Vec<Vec<f64>> = [documents * k, k * terms]
            .iter()
            .map(|&size| (0..size).map(|_| f64::from((random.uniform() * 2.0 - 1.0) as f32)).collect())
            .collect();
        let batch: Vec<usize> = (0..documents).rev().collect();
        let matrix = |values: &[f64], columns: usize| {
            let narrow: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            Matrix::new(narrow.len() / columns, columns, narrow).unwrap()
        };
        let x = Counts::dense(documents, terms, counts.clone()).unwrap();
        let (l, f) = (matrix(&logits[0], k), matrix(&logits[1], terms));
        let (loss, gradient_l, gradient_f) = bench_hooks::gradient(&x, &l, &f, &batch).unwrap();
        let expected = reference_loss(&counts, &logits[0], &logits[1], k, &batch);
        prop_assert!((loss - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{loss} {expected}");
        for (table, gradient) in [(0, gradient_l), (1, gradient_f)] {
            for index in 0..logits[table].len() {
                let value = logits[table][index];
                let step = 1e-4;
                let mut loss_at = |value: f64| {
                    logits[table][index] = value;
                    reference_loss(&counts, &logits[0], &logits[1], k, &batch)
                };
                let expected = (loss_at(value + step) - loss_at(value - step)) / (2.0 * step);
                logits[table][index] = value;
                let found = f64::from(gradient.values()[index]);
                prop_assert!((found - expected).abs() < 2e-4 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }
    }
}
