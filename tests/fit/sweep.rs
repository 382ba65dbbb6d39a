//! Sweeps over numbers of topics: judged as fits one by one, stopped and resumed, and refused by name.

use std::ops::ControlFlow;

use crate::cosine;
use crate::drawn;
use testkit::refused;
use topicbook::{Budget, Counts, ErrorKind, Fit, Solver, Sweep, SweepFits, Synthetic, TopicModel};

fn counts() -> Counts {
    drawn([240, 70, 4], 300, 5).counts()
}

fn model() -> TopicModel {
    let solver = Solver::coordinate_descent();
    TopicModel::new(1).solver(solver).epochs(60).seed(3).quiet()
}

fn sweep() -> Sweep {
    TopicModel::sweep([8, 1, 4, 4]).seeds(2).model(model())
}

/// What is judged, without times and memory.
fn judged(sweep: &SweepFits) -> Vec<(usize, u64, f64, Option<f64>)> {
    let runs = sweep.runs().into_iter();
    runs.map(|run| {
        (
            run.topics,
            run.seed,
            run.evaluation.score_per_token(),
            run.npmi,
        )
    })
    .collect()
}

#[test]
fn a_sweep_judges_as_fits_one_by_one() {
    let swept = sweep().fit(counts()).unwrap();
    assert_eq!(swept.topics(), [1, 4, 8]);
    let (train, held_out) = counts().split(0.8, 3).unwrap();
    let mut expected = Vec::new();
    for k in [1, 4, 8] {
        let mut fits: Vec<Fit> = Vec::new();
        for seed in [3, 4] {
            let mut settings = model().settings();
            settings.topics = k;
            settings.seed = seed;
            let fit = TopicModel::from_settings(&settings)
                .quiet()
                .fit(&train)
                .unwrap();
            let score = fit.evaluate(&held_out).unwrap().score_per_token();
            expected.push((k, seed, score, fit.coherence(&train, 10).unwrap().npmi()));
            fits.push(fit);
        }
        let best = match fits[1].log_likelihood_per_token() > fits[0].log_likelihood_per_token() {
            true => &fits[1],
            false => &fits[0],
        };
        assert!(swept.fit(k).unwrap().f() == best.f());
    }
    assert_eq!(judged(&swept), expected);
}

#[cfg(feature = "polars")]
#[test]
fn the_table_has_means_over_seeds_and_the_cosine_of_paired_topics() {
    let swept = sweep().fit(counts()).unwrap();
    let table = swept.table();
    let column = |name: &str| table.numbers(name).unwrap();
    assert_eq!(column("topics"), [1.0, 4.0, 8.0]);
    let runs = swept.runs();
    for (row, pair) in runs.chunks(2).enumerate() {
        let scores = pair.iter().map(|run| run.evaluation.score_per_token());
        let mean = scores.sum::<f64>() / 2.0;
        assert!((column("score_per_token")[row] - mean).abs() < 1e-12);
        assert!((column("perplexity")[row] - (-mean).exp()).abs() < 1e-9);
        let seconds: f64 = pair.iter().map(|run| run.duration.as_secs_f64()).sum();
        assert!((column("seconds")[row] - seconds / 2.0).abs() < 1e-12);
    }
    let stability = column("stability");
    assert!(
        (stability[0] - 1.0).abs() < 1e-5,
        "one topic has one solution"
    );
    assert!(
        stability
            .iter()
            .all(|value| (0.0..=1.0 + 1e-9).contains(value))
    );
    // Computed by hand, over all pairings of four topics.
    let (train, _) = counts().split(0.8, 3).unwrap();
    let f = [3, 4].map(|seed| {
        let mut settings = model().settings();
        (settings.topics, settings.seed) = (4, seed);
        TopicModel::from_settings(&settings)
            .quiet()
            .fit(&train)
            .unwrap()
            .f()
    });
    let mut largest: f64 = 0.0;
    for order in 0..256 {
        let order: Vec<usize> = (0..4).map(|at| order >> (2 * at) & 3).collect();
        if (0..4).all(|topic| order.contains(&topic)) {
            let sum: f64 = (0..4)
                .map(|at| cosine(f[0].row(at), f[1].row(order[at])))
                .sum();
            largest = largest.max(sum / 4.0);
        }
    }
    assert!(
        (stability[1] - largest).abs() < 1e-9,
        "{} {largest}",
        stability[1]
    );
}

