//! The fit: what it learns, what it repeats, what it refuses, what it gives.

use proptest::prelude::*;
use topicbook::{
    Corpus, Counts, Device, ErrorKind, Fit, Matrix, Synthetic, Terms, TopicModel, replay,
};

fn corpus() -> Corpus {
    Synthetic::new(300, 80, 3)
        .avg_doc_length(2_000)
        .seed(4)
        .generate()
        .unwrap()
}

fn model() -> TopicModel {
    TopicModel::new(3)
        .epochs(40)
        .seed(1)
        .device(Device::Cpu)
        .quiet()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
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
    // The truth explains the counts about as well as what was learned from them.
    let learned = fit.score(corpus.counts()).unwrap();
    let tokens = corpus.counts().summary().unwrap().total();
    let per_token = learned / tokens;
    assert!(
        (per_token - fit.log_likelihood_per_token()).abs() < 0.01,
        "{per_token}"
    );
}

#[test]
fn a_seed_repeats_bit_for_bit() {
    let counts = corpus().counts();
    let (first, second) = (model().fit(&counts).unwrap(), model().fit(&counts).unwrap());
    assert_eq!(first.l(), second.l());
    assert_eq!(first.f(), second.f());
    assert_eq!(first.loss().to_bits(), second.loss().to_bits());
    let other = model().seed(2).fit(&counts).unwrap();
    assert_ne!(first.f(), other.f());
}

#[test]
fn the_loss_reported_is_the_loss() {
    // One epoch over one batch: the loss is that of the starting point, and the score follows from it.
    let counts = corpus().counts();
    let tokens = counts.summary().unwrap().total();
    let one = model().epochs(1).batch_size(300).fit(&counts).unwrap();
    let from_loss = (300.0 - one.loss()) / tokens;
    assert!((from_loss - one.log_likelihood_per_token()).abs() < 1e-9);
    // At a tiny learning rate the tables hardly move, so the score of the result is that of the start.
    let still = model()
        .epochs(1)
        .batch_size(300)
        .base_lr(1e-9)
        .max_lr(1e-9)
        .fit(&counts)
        .unwrap();
    let score = still.score(&counts).unwrap() / tokens;
    let reported = still.log_likelihood_per_token();
    assert!((score - reported).abs() < 2e-5, "{score} {reported}");
}

#[test]
fn new_documents_get_their_best_topics() {
    let corpus = corpus();
    let fit = model().fit(corpus.counts()).unwrap();
    let folded = fit.transform(corpus.counts()).unwrap();
    assert_eq!(folded.shape(), (300, 3));
    // With F fixed, the folded-in L can only be better than the fit's own.
    let score = |l: &Matrix| -> f64 {
        let mut row = vec![0.0; 80];
        (0..300)
            .map(|document| {
                corpus.counts().fill_rows(&[document], &mut row).unwrap();
                row.iter()
                    .enumerate()
                    .map(|(term, &count)| {
                        let rate: f64 = (0..3)
                            .map(|topic| {
                                f64::from(l.row(document)[topic])
                                    * f64::from(fit.f().row(topic)[term])
                            })
                            .sum();
                        f64::from(count) * rate.max(1e-10).ln()
                    })
                    .sum::<f64>()
            })
            .sum()
    };
    let (own, best) = (score(&fit.l()), score(&folded));
    assert!((own - fit.score(corpus.counts()).unwrap()).abs() < 1e-6 * own.abs());
    assert!(best >= own - 1e-6 * own.abs(), "{best} {own}");
    let empty = Counts::dense(1, 80, vec![0u8; 80]).unwrap();
    assert_eq!(fit.transform(&empty).unwrap().row(0), &[1.0 / 3.0; 3]);
    assert_eq!(
        fit.transform(Counts::dense(1, 2, vec![1u8, 2]).unwrap())
            .unwrap_err()
            .kind(),
        ErrorKind::Shape
    );
}

#[test]
fn a_saved_fit_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.safetensors");
    let names = Terms::new((0..80).map(|term| format!("term-{term}")).collect()).unwrap();
    let fit = model()
        .epochs(3)
        .terms(names)
        .fit(corpus().counts())
        .unwrap();
    fit.save(&path).unwrap();
    let again = TopicModel::load(&path).unwrap();
    assert_eq!(again.l(), fit.l());
    assert_eq!(again.f(), fit.f());
    assert_eq!(again.settings(), fit.settings());
    assert_eq!(again.history().shape(), (3, 6));
    assert_eq!(again.loss().to_bits(), fit.loss().to_bits());
    let tables = |fit: &Fit| format!("{:?}", fit.top_terms(4));
    assert_eq!(tables(&again), tables(&fit));
    assert!(tables(&fit).contains("term-"));

    let whole = std::fs::read(&path).unwrap();
    for cut in [0, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let error = TopicModel::load(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format, "{error}");
        assert!(error.remedy().is_some());
    }
    assert_eq!(
        TopicModel::load(folder.path().join("none"))
            .unwrap_err()
            .kind(),
        ErrorKind::Io
    );
    assert!(fit.save(folder.path().join("no folder").join("x")).is_err());
}

