//! Ranks that are killed, and ranks that hang.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use topicbook::{Cluster, Error, ErrorKind, Fit, Solver, TopicModel, Training};

use super::{alone, assert_same, cluster, counts, model, mpiexec, run_folder, script};

/// Passes of a fit in which a fault occurs.
const PASSES: usize = 60;

fn em() -> TopicModel {
    model(Solver::em()).epochs(PASSES)
}

/// The process of a rank of the run in `folder`, once it has started.
pub fn process_of(rank: usize, folder: &Path) -> Option<(PathBuf, String)> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut paths = entries.map(|entry| entry.path());
    // Open MPI keeps folders of its own where temporary files go.
    let run = paths.find(|path| path.to_string_lossy().contains("topicbook-run-"))?;
    let text = fs::read_to_string(run.join(format!("alive-{rank}"))).ok()?;
    let process = text.split_whitespace().nth(1)?.to_owned();
    Some((run, process))
}

/// Starts a fit, and sends a signal to rank 1 after two passes.
fn with_fault(signal: &str, model: TopicModel, folder: &Path) -> (Training, Instant) {
    let training = model.spawn(counts(folder)).unwrap();
    testkit::wait_for("two passes", || training.epochs_done() >= 2);
    // The rank writes its file again and again: it can be empty.
    let mut found = None;
    testkit::wait_for("file of the rank", || {
        found = process_of(1, folder);
        found.is_some()
    });
    let (_, process) = found.unwrap();
    let sent = Command::new("kill").args([signal, &process]).status();
    assert!(sent.unwrap().success());
    (training, Instant::now())
}

fn error_of(signal: &str, within: u64) -> Option<Error> {
    let folder = run_folder()?;
    let cluster = cluster(2, folder.path());
    let (training, fault) = with_fault(signal, em().cluster(cluster), folder.path());
    let error = training.join().unwrap_err();
    let took = fault.elapsed();
    assert!(took < Duration::from_secs(within), "{took:?}");
    assert_eq!(error.kind(), ErrorKind::Cluster);
    assert!(error.to_string().contains("rank 1 (process "), "{error}");
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "the run is removed");
    Some(error)
}

#[test]
fn a_killed_rank_ends_the_fit_within_seconds() {
    if let Some(error) = error_of("-KILL", 10) {
        assert!(error.to_string().contains("signal 9"), "{error}");
    }
}

#[test]
fn a_rank_that_hangs_ends_the_fit() {
    if let Some(error) = error_of("-STOP", 20) {
        assert!(error.to_string().contains("no sign of life"), "{error}");
    }
}

#[test]
fn a_fit_that_loses_a_rank_goes_on_to_the_same_result() {
    for signal in ["-KILL", "-STOP"] {
        let Some(folder) = run_folder() else { return };
        let cluster = cluster(2, folder.path());
        let model = em().cluster(cluster.retries(1));
        let fit = joined_with_fault(signal, model, folder.path());
        let counts = counts(folder.path());
        assert_same(&fit, &alone(Solver::em(), PASSES, &counts), signal);
    }
}

#[test]
fn gradient_steps_that_lose_a_rank_go_on_to_the_same_result() {
    let Some(folder) = run_folder() else { return };
    let cluster = cluster(2, folder.path());
    let steps = TopicModel::new(5).batch_size(1_000).epochs(PASSES).quiet();
    let expected = steps.cluster(&cluster).fit(counts(folder.path())).unwrap();
    let model = steps.cluster(cluster.retries(1));
    let fit = joined_with_fault("-KILL", model, folder.path());
    assert_same(&fit, &expected, "gradient steps");
}

/// The fit of a model that continues after its rank 1 was lost.
fn joined_with_fault(signal: &str, model: TopicModel, folder: &Path) -> Fit {
    let (training, _) = with_fault(signal, model, folder);
    let fit = training.join().unwrap();
    let note = fit.note().unwrap_or_default().to_owned();
    assert!(note.contains("rank 1 (process "), "{note}");
    fit
}

#[test]
fn a_host_that_is_lost_is_left_out() {
    let Some(folder) = run_folder() else { return };
    let hosts = folder.path().join("hosts.txt");
    fs::write(&hosts, "localhost slots=2\nno-such-host.invalid slots=1\n").unwrap();
    let runs = folder.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let cluster = Cluster::hosts(&hosts).folder(&runs);
    let counts = counts(folder.path());
    let fit = |cluster| model(Solver::em()).epochs(3).cluster(cluster).fit(&counts);
    testkit::refused! { fit(cluster.clone()), "no-such-host"; }
    let fit = fit(cluster.retries(1)).unwrap();
    let note = fit.note().unwrap_or_default().to_owned();
    let lost = "no-such-host.invalid does not answer: 2 of 3 ranks are left";
    assert!(note.contains(lost), "{note}");
    assert_same(&fit, &alone(Solver::em(), 3, &counts), "two of three ranks");
    assert_eq!(
        fs::read_dir(&runs).unwrap().count(),
        0,
        "the run is removed"
    );
}

#[test]
fn a_run_is_readable_to_its_user_alone() {
    let Some(folder) = run_folder() else { return };
    let cluster = cluster(2, folder.path());
    let counts = counts(folder.path());
    let model = model(Solver::em()).epochs(1_000_000).cluster(cluster);
    let training = model.spawn(&counts).unwrap();
    testkit::wait_for("a rank", || process_of(1, folder.path()).is_some());
    let (run, process) = process_of(1, folder.path()).unwrap();
    let mode = fs::metadata(&run).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A variable of this process that the ranks do not need.
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(environment.contains("PATH=") && !environment.contains("CARGO_PKG_NAME="));
    training.stop();
    training.join().unwrap();
}

#[test]
fn a_launcher_that_could_not_listen_is_started_again() {
    let Some(folder) = run_folder() else { return };
    let lines = format!(
        "[ -e {0} ] || {{ touch {0}; echo \"The PMIx server's listener thread failed to start.\"; exit 213; }}\nexec {1} \"$@\"",
        folder.path().join("tried").display(),
        mpiexec()
    );
    let launcher = script(&lines, folder.path());
    let two = Cluster::command(format!("{launcher} -n 2 --oversubscribe")).folder(folder.path());
    let counts = counts(folder.path());
    let fit = model(Solver::em()).epochs(2).cluster(two).fit(&counts);
    assert_same(&fit.unwrap(), &alone(Solver::em(), 2, &counts), "two ranks");
    assert!(folder.path().join("tried").exists());
}

#[test]
fn a_job_that_waits_in_a_queue_says_so() {
    let Some(folder) = run_folder() else { return };
    let lines = format!(
        "echo 'job 18 queued and waiting for resources' >&2; sleep 4\nexec {} \"$@\"",
        mpiexec()
    );
    let launcher = script(&lines, folder.path());
    let command = format!("{launcher} -n 2 --oversubscribe");
    let model = model(Solver::em()).epochs(1_000_000);
    let model = model.cluster(Cluster::command(command).folder(folder.path()));
    let training = model.spawn(counts(folder.path())).unwrap();
    testkit::wait_for("two passes", || training.epochs_done() >= 2);
    let shown = training.to_string();
    testkit::assert_has(&shown, ["no rank has started yet: job 18 queued"]);
    training.stop();
    training.join().unwrap();
}
