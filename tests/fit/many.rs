//! Many fits at once and one after another: the same bits as alone, nothing lost, and nothing that grows.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use testkit::{Tmpfs, one_test, passed, wait_for};
use topicbook::{Checkpoint, Counts, Device, Error, ErrorKind, Fit, Solver, TopicModel};

use super::resume::{assert_same, counts, previous, resume};

pub fn solvers() -> [Solver; 4] {
    [
        Solver::default(),
        Solver::em(),
        Solver::coordinate_descent(),
        Solver::auto(),
    ]
}

fn model(solver: Solver) -> TopicModel {
    TopicModel::new(3)
        .solver(solver)
        .epochs(30)
        .seed(2)
        .device(Device::Cpu)
        .quiet()
}

#[test]
fn fits_at_once_have_the_bits_of_fits_alone() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts();
    let alone = solvers().map(|solver| model(solver).fit(&counts).unwrap());
    for number in [2, 4] {
        let fits: Vec<Fit> = thread::scope(|scope| {
            let running = solvers().into_iter().take(number).enumerate();
            let running: Vec<_> = running
                .map(|(at, solver)| {
                    let path = folder.path().join(format!("{number}-{at}.checkpoint"));
                    let counts = &counts;
                    scope.spawn(move || model(solver).checkpoint(path).fit(counts).unwrap())
                })
                .collect();
            running.into_iter().map(|fit| fit.join().unwrap()).collect()
        });
        for (at, (fit, alone)) in fits.iter().zip(&alone).enumerate() {
            assert_same(fit, alone);
            let path = folder.path().join(format!("{number}-{at}.checkpoint"));
            assert_same(&resume(&path).fit(&counts).unwrap(), alone);
        }
    }
}

const CHILD: &str = "TOPICBOOK_TEST_MANY";
const FOLDER: &str = "TOPICBOOK_TEST_FOLDER";

/// Starts this program again, for one test that does nothing otherwise.
fn child(test: &str, what: &str, folder: &Path) -> Child {
    one_test(&format!("many::{test}"))
        .env(CHILD, what)
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What this process is to do, and in which folder, if it is a child.
fn task() -> Option<(String, std::path::PathBuf)> {
    let what = std::env::var(CHILD).ok()?;
    Some((what, std::env::var_os(FOLDER)?.into()))
}

/// Run by the next test in processes of its own.
#[test]
fn fit_of_a_child() {
    let Some((number, folder)) = task() else {
        return;
    };
    let number: usize = number.parse().unwrap();
    let model = model(solvers()[number].clone());
    let fit = model.checkpoint(folder.join(format!("{number}.checkpoint")));
    let fit = fit.fit(counts()).unwrap();
    fit.save(folder.join(format!("{number}.fit"))).unwrap();
    // All of them write this file, again and again.
    for _ in 0..50 {
        fit.save(folder.join("shared.fit")).unwrap();
        Fit::load(folder.join("shared.fit")).unwrap();
    }
}

#[test]
fn processes_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts();
    let alone = solvers().map(|solver| model(solver).fit(&counts).unwrap());
    let start = |number: usize| child("fit_of_a_child", &number.to_string(), folder.path());
    let children: Vec<Child> = (0..4).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for (number, alone) in alone.iter().enumerate() {
        let load = |name: String| Fit::load(folder.path().join(name)).unwrap();
        assert_same(&load(format!("{number}.fit")), alone);
        let checkpoint = resume(&folder.path().join(format!("{number}.checkpoint")));
        assert_same(&checkpoint.fit(&counts).unwrap(), alone);
    }
    let shared = Fit::load(folder.path().join("shared.fit")).unwrap();
    assert!(alone.iter().any(|alone| alone.l() == shared.l()));
    // No temporary file and no lock is left.
    for entry in fs::read_dir(folder.path()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let expected = [".fit", ".checkpoint", ".previous"];
        assert!(expected.iter().any(|end| name.ends_with(end)), "{name}");
    }
}

#[track_caller]
fn assert_in_use(error: Error, owner: &str) {
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    let text = error.to_string();
    testkit::assert_has(&text, [owner, "fit.checkpoint"]);
}

/// Run by the next test in a process that it kills.
#[test]
fn endless_fit_of_a_child() {
    if let Some((_, folder)) = task() {
        let endless = model(Solver::default()).epochs(1_000_000);
        let _ = endless
            .checkpoint(folder.join("fit.checkpoint"))
            .fit(counts());
    }
}

