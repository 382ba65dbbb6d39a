//! What a plan refuses, and what it shows.

use std::time::Duration;

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
    let steps = Solver::mini_batch().batch_size(2_000);
    let steps = |change: fn(MiniBatch) -> MiniBatch| {
        TopicModel::new(5)
            .solver(change(steps.clone()))
            .cluster(&two)
    };
    let cases: [(TopicModel, &str, &str); 14] = [
        (
            TopicModel::new(5).cluster(&two),
            "batches of 16 documents on a cluster",
            "batch_size(1000)",
        ),
        (
            steps(|steps| steps.clip_grad_norm(1.0)),
            "MiniBatch::clip_grad_norm with a cluster",
            "leave it out",
        ),
        (
            steps(|steps| steps.table_precision(Precision::Bf16)),
            "MiniBatch::table_precision with a cluster",
            "leave it out",
        ),
        (
            steps(|steps| steps.table_storage(TableStorage::File("tables".into()))),
            "MiniBatch::table_storage with a cluster",
            "leave it out",
        ),
        (
            steps(|steps| steps.micro_batch(10)),
            "MiniBatch::micro_batch with a cluster",
            "leave it out",
        ),
        (
            model(Solver::auto()).cluster(&two),
            "its search compares fits",
            "coordinate_descent",
        ),
        (
            em.device(Device::Cuda(0)).cluster(&two),
            "on a cluster",
            "Device::Cpu",
        ),
        (
            em.checkpoint("fit.checkpoint").cluster(&two),
            "checkpoint with a cluster",
            "Cluster::retries",
        ),
        (
            em.reading(Reading::InPlace).cluster(&two),
            "read in place",
            "leave TopicModel::reading out",
        ),
        (em.cluster(Cluster::local(0)), "0 ranks", "at least 1"),
        (
            em.cluster(Cluster::local(5)),
            "cut into 4 shards",
            "at most 4",
        ),
        (
            TopicModel::new(5)
                .batch_size(2_000)
                .cluster(Cluster::local(16)),
            "cut into 4 shards",
            "or larger batches",
        ),
        (
            em.cluster(Cluster::slurm("-n 2")),
            "without a folder",
            "folder",
        ),
        (
            em.cluster(two.clone().patience(Duration::ZERO)),
            "patience",
            "at least a second",
        ),
    ];
    for (model, what, remedy) in cases {
        let error = model.plan(&counts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Setting, "{error}");
        let text = error.to_string();
        assert!(text.contains(what) && text.contains(remedy), "{text}");
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
    for shown in [
        "4 for 4 shards",
        "memory of a rank",
        "a pass, over all ranks",
    ] {
        assert!(text.contains(shown), "{text}");
    }
    assert!(plan(1).contains("0 B a pass"), "{}", plan(1));
    let steps = TopicModel::new(5)
        .batch_size(3_000)
        .cluster(Cluster::local(4));
    let text = steps.plan(&counts).unwrap().to_string();
    assert!(
        text.contains("at 3 steps of an epoch, over all ranks"),
        "{text}"
    );
}
