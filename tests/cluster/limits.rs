//! Ranks whose memory or disk is too small.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::{Cgroup, Tmpfs, refused};
use topicbook::{Cluster, ErrorKind, Solver, TopicModel};

use super::faults::process_of;
use super::{by_script, counts, model, run_folder};

/// Two ranks, of which rank 1 is in a cgroup.
fn with_rank_in(group: &Cgroup, folder: &Path) -> Cluster {
    let processes = group.processes();
    let line = format!(
        "[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] && echo 0 > {}",
        processes.display()
    );
    by_script(&line, folder)
}

#[test]
fn a_rank_without_enough_memory_says_so_before_it_reads() {
    let Some(folder) = run_folder() else { return };
    let Some(group) = Cgroup::or_skip(48 << 20) else {
        return;
    };
    let counts = counts(folder.path());
    // Half of L takes 16 MB, F 3 MB, and a table of its sums 6 MB.
    let model = TopicModel::new(900).solver(Solver::em()).epochs(1).quiet();
    let model = model.cluster(with_rank_in(&group, folder.path()));
    let error = model.fit(&counts).unwrap_err().to_string();
    testkit::assert_has(&error, ["rank 1 would need ", "use more ranks"]);
}

#[test]
fn a_rank_that_runs_out_of_memory_ends_the_fit_with_the_limit() {
    let Some(folder) = run_folder() else { return };
    let Some(group) = Cgroup::or_skip(128 << 20) else {
        return;
    };
    let counts = counts(folder.path());
    let model = model(Solver::em()).epochs(1_000_000);
    let model = model.cluster(with_rank_in(&group, folder.path()));
    let training = model.spawn(&counts).unwrap();
    testkit::wait_for("two passes", || training.epochs_done() >= 2);
    let (_, process) = process_of(1, folder.path()).unwrap();
    // The system ends this process first when another one takes the memory.
    fs::write(format!("/proc/{process}/oom_score_adj"), "1000").unwrap();
    let mut other = Command::new("sh");
    other.args(["-c", "head -c 500m /dev/zero | tail > /dev/null"]);
    group.run(&mut other).unwrap();
    refused! {
        training.join() => Cluster, "rank 1 (process ", "ran out of memory: its control group has 128 MiB";
    }
}

#[test]
fn a_disk_that_is_too_small_for_a_run_is_named_before_it_starts() {
    let Some(folder) = run_folder() else { return };
    let Some(disk) = Tmpfs::or_skip("256k") else {
        return;
    };
    let counts = counts(folder.path());
    let model = model(Solver::em()).cluster(Cluster::local(2).folder(disk.path()));
    refused! { model.fit(&counts) => Space, "needs 457 KiB, but", "Cluster::folder"; }
}

#[test]
fn a_disk_that_fills_up_ends_the_fit_with_its_folder() {
    let Some(folder) = run_folder() else { return };
    let Some(disk) = Tmpfs::or_skip("4m") else {
        return;
    };
    let counts = counts(folder.path());
    let model = model(Solver::em()).epochs(1_000_000);
    let model = model.cluster(Cluster::local(2).folder(disk.path()));
    let training = model.spawn(&counts).unwrap();
    testkit::wait_for("two passes", || training.epochs_done() >= 2);
    // Fills the disk.
    let _ = fs::write(disk.path().join("other"), vec![1; 8 << 20]);
    let shown = disk.path().display().to_string();
    refused! { training.join() => Space, "the disk of the run is full", shown; }
}
