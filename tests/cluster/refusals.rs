//! What a plan refuses, and what it shows.

use std::time::Duration;

use testkit::refused;
use topicbook::{
    Cluster, Counts, Device, ErrorKind, MiniBatch, Precision, Reading, Solver, TableStorage,
    TopicModel,
};

use super::{counts, model};

#[test]
fn what_ranks_cannot_fit_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts(folder.path());
    let two = Cluster::local(2);
    let em = model(Solver::em());
    let batches = Solver::mini_batch().batch_size(2_000);
    let plan = |model: TopicModel, cluster: &Cluster| model.cluster(cluster).plan(&counts);
    let steps = |steps: MiniBatch| plan(TopicModel::new(5).solver(steps), &two);
    let large = TopicModel::new(5).batch_size(2_000);
    let in_file = TableStorage::File("tables".into());
    refused! {
        plan(TopicModel::new(5), &two) => Setting, "batches of 16 documents on a cluster", "batch_size(1000)";
        steps(batches.clip_grad_norm(1.0)) => Setting, "MiniBatch::clip_grad_norm with a cluster", "leave it out";
        steps(batches.table_precision(Precision::Bf16)) => Setting, "MiniBatch::table_precision with a cluster", "leave it out";
        steps(batches.table_storage(in_file)) => Setting, "MiniBatch::table_storage with a cluster", "leave it out";
        steps(batches.micro_batch(10)) => Setting, "MiniBatch::micro_batch with a cluster", "leave it out";
        plan(model(Solver::auto()), &two) => Setting, "its search compares fits", "coordinate_descent";
        plan(em.device(Device::Cuda(0)), &two) => Setting, "on a cluster", "Device::Cpu";
        plan(em.checkpoint("fit.checkpoint"), &two) => Setting, "checkpoint with a cluster", "Cluster::retries";
        plan(em.reading(Reading::InPlace), &two) => Setting, "read in place", "leave TopicModel::reading out";
        plan(em.clone(), &Cluster::local(0)) => Setting, "0 ranks", "at least 1";
        plan(em.clone(), &Cluster::local(5)) => Setting, "cut into 4 shards", "at most 4";
        plan(large, &Cluster::local(16)) => Setting, "cut into 4 shards", "or larger batches";
        plan(em.clone(), &Cluster::slurm("-n 2")) => Setting, "without a folder", "folder";
        plan(em.clone(), &two.clone().patience(Duration::ZERO)) => Setting, "patience", "at least a second";
    }
    let in_memory = Counts::dense(9, 9, vec![1u8; 81]).unwrap();
    let error = em.cluster(&two).plan(in_memory).unwrap_err().to_string();
    assert!(error.contains("write_npz"), "{error}");
}

#[test]
fn a_plan_shows_what_a_rank_holds_and_sends() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts(folder.path());
    let plan = |ranks| {
        let model = model(Solver::em()).cluster(Cluster::local(ranks));
        model.plan(&counts).unwrap().to_string()
    };
    let text = plan(4);
    testkit::assert_has(
        &text,
        [
            "4 for 4 shards",
            "memory of a rank",
            "a pass, over all ranks",
        ],
    );
    assert!(plan(1).contains("0 B a pass"), "{}", plan(1));
    let steps = TopicModel::new(5)
        .batch_size(3_000)
        .cluster(Cluster::local(4));
    let text = steps.plan(&counts).unwrap().to_string();
    testkit::assert_has(&text, ["at 3 steps of an epoch, over all ranks"]);
}
