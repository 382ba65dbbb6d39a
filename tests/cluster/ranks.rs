//! Results of ranks on this machine.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use topicbook::{Counts, Device, Fit, Solver, TopicModel};

use super::{STREAM, alone, assert_same, by_script, cluster, counts, model, run_folder};

#[test]
fn ranks_fit_as_one_process_does_bit_for_bit() {
    let Some(folder) = run_folder() else { return };
    for solver in [Solver::em(), Solver::coordinate_descent()] {
        let counts = counts(folder.path());
        let expected = alone(solver.clone(), 6, &counts);
        for ranks in 1..=4 {
            let cluster = cluster(ranks, folder.path());
            let model = model(solver.clone()).epochs(6).cluster(cluster);
            let fit = model.fit(&counts).unwrap();
            assert_same(&fit, &expected, &format!("{solver}, {ranks} ranks"));
            #[cfg(feature = "polars")]
            assert_table(&fit, ranks, &counts);
        }
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "the runs are removed: {left:?}");
}

/// Each rank sees the files of its own documents alone; the others are empty where it looks.
#[test]
fn ranks_open_no_files_but_those_of_their_documents() {
    let Some(folder) = run_folder() else { return };
    let whole = counts(folder.path());
    let path = |part: usize| folder.path().join(format!("part-{part}.npz"));
    // The middle of the documents is in the file that both ranks read.
    for (part, documents) in [0..3_000, 3_000..7_000, 7_000..9_000]
        .into_iter()
        .enumerate()
    {
        let counts = whole.select(documents).unwrap();
        counts.write_npz(path(part)).unwrap();
    }
    let counts = Counts::open_files([path(0), path(1), path(2)]).unwrap();
    let lines = format!(
        "[ \"$OMPI_COMM_WORLD_RANK\" = 0 ] && other={} || other={}\n\
         exec unshare -m sh -c 'mount --bind /dev/null \"$0\" && exec \"$@\"' $other \"$@\"",
        path(2).display(),
        path(0).display()
    );
    let namespace = ["-m", "mount", "--bind", "/dev/null"].map(OsStr::new);
    let mut trial = Command::new("unshare");
    trial.args(namespace).arg(path(2));
    if !trial.status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: this user may not mount a file over another (`unshare -m`)");
        return;
    }
    let two_ranks = by_script(&lines, folder.path());
    for solver in [Solver::em(), Solver::coordinate_descent()] {
        let model = model(solver.clone()).epochs(4).cluster(&two_ranks);
        let plan = model.plan(&counts).unwrap().to_string();
        testkit::assert_has(
            &plan,
            ["0: part-0.npz to part-1.npz; 1: part-1.npz to part-2.npz"],
        );
        let fit = model.fit(&counts).unwrap();
        assert_same(&fit, &alone(solver, 4, &whole), "a file each");
    }
    // A rank that does not see a file of its own.
    let error = model(Solver::em())
        .cluster(by_script(&lines.replace("= 0 ]", "= 1 ]"), folder.path()))
        .fit(&counts)
        .unwrap_err()
        .to_string();
    assert!(error.contains("part-"), "{error}");
}

/// Each rank has a row for each pass, whose parts sum up to the pass.
#[cfg(feature = "polars")]
fn assert_table(fit: &Fit, ranks: usize, counts: &Counts) {
    let (table, epochs) = (fit.ranks(), fit.epochs());
    assert_eq!(table.height(), epochs.len() * ranks);
    let sum = |column: &str| table.numbers(column).unwrap().iter().sum::<f64>();
    assert_eq!(sum("documents"), (epochs.len() * counts.documents()) as f64);
    let all = sum("working") + sum("waiting") + sum("exchange");
    let passes: f64 = epochs
        .iter()
        .map(|epoch| epoch.duration.as_secs_f64())
        .sum();
    assert!(all / ranks as f64 > passes - 1e-6, "{all}, {passes}");
    assert!(sum("waiting") >= 0.0 && sum("exchange") >= 0.0, "{table}");
}

#[test]
fn gradient_steps_by_ranks_have_the_same_bits_and_the_quality_of_one_process() {
    let Some(folder) = run_folder() else { return };
    let counts = counts(folder.path());
    let model = TopicModel::new(5)
        .batch_size(1_000)
        .epochs(12)
        .seed(3)
        .quiet();
    let alone = model.device(Device::Cpu).fit(&counts).unwrap();
    let mut first: Option<Fit> = None;
    for ranks in 1..=4 {
        let cluster = cluster(ranks, folder.path());
        let fit = model.cluster(cluster).fit(&counts).unwrap();
        let (found, expected) = (fit.epochs(), alone.epochs());
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.learning_rate, expected.learning_rate);
            let difference = (found.loss - expected.loss).abs() / expected.loss;
            assert!(difference < 0.01, "{found:?}, {expected:?}");
        }
        let (score, of_one) = (fit.score(&counts).unwrap(), alone.score(&counts).unwrap());
        assert!((score / of_one - 1.0).abs() < 5e-3, "{score}, {of_one}");
        let expected = first.get_or_insert_with(|| fit.clone());
        assert_same(&fit, expected, &format!("gradient steps, {ranks} ranks"));
    }
}

#[test]
fn a_sweep_fits_by_ranks() {
    let Some(folder) = run_folder() else { return };
    let cluster = cluster(2, folder.path());
    let counts = counts(folder.path());
    let train = counts.select(0..8_000).unwrap();
    let train = train.write_npz(folder.path().join("train.npz")).unwrap();
    let held_out = counts.select(8_000..9_000).unwrap();
    let sweep = |model: TopicModel| {
        let sweep = TopicModel::sweep([2, 5])
            .seeds(1)
            .quiet()
            .model(model.epochs(3));
        sweep.held_out(&held_out).fit(&train).unwrap()
    };
    let found = sweep(model(Solver::em()).cluster(&cluster));
    let expected = sweep(model(Solver::em()).reading(STREAM));
    for topics in [2, 5] {
        let (found, expected) = (found.fit(topics).unwrap(), expected.fit(topics).unwrap());
        assert_same(&found, &expected, &format!("{topics} topics"));
    }
    let without = TopicModel::sweep([2])
        .quiet()
        .model(model(Solver::em()).cluster(cluster));
    testkit::refused! { without.fit(&train), ".held_out(&held_out)"; }
}

#[test]
fn a_fit_that_is_stopped_has_what_its_ranks_have_learned() {
    let Some(folder) = run_folder() else { return };
    let cluster = cluster(2, folder.path());
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
    let Some(folder) = run_folder() else { return };
    let cluster = cluster(3, folder.path());
    let counts = counts(folder.path());
    let model = model(Solver::em()).tolerance(1e-3).epochs(500);
    let fit = model.cluster(cluster).fit(&counts).unwrap();
    let epochs = fit.epochs().len();
    assert!(epochs < 500, "{epochs} passes");
    assert_same(&fit, &alone(Solver::em(), epochs, &counts), "converged");
}
