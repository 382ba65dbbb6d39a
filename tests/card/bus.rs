//! The schedule of a step: what it waits for, and on a simulated bus, how long its bytes keep it. Not the speed of any card.

use cardless::{Report, report};
use serde_json::{Value, json};
use topicbook::{Budget, Counts, Device, Fit, Optimizer, Solver, TopicModel};

use crate::fits::{dense, sparse};
use crate::machine::Machine;
use crate::record;

/// Bytes a second each way: slow beside a processor that copies memory.
const BUS: f64 = 0.1e9;
const BATCH: usize = 1_024;

/// The quickest of the epochs after the first.
fn seconds(fit: &Fit) -> f64 {
    let history = fit.history();
    let seconds = history.column("seconds").unwrap().f64().unwrap();
    seconds.into_no_null_iter().skip(1).fold(f64::MAX, f64::min)
}

/// Counts that do not fit on the card, and an L that does not.
fn cases() -> Vec<(&'static str, Counts, TopicModel)> {
    let model = |topics| {
        let model = TopicModel::new(topics).batch_size(BATCH).quiet();
        model.device(Device::Cuda(0))
    };
    let sent = |vram| model(10).budget(Budget::new().vram(vram));
    // Kernels that do nothing have nothing to gain.
    let em = |vram| sent(vram).solver(Solver::Em).tolerance(0.0);
    vec![
        ("f32 sent", dense(8_000, 2_000, f32::from), sent("70 MiB")),
        (
            "u8 sent",
            dense(8_000, 2_000, |value| value),
            sent("30 MiB"),
        ),
        ("CSR sent", sparse(8_000, 2_000, 400), sent("24 MiB")),
        ("f32 sent, EM", dense(8_000, 2_000, f32::from), em("70 MiB")),
        (
            "u8 sent, EM",
            dense(8_000, 2_000, |value| value),
            em("24 MiB"),
        ),
        (
            "L beside the card",
            dense(40_000, 200, |value| value),
            model(128).optimizer(Optimizer::RowwiseAdamW),
        ),
    ]
}

/// An epoch's time over that in which its bytes only cross the bus, the way that has more of them; and what a step asks
/// of the driver.
fn row(name: &str, model: &TopicModel, counts: &Counts, epochs: usize) -> Value {
    let plan = |epochs| model.clone().epochs(epochs).plan(counts).unwrap();
    assert_eq!(plan(1).micro_batch(), BATCH, "{name}: {}", plan(1));
    let start = report().unwrap();
    plan(1).fit().unwrap();
    let before = report().unwrap();
    let fit = plan(1 + epochs).fit().unwrap();
    let after = report().unwrap();
    // Without the first epoch and what goes there once.
    let more = |of: fn(&Report) -> u64| (of(&after) - of(&before)) - (of(&before) - of(&start));
    let to = more(|seen| seen.to_card_bytes);
    let from = more(|seen| seen.from_card_bytes);
    let bytes = to.max(from) as f64 / epochs as f64;
    let steps = epochs * counts.documents().div_ceil(BATCH);
    let each = |of| more(of) as f64 / steps as f64;
    json!({
        "row": name,
        "bytes_an_epoch": bytes,
        "over_bus": seconds(&fit) / (bytes / BUS),
        "launches_a_step": each(|seen| seen.launches),
        "copies_to_card_a_step": each(|seen| seen.to_card),
        "copies_from_card_a_step": each(|seen| seen.from_card),
        "copies_of_plain_memory_a_step": each(|seen| seen.to_card_plain),
        "waits_a_step": each(|seen| seen.waits),
    })
}

#[test]
fn a_step_waits_for_little() {
    let machine = Machine::default().with("BUS", BUS);
    let _ = machine.run("bus::a_step_waits_for_little", || {
        for (name, counts, model) in cases() {
            let row = row(name, &model, &counts, 2);
            println!("{row}");
            let number = |field: &str| row[field].as_f64().unwrap();
            // Rows of L may come back; losses do all at once, at the end of an epoch.
            let back = match name {
                "L beside the card" => 1.1,
                _ if name.ends_with("EM") => 1.5,
                _ => 0.5,
            };
            assert!(number("copies_from_card_a_step") <= back, "{row}");
            // For a stage of 4 MiB that is filled again, for what comes back, and no more.
            let stages = (number("bytes_an_epoch") / 8.0 / f64::from(4 << 20)).ceil();
            assert!(number("waits_a_step") <= 2.0 + stages, "{row}");
        }
    });
}

/// `cargo xtask bench bus`: needs a machine with nothing else to do, hence not among the tests.
#[test]
#[ignore = "a measurement: cargo xtask bench bus"]
fn an_epoch_takes_as_long_as_its_bytes() {
    let Ok(path) = std::env::var("TOPICBOOK_BUS") else {
        panic!("TOPICBOOK_BUS says where the record goes");
    };
    let machine = Machine::default().with("BUS", BUS);
    let _ = machine.run("bus::an_epoch_takes_as_long_as_its_bytes", || {
        let rows = cases().into_iter().map(|(name, counts, model)| {
            let row = row(name, &model, &counts, 5);
            println!("{row}");
            row
        });
        let record = json!({
            "machine": record::machine(),
            "bytes_a_second_each_way": BUS,
            "driver": "tests/driver, without a card; kernels take no time",
            "rows": rows.collect::<Vec<_>>(),
        });
        std::fs::write(&path, format!("{record:#}\n")).unwrap();
    });
}
