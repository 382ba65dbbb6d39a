//! Expectation-maximisation and coordinate descent: fits, histories, background fits and checkpoints.

use topicbook::{Corpus, Counts, Device, Fit, Solver, TopicModel};

fn corpus() -> Corpus {
    crate::drawn([300, 80, 3], 2_000, 4)
}

fn model(solver: Solver) -> TopicModel {
    TopicModel::new(3).solver(solver).seed(1).quiet()
}

const SOLVERS: [Solver; 3] = [Solver::em(), Solver::coordinate_descent(), Solver::auto()];

#[test]
fn fits_score_better_than_the_true_topics() {
    let corpus = corpus();
    let truth = crate::score(&corpus.counts(), &corpus.true_l(), &corpus.true_f());
    for solver in SOLVERS {
        let fit = model(solver.clone())
            .epochs(400)
            .fit(corpus.counts())
            .unwrap();
        let score = fit.score(corpus.counts()).unwrap();
        assert!(score > truth, "{solver}: {score}, true topics {truth}");
        let tokens = corpus.counts().summary().unwrap().total();
        assert!((score / tokens - fit.log_likelihood_per_token().unwrap()).abs() < 1e-5);
    }
}

#[test]
fn a_fit_ends_when_the_score_stops_improving() {
    let corpus = corpus();
    let fit = model(Solver::coordinate_descent())
        .epochs(500)
        .fit(corpus.counts())
        .unwrap();
    assert!(fit.epochs().len() < 500, "{}", fit.epochs().len());
    let without_tolerance = model(Solver::coordinate_descent())
        .epochs(12)
        .tolerance(0.0)
        .fit(corpus.counts())
        .unwrap();
    assert_eq!(without_tolerance.epochs().len(), 12);
}

#[test]
fn counts_in_a_file_give_the_fit_of_counts_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus();
    let file = corpus
        .counts()
        .write_npy(folder.path().join("X.npy"))
        .unwrap();
    let tokens = corpus.counts().summary().unwrap().total();
    for solver in SOLVERS {
        let in_memory = model(solver.clone())
            .epochs(300)
            .fit(corpus.counts())
            .unwrap();
        let in_file = model(solver.clone()).epochs(300).fit(&file).unwrap();
        let [a, b] = [&in_memory, &in_file].map(|fit| fit.score(corpus.counts()).unwrap() / tokens);
        assert!(
            (a - b).abs() < 1e-3,
            "{solver}: {a} in memory, {b} in a file"
        );
    }
}

#[test]
fn short_cuts_hold_before_and_after_the_solver_and_for_no_other_one() {
    let counts = Counts::dense(2, 2, vec![1u8, 2, 3, 4]).unwrap();
    let (model, steps) = (TopicModel::new(2), Solver::mini_batch().max_lr(0.1));
    let expected = Solver::from(steps.batch_size(64));
    for model in [
        model.batch_size(64).solver(&steps),
        model.solver(&steps).batch_size(64),
    ] {
        assert_eq!(model.settings().solver, expected);
    }
    // The last call that says a batch size decides.
    let both = model.batch_size(64).solver(steps.batch_size(32));
    assert_eq!(both.settings().solver, steps.batch_size(32).into());
    for (model, name) in [
        (model.batch_size(64).solver(Solver::em()), "batch_size"),
        (model.solver(Solver::auto()).batch_size(64), "batch_size"),
        (model.tolerance(1e-4), "tolerance"),
    ] {
        let error = model.fit(&counts).unwrap_err();
        let expected = format!("{name} is a parameter of");
        assert!(error.to_string().contains(&expected), "{error}");
        assert!(error.remedy().unwrap().contains(name), "{error}");
    }
}

#[test]
fn the_solver_is_checked_and_saved_with_the_settings() {
    let counts = Counts::dense(2, 2, vec![1u8, 2, 3, 4]).unwrap();
    assert_eq!(TopicModel::new(2).settings().solver, Solver::default());
    let refused = TopicModel::new(1)
        .solver(Solver::coordinate_descent())
        .device(Device::Cuda(0))
        .fit(&counts);
    assert!(refused.unwrap_err().to_string().contains("on CUDA GPU 0"));
    let fit = TopicModel::new(1)
        .solver(Solver::auto())
        .quiet()
        .fit(&counts)
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    fit.save(folder.path().join("fit.safetensors")).unwrap();
    let loaded = Fit::load(folder.path().join("fit.safetensors")).unwrap();
    assert_eq!(loaded.settings(), fit.settings());
}
