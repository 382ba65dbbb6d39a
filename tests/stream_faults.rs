//! What happens to a fit when the file it streams from does not stay what it was: an error with the file's name and a
//! remedy, the checkpoints before it kept, and a process that lives on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use topicbook::{Counts, Device, Error, ErrorKind, Reading, Synthetic, TopicModel};

const TERMS: usize = 500;

fn file(folder: &Path) -> PathBuf {
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

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Has `harm` done to the file of a fit that is at work, and gives the error that ends the fit.
fn harmed(folder: &Path, path: &Path, harm: impl FnOnce()) -> Error {
    let training = model(folder).spawn(Counts::open(path).unwrap()).unwrap();
    wait_for("checkpoint", || folder.join("fit.checkpoint").exists());
    harm();
    let error = training.join().unwrap_err();
    assert!(error.to_string().contains("X.npy"), "{error}");
    assert!(error.remedy().is_some(), "{error}");
    error
}

/// The checkpoint goes on with the counts as they were, to the same result as a fit that nothing happened to.
fn goes_on(folder: &Path, path: &Path) {
    let checkpoint = TopicModel::resume(folder.join("fit.checkpoint"))
        .unwrap()
        .quiet();
    let epochs = checkpoint.epochs_done() + 2;
    let counts = Counts::open(path).unwrap();
    let resumed = checkpoint.epochs(epochs).fit(&counts).unwrap();
    let whole = model(folder).epochs(epochs).fit(&counts).unwrap();
    assert!(resumed.l() == whole.l() && resumed.f() == whole.f());
}

#[test]
fn a_file_cut_while_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let whole = fs::read(&path).unwrap();
    let error = harmed(folder.path(), &path, || {
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(whole.len() as u64 / 2).unwrap();
    });
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    assert!(
        error.to_string().contains("bytes long when it was opened"),
        "{error}"
    );
    fs::write(&path, whole).unwrap();
    goes_on(folder.path(), &path);
}

#[test]
fn a_file_replaced_while_training() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let kept = folder.path().join("kept.npy");
    let error = harmed(folder.path(), &path, || {
        fs::copy(&path, &kept).unwrap();
        let other = folder.path().join("other.npy");
        fs::copy(&path, &other).unwrap();
        fs::rename(&other, &path).unwrap();
    });
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    assert!(error.to_string().contains("was replaced"), "{error}");
    goes_on(folder.path(), &kept);
}

#[test]
fn a_file_written_over_while_training() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let error = harmed(folder.path(), &path, || {
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[1; 100], 10_000).unwrap();
    });
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    assert!(error.to_string().contains("was changed"), "{error}");
}

#[test]
fn a_file_cut_before_its_first_pass() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    let counts = Counts::open(&path).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(5_000).unwrap();
    let error = counts.summary().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Format, "{error}");
    assert!(
        error.to_string().contains("bytes long when it was opened"),
        "{error}"
    );
}

#[test]
fn a_file_without_its_name_can_be_read_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
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

/// A file system that is unmounted at the end.
struct Mounted(tempfile::TempDir);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount")
        .args(arguments)
        .arg(folder)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn a_file_that_cannot_be_written_to_is_streamed() {
    let disk = tempfile::tempdir().unwrap();
    if !mount(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"], disk.path()) {
        println!("SKIPPED: no file system can be mounted here");
        return;
    }
    let disk = Mounted(disk);
    let path = file(disk.0.path());
    assert!(mount(&["-o", "remount,ro"], disk.0.path()));
    let counts = Counts::open(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fit = model(folder.path()).epochs(2).fit(&counts).unwrap();
    assert!(fit.loss().is_finite());
}
