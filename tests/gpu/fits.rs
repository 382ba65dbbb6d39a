//! Complete fits with every solver, layout and placement. Kernels do nothing here, so L and F have no meaning.

use fake_cuda::report;
use topicbook::{
    Budget, Checkpoint, CountValue, Counts, Device, Fit, Optimizer, Precision, Solver, TopicModel,
};

use crate::machine::Machine;

const DOCUMENTS: usize = 3_000;
const TERMS: usize = 2_000;
const TOPICS: usize = 10;
const BATCH: usize = 256;
const EPOCHS: usize = 2;

/// Dense counts of the dtype that `convert` gives.
pub fn dense<T: CountValue>(documents: usize, terms: usize, convert: impl Fn(u8) -> T) -> Counts {
    let values = (0..documents * terms).map(|i| convert((i * i % 97 / 9) as u8));
    Counts::dense(documents, terms, values.collect::<Vec<T>>()).unwrap()
}

/// CSR counts with `nonzeros` nonzero counts per document.
pub fn sparse(documents: usize, terms: usize, nonzeros: usize) -> Counts {
    let starts = (0..=documents as u64).map(|row| row * nonzeros as u64);
    let columns = (0..documents * nonzeros).map(|i| (i % nonzeros * (terms / nonzeros)) as u32);
    let counts = vec![1.0; documents * nonzeros];
    Counts::csr(
        documents,
        terms,
        starts.collect(),
        columns.collect(),
        counts,
    )
    .unwrap()
}

