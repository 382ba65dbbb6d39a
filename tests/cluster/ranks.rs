//! Results of ranks on this machine.

use std::fs;

use topicbook::Solver;

use super::{alone, assert_same, cluster, counts, model};

#[test]
fn ranks_fit_as_one_process_does_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for solver in [Solver::em(), Solver::coordinate_descent()] {
        let counts = counts(folder.path());
        let expected = alone(solver.clone(), 6, &counts);
        for ranks in 1..=4 {
            let Some(cluster) = cluster(ranks, folder.path()) else {
                return;
            };
            let model = model(solver.clone()).epochs(6).cluster(cluster);
            let fit = model.fit(&counts).unwrap();
            assert_same(&fit, &expected, &format!("{solver}, {ranks} ranks"));
        }
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the runs are removed: {left:?}");
}

#[test]
fn a_fit_that_is_stopped_has_what_its_ranks_have_learned() {
    let folder = tempfile::tempdir().unwrap();
    let Some(cluster) = cluster(2, folder.path()) else {
        return;
    };
    let counts = counts(folder.path());
    let endless = model(Solver::em()).epochs(1_000_000).cluster(cluster);
    let training = endless.spawn(&counts).unwrap();
    testkit::wait_for("two passes", || training.epochs_done() >= 2);
    training.stop();
    let fit = training.join().unwrap();
    let epochs = fit.epochs().len();
    assert!((2..1_000_000).contains(&epochs));
    assert_same(&fit, &alone(Solver::em(), epochs, &counts), "stopped");
}

#[test]
fn ranks_stop_where_one_process_converges() {
    let folder = tempfile::tempdir().unwrap();
    let Some(cluster) = cluster(3, folder.path()) else {
        return;
    };
    let counts = counts(folder.path());
    let model = model(Solver::em()).tolerance(1e-3).epochs(500);
    let fit = model.cluster(cluster).fit(&counts).unwrap();
    let epochs = fit.epochs().len();
    assert!(epochs < 500, "{epochs} passes");
    assert_same(&fit, &alone(Solver::em(), epochs, &counts), "converged");
}
