//! A fit that survives: checkpoints, resuming, fits in the background.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use topicbook::{
    Checkpoint, Counts, Device, ErrorKind, Fit, Synthetic, Terms, TopicModel, Training,
};

const DOCUMENTS: usize = 200;
const TERMS: usize = 60;

fn counts() -> Counts {
    Synthetic::new(DOCUMENTS, TERMS, 3)
        .avg_doc_length(500)
        .seed(4)
        .generate()
        .unwrap()
        .counts()
}

fn model() -> TopicModel {
    TopicModel::new(3)
        .epochs(10)
        .t_0(3)
        // A number that a careless way through JSON would change in its last bit.
        .max_lr(0.050_000_000_000_000_1 / 3.0 * 3.1)
        .seed(1)
        .device(Device::Cpu)
        .quiet()
}

fn column(fit: &Fit, name: &str) -> Vec<u64> {
    let history = fit.history();
    let column = history.column(name).unwrap().f64().unwrap();
    column.into_no_null_iter().map(f64::to_bits).collect()
}

#[track_caller]
fn assert_same(a: &Fit, b: &Fit) {
    assert!(a.l() == b.l(), "L differs");
    assert!(a.f() == b.f(), "F differs");
    for name in ["loss", "log_likelihood_per_token", "learning_rate"] {
        assert_eq!(column(a, name), column(b, name), "{name}");
    }
    assert_eq!(a.settings(), b.settings());
}

fn previous(path: &Path) -> PathBuf {
    path.with_extension("checkpoint.previous")
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_resumed_fit_is_the_uninterrupted_one() {
    let counts = counts();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let names = Terms::new((0..TERMS).map(|term| format!("term \"{term}\"")).collect()).unwrap();
    for t_mult in [1, 2] {
        let model = model().t_mult(t_mult).terms(names.clone());
        let whole = model.fit(&counts).unwrap();
        for interrupted in [1, 3, 8] {
            let part = model.clone().epochs(interrupted).checkpoint(&path);
            part.fit(&counts).unwrap();
            let checkpoint = TopicModel::resume(&path).unwrap();
            assert_eq!(checkpoint.epochs_done(), interrupted);
            let resumed = checkpoint.epochs(10).quiet().fit(&counts).unwrap();
            assert_same(&resumed, &whole);
            assert_eq!(
                format!("{:?}", resumed.top_terms(3)),
                format!("{:?}", whole.top_terms(3))
            );
        }
        // The checkpoint of a fit that has come to its end gives it back.
        let again = TopicModel::resume(&path).unwrap();
        assert_same(&again.quiet().fit(&counts).unwrap(), &whole);
    }
    // Nothing else is left beside the two files, and each has its size.
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let tables = 3 * 4 * 3 * (DOCUMENTS + TERMS) as u64;
    assert!(fs::metadata(&path).unwrap().len() < tables + 8_000);
}

#[test]
fn a_stopped_fit_keeps_what_it_learned() {
    fn held_by_a_notebook<T: Send + 'static>(_: &T) {}
    let counts = counts();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let endless = model().epochs(1_000_000);
    let training: Training = endless.clone().checkpoint(&path).spawn(&counts).unwrap();
    held_by_a_notebook(&training);
    wait_for("second epoch", || training.epochs_done() >= 2);
    assert!(!training.is_finished());
    let card = format!("{training:?}");
    assert!(
        card.contains("running") && card.contains("time left"),
        "{card}"
    );
    assert!(training.plot_loss().to_png().is_ok());
    training.stop();
    wait_for("end", || training.is_finished());
    assert!(format!("{training:?}").contains("stopped"));
    let stopped = training.join().unwrap();
    let epochs = stopped.history().height();
    assert!((2..1_000_000).contains(&epochs));
    for document in 0..DOCUMENTS {
        let sum: f32 = stopped.l().row(document).iter().sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }

    let checkpoint = TopicModel::resume(&path).unwrap();
    assert_eq!(checkpoint.epochs_done(), epochs);
    let resumed = checkpoint.epochs(epochs + 2).spawn(&counts).unwrap();
    let resumed = resumed.join().unwrap();
    let whole = endless.epochs(epochs + 2).fit(&counts).unwrap();
    assert_same(&resumed, &whole);
}

#[test]
fn a_fit_is_stopped_and_resumed_within_an_epoch() {
    let counts = counts();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    // 200 batches an epoch; the fit may stop after every 64 of them. Where it does is a matter of time, so often.
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
fn a_dropped_handle_ends_its_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let endless = model().epochs(1_000_000).checkpoint(&path);
    drop(endless.spawn(counts()).unwrap());
    // The last thing that the fit does.
    wait_for("checkpoint", || path.exists());
    // What is refused is refused at once.
    let refused = model().epochs(0).spawn(counts()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Setting);
}

const CHILD: &str = "TOPICBOOK_TEST_CHILD";

/// The process that the next test kills; alone it does nothing.
#[test]
fn child() {
    if let Some(path) = std::env::var_os(CHILD) {
        let endless = model().epochs(1_000_000).checkpoint(path);
        endless.fit(counts()).unwrap();
    }
}

#[test]
fn a_killed_process_leaves_a_fit_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child"])
        .env(CHILD, &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("second checkpoint", || previous(&path).exists());
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());

    // What the killed process was writing is cleared away, and nothing else.
    let (half, other) = ("fit.checkpoint.17-3.part", "fit.checkpoint.my.part");
    for name in [half, other] {
        fs::write(folder.path().join(name), "half").unwrap();
    }
    let checkpoint = TopicModel::resume(&path).unwrap();
    let epochs = checkpoint.epochs_done() + 3;
    let counts = counts();
    let resumed = checkpoint.epochs(epochs).quiet().fit(&counts).unwrap();
    let whole = model().epochs(epochs).fit(&counts).unwrap();
    assert_same(&resumed, &whole);
    assert!(!folder.path().join(half).exists() && folder.path().join(other).exists());
}

