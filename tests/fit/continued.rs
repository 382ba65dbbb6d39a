//! Every solver continues from a checkpoint with the bits of an uninterrupted fit, and with no other counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use testkit::{Random, one_test, wait_for};
use topicbook::{
    Checkpoint, Counts, Device, ErrorKind, Fit, Reading, Solver, Synthetic, TopicModel,
};

use super::resume::{assert_same, previous, resume};

const STREAM: Reading = Reading::Stream {
    block: 16,
    blocks: 3,
};

/// Every solver with every reading that differs.
fn all() -> [(Solver, Reading); 7] {
    [
        (Solver::default(), Reading::InPlace),
        (Solver::default(), STREAM),
        (Solver::em(), Reading::InPlace),
        (Solver::em(), STREAM),
        (Solver::coordinate_descent(), Reading::InPlace),
        (Solver::coordinate_descent(), STREAM),
        (Solver::auto(), Reading::InPlace),
    ]
}

/// A model that does not stop before its last epoch.
fn model(k: usize, (solver, reading): (Solver, Reading)) -> TopicModel {
    let full_pass = solver != Solver::default();
    let model = TopicModel::new(k)
        .solver(solver)
        .reading(reading)
        .device(Device::Cpu)
        .seed(5)
        .quiet();
    match full_pass {
        true => model.tolerance(0.0),
        false => model.batch_size(16),
    }
}

/// Counts of a file in `folder`, for streams.
fn counts(folder: &Path) -> Counts {
    let corpus = Synthetic::new(90, 40, 4).avg_doc_length(150).seed(8);
    let counts = corpus.generate().unwrap().counts();
    counts.write_npy(folder.join("X.npy")).unwrap()
}

fn on_threads<T: Send>(number: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number).build();
    pool.unwrap().install(work)
}

#[test]
fn every_solver_continues_with_the_same_bits() {
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    let counts = counts(folder.path());
    for case in all() {
        for k in [1, 4] {
            let model = model(k, case.clone());
            let whole = on_threads(2, || model.clone().epochs(20).fit(&counts).unwrap());
            for (interrupted, threads) in [(7, 1), (13, 5), (20, 2)] {
                let part = model.clone().epochs(interrupted).checkpoint(&path);
                on_threads(threads, || part.fit(&counts).unwrap());
                let rest = resume(&path).epochs(20);
                let resumed = on_threads(6 - threads, || rest.fit(&counts).unwrap());
                assert_same(&resumed, &whole);
            }
        }
    }
}

