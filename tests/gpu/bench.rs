//! The rows of `cargo xtask bench gpu` at tiny sizes, on the CPU, and the goals that its page reports.

use serde_json::{Value, json};
use topicbook::bench_hooks::On;

use crate::work::{Fit, Form, Method};
use crate::{page, work};

#[test]
fn every_row_runs_without_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let generated = work::generate(folder.path(), [60, 80, 3]).unwrap();
    assert_eq!(generated["narrow"], "u8");
    let fit = |form: &str| {
        let parameters = Fit {
            form: Form::parse(form).unwrap(),
            method: Method::parse("f32").unwrap(),
            topics: 3,
            batch: 16,
            epochs: 2,
            vram: "16 MiB",
        };
        work::fit(On::Cpu, folder.path(), &parameters).unwrap()
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
    // The same counts give the same score in every form but the stream, which has another order of documents.
    for other in [&narrow, &csr] {
        let score = |row: &Value| row["log_likelihood_per_token"].as_f64().unwrap();
        assert!((score(&f32s) / score(other) - 1.0).abs() < 1e-5);
    }
    let bus = work::bus(On::Cpu, 1 << 16, (32, 8)).unwrap();
    assert!(bus["to_gpu_per_second"].as_f64().unwrap() > 0.0);
    let offload = work::offload(On::Cpu, [200, 3, 16, 10]).unwrap();
    assert!(offload["on_host_per_second"].as_f64().unwrap() > 0.0);
    let growth = work::growth(On::Cpu, [40, 30, 2], 2).unwrap();
    assert_eq!(growth["in_use"].as_array().map(Vec::len), Some(3));
    let record = json!({
        "small": true, "GPU": "none", "shape": [60, 80, 3], "batch": 16, "machine": {"topicbook": "0"},
        "rows": {
            "f32 in RAM, batch 16": f32s, "CSR in RAM": csr, "bus": bus, "L of many rows": offload,
            "fits one after the other": growth,
        },
    });
    assert_eq!(page::missed_goals(&record), Vec::<String>::new());
    let text = page::markdown(&record);
    assert!(text.contains("Nothing here ran on a GPU"), "{text}");
    assert!(text.contains("| CSR in RAM"), "{text}");
}

#[test]
fn missed_goals_are_named() {
    let record = |seconds: f64, bus: f64, reserved: f64, last_in_use: u64, failed: Value| {
        let row = json!({
            "documents": 100_000, "epoch_seconds": [9.0, seconds], "bus_seconds": bus,
            "vram_predicted": 1.0e9, "vram_reserved_peak": reserved,
        });
        json!({
            "small": false, "batch": 1024, "rows": {
                "f32 in RAM, batch 1024": row,
                "tinytopics": {"seconds_per_epoch": 5.0, "documents": 20_000},
                "fits one after the other": {
                    "in_use": [1, 1_000_000, last_in_use], "reserved": [0, 5_000_000, 5_000_000],
                },
                "bus": {"failed": failed},
            },
        })
    };
    let missed = |record: Value| page::missed_goals(&record).join("\n");
    assert_eq!(missed(record(1.4, 1.2, 0.95e9, 1_000_000, Value::Null)), "");
    for (goal, record) in [
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
            missed(record.clone()).contains(goal),
            "{goal}: {}",
            missed(record)
        );
    }
    // A goal that was not measured is not reached.
    let text = missed(json!({"small": false, "batch": 1024, "rows": {}}));
    assert!(text.contains("not measured"), "{text}");
}
