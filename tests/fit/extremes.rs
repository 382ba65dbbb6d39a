//! Settings and counts at the ends of their ranges: every fit gives a value or an error that names what to change.

use std::ops::ControlFlow;
use std::path::Path;

use topicbook::{Budget, Checkpoint, Counts, Error, ErrorKind, Fit, Reading, Solver, TopicModel};

const DOCUMENTS: usize = 6;
const TERMS: usize = 7;

const SIZES: [usize; 12] = [
    0,
    1,
    DOCUMENTS - 1,
    DOCUMENTS,
    DOCUMENTS + 1,
    TERMS,
    TERMS + 1,
    1 << 32,
    1 << 62,
    1 << 63,
    usize::MAX - 1,
    usize::MAX,
];

const NUMBERS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::MIN_POSITIVE,
    1e-300,
    1e30,
    1e300,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The same counts in memory, in a file of rows and in an archive.
fn counts(folder: &Path) -> [Counts; 3] {
    let value = |at: usize| (at * at % 5) as u8;
    let values: Vec<u8> = (0..DOCUMENTS * TERMS).map(value).collect();
    let memory = Counts::dense(DOCUMENTS, TERMS, values).unwrap();
    let rows = memory.write_npy(folder.join("X.npy")).unwrap();
    let archive = memory.write_npz(folder.join("X.npz")).unwrap();
    [memory, rows, archive]
}

/// A model that ends after three epochs, however many it is given.
fn model(solver: &Solver) -> TopicModel {
    let stop = |epoch: &topicbook::Epoch| match epoch.epoch {
        ..3 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    TopicModel::new(2)
        .epochs(4)
        .solver(solver)
        .on_epoch(stop)
        .quiet()
}

fn check(what: &str, outcome: Result<Fit, Error>) {
    match outcome {
        Ok(fit) => check_fit(what, &fit),
        Err(error) => {
            let named = [
                ErrorKind::Setting,
                ErrorKind::Space,
                ErrorKind::Shape,
                ErrorKind::Value,
            ];
            assert!(named.contains(&error.kind()), "{what}: {error}");
            assert!(error.remedy().is_some(), "{what}: {error}");
        }
    }
}

fn check_fit(what: &str, fit: &Fit) {
    assert!(fit.loss().is_some_and(f64::is_finite), "{what}");
    for table in [fit.l(), fit.f()] {
        for row in (0..table.rows()).map(|row| table.row(row)) {
            let sum: f32 = row.iter().sum();
            assert!((sum - 1.0).abs() < 1e-4, "{what}: a row sums to {sum}");
        }
    }
}

fn check_model(what: &str, model: &TopicModel, counts: &Counts) {
    check(what, model.plan(counts).and_then(|plan| plan.fit()));
    check(what, model.fit(counts));
}

type Change = fn(&TopicModel, usize) -> TopicModel;

const SIZED: [(&str, Change); 5] = [
    ("epochs", |model, size| model.epochs(size)),
    ("seed", |model, size| model.seed(size as u64)),
    ("batch_size", |model, size| model.batch_size(size)),
    ("budget", |model, size| {
        model.budget(Budget::new().ram(size as u64).unwrap_or_default())
    }),
    ("k", |model, size| {
        let mut settings = model.settings();
        settings.topics = size;
        TopicModel::from_settings(settings).epochs(3).quiet()
    }),
];

#[test]
fn sizes_at_the_ends_of_their_ranges() {
    let folder = tempfile::tempdir().unwrap();
    for counts in counts(folder.path()) {
        for solver in crate::many::solvers() {
            for (name, change) in SIZED {
                for size in SIZES {
                    let what = format!("{counts}, {solver}, {name} = {size}");
                    check_model(&what, &change(&model(&solver), size), &counts);
                }
            }
        }
        for size in SIZES {
            let steps = Solver::mini_batch();
            for (name, steps) in [("t_0", steps.t_0(size)), ("t_mult", steps.t_mult(size))] {
                let what = format!("{counts}, {name} = {size}");
                check_model(&what, &model(&steps.into()), &counts);
            }
        }
    }
}

#[test]
fn streams_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    for counts in counts(folder.path()) {
        for solver in crate::many::solvers() {
            for block in SIZES {
                for blocks in SIZES {
                    let reading = Reading::Stream { block, blocks };
                    let what = format!("{counts}, {solver}, {reading:?}");
                    let model = model(&solver).reading(reading);
                    check(&what, model.fit(&counts));
                    if !matches!(solver, Solver::MiniBatch(_)) {
                        continue;
                    }
                    for batch_size in [1, DOCUMENTS + 1, usize::MAX] {
                        let what = format!("{what}, batches of {batch_size}");
                        check(&what, model.batch_size(batch_size).fit(&counts));
                    }
                }
            }
        }
    }
}

