//! The rows of `cargo xtask bench gpu` at tiny sizes, on the CPU and on the fake GPU, and the goals that its page reports.

use std::path::Path;

use serde_json::{Value, json};
use topicbook::bench_hooks::On;

use super::counts::{self, Form};
use super::equal::{Target, equal};
use super::fit::{self, Fit, Method, device};
use super::goals::missed_goals;
use super::sizes::SMALL;
use super::{page, work};
use crate::machine::Machine;
use crate::techniques::gpu_runs::on_gpu;
use crate::techniques::measure::measure;

/// A fit to the first 50 of the counts in a folder.
fn fit_to(on: On, folder: &Path, form: &str, vram: &str) -> Value {
    let parameters = Fit {
        form: Form::parse(form).unwrap(),
        method: Method::parse("f32").unwrap(),
        documents: 50,
        topics: 3,
        batch: 16,
        epochs: 2,
        vram,
    };
    fit::fit(on, folder, &parameters).unwrap()
}

#[test]
fn every_row_runs_without_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let generated = counts::generate(folder, [60, 80, 3, 1_000]).unwrap();
    assert_eq!(generated["dtype"], "u8");
    counts::convert(folder, Form::Csr, 60).unwrap();
    counts::convert(folder, Form::Disk, 50).unwrap();
    let [f32s, narrow, csr, disk] =
        ["f32", "narrow", "csr", "disk"].map(|form| fit_to(On::Cpu, folder, form, "16 MiB"));
    assert_eq!(f32s["epoch_seconds"].as_array().map(Vec::len), Some(2));
    assert_eq!([&f32s["dtype"], &narrow["dtype"]], ["f32", "u8"]);
    assert_eq!(
        f32s["bytes"].as_u64(),
        narrow["bytes"].as_u64().map(|bytes| 4 * bytes)
    );
    assert!(f32s["bus_seconds"].is_f64() && disk["bus_seconds"].is_null());
    // Counts of one byte are uploaded as such, whatever their dtype.
    assert_eq!(f32s["vram_predicted"], narrow["vram_predicted"]);
    // The same documents give the same score in every form but the stream, which has another order of documents.
    for other in [&narrow, &csr] {
        let score = |row: &Value| row["log_likelihood_per_token"].as_f64().unwrap();
        assert!((score(&f32s) / score(other) - 1.0).abs() < 1e-5);
    }
    let bus = work::bus(On::Cpu, 1 << 16, (32, 8)).unwrap();
    assert!(bus["to_gpu_per_second"].as_f64().unwrap() > 0.0);
    let gathered = work::gathered(On::Cpu, 100, (32, 8)).unwrap();
    assert!(gathered["from_gpu_per_second"].as_f64().unwrap() > 0.0);
    let offload = work::offload(On::Cpu, [200, 3, 16, 10]).unwrap();
    assert!(offload["on_host_per_second"].as_f64().unwrap() > 0.0);
    let growth = work::growth(On::Cpu, [40, 30, 2], 2).unwrap();
    assert_eq!(growth["in_use"].as_array().map(Vec::len), Some(3));
    let record = json!({
        "small": true, "GPU": "none", "shape": [60, 80, 3], "batch": 16, "machine": {"topicbook": "0"},
        "order": ["f32 in RAM, 1%", "CSR in RAM", "tinytopics, 1%"],
        "rows": {
            "f32 in RAM, 1%": f32s, "CSR in RAM": csr, "bus": bus, "gathered rows": gathered, "L of many rows": offload,
            "fits one after the other": growth, "tinytopics, 1%": {"skipped": "Python has no torch"},
        },
    });
    let missed = missed_goals(&record);
    assert_eq!(missed, ["tinytopics, 1%: skipped, Python has no torch"]);
    let text = page::markdown(&record);
    testkit::assert_has(&text, ["Nothing here ran on a GPU", "| CSR in RAM"]);
    assert!(text.contains(&missed[0]), "{text}");
}