/// CSR counts with 0 to twice `mean` nonzero counts per document, in ascending order.
pub fn rising(documents: usize, terms: usize, mean: usize) -> Counts {
    let length = |row: usize| 2 * mean * row / documents;
    let mut starts = vec![0u64];
    let mut columns = Vec::new();
    for row in 0..documents {
        columns.extend((0..length(row)).map(|i| (i * (terms / (2 * mean))) as u32));
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

/// Bytes that `work` uploads and downloads, and its result.
fn transferred<T>(work: impl FnOnce() -> T) -> (u64, u64, T) {
    let before = report().unwrap();
    let result = work();
    let after = report().unwrap();
    let uploaded = after.upload_bytes - before.upload_bytes;
    let downloaded = after.download_bytes - before.download_bytes;
    (uploaded, downloaded, result)
}

/// Asserts the shapes of a complete fit.
fn assert_complete(fit: &Fit) {
    assert_eq!(fit.l().shape(), (DOCUMENTS, TOPICS));
    assert_eq!(fit.f().shape(), (TOPICS, TERMS));
    assert_eq!(fit.history().height(), EPOCHS);
}

#[test]
fn counts_of_every_dtype_are_resident_in_the_narrowest_format() {
    let test = "fits::counts_of_every_dtype_are_resident_in_the_narrowest_format";
    let report = Machine::default().run(test, || {
        let all = [
            (1, dense(DOCUMENTS, TERMS, |value| value)),
            (1, dense(DOCUMENTS, TERMS, u16::from)),
            (1, dense(DOCUMENTS, TERMS, i32::from)),
            (1, dense(DOCUMENTS, TERMS, f32::from)),
            (1, dense(DOCUMENTS, TERMS, f64::from)),
            (2, dense(DOCUMENTS, TERMS, |value| 300 * u16::from(value))),
            (2, dense(DOCUMENTS, TERMS, |value| 300.0 * f32::from(value))),
            (
                4,
                dense(DOCUMENTS, TERMS, |value| 70_000 * u32::from(value)),
            ),
            (
                4,
                dense(DOCUMENTS, TERMS, |value| 70_000 * i64::from(value)),
            ),
            (
                4,
                dense(DOCUMENTS, TERMS, |value| 70_000.0 * f64::from(value)),
            ),
        ];
        for (bytes, counts) in all {
            let (uploaded, _, fit) = transferred(|| model().fit(&counts).unwrap());
            assert_complete(&fit);
            let stored = (bytes * DOCUMENTS * TERMS) as u64;
            let tables = (3 * 4 * TOPICS * (DOCUMENTS + TERMS)) as u64;
            assert!(
                (stored..stored + tables + (1 << 20)).contains(&uploaded),
                "{counts}: {uploaded}"
            );
        }
    });
    let Some(report) = report else { return };
    assert!(report.launches > 0 && report.failed_allocations == 0);
    // Counts are uploaded through pinned memory.
    assert!(
        report.pageable_upload_bytes < report.upload_bytes / 10,
        "{}",
        report.text()
    );
}

#[test]
fn sparse_counts_are_resident_as_stored() {
    let report = Machine::default().run("fits::sparse_counts_are_resident_as_stored", || {
        for precision in [Precision::F32, Precision::Bf16] {
            let counts = sparse(DOCUMENTS, TERMS, 100);
            let model = model().solver(Solver::mini_batch().gpu_precision(precision));
            let (uploaded, _, fit) = transferred(|| model.fit(&counts).unwrap());
            assert_complete(&fit);
            let stored = (8 * DOCUMENTS * 100) as u64;
            let tables = (3 * 4 * TOPICS * (DOCUMENTS + TERMS)) as u64;
            assert!(
                (stored..stored + tables + (1 << 20)).contains(&uploaded),
                "{uploaded} of {stored}"
            );
        }
    });
    assert!(report.is_none_or(|report| report.launches > 0 && report.failed_allocations == 0));
}

#[test]
fn expectation_maximisation_computes_its_sums_on_the_gpu() {
    let test = "fits::expectation_maximisation_computes_its_sums_on_the_gpu";
    let report = Machine::default().run(test, || {
        for (counts, stored) in [
            (dense(DOCUMENTS, TERMS, |value| value), DOCUMENTS * TERMS),
            (sparse(DOCUMENTS, TERMS, 100), 8 * DOCUMENTS * 100),
        ] {
            let em = TopicModel::new(TOPICS)
                .epochs(EPOCHS)
                .solver(Solver::em())
                .device(Device::Cuda(0))
                .quiet();
            let plan = em.plan(&counts).unwrap();
            assert!(plan.peak_vram().is_some(), "{plan}");
            let (uploaded, downloaded, fit) = transferred(|| plan.fit().unwrap());
            assert_eq!(fit.l().shape(), (DOCUMENTS, TOPICS));
            assert!(uploaded > stored as u64, "{uploaded} of {stored}");
            let tables = (4 * TOPICS * (DOCUMENTS + TERMS)) as u64;
            assert!(downloaded > tables, "{downloaded}");
        }
    });
    assert!(report.is_none_or(|report| report.launches > 0 && report.failed_allocations == 0));
}

#[test]
fn counts_that_do_not_fit_on_the_gpu_are_uploaded_in_batches() {
    let report = Machine::default().run(
        "fits::counts_that_do_not_fit_on_the_gpu_are_uploaded_in_batches",
        || {
            let cases = [
                (
                    dense(DOCUMENTS, TERMS, |value| value),
                    "5 MiB",
                    DOCUMENTS * TERMS,
                ),
                (
                    dense(DOCUMENTS, TERMS, |value| 70_000.0 * f32::from(value)),
                    "16 MiB",
                    4 * DOCUMENTS * TERMS,
                ),
                // A column index and a count for each nonzero.
                (sparse(DOCUMENTS, TERMS, 100), "3 MiB", 8 * DOCUMENTS * 100),
            ];
            for (counts, budget, stored) in cases {
                let plan = model()
                    .budget(Budget::new().vram(budget).unwrap())
                    .plan(&counts)
                    .unwrap();
                let (uploaded, _, fit) = transferred(|| plan.fit().unwrap());
                assert_complete(&fit);
                assert!(
                    uploaded > (EPOCHS * stored) as u64,
                    "{counts}: {uploaded}\n{plan}"
                );
            }
        },
    );
    let Some(report) = report else { return };
    assert!(
        report.pageable_upload_bytes < report.upload_bytes / 10,
        "{}",
        report.text()
    );
}

#[test]
fn l_is_offloaded_by_optimizer_or_budget() {
    let report = Machine::default().run("fits::l_is_offloaded_by_optimizer_or_budget", || {
        let gradients = (EPOCHS * 4 * TOPICS * DOCUMENTS) as u64;
        for counts in [
            dense(DOCUMENTS, TERMS, |value| value),
            sparse(DOCUMENTS, TERMS, 100),
        ] {
            let small = |size| Budget::new().vram(size).unwrap();
            let rowwise = model().solver(Solver::mini_batch().optimizer(Optimizer::RowwiseAdamW));
            let cases = [
                (rowwise.clone(), false),
                (model().budget(small("1300 KiB")), false),
                (model().budget(small("700 KiB")), true),
                (rowwise.budget(small("700 KiB")), true),
            ];
            for (model, in_micro_batches) in cases {
                let plan = model.plan(&counts).unwrap();
                let (_, downloaded, fit) = transferred(|| plan.fit().unwrap());
                assert_complete(&fit);
                // The gradient of every row of L is downloaded in every epoch.
                assert!(downloaded >= gradients, "{downloaded}\n{plan}");
                assert!(!in_micro_batches || plan.micro_batch() < BATCH, "{plan}");
            }
        }
    });
    assert!(report.is_none_or(|report| report.pageable_downloads == 0));
}

#[test]
fn a_fit_resumes_from_its_checkpoint_and_runs_in_the_background() {
    let test = "fits::a_fit_resumes_from_its_checkpoint_and_runs_in_the_background";
    let _ = Machine::default().run(test, || {
        let folder = tempfile::tempdir().unwrap();
        let counts = dense(DOCUMENTS, TERMS, |value| value);
        let rowwise = Solver::mini_batch().optimizer(Optimizer::RowwiseAdamW);
        let models = [(model(), "on-gpu"), (model().solver(rowwise), "offloaded")];
        for (model, name) in models {
            let path = folder.path().join(name);
            model
                .clone()
                .epochs(1)
                .checkpoint(&path)
                .fit(&counts)
                .unwrap();
            let checkpoint = Checkpoint::open(&path).unwrap().epochs(EPOCHS).quiet();
            assert_complete(&checkpoint.fit(&counts).unwrap());
            assert_complete(&model.spawn(&counts).unwrap().join().unwrap());
        }
    });
}
