//! Fits on clusters: refusals, which need no MPI, and ranks on this machine, which need `topicbook-worker`.

mod attach;
mod documents;
mod faults;
mod hosts;
mod limits;
mod ranks;
mod refusals;

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use topicbook::{Cluster, Counts, ErrorKind, Fit, Reading, Solver, TopicModel};

/// Sparse counts in a file, which are cut into 4 shards.
fn counts(folder: &Path) -> Counts {
    let (documents, terms) = (9_000, 900);
    let count = |document: usize, term: usize| match (document * 31
        + term * 17
        + document * term % 13)
        % 97
    {
        mixed if mixed < 13 => 1 + (mixed % 3) as u8,
        _ => 0,
    };
    let values = (0..documents * terms).map(|at| count(at / terms, at % terms));
    let counts = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
    counts.write_npz(folder.join("X.npz")).unwrap()
}

fn model(solver: Solver) -> TopicModel {
    TopicModel::new(5)
        .solver(solver)
        .tolerance(0.0)
        .seed(3)
        .quiet()
}

/// A cluster of `ranks` ranks on this machine, with a run in `folder`.
fn cluster(ranks: usize, folder: &Path) -> Cluster {
    let cluster = Cluster::local(ranks).folder(folder);
    cluster.patience(Duration::from_secs(3))
}

/// An empty folder for runs; `None` where there is no worker.
fn run_folder() -> Option<TempDir> {
    let elsewhere = tempfile::tempdir().unwrap();
    let counts = counts(elsewhere.path());
    let trial = model(Solver::em()).epochs(1).cluster(Cluster::local(1));
    match trial.fit(&counts) {
        Err(error)
            if error.kind() == ErrorKind::Cluster && error.to_string().contains("not built") =>
        {
            println!("SKIPPED: topicbook-worker is not built (`cargo xtask worker` builds it)");
            None
        }
        Err(error) => panic!("{error}"),
        Ok(_) => Some(tempfile::tempdir().unwrap()),
    }
}

/// Two ranks on this machine, whose processes are started by a shell script: these lines, then the program.
fn by_script(lines: &str, folder: &Path) -> Cluster {
    let script = script(&format!("{lines}\nexec \"$@\""), folder);
    let command = format!("{} -n 2 --oversubscribe {script}", mpiexec());
    Cluster::command(command).folder(folder)
}

/// A shell script of these lines, in the folder.
fn script(lines: &str, folder: &Path) -> String {
    let script = folder.join("script");
    fs::write(&script, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    script.display().to_string()
}

/// The launcher that belongs to the worker.
fn mpiexec() -> String {
    let cached = || {
        let home = PathBuf::from(env::var_os("HOME").unwrap());
        home.join(".cache/topicbook/bin/topicbook-worker")
    };
    let worker = env::var_os("TOPICBOOK_WORKER").map_or_else(cached, PathBuf::from);
    let text = fs::read_to_string(worker.with_extension("mpiexec"));
    text.map_or("mpiexec".into(), |path| path.trim().into())
}

/// How one process reads these counts as ranks do.
const STREAM: Reading = Reading::Stream {
    block: 1024,
    blocks: 1,
};

/// The same fit in one process.
fn alone(solver: Solver, epochs: usize, counts: &Counts) -> Fit {
    let model = model(solver).epochs(epochs).reading(STREAM);
    model.fit(counts).unwrap()
}

fn assert_same(found: &Fit, expected: &Fit, what: &str) {
    let bits = |fit: &Fit| -> Vec<u32> {
        let (l, f) = (fit.l(), fit.f());
        let values = l.values().iter().chain(f.values());
        values.map(|value| value.to_bits()).collect()
    };
    assert!(bits(found) == bits(expected), "{what}");
    let scores = |fit: &Fit| -> Vec<u64> {
        let epochs = fit.epochs();
        epochs.iter().map(|epoch| epoch.loss.to_bits()).collect()
    };
    assert_eq!(scores(found), scores(expected), "{what}");
}
