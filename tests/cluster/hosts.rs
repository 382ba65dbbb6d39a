//! Two hosts on this machine: what a fit does over a network, and without a host that is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use testkit::{
    Hosts, Link, SLOW_NETWORK, SlowLink, cut_host, host_name, lose_host, one_test, passed,
};
use topicbook::{Cluster, ErrorKind, Fit, Solver, TopicModel, Training};

use super::faults::process_of;
use super::{alone, assert_same, counts, model, mpiexec, run_folder};

/// Set in the process that runs a test on the hosts: the folder of the test.
const FOLDER: &str = "TOPICBOOK_TEST_HOSTS";
/// Runs a test of this file again in a process for which Open MPI starts processes on the hosts. Skips it where there is no
/// worker, or where this user may make no hosts.
fn on_hosts(test: &str) {
    on_joined_hosts(test, None);
}

/// [`on_hosts`], with a second network.
fn on_joined_hosts(test: &str, link: Option<Link>) {
    let Some(folder) = run_folder() else { return };
    let hosts = match Hosts::new() {
        Ok(hosts) => hosts,
        Err(reason) => return println!("SKIPPED: no network namespaces here: {reason}"),
    };
    hosts.write_home(folder.path());
    let link = match link.map(|link| SlowLink::between(&hosts, link)) {
        Some(Err(reason)) => return println!("SKIPPED: no slow network here: {reason}"),
        link => link,
    };
    fs::create_dir(folder.path().join("runs")).unwrap();
    let mut program = one_test(test);
    passed(
        program
            .env("HOME", folder.path())
            .env(FOLDER, folder.path())
            .output(),
    );
    drop((link, hosts));
}

/// The folder of a test that [`on_hosts`] runs.
fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

fn two_hosts(folder: &Path) -> Cluster {
    let cluster = Cluster::hosts(folder.join("hosts.txt")).folder(folder.join("runs"));
    cluster.patience(Duration::from_secs(4))
}

fn start(cluster: Cluster, folder: &Path) -> Training {
    let counts = counts(folder);
    let model: TopicModel = model(Solver::em()).epochs(1_000_000).cluster(cluster);
    let training = model.spawn(&counts).unwrap();
    wait_for(&training, 2);
    training
}

/// Waits until a fit has done `passes` passes.
fn wait_for(training: &Training, passes: usize) {
    testkit::wait_for("passes", || {
        training.is_finished() || training.epochs_done() >= passes
    });
    if training.is_finished() {
        panic!("{}", training.join().unwrap_err());
    }
}

fn assert_whole(fit: &Fit, folder: &Path, what: &str) {
    let counts = counts(folder);
    assert_same(fit, &alone(Solver::em(), fit.epochs().len(), &counts), what);
}

#[test]
fn two_hosts_fit_as_one_process_does() {
    let Some(folder) = folder() else {
        return on_hosts("hosts::two_hosts_fit_as_one_process_does");
    };
    let training = start(two_hosts(&folder), &folder);
    let host = |rank| {
        let (run, _) = process_of(rank, &folder.join("runs")).unwrap();
        let text = fs::read_to_string(run.join(format!("alive-{rank}"))).unwrap();
        text.split(' ').next().unwrap().to_owned()
    };
    assert_eq!([host(0), host(1)], ["node2", "node3"]);
    training.stop();
    assert_whole(&training.join().unwrap(), &folder, "two hosts");
}

#[test]
fn a_fit_goes_on_without_a_host_that_is_lost() {
    let Some(folder) = folder() else {
        return on_hosts("hosts::a_fit_goes_on_without_a_host_that_is_lost");
    };
    let training = start(two_hosts(&folder).retries(1), &folder);
    lose_host(3);
    let done = training.epochs_done();
    wait_for(&training, done + 3);
    training.stop();
    let fit = training.join().unwrap();
    let note = fit.note().unwrap_or_default().to_owned();
    let lost = format!("{} does not answer: 1 of 2 ranks are left", host_name(3));
    assert!(note.contains(&lost), "{note}");
    assert_whole(&fit, &folder, "the host that is left");
}

#[test]
fn a_network_that_is_cut_ends_the_fit() {
    let Some(folder) = folder() else {
        return on_hosts("hosts::a_network_that_is_cut_ends_the_fit");
    };
    let training = start(two_hosts(&folder), &folder);
    let cut = Instant::now();
    cut_host(3).unwrap();
    let error = training.join().unwrap_err();
    assert!(
        cut.elapsed() < Duration::from_secs(40),
        "{:?}",
        cut.elapsed()
    );
    assert_eq!(error.kind(), ErrorKind::Cluster);
    let hosts = "all 2 ranks (on node2, node3)";
    assert!(error.to_string().contains(hosts), "{error}");
}

#[test]
fn a_slow_network_that_loses_frames_changes_no_bit() {
    let Some(folder) = folder() else {
        let link = Link {
            delay: Duration::from_millis(10),
            bits_per_second: 1e8,
            loses_one_in: 50,
        };
        let test = "hosts::a_slow_network_that_loses_frames_changes_no_bit";
        return on_joined_hosts(test, Some(link));
    };
    let hosts = folder.join("hosts.txt");
    let command = format!(
        "{} -n 2 --hostfile {} --mca btl self,tcp --mca pml ob1 --mca btl_tcp_if_include {SLOW_NETWORK}",
        mpiexec(),
        hosts.display()
    );
    let cluster = Cluster::command(command).folder(folder.join("runs"));
    let training = start(cluster, &folder);
    training.stop();
    let fit = training.join().unwrap();
    assert_whole(&fit, &folder, "a slow network");
    // Sums of 5 topics x 900 terms go there, then F comes back: two delays of at least 10 ms.
    #[cfg(feature = "polars")]
    {
        let passes = fit.ranks().numbers("exchange").unwrap();
        let shortest = passes.into_iter().fold(f64::INFINITY, f64::min);
        assert!(shortest > 0.01, "{}", fit.ranks());
    }
}
