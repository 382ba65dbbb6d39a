//! The order, the limits and the time of the rows of `cargo xtask bench gpu`, whose programs are shells here.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rows::Rows;
use super::run::{Call, run};
use super::schedule::{Row, Schedule};
use super::sizes::FULL;

/// A row whose process is a shell with this command.
fn row(name: &str, limit: u64, command: &str, target: Option<&str>) -> Row {
    Row {
        name: name.into(),
        limit,
        program: "sh".into(),
        arguments: vec!["-c".into(), command.into(), "row".into()],
        target: target.map(String::from),
        makes_counts: false,
    }
}

#[test]
fn rows_that_fail_do_not_end_the_run() {
    let mut schedule = Schedule::new(Duration::from_secs(60));
    schedule.run(&row(
        "peer",
        9,
        r#"echo '{"documents": 7, "score": -1.5}'"#,
        None,
    ));
    schedule.run(&row(
        "fails",
        9,
        "echo the reason >&2; exit 3",
        Some("peer"),
    ));
    schedule.run(&row("hangs", 1, "sleep 60", None));
    schedule.run(&row("no target", 9, "echo {}", Some("fails")));
    schedule.run(&row(
        "target",
        9,
        r#"echo "{\"got\": [$1, $2]}""#,
        Some("peer"),
    ));
    let (results, names) = schedule.results();
    assert_eq!(
        names,
        json!(["peer", "fails", "hangs", "no target", "target"])
    );
    assert_eq!(results["fails"]["failed"], "exit status: 3");
    assert_eq!(results["fails"]["stderr"], "the reason");
    assert_eq!(results["hangs"]["failed"], "stopped after 1 s");
    assert_eq!(
        results["no target"]["skipped"],
        "the row fails has no score"
    );
    assert_eq!(results["target"]["got"], json!([7, -1.5]));
    assert!(results["hangs"]["seconds_of_row"].as_f64().unwrap() >= 1.0);
}

#[test]
fn rows_end_within_the_time_of_the_run() {
    let began = Instant::now();
    let mut schedule = Schedule::new(Duration::from_secs(3));
    for name in ["first", "second"] {
        schedule.run(&row(name, 60, "sleep 60", None));
    }
    let (results, _) = schedule.results();
    assert_eq!(results["first"]["failed"], "stopped after 2 s");
    // What is left is less than a second.
    let second: &Value = &results["second"];
    assert!(
        second["skipped"].is_string() || second["failed"].is_string(),
        "{second}"
    );
    assert!(began.elapsed() < Duration::from_secs(9));
}

#[test]
fn the_record_is_written_after_each_row() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Stands in for every row: prints how many rows the record has, and fails for gathered rows.
    let program = folder.join("row");
    let script = "#!/bin/sh\n\
        case $* in *gathered*) exit 1 ;; esac\n\
        echo \"{\\\"written\\\": $(grep -c seconds_of_row out/gpu.json 2>/dev/null || true)}\"\n";
    fs::write(
        &program,
        script.replace("out", &folder.join("out").display().to_string()),
    )
    .unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let (out, data) = (folder.join("out"), folder.join("data"));
    let run_parts = |parts: &[&str]| {
        let call = Call {
            folder: &out,
            data: &data,
            program: &program,
            peers: [&program, Path::new("gpu_peers.py")],
            small: true,
            parts,
        };
        let missed = run(&call).unwrap();
        let record: Value =
            serde_json::from_slice(&fs::read(out.join("gpu.json")).unwrap()).unwrap();
        (record, missed)
    };
    let (record, missed) = run_parts(&[]);
    let order = record["order"].as_array().unwrap();
    assert!(order.len() > 30, "{}", record["order"]);
    for (number, name) in order.iter().enumerate().skip(1) {
        let row = &record["rows"][name.as_str().unwrap()];
        let fails = !row["failed"].is_null() || !row["skipped"].is_null();
        assert!(fails || row["written"] == number, "{name}: {row}");
    }
    assert!(
        missed
            .iter()
            .any(|line| line.starts_with("gathered rows: failed")),
        "{missed:?}"
    );
    let page = fs::read_to_string(out.join("gpu.md")).unwrap();
    assert!(page.contains("- PyTorch, gathered rows: failed"), "{page}");
    assert!(!data.exists());
    let (record, _) = run_parts(&["bus"]);
    let files = ["counts, 1%", "CSR file", "f32 file"];
    let asked = [&files[..], &["bus", "PyTorch, bus", "counts, 47%"]].concat();
    assert_eq!(record["order"], json!(asked));
}

#[test]
fn the_rows_of_the_goals_come_first() {
    let rows = Rows {
        sizes: FULL,
        size: "full",
        on: "0",
        program: Path::new("gpu"),
        peers: [Path::new("python3"), Path::new("gpu_peers.py")],
        data: Path::new("data"),
    };
    let names: Vec<String> = rows.all().into_iter().map(|row| row.name).collect();
    let first = [
        "counts, 1%",
        "f32 in RAM, 1%",
        "tinytopics, 1%",
        "equal score, 1%",
    ];
    assert_eq!(names[..4], first);
    let place = |name: &str| names.iter().position(|other| other == name).unwrap();
    assert!(place("f32 from disk") < place("counts, 47%"));
    assert!(place("equal score, 47%") < place("GPU: kept"));
    // A row's result is kept by its name.
    let mut distinct = names.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len());
}