#[test]
fn tables_have_their_columns() {
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
fn impossible_fits_are_refused_before_they_start() {
    let counts = corpus().counts();
    let refused = |model: TopicModel, counts: &Counts| model.fit(counts).unwrap_err();
    assert_eq!(
        refused(TopicModel::new(0), &counts).kind(),
        ErrorKind::Setting
    );
    assert_eq!(
        refused(TopicModel::new(81), &counts).kind(),
        ErrorKind::Setting
    );
    assert_eq!(
        refused(model().epochs(0), &counts).kind(),
        ErrorKind::Setting
    );
    let names = Terms::new(vec!["one".into(), "two".into()]).unwrap();
    assert_eq!(
        refused(model().terms(names), &counts).kind(),
        ErrorKind::Shape
    );
    let error = TopicModel::new(0).spawn(&counts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting);
    let nothing = Counts::dense(4, 4, vec![0u8; 16]).unwrap();
    assert_eq!(refused(model(), &nothing).kind(), ErrorKind::Value);
    let negative = Counts::dense(4, 4, vec![-1.0f32; 16]).unwrap();
    assert_eq!(refused(model(), &negative).kind(), ErrorKind::Value);
    let error = refused(model().device(Device::Cuda(99)), &counts);
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.remedy().is_some());
    let other = Synthetic::new(10, 7, 3).generate().unwrap();
    let fit = model().epochs(1).fit(&counts).unwrap();
    assert_eq!(
        fit.align_to(other.true_f()).unwrap_err().kind(),
        ErrorKind::Shape
    );
    assert_eq!(
        fit.score(other.counts()).unwrap_err().kind(),
        ErrorKind::Shape
    );
}

/// The loss in double precision, written down once more from the formula alone.
fn naive_loss(counts: &[f32], l: &[f64], f: &[f64], k: usize, documents: &[usize]) -> f64 {
    let softmax = |row: &[f64]| -> Vec<f64> {
        let largest = row.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
        row.iter().map(|x| (x - largest).exp() / sum).collect()
    };
    let terms = f.len() / k;
    let f: Vec<Vec<f64>> = f.chunks(terms).map(softmax).collect();
    documents
        .iter()
        .map(|&document| {
            let l = softmax(&l[document * k..(document + 1) * k]);
            (0..terms)
                .map(|term| {
                    let rate: f64 = (0..k).map(|topic| l[topic] * f[topic][term]).sum();
                    rate - f64::from(counts[document * terms + term]) * rate.max(1e-10).ln()
                })
                .sum::<f64>()
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::with_cases(40) })]

    /// Loss and gradients against the formula and its central differences.
    #[test]
    fn gradients_are_the_slopes_of_the_loss(
        documents in 1usize..6, terms in 2usize..12, k in 1usize..7, seed in 0u64..1_000,
    ) {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1u64 << 24) as f64
        };
        let counts: Vec<f32> = (0..documents * terms).map(|_| (random() * 6.0).floor() as f32).collect();
        let mut tables: Vec<Vec<f64>> = [documents * k, k * terms]
            .iter()
            .map(|&size| (0..size).map(|_| f64::from((random() * 2.0 - 1.0) as f32)).collect())
            .collect();
        let batch: Vec<usize> = (0..documents).rev().collect();
        let matrix = |values: &[f64], columns: usize| {
            let narrow: Vec<f32> = values.iter().map(|&x| x as f32).collect();
            Matrix::new(narrow.len() / columns, columns, narrow).unwrap()
        };
        let held = Counts::dense(documents, terms, counts.clone()).unwrap();
        let (l, f) = (matrix(&tables[0], k), matrix(&tables[1], terms));
        let (loss, gradient_l, gradient_f) = replay::gradient(&held, &l, &f, &batch).unwrap();
        let expected = naive_loss(&counts, &tables[0], &tables[1], k, &batch);
        prop_assert!((loss - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{loss} {expected}");
        for (table, gradient) in [(0, gradient_l), (1, gradient_f)] {
            for index in 0..tables[table].len() {
                let at = tables[table][index];
                let step = 1e-4;
                let mut side = |value: f64| {
                    tables[table][index] = value;
                    naive_loss(&counts, &tables[0], &tables[1], k, &batch)
                };
                let slope = (side(at + step) - side(at - step)) / (2.0 * step);
                tables[table][index] = at;
                let got = f64::from(gradient.values()[index]);
                prop_assert!((got - slope).abs() < 2e-4 * (1.0 + slope.abs()), "{got} {slope}");
            }
        }
    }
}
