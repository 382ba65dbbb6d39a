//! Checkpoints, resuming, and fits in the background.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use testkit::{Tmpfs, one_test, refused, wait_for};
use topicbook::{
    Checkpoint, Counts, Device, ErrorKind, Fit, MiniBatch, Solver, Synthetic, Terms, TopicModel,
    Training,
};

pub const DOCUMENTS: usize = 200;
pub const TERMS: usize = 60;

pub fn counts() -> Counts {
    crate::drawn([DOCUMENTS, TERMS, 3], 500, 4).counts()
}

fn steps() -> MiniBatch {
    // A number whose last bit an inexact conversion to and from JSON changes.
    let rate = 0.050_000_000_000_000_1 / 3.0 * 3.1;
    Solver::mini_batch().t_0(3).max_lr(rate)
}

fn model() -> TopicModel {
    TopicModel::new(3)
        .epochs(10)
        .solver(steps())
        .seed(1)
        .device(Device::Cpu)
        .quiet()
}

/// The bits of what each epoch computed.
fn epochs(fit: &Fit) -> Vec<[u64; 3]> {
    let epochs = fit.epochs();
    let values = epochs.iter().map(|epoch| {
        [
            epoch.loss,
            epoch.log_likelihood_per_token,
            epoch.learning_rate,
        ]
    });
    values.map(|values| values.map(f64::to_bits)).collect()
}

#[track_caller]
pub fn assert_same(a: &Fit, b: &Fit) {
    assert!(a.l() == b.l(), "L differs");
    assert!(a.f() == b.f(), "F differs");
    assert_eq!(epochs(a), epochs(b));
    assert_eq!(a.settings(), b.settings());
}

/// Where the checkpoint before the last one is kept.
pub fn previous(path: &Path) -> PathBuf {
    path.with_extension("checkpoint.previous")
}

#[test]
fn a_resumed_fit_equals_the_uninterrupted_one() {
    let counts = counts();
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    let names = Terms::new((0..TERMS).map(|term| format!("term \"{term}\""))).unwrap();
    for t_mult in [1, 2] {
        let model = model().solver(steps().t_mult(t_mult)).terms(names.clone());
        let whole = model.fit(&counts).unwrap();
        for interrupted in [1, 3, 8] {
            let part = model.clone().epochs(interrupted).checkpoint(&path);
            part.fit(&counts).unwrap();
            let checkpoint = Checkpoint::open(&path).unwrap();
            assert_eq!(checkpoint.epochs_done(), interrupted);
            let resumed = checkpoint.epochs(10).quiet().fit(&counts).unwrap();
            assert_same(&resumed, &whole);
            #[cfg(feature = "polars")]
            assert_eq!(
                format!("{:?}", resumed.top_terms(3)),
                format!("{:?}", whole.top_terms(3))
            );
        }
        // Resuming the checkpoint of a complete fit returns that fit.
        let complete = Checkpoint::open(&path).unwrap();
        assert_same(&complete.quiet().fit(&counts).unwrap(), &whole);
    }
    // The folder has the last two checkpoints and no other file; a checkpoint is not larger than its tables.
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let tables = 3 * 4 * 3 * (DOCUMENTS + TERMS) as u64;
    assert!(fs::metadata(&path).unwrap().len() < tables + 8_000);
}

#[test]
fn a_stopped_fit_keeps_its_progress() {
    // What evcxr requires of a variable that a notebook keeps between cells.
    fn assert_can_be_a_notebook_variable<T: Send + 'static>(_: &T) {}
    let counts = counts();
    let (_folder, path) = testkit::temp_path("fit.checkpoint");
    let endless = model().epochs(1_000_000);
    let training: Training = endless.clone().checkpoint(&path).spawn(&counts).unwrap();
    assert_can_be_a_notebook_variable(&training);
    wait_for("second epoch", || training.epochs_done() >= 2);
    assert!(!training.is_finished());
    let card = training.to_string();
    testkit::assert_has(&card, ["running", "time left"]);
    #[cfg(feature = "charts")]
    assert!(training.plot_loss().to_png().is_ok());
    training.stop();
    wait_for("end", || training.is_finished());
    assert!(training.to_string().contains("stopped"));
    let stopped = training.join().unwrap();
    let epochs = stopped.epochs().len();
    assert!((2..1_000_000).contains(&epochs));
    for document in 0..DOCUMENTS {
        let sum: f32 = stopped.l().row(document).iter().sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }

    let checkpoint = Checkpoint::open(&path).unwrap();
    assert_eq!(checkpoint.epochs_done(), epochs);
    let resumed = checkpoint.epochs(epochs + 2).spawn(&counts).unwrap();
    let resumed = resumed.join().unwrap();
    let whole = endless.epochs(epochs + 2).fit(&counts).unwrap();
    assert_same(&resumed, &whole);
}