#[test]
fn a_search_continues_wherever_it_was_interrupted() {
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    let counts = counts(folder.path());
    let model = model(5, (Solver::auto(), Reading::InPlace));
    const EPOCHS: usize = 400;
    let whole = model.clone().epochs(EPOCHS).fit(&counts).unwrap();
    // Without a candidate and with one.
    let mut seen = [false; 2];
    for interrupted in (1..EPOCHS).step_by(11) {
        let part = model.clone().epochs(interrupted).checkpoint(&path);
        part.fit(&counts).unwrap();
        let file = fs::read(&path).unwrap();
        let has = |name: &str| file.windows(name.len()).any(|part| part == name.as_bytes());
        seen[usize::from(has("candidate_best_l"))] = true;
        assert_same(&resume(&path).epochs(EPOCHS).fit(&counts).unwrap(), &whole);
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn a_resumed_fit_converges_where_the_uninterrupted_one_does() {
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    let counts = counts(folder.path());
    for solver in [Solver::em(), Solver::coordinate_descent()] {
        let model = model(3, (solver, Reading::InPlace)).tolerance(1e-5);
        let whole = model.clone().epochs(2_000).fit(&counts).unwrap();
        let last = whole.epochs().len();
        assert!(last < 2_000, "{last}");
        for interrupted in [last - 1, last, last + 1] {
            let part = model.clone().epochs(interrupted).checkpoint(&path);
            part.fit(&counts).unwrap();
            let resumed = resume(&path).epochs(2_000).fit(&counts).unwrap();
            assert_same(&resumed, &whole);
        }
    }
}

/// The counts with rows and columns moved: value (row, column) comes from `from(row, column)`.
fn moved(counts: &Counts, from: impl Fn(usize, usize) -> (usize, usize)) -> Counts {
    let (documents, terms) = counts.shape();
    let all: Vec<usize> = (0..documents).collect();
    let mut values = vec![0.0; documents * terms];
    counts.fill_rows(&all, &mut values).unwrap();
    let value = |at| {
        let (row, column) = from(at / terms, at % terms);
        values[row * terms + column]
    };
    let values = (0..values.len()).map(value).collect::<Vec<f32>>();
    Counts::dense(documents, terms, values).unwrap()
}

#[test]
fn a_checkpoint_knows_its_counts_by_their_contents() {
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    // More terms than are hashed at once.
    let corpus = Synthetic::new(50, 700, 3).avg_doc_length(900).seed(8);
    let counts = corpus.generate().unwrap().counts();
    let model = model(2, (Solver::em(), Reading::InPlace));
    model.epochs(2).checkpoint(&path).fit(&counts).unwrap();
    let (documents, terms) = counts.shape();
    let continued = |counts: &Counts| resume(&path).epochs(3).fit(counts);

    let others = [
        moved(&counts, |row, column| (row, terms - 1 - column)),
        moved(&counts, |row, column| (row, (column + row) % terms)),
        moved(&counts, |row, column| (documents - 1 - row, column)),
        // One document whose counts of two terms are exchanged: all sums are the same.
        moved(&counts, |row, column| match (row, column) {
            (7, 699) => (7, different(&counts, 7)),
            (7, other) if other == different(&counts, 7) => (7, 699),
            _ => (row, column),
        }),
    ];
    for other in others {
        testkit::refused! { continued(&other) => Shape, "belongs to other counts"; }
    }

    let name = |name: &str| folder.path().join(name);
    let whole = continued(&counts).unwrap();
    let same = [
        moved(&counts, |row, column| (row, column)),
        counts.write_npy(name("X.npy")).unwrap(),
        counts.write_npz(name("X.npz")).unwrap(),
        Counts::open(name("X.npz")).unwrap(),
    ];
    for same in same {
        model
            .clone()
            .epochs(2)
            .checkpoint(&path)
            .fit(&counts)
            .unwrap();
        assert_same(&continued(&same).unwrap(), &whole);
        model
            .clone()
            .epochs(2)
            .checkpoint(&path)
            .fit(&same)
            .unwrap();
        assert_same(&continued(&counts).unwrap(), &whole);
    }
}

/// A column of `row` whose count differs from the last one's.
fn different(counts: &Counts, row: usize) -> usize {
    let mut values = vec![0.0; counts.terms()];
    counts.fill_rows(&[row], &mut values).unwrap();
    let last = values[values.len() - 1];
    values.iter().position(|value| *value != last).unwrap()
}

const CHILD: &str = "TOPICBOOK_TEST_KILLED";
const FILES: &str = "TOPICBOOK_TEST_FILES";

/// Where the fit of a case writes its checkpoints.
fn checkpoint_of(folder: &Path, case: usize) -> PathBuf {
    folder.join(format!("{case}.checkpoint"))
}

/// Counts whose epochs take a few milliseconds.
fn larger_counts(folder: &Path) -> Counts {
    let file = folder.join("large.npy");
    match file.exists() {
        true => Counts::open(file).unwrap(),
        false => {
            let corpus = Synthetic::new(1_500, 300, 4).avg_doc_length(150).seed(8);
            corpus.write_npy(file).unwrap().counts()
        }
    }
}

/// Run by the next test in processes that it kills; does nothing otherwise.
#[test]
fn endless_fit_of_a_case() {
    let (Some(case), Some(folder)) = (std::env::var_os(CHILD), std::env::var_os(FILES)) else {
        return;
    };
    let (folder, case) = (Path::new(&folder), case.to_str().unwrap().parse().unwrap());
    let (counts, path) = (larger_counts(folder), checkpoint_of(folder, case));
    let fit = match Checkpoint::open(&path) {
        Ok(checkpoint) => checkpoint.epochs(1_000_000).quiet().fit(&counts),
        Err(_) => {
            let model = model(4, all()[case].clone()).epochs(1_000_000);
            model.checkpoint(&path).fit(&counts)
        }
    };
    fit.unwrap();
}

#[test]
fn kills_at_random_moments_change_no_bit() {
    const KILLS: usize = 3;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let counts = larger_counts(folder);
    let kill = |case: usize| {
        let path = checkpoint_of(folder, case);
        let mut random = Random::new(case as u64);
        let mut before = 0;
        for _ in 0..KILLS {
            let mut child = one_test("continued::endless_fit_of_a_case")
                .env(CHILD, case.to_string())
                .env(FILES, folder)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let done = || Checkpoint::open(&path).map_or(0, |found| found.epochs_done());
            wait_for("checkpoint", || {
                // A child that ended by itself would be waited for in vain.
                assert!(child.try_wait().unwrap().is_none(), "case {case} failed");
                thread::sleep(Duration::from_millis(20));
                done() > before
            });
            thread::sleep(Duration::from_secs_f64(1.2 * random.uniform()));
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success());
            before = done();
        }
    };
    // At the same time: most of it is waiting for checkpoints.
    thread::scope(|scope| {
        for case in 0..all().len() {
            scope.spawn(move || kill(case));
        }
    });
    for (case, solver) in all().into_iter().enumerate() {
        let path = checkpoint_of(folder, case);
        assert!(previous(&path).exists());
        let checkpoint = resume(&path);
        let epochs = checkpoint.epochs_done() + 2;
        let resumed = checkpoint.epochs(epochs).fit(&counts).unwrap();
        let whole: Fit = model(4, solver).epochs(epochs).fit(&counts).unwrap();
        assert_same(&resumed, &whole);
    }
}