/// Checkpoints after 2 and after 4 epochs.
fn two_checkpoints(folder: &Path) -> (PathBuf, Fit) {
    let path = folder.join("fit.checkpoint");
    let model = model().epochs(2).checkpoint(&path);
    model.fit(counts()).unwrap();
    let fit = resume(&path).epochs(4).fit(counts()).unwrap();
    (path, fit)
}

fn resume(path: &Path) -> Checkpoint {
    TopicModel::resume(path).unwrap().quiet()
}

#[test]
fn a_damaged_checkpoint_is_replaced_by_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fit) = two_checkpoints(folder.path());
    assert_eq!(resume(&path).epochs_done(), 4);
    let whole = fs::read(&path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let notes = whole.windows(5).position(|w| w == b"steps").unwrap() + 8;
    let damaged = [
        whole[..whole.len() - 1].to_vec(),
        whole[..whole.len() / 2].to_vec(),
        whole[..100].to_vec(),
        Vec::new(),
        flipped(whole.len() - 100),
        flipped(notes),
    ];
    for bytes in damaged {
        fs::write(&path, &bytes).unwrap();
        let checkpoint = resume(&path);
        assert_eq!(checkpoint.epochs_done(), 2);
        // The good one stays while the damaged one is replaced.
        let again = checkpoint.epochs(4).fit(counts()).unwrap();
        assert_same(&again, &fit);
        assert_eq!(resume(&previous(&path)).epochs_done(), 2);
        assert_eq!(resume(&path).epochs_done(), 4);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(resume(&path).epochs_done(), 2);
    fs::write(&path, &whole[..100]).unwrap();
    fs::write(previous(&path), b"").unwrap();
    let error = TopicModel::resume(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    assert!(error.remedy().is_some());
}

#[test]
fn what_does_not_belong_to_a_checkpoint_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fit) = two_checkpoints(folder.path());
    let backwards: Vec<usize> = (0..DOCUMENTS).rev().collect();
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
        counts().select(&backwards).unwrap(),
    ];
    for other in others {
        let error = resume(&path).fit(other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Shape, "{error}");
    }
    let error = resume(&path).epochs(3).fit(counts()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting, "{error}");
    let error = TopicModel::resume(folder.path().join("none")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    // A saved fit is no checkpoint, a checkpoint is no saved fit, and neither is overwritten by mistake.
    let saved = folder.path().join("fit.safetensors");
    fit.save(&saved).unwrap();
    assert_eq!(
        TopicModel::resume(&saved).unwrap_err().kind(),
        ErrorKind::Format
    );
    assert_eq!(
        TopicModel::load(&path).unwrap_err().kind(),
        ErrorKind::Format
    );
    for place in [
        saved,
        folder.path().join("no folder").join("x"),
        folder.path().into(),
    ] {
        let error = model().checkpoint(place).fit(counts()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
    // A new fit replaces the checkpoints of an older one, both of them.
    model().epochs(1).checkpoint(&path).fit(counts()).unwrap();
    assert_eq!(resume(&path).epochs_done(), 1);
    assert!(!previous(&path).exists());
}

/// A small file system of its own, unmounted at the end.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
            .arg(folder.path())
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(folder)),
            _ => {
                println!("SKIPPED: no small file system can be mounted here");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_ends_the_checkpoints_and_not_the_fit() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let path = disk.0.path().join("fit.checkpoint");
    // Epochs that take their time, so that the history does not fill the disk before the first checkpoint.
    let many = Synthetic::new(2_000, TERMS, 3).seed(4).generate().unwrap();
    let endless = model().epochs(1_000_000).batch_size(1).checkpoint(&path);
    let training = endless.spawn(many.counts()).unwrap();
    wait_for("checkpoint", || path.exists());
    // Fails where the disk is full.
    let _ = fs::write(disk.0.path().join("other"), vec![1; 16 << 20]);
    wait_for("note", || {
        format!("{training:?}").contains("the fit goes on")
    });
    let card = format!("{training:?}");
    assert!(card.contains("running"), "{card}");
    assert_eq!(card.matches("the fit goes on").count(), 1, "{card}");
    training.stop();
    let fit = training.join().unwrap();
    let kept = resume(&path).epochs_done();
    assert!(kept < fit.history().height());
    let left = fs::read_dir(disk.0.path()).unwrap().count();
    assert!(left <= 3, "a part of a checkpoint is left");
}
