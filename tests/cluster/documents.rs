//! Topics and scores of documents by ranks.

use topicbook::{Cluster, Counts, Dtype, Matrix, Solver};

use super::{alone, counts, run_folder};

fn bits(matrix: &Matrix) -> Vec<u32> {
    let values = matrix.values().iter();
    values.map(|value| value.to_bits()).collect()
}

#[test]
fn ranks_transform_and_score_as_one_process_does() {
    let Some(folder) = run_folder() else { return };
    let counts = counts(folder.path());
    let fit = alone(Solver::em(), 3, &counts);
    // Documents that are nearly all zeros, and some that hold most terms.
    let others = counts.select(0..8_000).unwrap();
    let others = others.write_npz(folder.path().join("others.npz")).unwrap();
    let (documents, terms) = (4_000, counts.terms());
    let values = (0..documents * terms).map(|at| (at * 31 % 97 % 4) as u8);
    let full = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
    let full = full
        .write_npy_as(folder.path().join("full.npy"), Dtype::U8)
        .unwrap();
    for new in [&others, &full] {
        let (l, score) = (fit.transform(new).unwrap(), fit.score(new).unwrap());
        for ranks in 1..=3 {
            let ranks = Cluster::local(ranks).folder(folder.path());
            assert!(
                bits(&fit.transform_on(&ranks, new).unwrap()) == bits(&l),
                "{ranks}"
            );
            let found = fit.score_on(&ranks, new).unwrap();
            assert_eq!(
                found.to_bits(),
                score.to_bits(),
                "{ranks}: {found}, {score}"
            );
        }
    }
    // The fit's own documents have its L.
    let score = fit.score(&counts).unwrap();
    let found = fit.score_on(Cluster::local(4), &counts).unwrap();
    assert_eq!(found.to_bits(), score.to_bits(), "{found}, {score}");
}

#[test]
fn what_ranks_cannot_transform_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let counts = counts(folder.path());
    let fit = alone(Solver::em(), 1, &counts);
    let refused = |cluster: Cluster, counts: &Counts| {
        let error = fit.transform_on(cluster, counts).unwrap_err();
        error.to_string()
    };
    let few = counts.select(0..10).unwrap();
    let error = refused(Cluster::local(2), &few);
    assert!(error.contains("counts in memory on a cluster"), "{error}");
    let error = refused(Cluster::local(5), &counts);
    assert!(error.contains("cut into 4 shards"), "{error}");
    let error = refused(Cluster::slurm("-n 2"), &counts);
    assert!(error.contains("without a folder"), "{error}");
    let narrow = Counts::dense(1, 2, vec![1u8, 2]).unwrap();
    let error = refused(Cluster::local(1), &narrow);
    testkit::assert_has(&error, ["cannot transform counts of 2 terms"]);
}