#[test]
fn a_fit_ends_where_it_scores_as_high_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    counts::generate(folder.path(), [60, 80, 3, 1_000]).unwrap();
    let until = |score: f64| {
        let target = Target {
            documents: 50,
            score,
        };
        equal(On::Cpu, folder.path(), [3, 16], &target).unwrap()
    };
    // No L and F give tokens of 80 terms this score; a fit takes all of its epochs and says so.
    let never = until(-0.1);
    assert_eq!(
        (&never["reached"], &never["epochs"]),
        (&json!(false), &json!(200))
    );
    // Four steps an epoch.
    assert_eq!(never["factor"], 4.0);
    let scores = never["epoch_scores"].as_array().unwrap();
    let tenth = scores[9].as_f64().unwrap();
    let first = scores
        .iter()
        .position(|score| score.as_f64().unwrap() >= tenth);
    let reached = until(tenth);
    assert_eq!(reached["reached"], true);
    assert_eq!(
        reached["epochs"].as_u64(),
        first.map(|epoch| epoch as u64 + 1)
    );
    assert!(reached["score"].as_f64().unwrap() >= tenth, "{reached}");
}

#[test]
fn every_row_runs_on_the_fake_gpu() {
    let test = "gpu::tests::every_row_runs_on_the_fake_gpu";
    let report = Machine::default().run(test, || {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let gpu = On::Gpu(0);
        counts::generate(folder, [60, 80, 3, 1_000]).unwrap();
        counts::convert(folder, Form::Csr, 60).unwrap();
        counts::convert(folder, Form::Disk, 50).unwrap();
        for (form, vram) in [("f32", "all"), ("narrow", "21 KiB"), ("csr", "all")] {
            let row = fit_to(gpu, folder, form, vram);
            assert_eq!(row["resident"], vram == "all", "{row}");
            assert!(row["bus_seconds"].is_f64(), "{row}");
            assert!(row["vram_reserved_peak"].is_f64(), "{row}");
        }
        fit_to(gpu, folder, "disk", "all");
        let target = Target {
            documents: 50,
            score: f64::MIN,
        };
        let row = equal(gpu, folder, [3, 16], &target).unwrap();
        assert_eq!(row["epochs"], 1, "{row}");
        work::bus(gpu, 1 << 16, (32, 8)).unwrap();
        work::gathered(gpu, 100, (32, 8)).unwrap();
        work::offload(gpu, [200, 3, 16, 10]).unwrap();
        let row = work::growth(gpu, [40, 30, 2], 2).unwrap();
        assert!(row["reserved"][2].is_u64(), "{row}");
        for run in on_gpu(device(gpu), &SMALL.techniques) {
            let row = measure(&run).unwrap();
            assert!(row["vram_measured"].is_f64(), "{}: {row}", run.name);
        }
    });
    assert!(report.is_none_or(|report| report.launches > 0));
}

#[test]
fn missed_goals_are_named() {
    let record = |seconds: f64, bus: f64, reserved: f64, last_in_use: u64, failed: Value| {
        let row = json!({
            "documents": 100_000, "epoch_seconds": [9.0, seconds], "bus_seconds": bus,
            "vram_predicted": 1.0e9, "vram_reserved_peak": reserved,
        });
        let peer = json!({
            "seconds_per_epoch": 5.0, "documents": 20_000, "seconds": 100.0, "score": -9.0,
        });
        let equal = json!({"reached": true, "seconds": seconds * 6.0, "score": -8.9});
        json!({
            "small": false, "batch": 1024, "order": ["f32 in RAM, 1%", "bus"], "rows": {
                "f32 in RAM, 1%": row, "tinytopics, 1%": peer, "equal score, 1%": equal,
                "f32 in RAM, 47%": row, "tinytopics, 47%": peer, "equal score, 47%": equal,
                "fits one after the other": {
                    "in_use": [1, 1_000_000, last_in_use], "reserved": [0, 5_000_000, 5_000_000],
                },
                "bus": {"failed": failed},
            },
        })
    };
    let good = || record(1.4, 1.2, 0.95e9, 1_000_000, Value::Null);
    let missed = |record: Value| missed_goals(&record).join("\n");
    assert_eq!(missed(good()), "");
    let mut worse = good();
    worse["rows"]["equal score, 47%"]["score"] = json!(-9.1);
    for (goal, record) in [
        (
            "seconds an epoch",
            record(1.6, 1.5, 1e9, 1_000_000, Value::Null),
        ),
        (
            "over the time of the bus",
            record(1.4, 1.0, 1e9, 1_000_000, Value::Null),
        ),
        (
            "47%, times faster than tinytopics an epoch",
            record(2.0, 2.0, 1e9, 1_000_000, Value::Null),
        ),
        (
            "1%, times faster than tinytopics to its score",
            record(2.0, 2.0, 1e9, 1_000_000, Value::Null),
        ),
        (
            "47%, times faster than tinytopics to its score: not measured",
            worse,
        ),
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
