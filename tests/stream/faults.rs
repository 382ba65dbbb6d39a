//! Fits whose file is cut, replaced or changed while they stream from it: an error with the file's name and a remedy.
//! Earlier checkpoints stay valid, and the process continues.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use testkit::{Tmpfs, wait_for};
use topicbook::{Checkpoint, Counts, Device, Error, ErrorKind, Reading, Synthetic, TopicModel};

const TERMS: usize = 500;

/// Writes the counts and returns their path.
fn write_counts(folder: &Path) -> PathBuf {
    let path = folder.join("X.npy");
    Synthetic::new(400, TERMS, 3)
        .avg_doc_length(100)
        .seed(4)
        .write_npy(&path)
        .unwrap();
    path
}

fn model(folder: &Path) -> TopicModel {
    TopicModel::new(3)
        .epochs(1_000_000)
        .seed(1)
        .device(Device::Cpu)
        .reading(Reading::Stream {
            block: 4,
            blocks: 16,
        })
        .checkpoint(folder.join("fit.checkpoint"))
        .quiet()
}

/// Starts a fit, calls `damage` after its first checkpoint, and returns the error that ends the fit.
fn error_after(folder: &Path, path: &Path, damage: impl FnOnce()) -> Error {
    let training = model(folder).spawn(Counts::open(path).unwrap()).unwrap();
    wait_for("checkpoint", || folder.join("fit.checkpoint").exists());
    damage();
    let error = training.join().unwrap_err();
    assert!(error.to_string().contains("X.npy"), "{error}");
    assert!(error.remedy().is_some(), "{error}");
    error
}

/// Asserts that the checkpoint, resumed with the original counts, gives the same result as an undisturbed fit.
fn assert_resumable(folder: &Path, path: &Path) {
    let checkpoint = Checkpoint::open(folder.join("fit.checkpoint"))
        .unwrap()
        .quiet();
    let epochs = checkpoint.epochs_done() + 2;
    let counts = Counts::open(path).unwrap();
    let resumed = checkpoint.epochs(epochs).fit(&counts).unwrap();
    let whole = model(folder).epochs(epochs).fit(&counts).unwrap();
    assert!(resumed.l() == whole.l() && resumed.f() == whole.f());
}

#[test]
fn a_file_cut_during_the_fit_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_counts(folder.path());
    let whole = fs::read(&path).unwrap();
    let error = error_after(folder.path(), &path, || {
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(whole.len() as u64 / 2).unwrap();
    });
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    testkit::assert_has(&error, ["bytes long when it was opened"]);
    fs::write(&path, whole).unwrap();
    assert_resumable(folder.path(), &path);
}

#[test]
fn a_file_replaced_during_the_fit_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_counts(folder.path());
    let original = folder.path().join("original.npy");
    let error = error_after(folder.path(), &path, || {
        fs::copy(&path, &original).unwrap();
        let other = folder.path().join("other.npy");
        fs::copy(&path, &other).unwrap();
        fs::rename(&other, &path).unwrap();
    });
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    assert!(error.to_string().contains("was replaced"), "{error}");
    assert_resumable(folder.path(), &original);
}

#[test]
fn a_file_overwritten_during_the_fit_is_an_error() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = write_counts(folder.path());
    let error = error_after(folder.path(), &path, || {
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[1; 100], 10_000).unwrap();
    });
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    assert!(error.to_string().contains("was changed"), "{error}");
}

#[test]
fn a_file_cut_before_its_first_pass_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_counts(folder.path());
    let counts = Counts::open(&path).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(5_000).unwrap();
    testkit::refused! { counts.summary() => Format, "bytes long when it was opened"; }
}

#[test]
fn a_file_deleted_during_the_fit_can_still_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_counts(folder.path());
    let training = model(folder.path())
        .spawn(Counts::open(&path).unwrap())
        .unwrap();
    wait_for("epoch", || training.epochs_done() > 0);
    fs::remove_file(&path).unwrap();
    let done = training.epochs_done();
    wait_for("further epochs", || training.epochs_done() > done + 3);
    training.stop();
    training.join().unwrap();
}

#[test]
fn a_file_on_a_read_only_file_system_is_streamed() {
    let Some(disk) = Tmpfs::or_skip("8m") else {
        return;
    };
    let path = write_counts(disk.path());
    assert!(disk.make_read_only());
    let counts = Counts::open(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fit = model(folder.path()).epochs(2).fit(&counts).unwrap();
    assert!(fit.loss().unwrap().is_finite());
}
