//! Solvers other than AdamW, through the same house: fits, histories, background, checkpoints.

use topicbook::{Corpus, Counts, Device, Solver, Synthetic, TopicModel};

fn corpus() -> Corpus {
    Synthetic::new(300, 80, 3)
        .avg_doc_length(2_000)
        .seed(4)
        .generate()
        .unwrap()
}

fn model(solver: Solver) -> TopicModel {
    TopicModel::new(3).solver(solver).seed(1).quiet()
}

const SOLVERS: [Solver; 3] = [Solver::Em, Solver::CoordinateDescent, Solver::Auto];

#[test]
fn topics_are_recovered_and_the_truth_is_not_better() {
    let corpus = corpus();
    let truth = {
        let rows = corpus.true_l();
        let mut score = 0.0;
        let mut counts = vec![0.0; 80];
        for document in 0..300 {
            corpus.counts().fill_rows(&[document], &mut counts).unwrap();
            for (term, count) in counts.iter().enumerate() {
                let rate: f64 = (0..3)
                    .map(|topic| {
                        f64::from(rows.row(document)[topic])
                            * f64::from(corpus.true_f().row(topic)[term])
                    })
                    .sum();
                score += f64::from(*count) * rate.ln();
            }
        }
        score
    };
    for solver in SOLVERS {
        let fit = model(solver).epochs(400).fit(corpus.counts()).unwrap();
        let score = fit.score(corpus.counts()).unwrap();
        assert!(score > truth, "{solver}: {score} against {truth}");
        let tokens = corpus.counts().summary().unwrap().total();
        assert!((score / tokens - fit.log_likelihood_per_token()).abs() < 1e-5);
    }
}

#[test]
fn a_fit_ends_when_it_no_longer_gains() {
    let corpus = corpus();
    let fit = model(Solver::CoordinateDescent)
        .epochs(500)
        .fit(corpus.counts())
        .unwrap();
    assert!(fit.history().shape().0 < 500, "{}", fit.history().shape().0);
    let all = model(Solver::CoordinateDescent)
        .epochs(12)
        .tolerance(0.0)
        .fit(corpus.counts())
        .unwrap();
    assert_eq!(all.history().shape().0, 12);
}

#[test]
fn counts_in_a_file_are_fitted_in_one_pass_an_iteration() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus();
    let file = corpus
        .counts()
        .write_npy(folder.path().join("X.npy"))
        .unwrap();
    let tokens = corpus.counts().summary().unwrap().total();
    for solver in SOLVERS {
        let here = model(solver).epochs(300).fit(corpus.counts()).unwrap();
        let there = model(solver).epochs(300).fit(&file).unwrap();
        let [a, b] = [&here, &there].map(|fit| fit.score(corpus.counts()).unwrap() / tokens);
        assert!((a - b).abs() < 1e-3, "{solver}: {a} against {b}");
    }
}

#[test]
fn stopped_kept_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("solver.checkpoint");
    let corpus = corpus();
    let model = model(Solver::Em).tolerance(0.0);
    let whole = model.clone().epochs(9).fit(corpus.counts()).unwrap();
    model
        .clone()
        .epochs(4)
        .checkpoint(&path)
        .fit(corpus.counts())
        .unwrap();
    let resumed = TopicModel::resume(&path)
        .unwrap()
        .epochs(9)
        .quiet()
        .fit(corpus.counts())
        .unwrap();
    assert_eq!(resumed.history().shape().0, 9);
    let [a, b] = [&whole, &resumed].map(|fit| fit.log_likelihood_per_token());
    assert!((a - b).abs() < 1e-5, "{a} against {b}");
    let training = model.epochs(1_000_000).spawn(corpus.counts()).unwrap();
    while training.epochs_done() < 3 {
        std::thread::yield_now();
    }
    training.stop();
    assert!(training.join().unwrap().history().shape().0 >= 3);
}

#[test]
fn solvers_are_settings() {
    let counts = Counts::dense(2, 2, vec![1u8, 2, 3, 4]).unwrap();
    assert_eq!(TopicModel::new(2).settings().solver, Solver::AdamW);
    let refused = TopicModel::new(1)
        .solver(Solver::CoordinateDescent)
        .device(Device::Cuda(0))
        .fit(&counts);
    assert!(refused.unwrap_err().to_string().contains("on Cuda(0)"));
    let fit = TopicModel::new(1)
        .solver(Solver::Auto)
        .quiet()
        .fit(&counts)
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    fit.save(folder.path().join("fit.safetensors")).unwrap();
    let loaded = TopicModel::load(folder.path().join("fit.safetensors")).unwrap();
    assert_eq!(loaded.settings(), fit.settings());
}