#[test]
fn two_fits_do_not_share_a_checkpoint() {
    let (folder, path) = testkit::temp_path("fit.checkpoint");
    let counts = counts();
    let short = model(Solver::em()).checkpoint(&path);
    let endless = model(Solver::default()).epochs(1_000_000).checkpoint(&path);

    // Refused in one process, under another name of the same file too.
    let training = endless.spawn(&counts).unwrap();
    wait_for("checkpoint", || path.exists());
    let link = folder.path().join("link to fit.checkpoint");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for shared in [&path, &link] {
        let error = model(Solver::em())
            .checkpoint(shared)
            .fit(&counts)
            .unwrap_err();
        assert_in_use(error, "another fit of this process");
        let error = model(Solver::em())
            .checkpoint(shared)
            .spawn(&counts)
            .unwrap_err();
        assert_in_use(error, "another fit of this process");
    }
    assert_in_use(
        resume(&path).fit(&counts).unwrap_err(),
        "another fit of this process",
    );
    training.stop();
    let stopped = training.join().unwrap();
    assert_eq!(resume(&path).epochs_done(), stopped.epochs().len());

    // Refused in two processes. A kill releases the lock.
    let mut other = child("endless_fit_of_a_child", "", folder.path());
    let owner = format!("a fit of process {}", other.id());
    wait_for("lock", || {
        folder.path().join("fit.checkpoint.lock").exists()
    });
    wait_for("lock of the other process", || {
        short
            .fit(&counts)
            .is_err_and(|error| error.to_string().contains(&owner))
    });
    other.kill().unwrap();
    other.wait().unwrap();
    short.fit(&counts).unwrap();
    assert_eq!(resume(&path).epochs_done(), short.settings().epochs);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert!(
        !folder.path().join("fit.checkpoint.lock").exists(),
        "{left:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_to_a_checkpoint_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link] = ["fit.checkpoint", "link"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink("fit.checkpoint", &link).unwrap();
    let counts = counts();
    let model = model(Solver::em()).tolerance(0.0).checkpoint(&link);
    model.clone().epochs(2).fit(&counts).unwrap();
    resume(&link).epochs(4).fit(&counts).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(resume(&file).epochs_done(), 4);
    assert_eq!(resume(&previous(&file)).epochs_done(), 2);
    fs::write(&file, "damaged").unwrap();
    assert_eq!(resume(&link).epochs_done(), 2);
}

#[test]
fn a_place_that_takes_no_checkpoint_is_refused_before_the_fit() {
    let Some(disk) = Tmpfs::or_skip("1m") else {
        return;
    };
    let counts = counts();
    let path = disk.path().join("fit.checkpoint");
    let refused = |kind: ErrorKind| {
        for solver in solvers() {
            let started = model(solver)
                .checkpoint(&path)
                .on_epoch(|_| panic!("an epoch"));
            let error = started.fit(&counts).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("fit.checkpoint"), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
    };
    // Fails once the disk is full, which is the purpose.
    let _ = fs::write(disk.path().join("other"), vec![1; 2 << 20]);
    refused(ErrorKind::Space);
    fs::remove_file(disk.path().join("other")).unwrap();
    assert!(disk.make_read_only());
    refused(ErrorKind::Io);
}

/// Run by the next test in a process whose output it reads.
#[test]
fn fit_of_a_child_whose_disk_fills_up() {
    let Some((_, folder)) = task() else {
        return;
    };
    topicbook::show_progress(true);
    let other = folder.join("other");
    let model = model(Solver::em()).tolerance(0.0).epochs(3);
    let fit = model
        .checkpoint(folder.join("fit.checkpoint"))
        .on_epoch(move |_| {
            // Fails once the disk is full, which is the purpose.
            let _ = fs::write(&other, vec![1; 2 << 20]);
            ControlFlow::Continue(())
        })
        .fit(counts())
        .unwrap();
    assert_eq!(fit.epochs().len(), 3);
    let note = fit.note().unwrap();
    testkit::assert_has(note, ["writing a checkpoint after 3.0 epochs failed"]);
}

#[test]
fn a_quiet_fit_says_that_its_checkpoint_failed() {
    let Some(disk) = Tmpfs::or_skip("1m") else {
        return;
    };
    let mut child = one_test("many::fit_of_a_child_whose_disk_fills_up");
    let text = passed(child.env(CHILD, "").env(FOLDER, disk.path()).output());
    assert_eq!(text.matches("writing a checkpoint").count(), 1, "{text}");
    assert!(!disk.path().join("fit.checkpoint").exists());
}

/// Run by the next test, alone in its process.
#[test]
fn fits_in_a_row_of_a_child() {
    let Some((_, folder)) = task() else {
        return;
    };
    let counts: Counts = counts();
    let folder = folder.as_path();
    let fit = |number: usize| {
        let model = model(solvers()[number % 4].clone()).epochs(3);
        let model = model.checkpoint(folder.join("fit.checkpoint"));
        match number / 4 % 2 {
            0 => model.fit(&counts).unwrap(),
            _ => model.spawn(&counts).unwrap().join().unwrap(),
        }
    };
    let first: Vec<Fit> = (0..40).map(fit).collect();
    let before = Process::now();
    for number in 40..240 {
        assert_same(&fit(number), &first[number % 4]);
    }
    // The pool of a fit that has ended may take a moment to end.
    wait_for("end of the threads", || {
        Process::now().threads <= before.threads
    });
    let after = Process::now();
    assert!(after.files <= before.files, "{before:?}, {after:?}");
    assert!(
        after.memory <= before.memory + (4 << 20),
        "{before:?}, {after:?}"
    );
    fs::write(folder.join("done"), "").unwrap();
}

/// What this process holds.
#[derive(Debug)]
struct Process {
    threads: usize,
    files: usize,
    /// Bytes of anonymous memory.
    memory: u64,
}

impl Process {
    fn now() -> Self {
        let entries = |folder| fs::read_dir(folder).unwrap().count();
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        Self {
            threads: entries("/proc/self/task"),
            files: entries("/proc/self/fd"),
            memory: 1024 * kilobytes.unwrap().parse::<u64>().unwrap(),
        }
    }
}

#[test]
fn fits_in_a_row_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = child("fits_in_a_row_of_a_child", "", folder.path());
    assert!(child.wait().unwrap().success());
    assert!(folder.path().join("done").exists());
    assert_eq!(
        Checkpoint::open(folder.path().join("fit.checkpoint"))
            .unwrap()
            .epochs_done(),
        3
    );
}