#[test]
fn the_recommendation_has_a_reason_and_an_uncertainty() {
    let swept = sweep().fit(counts()).unwrap();
    let text = swept.recommendation();
    assert!(text.starts_with("4 topics: "), "{text}");
    testkit::assert_has(
        &text,
        [
            "± ",
            "nats a token",
            "48 held-out documents, paired, and 2 seeds",
            "NPMI",
        ],
    );
    assert!(!text.contains("number tried"), "{text}");
    let one_seed = sweep().seeds(1).fit(counts()).unwrap().recommendation();
    testkit::assert_has(&one_seed, ["how much starts differ is not part of it"]);
    let fit = |topics: &[usize]| {
        let sweep = TopicModel::sweep(topics).model(model());
        sweep.fit(counts()).unwrap().recommendation()
    };
    assert!(fit(&[1, 4]).contains("4 is the largest number tried"));
    assert!(fit(&[4, 8]).contains("4 is the smallest number tried"));
    assert!(fit(&[4]).contains("the only number that was fitted"));
    // Documents of one topic: nothing is gained by more of them.
    let flat = drawn([200, 30, 1], 80, 2);
    let sweep = TopicModel::sweep([1, 2, 3]).seeds(2).model(model());
    let swept = sweep.fit(flat.counts()).unwrap();
    let text = swept.recommendation();
    assert!(text.starts_with("1 topic: "), "{text}");
    #[cfg(feature = "charts")]
    {
        let picture = swept.plot().to_svg().unwrap();
        testkit::assert_has(
            &picture,
            [
                ">Recommended: 1 topic, which predicts unseen documents",
                ">recommended<",
            ],
        );
    }
}