#[test]
fn numbers_at_the_ends_of_their_ranges() {
    let folder = tempfile::tempdir().unwrap();
    for counts in counts(folder.path()) {
        for number in NUMBERS {
            for solver in crate::many::solvers() {
                let what = format!("{counts}, {solver}, tolerance = {number}");
                let model = model(&solver).tolerance(number);
                check(&what, model.fit(&counts));
            }
            let steps = Solver::mini_batch();
            for (name, steps) in [
                ("max_lr", steps.max_lr(number)),
                ("base_lr", steps.base_lr(number)),
                ("both rates", steps.base_lr(number).max_lr(number)),
                ("weight_decay", steps.weight_decay(number)),
            ] {
                let what = format!("{counts}, {name} = {number}");
                check(&what, model(&steps.into()).fit(&counts));
            }
        }
    }
}

/// A learning rate at which gradient steps destroy the tables is an error that names it.
#[test]
fn a_learning_rate_that_destroys_the_tables_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let [memory, rows, _] = counts(folder.path());
    let stream = Reading::Stream {
        block: 2,
        blocks: 2,
    };
    for (counts, reading) in [(&memory, Reading::InPlace), (&rows, stream)] {
        for (rate, decay) in [(1e30, 1e-5), (1e30, 0.0), (1e9, 0.0), (1e300, 1e-5)] {
            let steps = Solver::mini_batch().max_lr(rate).weight_decay(decay);
            let model = model(&steps.into()).reading(reading);
            let error = model.fit(counts).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Setting, "{error}");
            assert!(error.to_string().contains("has diverged"), "{error}");
            assert!(error.remedy().unwrap().contains("max_lr"), "{error}");
        }
    }
}

/// Counts that no solver can compute with are refused as counts.
#[test]
fn counts_beyond_single_precision_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for largest in [1e19, 1e38, 1e300, f64::MAX] {
        let mut values = vec![1.0; DOCUMENTS * TERMS];
        values[8] = largest;
        let memory = Counts::dense(DOCUMENTS, TERMS, values).unwrap();
        let file = memory.write_npy(folder.path().join("large.npy")).unwrap();
        for counts in [memory, file] {
            for solver in crate::many::solvers() {
                let error = model(&solver).fit(&counts).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Value, "{error}");
                let text = error.to_string();
                assert!(
                    text.contains("tokens") || text.contains("too large"),
                    "{text}"
                );
            }
        }
    }
    let many = Counts::csr(1, usize::MAX, vec![0, 1], vec![0], vec![1.0]).unwrap_err();
    assert_eq!(many.kind(), ErrorKind::Shape);
    testkit::assert_has(many.remedy().unwrap(), ["4,294,967,295 terms"]);
}

/// A checkpoint keeps settings of any size, and the fit resumes from it.
#[test]
fn a_checkpoint_of_extreme_settings_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let [_, rows, _] = counts(folder.path());
    let path = folder.path().join("fit.checkpoint");
    let huge = Reading::Stream {
        block: 1 << 32,
        blocks: 1 << 32,
    };
    for size in [1, 1 << 62, 1 << 63, usize::MAX] {
        for reading in [Reading::InPlace, huge] {
            let steps = Solver::mini_batch().batch_size(size).t_0(size);
            let model = TopicModel::new(2).solver(steps.t_mult(size));
            let model = model.seed(size as u64).reading(reading).quiet();
            let whole = model.epochs(5).fit(&rows).unwrap();
            model.epochs(2).checkpoint(&path).fit(&rows).unwrap();
            let resumed = Checkpoint::open(&path).unwrap().epochs(5).quiet();
            let resumed = resumed.fit(&rows).unwrap();
            assert!(resumed.l() == whole.l(), "{size}, {reading:?}");
            std::fs::remove_file(&path).unwrap();
        }
    }
}
