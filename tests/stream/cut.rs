//! Files that lose their pages while they are mapped: an error with the file's name, and the process continues.

use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use memmap2::Mmap;
use testkit::{one_test, wait_for};
use topicbook::{
    Checkpoint, Counts, Device, Error, ErrorKind, Optimizer, Reading, Solver, Synthetic, TopicModel,
};

/// Writes counts that take a while to pass over, and returns their path and length.
fn write_counts(folder: &Path) -> (PathBuf, u64) {
    let path = folder.join("X.npy");
    let recipe = Synthetic::new(2000, 1000, 4).avg_doc_length(100).seed(4);
    recipe.write_npy(&path).unwrap();
    let length = fs::metadata(&path).unwrap().len();
    (path, length)
}

pub fn cut(path: &Path, length: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

#[track_caller]
fn assert_names_the_file(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("X.npy") && text.contains("bytes long when it was opened"),
        "{error}"
    );
    assert!(error.remedy().is_some(), "{error}");
}

#[test]
fn a_file_cut_during_a_fit_in_place_is_an_error() {
    let model = TopicModel::new(4)
        .epochs(1_000_000)
        .device(Device::Cpu)
        .quiet();
    let model = model.reading(Reading::InPlace).seed(1);
    let models = [
        ("AdamW", model.clone()),
        (
            "row-wise",
            model.solver(Solver::mini_batch().optimizer(Optimizer::RowwiseAdamW)),
        ),
        ("EM", model.solver(Solver::em()).tolerance(0.0)),
        (
            "descent",
            model.solver(Solver::coordinate_descent()).tolerance(0.0),
        ),
        ("auto", model.solver(Solver::auto()).tolerance(0.0)),
    ];
    for (name, model) in models {
        for halves in [0, 1] {
            let folder = tempfile::tempdir().unwrap();
            let (path, length) = write_counts(folder.path());
            let whole = fs::read(&path).unwrap();
            let saved = folder.path().join("checkpoint");
            let training = model
                .checkpoint(&saved)
                .spawn(Counts::open(&path).unwrap())
                .unwrap();
            wait_for("two epochs", || {
                training.epochs_done() > 1 && saved.exists()
            });
            cut(&path, length / 2 * halves);
            let error = training.join().unwrap_err();
            assert_names_the_file(&error);
            // What was read of lost pages has not come into the checkpoint: it resumes as if nothing had happened.
            fs::write(&path, &whole).unwrap();
            let counts = Counts::open(&path).unwrap();
            let checkpoint = Checkpoint::open(&saved).unwrap().quiet();
            let epochs = checkpoint.epochs_done() + 1;
            let resumed = checkpoint.epochs(epochs).fit(&counts).unwrap();
            assert!(resumed.loss().unwrap().is_finite(), "{name}");
        }
    }
}

#[test]
fn a_file_cut_before_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (path, length) = write_counts(folder.path());
    let counts = Counts::open(&path).unwrap();
    let fit = TopicModel::new(2).epochs(1).quiet().fit(&counts).unwrap();
    cut(&path, length / 2);
    for error in [
        fit.score(&counts).map(drop),
        fit.transform(&counts).map(drop),
        Counts::summary(&counts)
            .map(drop)
            .and(counts.select([1999]).map(drop)),
        counts.fill_rows(&[0], &mut [0.0; 1000]),
        counts.write_npz(folder.path().join("Y.npz")).map(drop),
        TopicModel::new(2).epochs(1).quiet().fit(&counts).map(drop),
    ] {
        assert_names_the_file(&error.unwrap_err());
    }
}

const CHILD: &str = "TOPICBOOK_TEST_CHILD";

/// Run by the next test in a process of its own; does nothing otherwise.
#[test]
fn fault_elsewhere() {
    let Some(folder) = std::env::var_os(CHILD) else {
        return;
    };
    // The library maps a file, and so installs its handler.
    let (path, _) = write_counts(Path::new(&folder));
    let counts = Counts::open(path).unwrap();
    let other = Path::new(&folder).join("other");
    fs::write(&other, vec![1; 1 << 16]).unwrap();
    let file = File::open(&other).unwrap();
    // SAFETY: the map is read once, and the process is to die of it.
    let map = unsafe { Mmap::map(&file) }.unwrap();
    cut(&other, 0);
    println!("{} {}", black_box(&map)[1 << 15], counts.documents());
}

#[test]
fn a_fault_elsewhere_still_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let child = one_test("cut::fault_elsewhere")
        .env(CHILD, folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    const SIGBUS: i32 = 7;
    assert_eq!(child.signal(), Some(SIGBUS), "{child}");
}