#[test]
fn a_stopped_sweep_goes_on_with_the_same_fits() {
    let folder = tempfile::tempdir().unwrap();
    let whole = sweep().fit(counts()).unwrap();
    let place = folder.path().join("a/sweep");
    let stopped = sweep()
        .checkpoint(&place)
        .on_fit(|run| match (run.topics, run.seed) {
            (4, 3) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .fit(counts())
        .unwrap();
    assert_eq!(judged(&stopped), judged(&whole)[..3]);
    assert!(
        stopped
            .recommendation()
            .ends_with("stopped after 3 of 6 fits.")
    );
    assert!(stopped.fit(8).is_err());
    let resumed = sweep().checkpoint(&place).fit(counts()).unwrap();
    assert_eq!(judged(&resumed), judged(&whole));
    let loaded: Vec<bool> = resumed.runs().iter().map(|run| run.loaded).collect();
    assert_eq!(loaded, [true, true, true, false, false, false]);
    assert_eq!(resumed.recommendation(), whole.recommendation());
    assert!(resumed.runs().iter().all(|run| run.peak_memory.is_some()));
    // A fit of other counts or settings is not taken for one of the sweep.
    for (sweep, counts, what) in [
        (
            sweep().model(model().epochs(61)),
            counts(),
            "other settings",
        ),
        (sweep(), counts().select(0..200).unwrap(), "other counts"),
    ] {
        refused! { sweep.checkpoint(&place).fit(counts), what, "k1_seed3.safetensors"; }
    }
}

#[test]
fn held_out_documents_can_be_given() {
    let (train, held_out) = counts().split(0.8, 3).unwrap();
    let given = sweep().held_out(&held_out).fit(&train).unwrap();
    assert_eq!(judged(&given), judged(&sweep().fit(counts()).unwrap()));
}

#[test]
fn sweeps_that_cannot_be_run_are_refused_by_name() {
    let none: [usize; 0] = [];
    let narrow = Counts::dense(2, 3, vec![1u8; 6]).unwrap();
    let small = Budget::new().ram("1 MB").unwrap();
    let fit = |sweep: Sweep| sweep.fit(counts());
    refused! {
        fit(TopicModel::sweep(none)) => Setting, "no number of topics";
        fit(sweep().seeds(0)) => Setting, "0 seeds";
        fit(TopicModel::sweep([0, 2])) => Setting, "number of topics, is 0";
        fit(TopicModel::sweep([2, 71])) => Setting, "71 topics are more than";
        fit(sweep().held_out(narrow)) => Shape, "over 3 terms, for counts of 70 terms";
        fit(sweep().model(model().checkpoint("x.ckpt"))) => Setting, "cannot share the checkpoint";
        fit(sweep().model(model().budget(small))) => Space, "budget";
    }
}

#[test]
fn the_fits_that_are_kept_are_part_of_the_plan() {
    let wide = Synthetic::new(2000, 3000, 4).seed(1).generate();
    let (train, held_out) = wide.unwrap().counts().split(0.9, 1).unwrap();
    let plan = |seeds, budget: u64| {
        let budget = Budget::new().ram(budget).unwrap();
        let solver = Solver::coordinate_descent();
        let model = TopicModel::new(1).solver(solver).budget(budget);
        let sweep = TopicModel::sweep([20, 40]).seeds(seeds).model(model);
        sweep.held_out(&held_out).plan(&train)
    };
    let peak = |seeds| plan(seeds, 64 << 30).unwrap().peak_ram();
    // A thousand more seeds keep a thousand more F of 20 and 40 topics at the end, and scores. Other tests use memory meanwhile.
    let f_bytes = 4 * (20 + 40) * 3000;
    let scores = 2 * 32 * held_out.documents() as u64;
    let expected = 1000 * (f_bytes + scores);
    let found = peak(1001) - peak(1);
    assert!(
        found.abs_diff(expected) < expected / 4,
        "{found}, {expected}"
    );
    // A budget for each fit, not for what all seeds keep.
    refused! { plan(1001, peak(1) + expected / 2) => Space, "for the fits and scores so far", "MiB"; }
}

#[test]
fn a_consensus_has_the_topics_of_most_seeds() {
    let corpus = drawn([240, 70, 4], 300, 5);
    let folder = tempfile::tempdir().unwrap();
    let sweep = TopicModel::sweep([1, 4]).seeds(10).model(model());
    let sweep = sweep.checkpoint(folder.path());
    let swept = sweep.fit(corpus.counts()).unwrap();
    let consensus = swept.consensus(4).unwrap();
    let fit = consensus.fit();
    // All documents have topics, those that were held out too, and they are what `transform` finds, whose rounding depends on
    // the order of the topics.
    let l = fit.transform(corpus.counts()).unwrap();
    let pairs = fit
        .l()
        .values()
        .to_vec()
        .into_iter()
        .zip(l.values().to_vec());
    let farthest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(l.rows() == 240 && farthest < 1e-3, "{farthest}");
    let sizes: Vec<f32> = (0..4)
        .map(|topic| (0..240).map(|row| fit.l().row(row)[topic]).sum())
        .collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    for topic in 0..4 {
        let sum: f32 = fit.f().row(topic).iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }
    // It is as near to the truth as the best of its fits.
    let near = |fit: &Fit| -> f64 {
        let aligned = fit.align_to(corpus.true_f()).unwrap().f();
        (0..4)
            .map(|topic| cosine(aligned.row(topic), corpus.true_f().row(topic)))
            .sum()
    };
    let best = near(&swept.fit(4).unwrap());
    assert!(near(&fit) > best - 0.01, "{} {best}", near(&fit));
    let stability = consensus.stability();
    assert!(
        stability
            .iter()
            .all(|stability| (0.5..=1.0).contains(stability)),
        "{stability:?}"
    );
    assert!((0.0..0.5).contains(&consensus.dropped()));
    // Fits from the folder give the same.
    let again = sweep.fit(corpus.counts()).unwrap().consensus(4).unwrap();
    assert!(again.fit().f() == fit.f() && again.stability() == stability);
    let one_seed = TopicModel::sweep([4])
        .model(model())
        .fit(corpus.counts())
        .unwrap();
    refused! {
        swept.consensus(1) => Setting, "10 fits with 1 topic";
        swept.consensus(3) => Value, "no fit of 3 topics";
        one_seed.consensus(4) => Setting, "1 fit with 4 topics";
    }
}
