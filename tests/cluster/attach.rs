//! Runs whose process was killed, and that another one finds.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::one_test;
use topicbook::{Cluster, ErrorKind, Fit, Solver, TopicModel, Training};

use super::faults::process_of;
use super::{alone, assert_same, cluster, counts, model, run_folder};

/// Set in a process that starts a run: the folder of the counts, the number of passes, and how often the job may be restarted.
/// The last may also be `unnamed`, for a run in the folder of temporary files, or `steps`, for gradient steps.
const CHILD: &str = "TOPICBOOK_TEST_RUN";

/// Run by the tests below in a process that they kill; does nothing otherwise.
#[test]
fn a_process_that_starts_a_run() {
    let Ok(text) = std::env::var(CHILD) else {
        return;
    };
    let words: Vec<&str> = text.split(' ').collect();
    let [folder, passes, retries] = words[..] else {
        panic!("{text}");
    };
    let cluster = match retries {
        "unnamed" => Cluster::local(2),
        "steps" => Cluster::local(2).folder(folder),
        retries => Cluster::local(2)
            .folder(folder)
            .retries(retries.parse().unwrap()),
    };
    let model = match retries {
        "steps" => steps(),
        _ => model(Solver::em()),
    };
    let model = model.epochs(passes.parse().unwrap()).cluster(cluster);
    let terms = topicbook::Terms::new((0..900).map(|term| format!("term{term}"))).unwrap();
    model.terms(&terms).fit(counts(Path::new(folder))).unwrap();
}

fn steps() -> TopicModel {
    TopicModel::new(5).batch_size(1_000).seed(3).quiet()
}