#[test]
fn a_fit_is_stopped_and_resumed_within_an_epoch() {
    let counts = counts();
    let (_folder, path) = testkit::temp_path("fit.checkpoint");
    // An epoch has 200 batches, and the fit can stop after every 64 of them. Where it stops depends on timing: repeat.
    let model = model().epochs(30).batch_size(1);
    let whole = model.fit(&counts).unwrap();
    let mut training = model.checkpoint(&path).spawn(&counts).unwrap();
    for _ in 0..10 {
        training.stop();
        training.join().unwrap();
        training = resume(&path).spawn(&counts).unwrap();
    }
    assert_same(&training.join().unwrap(), &whole);
}

#[test]
fn dropping_the_handle_stops_the_fit() {
    let (_folder, path) = testkit::temp_path("fit.checkpoint");
    let endless = model().epochs(1_000_000).checkpoint(&path);
    drop(endless.spawn(counts()).unwrap());
    // A stopping fit writes its checkpoint last.
    wait_for("checkpoint", || path.exists());
    // Impossible settings are refused by `spawn` itself.
    refused! { model().epochs(0).spawn(counts()) => Setting; }
}

const CHILD: &str = "TOPICBOOK_TEST_CHILD";

/// Run by the next test in a process that it kills; does nothing otherwise.
#[test]
fn endless_fit() {
    if let Some(path) = std::env::var_os(CHILD) {
        let endless = model().epochs(1_000_000).checkpoint(path);
        endless.fit(counts()).unwrap();
    }
}

#[test]
fn a_fit_is_resumed_after_its_process_was_killed() {
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    let mut child = one_test("resume::endless_fit")
        .env(CHILD, &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("second checkpoint", || previous(&path).exists());
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());

    // The next checkpoint writer removes temporary files of killed processes, and no other file.
    let (stale, other) = (".topicbook-0123456789abcdef.part", ".topicbook-mine.part");
    for name in [stale, other] {
        let mut file = fs::File::create(folder.path().join(name)).unwrap();
        file.write_all(b"partly written").unwrap();
        // A file of the last minute may be one that is being written.
        let before = SystemTime::now() - Duration::from_secs(120);
        file.set_modified(before).unwrap();
    }
    let checkpoint = Checkpoint::open(&path).unwrap();
    let epochs = checkpoint.epochs_done() + 3;
    let counts = counts();
    let resumed = checkpoint.epochs(epochs).quiet().fit(&counts).unwrap();
    let whole = model().epochs(epochs).fit(&counts).unwrap();
    assert_same(&resumed, &whole);
    assert!(!folder.path().join(stale).exists() && folder.path().join(other).exists());
}

/// Writes checkpoints after 2 and after 4 epochs; returns the path of the last one, and the fit.
fn two_checkpoints(folder: &Path) -> (PathBuf, Fit) {
    let path = folder.join("fit.checkpoint");
    let model = model().epochs(2).checkpoint(&path);
    model.fit(counts()).unwrap();
    let fit = resume(&path).epochs(4).fit(counts()).unwrap();
    (path, fit)
}

/// Opens a checkpoint for a fit that prints nothing.
pub fn resume(path: &Path) -> Checkpoint {
    Checkpoint::open(path).unwrap().quiet()
}

#[test]
fn the_previous_checkpoint_replaces_a_damaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fit) = two_checkpoints(folder.path());
    assert_eq!(resume(&path).epochs_done(), 4);
    let intact = fs::read(&path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = intact.clone();
        bytes[at] ^= 1;
        bytes
    };
    let metadata = intact.windows(5).position(|w| w == b"steps").unwrap() + 8;
    let damaged = [
        intact[..intact.len() - 1].to_vec(),
        intact[..intact.len() / 2].to_vec(),
        intact[..100].to_vec(),
        Vec::new(),
        flipped(intact.len() - 100),
        flipped(metadata),
    ];
    for bytes in damaged {
        fs::write(&path, &bytes).unwrap();
        let checkpoint = resume(&path);
        assert_eq!(checkpoint.epochs_done(), 2);
        // The intact checkpoint is kept when the damaged one is overwritten.
        let resumed = checkpoint.epochs(4).fit(counts()).unwrap();
        assert_same(&resumed, &fit);
        assert_eq!(resume(&previous(&path)).epochs_done(), 2);
        assert_eq!(resume(&path).epochs_done(), 4);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(resume(&path).epochs_done(), 2);
    fs::write(&path, &intact[..100]).unwrap();
    fs::write(previous(&path), b"").unwrap();
    refused! { Checkpoint::open(&path) => Format; }
}

