//! The rows of `cargo xtask bench gpu` at tiny sizes, without a card: that they run and what is made of them.

#[path = "../benches/support/few_terms.rs"]
mod few_terms;
#[path = "../benches/gpu/page.rs"]
mod page;
#[path = "../benches/gpu/work.rs"]
mod work;

use serde_json::{Value, json};
use topicbook::replay::On;
use work::{As, Fit, Law};

#[test]
fn every_row_runs_without_a_card() {
    let folder = tempfile::tempdir().unwrap();
    let generated = work::generate(folder.path(), [60, 80, 3]).unwrap();
    assert_eq!(generated["narrow"], "u8");
    let fit = |form: &str| {
        let asked = Fit {
            form: As::of(form).unwrap(),
            law: Law::of("f32").unwrap(),
            topics: 3,
            batch: 16,
            epochs: 2,
            vram: "16 MiB",
        };
        work::fit(On::Cpu, folder.path(), &asked).unwrap()
    };
    let [f32s, narrow, csr, disk] = ["f32", "narrow", "csr", "disk"].map(fit);
    assert_eq!(f32s["epoch_seconds"].as_array().map(Vec::len), Some(2));
    assert_eq!([&f32s["dtype"], &narrow["dtype"]], ["f32", "u8"]);
    assert_eq!(
        f32s["bytes"].as_u64(),
        narrow["bytes"].as_u64().map(|bytes| 4 * bytes)
    );
    assert!(f32s["bus_seconds"].is_f64() && disk["bus_seconds"].is_null());
    assert!(f32s["vram_predicted"].as_f64() > narrow["vram_predicted"].as_f64());
    // The same counts in every form; documents of a stream come in another order.
    for other in [&narrow, &csr] {
        let score = |row: &Value| row["log_likelihood_per_token"].as_f64().unwrap();
        assert!((score(&f32s) / score(other) - 1.0).abs() < 1e-5);
    }
    let bus = work::bus(On::Cpu, 1 << 16, (32, 8)).unwrap();
    assert!(bus["to_card_per_second"].as_f64().unwrap() > 0.0);
    let hosted = work::hosted(On::Cpu, [200, 3, 16, 10]).unwrap();
    assert!(hosted["on_host_per_second"].as_f64().unwrap() > 0.0);
    let flat = work::flat(On::Cpu, [40, 30, 2], 2).unwrap();
    assert_eq!(flat["in_use"].as_array().map(Vec::len), Some(3));
    let record = json!({
        "small": true, "card": "none", "shape": [60, 80, 3], "batch": 16, "machine": {"topicbook": "0"},
        "rows": {
            "f32 in RAM, batch 16": f32s, "CSR in RAM": csr, "bus": bus, "L of many rows": hosted,
            "fits one after the other": flat,
        },
    });
    assert_eq!(page::shortcomings(&record), Vec::<String>::new());
    let text = page::markdown(&record);
    assert!(text.contains("Nothing here ran on a card"), "{text}");
    assert!(text.contains("| CSR in RAM"), "{text}");
}

#[test]
fn goals_that_are_missed_are_named() {
    let record = |seconds: f64, bus: f64, reserved: f64, last: u64, failed: Value| {
        let row = json!({
            "documents": 100_000, "epoch_seconds": [9.0, seconds], "bus_seconds": bus,
            "vram_predicted": 1.0e9, "vram_reserved_peak": reserved,
        });
        json!({
            "small": false, "batch": 1024, "rows": {
                "f32 in RAM, batch 1024": row,
                "tinytopics": {"seconds_per_epoch": 5.0, "documents": 20_000},
                "fits one after the other": {
                    "in_use": [1, 1_000_000, last], "reserved": [0, 5_000_000, 5_000_000],
                },
                "bus": {"failed": failed},
            },
        })
    };
    let short = |record: Value| page::shortcomings(&record).join("\n");
    assert_eq!(short(record(1.4, 1.2, 0.95e9, 1_000_000, Value::Null)), "");
    for (named, missed) in [
        (
            "seconds an epoch",
            record(1.6, 1.5, 1e9, 1_000_000, Value::Null),
        ),
        (
            "over the time of the bus",
            record(1.4, 1.0, 1e9, 1_000_000, Value::Null),
        ),
        ("tinytopics", record(2.0, 2.0, 1e9, 1_000_000, Value::Null)),
        (
            "VRAM predicted",
            record(1.4, 1.2, 0.8e9, 1_000_000, Value::Null),
        ),
        (
            "in_use after",
            record(1.4, 1.2, 1e9, 9_000_000, Value::Null),
        ),
        (
            "bus: failed",
            record(1.4, 1.2, 1e9, 1_000_000, json!("exit status: 1")),
        ),
    ] {
        assert!(
            short(missed.clone()).contains(named),
            "{named}: {}",
            short(missed)
        );
    }
    // What was not measured has not been reached.
    let text = short(json!({"small": false, "batch": 1024, "rows": {}}));
    assert!(text.contains("not measured"), "{text}");
}
