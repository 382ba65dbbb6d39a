//! Two hosts: network namespaces of this machine with a host name each, joined by a bridge. A program of the test starts
//! processes there in the place of SSH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use topicbook::{Cluster, ErrorKind, Fit, Solver, TopicModel, Training};

use super::faults::process_of;
use super::{alone, assert_same, cluster, counts, model};

/// Set in the process that runs a test on the hosts: the folder of the test.
const FOLDER: &str = "TOPICBOOK_TEST_HOSTS";
/// The address of this machine on the bridge, without its last number, 1; the hosts have 2 and 3.
const NETWORK: &str = "10.213.77";
const BRIDGE: &str = "tbbridge";

fn name(host: usize) -> String {
    format!("{NETWORK}.{host}")
}

/// Runs `ip` with these words. Returns what it complains about.
fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "ip {words}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// The hosts, which are removed at the end. One test has them at a time.
struct Hosts {
    _lock: fs::File,
}

impl Hosts {
    fn new() -> Result<Self, String> {
        let lock = fs::File::create(std::env::temp_dir().join("topicbook-test-hosts"));
        let lock = lock.map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| error.to_string())?;
        remove();
        let hosts = Self { _lock: lock };
        // Without an address of its own, a bridge takes another one when a host goes, and the others look for the old one.
        ip(&format!(
            "link add {BRIDGE} address 02:00:0a:d5:4d:01 type bridge"
        ))?;
        ip(&format!("addr add {NETWORK}.1/24 dev {BRIDGE}"))?;
        ip(&format!("link set {BRIDGE} up"))?;
        for host in [2, 3] {
            let name = name(host);
            ip(&format!("netns add {name}"))?;
            ip(&format!(
                "link add tbhost{host} type veth peer name eth0 netns {name}"
            ))?;
            ip(&format!("link set tbhost{host} master {BRIDGE} up"))?;
            ip(&format!("-n {name} addr add {name}/24 dev eth0"))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        Ok(hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        remove();
    }
}

fn remove() {
    for host in [2, 3] {
        lose(host);
    }
    let _ = ip(&format!("link del {BRIDGE}"));
}

/// Ends all processes of a host, and removes it.
fn lose(host: usize) {
    let name = name(host);
    if let Ok(output) = Command::new("ip").args(["netns", "pids", &name]).output() {
        for process in String::from_utf8_lossy(&output.stdout).split_whitespace() {
            let _ = Command::new("kill").args(["-KILL", process]).status();
        }
    }
    let _ = ip(&format!("netns del {name}"));
    let _ = ip(&format!("link del tbhost{host}"));
}

/// Runs a test of this file again in a process for which Open MPI starts processes on the hosts. Skips it where there is no
/// worker, or where this user may make no hosts.
fn on_hosts(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    if cluster(2, folder.path()).is_none() {
        return;
    }
    let _hosts = match Hosts::new() {
        Ok(hosts) => hosts,
        Err(reason) => return println!("SKIPPED: no network namespaces here: {reason}"),
    };
    let agent = folder.path().join("agent");
    // Open MPI gives it the host and the words of a command. It takes what stands before the first point of a name for the name.
    let script = "#!/bin/sh\nhost=$1; shift\n\
        exec ip netns exec $host unshare --uts sh -c \"hostname node${host##*.}; exec sh -c '$*'\"\n";
    fs::write(&agent, script).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o700)).unwrap();
    let settings = folder.path().join(".prte");
    fs::create_dir(&settings).unwrap();
    let line = format!("plm_ssh_agent = {}\n", agent.display());
    fs::write(settings.join("mca-params.conf"), line).unwrap();
    let hosts = format!("{} slots=1\n{} slots=1\n", name(2), name(3));
    fs::write(folder.path().join("hosts.txt"), hosts).unwrap();
    fs::create_dir(folder.path().join("runs")).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("HOME", folder.path())
        .env(FOLDER, folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{text}");
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

/// Waits for so many passes of a fit.
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
    lose(3);
    let done = training.epochs_done();
    wait_for(&training, done + 3);
    training.stop();
    let fit = training.join().unwrap();
    let note = fit.note().unwrap_or_default().to_owned();
    let lost = format!("{} does not answer: 1 of 2 ranks are left", name(3));
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
    ip("link set tbhost3 down").unwrap();
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
