//! Fits of every kind, from the plan to L and F. Kernels do nothing here, so what a fit has learned means nothing.

use cardless::report;
use topicbook::{
    Budget, CountValue, Counts, Device, Fit, Optimizer, Precision, Solver, TopicModel,
};

use crate::machine::Machine;

const DOCUMENTS: usize = 3_000;
const TERMS: usize = 2_000;
const TOPICS: usize = 10;
const BATCH: usize = 256;
const EPOCHS: usize = 2;

pub fn dense<T: CountValue>(documents: usize, terms: usize, of: impl Fn(u8) -> T) -> Counts {
    let values = (0..documents * terms).map(|at| of((at * at % 97 / 9) as u8));
    Counts::dense(documents, terms, values.collect::<Vec<T>>()).unwrap()
}

/// `each` counts a document.
pub fn sparse(documents: usize, terms: usize, each: usize) -> Counts {
    let starts = (0..=documents as u64).map(|row| row * each as u64);
    let columns = (0..documents * each).map(|at| (at % each * (terms / each)) as u32);
    let counts = vec![1.0; documents * each];
    Counts::csr(
        documents,
        terms,
        starts.collect(),
        columns.collect(),
        counts,
    )
    .unwrap()
}

/// From none to twice `mean` counts a document, the short ones first.
pub fn rising(documents: usize, terms: usize, mean: usize) -> Counts {
    let length = |row: usize| 2 * mean * row / documents;
    let mut starts = vec![0u64];
    let mut columns = Vec::new();
    for row in 0..documents {
        columns.extend((0..length(row)).map(|at| (at * (terms / (2 * mean))) as u32));
        starts.push(columns.len() as u64);
    }
    let counts = vec![1.0; columns.len()];
    Counts::csr(documents, terms, starts, columns, counts).unwrap()
}

pub fn model() -> TopicModel {
    TopicModel::new(TOPICS)
        .epochs(EPOCHS)
        .batch_size(BATCH)
        .device(Device::Cuda(0))
        .quiet()
}

/// Bytes that a piece of work sends to the card, and that come back.
fn moved<T>(work: impl FnOnce() -> T) -> (u64, u64, T) {
    let before = report().unwrap();
    let done = work();
    let after = report().unwrap();
    let (to, from) = (
        after.to_card_bytes - before.to_card_bytes,
        after.from_card_bytes - before.from_card_bytes,
    );
    (to, from, done)
}

fn is_whole(fit: &Fit) {
    assert_eq!(fit.l().shape(), (DOCUMENTS, TOPICS));
    assert_eq!(fit.f().shape(), (TOPICS, TERMS));
    assert_eq!(fit.history().height(), EPOCHS);
}

#[test]
fn counts_of_every_dtype_lie_on_the_card_as_they_are_stored() {
    let test = "fits::counts_of_every_dtype_lie_on_the_card_as_they_are_stored";
    let report = Machine::default().run(test, || {
        let all = [
            (1, dense(DOCUMENTS, TERMS, |value| value)),
            (2, dense(DOCUMENTS, TERMS, u16::from)),
            (4, dense(DOCUMENTS, TERMS, u32::from)),
            (4, dense(DOCUMENTS, TERMS, i32::from)),
            (4, dense(DOCUMENTS, TERMS, f32::from)),
            // Narrowed on the way.
            (4, dense(DOCUMENTS, TERMS, i64::from)),
            (4, dense(DOCUMENTS, TERMS, f64::from)),
        ];
        for (bytes, counts) in all {
            let (to, _, fit) = moved(|| model().fit(&counts).unwrap());
            is_whole(&fit);
            let stored = (bytes * DOCUMENTS * TERMS) as u64;
            let tables = (3 * 4 * TOPICS * (DOCUMENTS + TERMS)) as u64;
            assert!(
                (stored..stored + tables + (1 << 20)).contains(&to),
                "{counts}: {to}"
            );
        }
    });
    let Some(report) = report else { return };
    assert!(report.launches > 0 && report.refused == 0);
    // Counts go by way of pinned memory.
    assert!(
        report.to_card_plain_bytes < report.to_card_bytes / 10,
        "{}",
        report.text()
    );
}

#[test]
fn sparse_counts_lie_on_the_card_too() {
    let report = Machine::default().run("fits::sparse_counts_lie_on_the_card_too", || {
        for precision in [Precision::F32, Precision::Bf16] {
            let counts = sparse(DOCUMENTS, TERMS, 100);
            let (to, _, fit) = moved(|| model().precision(precision).fit(&counts).unwrap());
            is_whole(&fit);
            let stored = (8 * DOCUMENTS * 100) as u64;
            let tables = (3 * 4 * TOPICS * (DOCUMENTS + TERMS)) as u64;
            assert!(
                (stored..stored + tables + (1 << 20)).contains(&to),
                "{to} of {stored}"
            );
        }
    });
    assert!(report.is_none_or(|report| report.launches > 0 && report.refused == 0));
}

