//! Transfers and synchronisations of a step and, on a simulated bus, the time of an epoch against the time of its bytes. This
//! shows how well transfers overlap, not the speed of any GPU.

use fake_cuda::{Report, report};
use serde_json::{Value, json};
use topicbook::{Budget, Counts, Device, Fit, Optimizer, Solver, TopicModel};

use crate::fits::{dense, sparse};
use crate::machine::Machine;

/// Bytes per second in each direction: slow, so that the time of copies in host memory does not matter.
const BUS: f64 = 0.1e9;
const BATCH: usize = 1_024;

/// The fastest epoch after the first.
fn epoch_seconds(fit: &Fit) -> f64 {
    let history = fit.history();
    let seconds = history.column("seconds").unwrap().f64().unwrap();
    seconds.into_no_null_iter().skip(1).fold(f64::MAX, f64::min)
}

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

/// Time of an epoch relative to the time of its bytes on the bus, in the direction with more of them; and calls to the driver
/// per step.
fn measure(name: &str, model: &TopicModel, counts: &Counts, epochs: usize) -> Value {
    // So that the plan of each fit has the largest count.
    counts.summary().unwrap();
    let plan = |epochs| model.clone().epochs(epochs).plan(counts).unwrap();
    assert_eq!(plan(1).micro_batch(), BATCH, "{name}: {}", plan(1));
    let start = report().unwrap();
    plan(1).fit().unwrap();
    let before = report().unwrap();
    let fit = plan(1 + epochs).fit().unwrap();
    let after = report().unwrap();
    // Subtracts the fit of one epoch: its first epoch and what is transferred once.
    let difference =
        |of: fn(&Report) -> u64| (of(&after) - of(&before)) - (of(&before) - of(&start));
    let uploaded = difference(|report| report.upload_bytes);
    let downloaded = difference(|report| report.download_bytes);
    let bytes = uploaded.max(downloaded) as f64 / epochs as f64;
    let steps = epochs * counts.documents().div_ceil(BATCH);
    let per_step = |of| difference(of) as f64 / steps as f64;
    json!({
        "row": name,
        "bytes_per_epoch": bytes,
        "epoch_over_bus_time": epoch_seconds(&fit) / (bytes / BUS),
        "launches_per_step": per_step(|report| report.launches),
        "uploads_per_step": per_step(|report| report.uploads),
        "downloads_per_step": per_step(|report| report.downloads),
        "pageable_uploads_per_step": per_step(|report| report.pageable_uploads),
        "waits_per_step": per_step(|report| report.waits),
    })
}

#[test]
fn a_step_rarely_waits_for_the_gpu() {
    let machine = Machine::default().with("BUS", BUS);
    let _ = machine.run("bus::a_step_rarely_waits_for_the_gpu", || {
        for (name, counts, model) in cases() {
            let row = measure(name, &model, &counts, 2);
            println!("{row}");
            let number = |field: &str| row[field].as_f64().unwrap();
            // Gradients of an offloaded L are downloaded in every step; losses only once, at the end of an epoch.
            let downloads = match name {
                "L offloaded" => 1.1,
                _ if name.ends_with("EM") => 1.5,
                _ => 0.5,
            };
            assert!(number("downloads_per_step") <= downloads, "{row}");
            // A step waits before it refills a staging buffer of 32 MiB, and for its downloads.
            let refills = (number("bytes_per_epoch") / 8.0 / f64::from(32 << 20)).ceil();
            assert!(number("waits_per_step") <= 2.0 + refills, "{row}");
        }
    });
}

/// `cargo xtask bench bus`. Needs an otherwise idle machine, hence not part of the tests.
#[test]
#[ignore = "a measurement: cargo xtask bench bus"]
fn an_epoch_takes_as_long_as_its_transfers() {
    let Ok(path) = std::env::var("TOPICBOOK_BUS") else {
        panic!("TOPICBOOK_BUS must name the file of the record");
    };
    let machine = Machine::default().with("BUS", BUS);
    let _ = machine.run("bus::an_epoch_takes_as_long_as_its_transfers", || {
        let rows = cases().into_iter().map(|(name, counts, model)| {
            let row = measure(name, &model, &counts, 5);
            println!("{row}");
            row
        });
        let record = json!({
            "bus_bytes_per_second_each_way": BUS,
            "driver": "crates/fake-cuda: no GPU, kernels take no time",
            "rows": rows.collect::<Vec<_>>(),
        });
        std::fs::write(&path, format!("{record:#}\n")).unwrap();
    });
}