#[test]
fn a_checkpoint_refuses_other_counts_settings_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fit) = two_checkpoints(folder.path());
    let reversed: Vec<usize> = (0..DOCUMENTS).rev().collect();
    let others = [
        Synthetic::new(DOCUMENTS, TERMS, 3)
            .seed(5)
            .generate()
            .unwrap()
            .counts(),
        Synthetic::new(DOCUMENTS, 50, 3)
            .generate()
            .unwrap()
            .counts(),
        counts().select(&reversed).unwrap(),
    ];
    for other in others {
        refused! { resume(&path).fit(other) => Shape; }
    }
    refused! {
        resume(&path).epochs(3).fit(counts()) => Setting;
        Checkpoint::open(folder.path().join("missing")) => Io;
    }
    // A saved fit is not a checkpoint, a checkpoint is not a saved fit, and a checkpoint does not overwrite a saved
    // fit.
    let saved = folder.path().join("fit.safetensors");
    fit.save(&saved).unwrap();
    refused! {
        Checkpoint::open(&saved) => Format;
        Fit::load(&path) => Format;
    }
    for unusable in [
        saved,
        folder.path().join("no folder").join("x"),
        folder.path().into(),
    ] {
        refused! { model().checkpoint(unusable).fit(counts()) => Io; }
    }
    // A new fit replaces both checkpoints of an older one.
    model().epochs(1).checkpoint(&path).fit(counts()).unwrap();
    assert_eq!(resume(&path).epochs_done(), 1);
    assert!(!previous(&path).exists());
}

#[test]
fn a_full_disk_stops_the_checkpoints_but_not_the_fit() {
    let Some(disk) = Tmpfs::or_skip("8m") else {
        return;
    };
    let path = disk.path().join("fit.checkpoint");
    // Slow epochs, so that the history does not fill the disk before the first checkpoint.
    let corpus = Synthetic::new(2_000, TERMS, 3).seed(4).generate().unwrap();
    let endless = model().epochs(1_000_000).batch_size(1).checkpoint(&path);
    let training = endless.spawn(corpus.counts()).unwrap();
    wait_for("checkpoint", || path.exists());
    // Fails once the disk is full, which is the purpose.
    let _ = fs::write(disk.path().join("other"), vec![1; 16 << 20]);
    wait_for("note", || {
        training.to_string().contains("the fit continues")
    });
    let card = training.to_string();
    assert!(card.contains("running"), "{card}");
    assert_eq!(card.matches("the fit continues").count(), 1, "{card}");
    training.stop();
    let fit = training.join().unwrap();
    let saved = resume(&path).epochs_done();
    assert!(saved < fit.epochs().len());
    let files = fs::read_dir(disk.path()).unwrap().count();
    assert!(files <= 3, "a partly written checkpoint is left");
}

#[test]
#[ignore = "writes the corpus of the fuzz targets `checkpoint`, `fit` and `settings`"]
fn write_the_fuzz_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/fuzz/corpus");
    let counts = Counts::dense(4, 3, vec![1u8, 0, 2, 3, 1, 0, 0, 5, 1, 2, 2, 2]).unwrap();
    for (name, solver) in [
        ("mini-batch", Solver::default()),
        ("em", Solver::em()),
        ("coordinate-descent", Solver::coordinate_descent()),
        ("auto", Solver::auto()),
    ] {
        let checkpoint = corpus.join("checkpoint").join(name);
        let saved = corpus.join("fit").join(format!("{name}.safetensors"));
        let model = TopicModel::new(2).solver(solver).epochs(2).quiet();
        let fit = model.checkpoint(&checkpoint).fit(&counts).unwrap();
        fit.save(&saved).unwrap();
        let settings = serde_json::to_vec(&fit.settings()).unwrap();
        fs::write(corpus.join("settings").join(name), settings).unwrap();
        for whole in [checkpoint, saved] {
            let bytes = fs::read(&whole).unwrap();
            let malformed = whole.with_file_name("malformed");
            fs::write(malformed.join(format!("{name}-cut")), &bytes[..100]).unwrap();
            fs::write(malformed.join("empty"), b"").unwrap();
        }
    }
}