fn start(folder: &Path, passes: usize, retries: impl Display) -> Child {
    let child = one_test("attach::a_process_that_starts_a_run")
        .env(CHILD, format!("{} {passes} {retries}", folder.display()))
        // Where an unnamed run goes.
        .env("TMPDIR", folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    testkit::wait_for("a rank", || process_of(1, folder).is_some());
    child
}

fn runs(process: &str) -> bool {
    fs::metadata(format!("/proc/{process}")).is_ok()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
}

/// An endless run whose process was killed; returns the process of its second rank.
fn left_behind(folder: &Path, retries: impl Display) -> String {
    let child = start(folder, 1_000_000, retries);
    let (_, process) = process_of(1, folder).unwrap();
    kill(child);
    process
}

/// The fit has the bits of the same one in a process that lives, its history and its terms; the run is removed.
fn assert_whole(fit: &Fit, folder: &Path, passes: usize) {
    assert_same(
        fit,
        &alone(Solver::em(), passes, &counts(folder)),
        "attached",
    );
    let terms = fit.term_names().unwrap();
    assert_eq!(terms.get(7), Some("term7"));
    assert!(process_of(0, folder).is_none(), "the run is removed");
}

#[test]
fn a_run_goes_on_without_its_process() {
    let Some(folder) = run_folder() else { return };
    let passes = 60;
    let child = start(folder.path(), passes, 0);
    let error = TopicModel::attach(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cluster);
    let by = format!("process {} on ", child.id());
    assert!(error.to_string().contains(&by), "{error}");
    kill(child);
    let training = TopicModel::attach(folder.path()).unwrap();
    let fit = training.join().unwrap();
    assert_whole(&fit, folder.path(), passes);
}

#[test]
fn gradient_steps_go_on_without_their_process() {
    let Some(folder) = run_folder() else { return };
    let two = cluster(2, folder.path());
    let epochs = 60;
    kill(start(folder.path(), epochs, "steps"));
    let training = TopicModel::attach(folder.path()).unwrap();
    let fit = training.join().unwrap();
    let expected = steps().epochs(epochs).cluster(two);
    let expected = expected.fit(counts(folder.path())).unwrap();
    assert_same(&fit, &expected, "attached gradient steps");
}

#[test]
fn a_run_that_has_ended_meanwhile_is_joined() {
    let Some(folder) = run_folder() else { return };
    let child = start(folder.path(), 20, 0);
    let (run, _) = process_of(1, folder.path()).unwrap();
    kill(child);
    let events = run.join("events.jsonl");
    testkit::wait_for("the end", || {
        fs::read_to_string(&events).is_ok_and(|text| text.contains("Finished"))
    });
    // Finds the run by its own folder.
    let fit = TopicModel::attach(run).unwrap().join().unwrap();
    assert_whole(&fit, folder.path(), 20);
}

#[test]
fn a_run_that_has_lost_a_rank_meanwhile_is_started_again() {
    let Some(folder) = run_folder() else { return };
    // A run whose process and then one of its ranks are killed, and the passes that it has done.
    let lose = |retries: usize| -> (Training, usize) {
        let child = start(folder.path(), 1_000_000, retries);
        let (run, process) = process_of(1, folder.path()).unwrap();
        let passes = || {
            let text = fs::read_to_string(run.join("events.jsonl"));
            text.unwrap_or_default().lines().count()
        };
        testkit::wait_for("two passes", || passes() >= 2);
        kill(child);
        let sent = Command::new("kill").args(["-KILL", &process]).status();
        assert!(sent.unwrap().success());
        let ended = run.join("ended-1.json");
        testkit::wait_for("the end of the rank", || ended.exists());
        (TopicModel::attach(folder.path()).unwrap(), passes())
    };
    let (training, passes) = lose(1);
    testkit::wait_for("a further pass", || training.epochs_done() > passes);
    training.stop();
    let fit = training.join().unwrap();
    let note = fit.note().unwrap_or_default().to_owned();
    let lost = note.contains("rank 1 (process ");
    assert!(lost && note.contains("started again"), "{note}");
    assert_whole(&fit, folder.path(), fit.epochs().len());
    testkit::refused! { lose(0).0.join(), "rank 1 (process "; }
}

#[test]
fn a_run_that_is_stopped_ends_its_ranks() {
    let Some(folder) = run_folder() else { return };
    let process = left_behind(folder.path(), 0);
    let training = TopicModel::attach(folder.path()).unwrap();
    testkit::wait_for("two passes", || training.epochs_done() >= 2);
    training.stop();
    let fit = training.join().unwrap();
    assert_whole(&fit, folder.path(), fit.epochs().len());
    testkit::wait_for("the rank's end", || !runs(&process));
}

#[test]
fn a_handle_that_is_dropped_leaves_the_run() {
    let Some(folder) = run_folder() else { return };
    let process = left_behind(folder.path(), 0);
    // A cell shows the handle and does not keep it.
    println!("{}", TopicModel::attach(folder.path()).unwrap());
    let training = TopicModel::attach(folder.path()).unwrap();
    let done = training.epochs_done();
    testkit::wait_for("further passes", || {
        assert!(!training.is_finished(), "{training}");
        training.epochs_done() > done + 2
    });
    assert!(runs(&process), "the rank still runs");
    training.stop();
    testkit::wait_for("the end", || training.is_finished());
    // It has ended, and is not lost with its handle either.
    drop(training);
    let training = TopicModel::attach(folder.path()).unwrap();
    let fit = training.join().unwrap();
    assert_whole(&fit, folder.path(), fit.epochs().len());
}

#[test]
fn a_run_that_nobody_can_find_ends_with_its_process() {
    let Some(folder) = run_folder() else { return };
    let process = left_behind(folder.path(), "unnamed");
    testkit::wait_for("the rank's end", || !runs(&process));
}

#[test]
fn a_folder_says_which_runs_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let attach = || TopicModel::attach(folder.path()).unwrap_err().to_string();
    assert!(attach().contains("no run of a cluster"), "{}", attach());
    for run in ["topicbook-run-1-0", "topicbook-run-2-0"] {
        let run = folder.path().join(run);
        fs::create_dir(&run).unwrap();
        fs::write(run.join("started.json"), "{}").unwrap();
    }
    let error = attach();
    testkit::assert_has(&error, ["2 runs in ", "topicbook-run-2-0"]);
    fs::remove_dir_all(folder.path().join("topicbook-run-2-0")).unwrap();
    // The run was not started whole.
    assert!(attach().contains("job.json"), "{}", attach());
    testkit::refused! { TopicModel::attach(folder.path().join("none")), "none"; }
}
