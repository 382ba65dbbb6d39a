//! Transfers and synchronisations of a step on a simulated bus.

use fake_cuda::{Report, report};
use topicbook::{Budget, Counts, Device, Optimizer, Solver, TopicModel};

use crate::fits::{dense, sparse};
use crate::machine::Machine;

/// Bytes per second in each direction: slow, so that the time of copies in host memory does not matter.
const BUS: f64 = 0.1e9;
const BATCH: usize = 1_024;

/// Counts that do not fit on the GPU, and an offloaded L.
fn cases() -> Vec<(&'static str, Counts, TopicModel)> {
    let on_gpu = |topics| TopicModel::new(topics).device(Device::Cuda(0)).quiet();
    let within = |model: TopicModel, vram| model.budget(Budget::new().vram(vram).unwrap());
    let adamw = |vram| within(on_gpu(10).batch_size(BATCH), vram);
    // Kernels do nothing, so the score does not improve; a tolerance of 0 keeps the fit from ending.
    let em = |vram| within(on_gpu(10).solver(Solver::em()).tolerance(0.0), vram);
    vec![
        (
            "f32 uploaded",
            dense(8_000, 2_000, |value| 70_000.0 * f32::from(value)),
            adamw("70 MiB"),
        ),
        (
            "u8 uploaded",
            dense(8_000, 2_000, |value| value),
            adamw("30 MiB"),
        ),
        ("CSR uploaded", sparse(8_000, 2_000, 400), adamw("24 MiB")),
        (
            "f32 uploaded, EM",
            dense(8_000, 2_000, |value| 70_000.0 * f32::from(value)),
            em("70 MiB"),
        ),
        (
            "u8 uploaded, EM",
            dense(8_000, 2_000, |value| value),
            em("24 MiB"),
        ),
        (
            "L offloaded",
            dense(40_000, 200, |value| value),
            on_gpu(128)
                .batch_size(BATCH)
                .solver(Solver::mini_batch().optimizer(Optimizer::RowwiseAdamW)),
        ),
    ]
}

/// Bytes of an epoch in the direction with more of them; and downloads and waits per step.
fn measure(name: &str, model: &TopicModel, counts: &Counts, epochs: usize) -> [f64; 3] {
    // So that the plan of each fit has the largest count.
    counts.summary().unwrap();
    let plan = |epochs| model.clone().epochs(epochs).plan(counts).unwrap();
    assert_eq!(plan(1).micro_batch(), BATCH, "{name}: {}", plan(1));
    let start = report().unwrap();
    plan(1).fit().unwrap();
    let before = report().unwrap();
    plan(1 + epochs).fit().unwrap();
    let after = report().unwrap();
    // Subtracts the fit of one epoch: its first epoch and what is transferred once.
    let difference =
        |of: fn(&Report) -> u64| (of(&after) - of(&before)) - (of(&before) - of(&start));
    let bytes = difference(|report| report.upload_bytes);
    let bytes = bytes.max(difference(|report| report.download_bytes));
    let steps = (epochs * counts.documents().div_ceil(BATCH)) as f64;
    let downloads = difference(|report| report.downloads) as f64 / steps;
    let waits = difference(|report| report.waits) as f64 / steps;
    [bytes as f64 / epochs as f64, downloads, waits]
}

#[test]
fn a_step_rarely_waits_for_the_gpu() {
    let machine = Machine::default().with("BUS", BUS);
    let _ = machine.run("bus::a_step_rarely_waits_for_the_gpu", || {
        for (name, counts, model) in cases() {
            let [bytes, downloads, waits] = measure(name, &model, &counts, 2);
            println!("{name}: {bytes} bytes, {downloads} downloads and {waits} waits a step");
            // Gradients of an offloaded L are downloaded in every step; losses only once, at the end of an epoch.
            let most = match name {
                "L offloaded" => 1.1,
                _ if name.ends_with("EM") => 1.5,
                _ => 0.5,
            };
            assert!(downloads <= most, "{name}");
            // A step waits before it refills a staging buffer of 32 MiB, and for its downloads.
            let refills = (bytes / 8.0 / f64::from(32 << 20)).ceil();
            assert!(waits <= 2.0 + refills, "{name}");
        }
    });
}