#[test]
fn expectation_maximisation_has_its_sums_made_there() {
    let test = "fits::expectation_maximisation_has_its_sums_made_there";
    let report = Machine::default().run(test, || {
        for (counts, stored) in [
            (dense(DOCUMENTS, TERMS, |value| value), DOCUMENTS * TERMS),
            (sparse(DOCUMENTS, TERMS, 100), 8 * DOCUMENTS * 100),
        ] {
            let em = model().solver(Solver::Em);
            let plan = em.plan(&counts).unwrap();
            assert!(plan.peak_vram().is_some(), "{plan}");
            let (to, from, fit) = moved(|| plan.fit().unwrap());
            assert_eq!(fit.l().shape(), (DOCUMENTS, TOPICS));
            assert!(to > stored as u64, "{to} of {stored}");
            assert!(from > (4 * TOPICS * (DOCUMENTS + TERMS)) as u64, "{from}");
        }
    });
    assert!(report.is_none_or(|report| report.launches > 0 && report.refused == 0));
}

#[test]
fn what_does_not_fit_on_the_card_is_sent() {
    let report = Machine::default().run("fits::what_does_not_fit_on_the_card_is_sent", || {
        let cases = [
            (
                dense(DOCUMENTS, TERMS, |value| value),
                "5 MiB",
                DOCUMENTS * TERMS,
            ),
            (
                dense(DOCUMENTS, TERMS, f32::from),
                "16 MiB",
                4 * DOCUMENTS * TERMS,
            ),
            // Column and count.
            (sparse(DOCUMENTS, TERMS, 100), "3 MiB", 8 * DOCUMENTS * 100),
        ];
        for (counts, budget, stored) in cases {
            let plan = model()
                .budget(Budget::new().vram(budget))
                .plan(&counts)
                .unwrap();
            let (to, _, fit) = moved(|| plan.fit().unwrap());
            is_whole(&fit);
            assert!(to > (EPOCHS * stored) as u64, "{counts}: {to}\n{plan}");
        }
    });
    let Some(report) = report else { return };
    assert!(
        report.to_card_plain_bytes < report.to_card_bytes / 10,
        "{}",
        report.text()
    );
}

#[test]
fn l_stays_beside_the_card_when_it_must() {
    let report = Machine::default().run("fits::l_stays_beside_the_card_when_it_must", || {
        let rows = (EPOCHS * 4 * TOPICS * DOCUMENTS) as u64;
        for counts in [
            dense(DOCUMENTS, TERMS, |value| value),
            sparse(DOCUMENTS, TERMS, 100),
        ] {
            let small = |size| Budget::new().vram(size);
            let cases = [
                (model().optimizer(Optimizer::RowwiseAdamW), false),
                (model().budget(small("1300 KiB")), false),
                (model().budget(small("700 KiB")), true),
                (
                    model()
                        .optimizer(Optimizer::RowwiseAdamW)
                        .budget(small("700 KiB")),
                    true,
                ),
            ];
            for (model, in_parts) in cases {
                let plan = model.plan(&counts).unwrap();
                let (_, from, fit) = moved(|| plan.fit().unwrap());
                is_whole(&fit);
                // Gradients of every row come back in every epoch.
                assert!(from >= rows, "{from}\n{plan}");
                assert!(!in_parts || plan.micro_batch() < BATCH, "{plan}");
            }
        }
    });
    assert!(report.is_none_or(|report| report.from_card_plain == 0));
}

#[test]
fn a_fit_goes_on_from_its_checkpoint_and_in_the_background() {
    let test = "fits::a_fit_goes_on_from_its_checkpoint_and_in_the_background";
    let _ = Machine::default().run(test, || {
        let folder = tempfile::tempdir().unwrap();
        let counts = dense(DOCUMENTS, TERMS, |value| value);
        let plans = [
            (model(), "whole"),
            (model().optimizer(Optimizer::RowwiseAdamW), "rows"),
        ];
        for (model, name) in plans {
            let path = folder.path().join(name);
            model
                .clone()
                .epochs(1)
                .checkpoint(&path)
                .fit(&counts)
                .unwrap();
            let checkpoint = TopicModel::resume(&path).unwrap().epochs(EPOCHS).quiet();
            is_whole(&checkpoint.fit(&counts).unwrap());
            is_whole(&model.spawn(&counts).unwrap().join().unwrap());
        }
    });
}
