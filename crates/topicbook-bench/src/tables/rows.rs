//! Runs all rows of the record, each in a process and a cgroup of its own.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Cgroup;

use super::{LIMIT, disk, page};
use crate::support::record::{self, result_of, this_program};

/// Rows and columns of the tables in the documents.
const SIZES: [[&str; 2]; 2] = [["2829853", "400"], ["14886544", "188"]];
const STEPS: &str = "10000";
/// Steps an epoch of the fit that is killed.
const STEPS_OF_KILLED: &str = "2000";

struct Rows<'a> {
    records: &'a Path,
    folder: &'a str,
    disk: Value,
    rows: Vec<Value>,
    row_table: Value,
    killed: Value,
}

/// Runs all rows and writes the record after each, so that an interruption loses no result.
pub fn record(records: &Path, folder: &Path, sizes: &[&str]) {
    fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let sizes: Vec<[&str; 2]> = match sizes {
        sizes if sizes.len() < 2 => SIZES.to_vec(),
        sizes => sizes
            .chunks_exact(2)
            .map(|size| [size[0], size[1]])
            .collect(),
    };
    let mut rows = Rows {
        records,
        folder: folder.to_str().unwrap_or_default(),
        disk: disk::speeds(folder),
        rows: Vec::new(),
        row_table: Value::Null,
        killed: Value::Null,
    };
    for size in &sizes {
        for precision in ["f32", "bf16"] {
            if !rows.size(*size, precision) {
                return;
            }
        }
    }
    rows.row_table(sizes[0]);
    rows.killed(sizes[0]);
}

impl Rows<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// The file of counts of `documents` documents, which is not in the page cache.
    fn counts(&self, documents: &str) -> String {
        let path = self.path(&format!("{documents}.npz"));
        if !Path::new(&path).is_file() {
            let made = this_program(&["counts", &path, documents]).output();
            let made = made.unwrap_or_else(|error| panic!("{path}: {error}"));
            eprintln!("{documents} documents: {}", result_of(&made));
        }
        path
    }

    /// The result of a process in a cgroup, with the cgroup's peak; `None` where cgroups cannot be made.
    fn run(&self, arguments: &[&str]) -> Option<Value> {
        eprintln!("{arguments:?}");
        let group = Cgroup::or_skip(LIMIT)?;
        let output = group.run(&mut this_program(arguments));
        let output = output.unwrap_or_else(|error| panic!("{error}"));
        let mut result = result_of(&output);
        result["cgroup_peak"] = json!(group.peak());
        eprintln!("  {result}");
        Some(result)
    }

    fn size(&mut self, [documents, topics]: [&str; 2], precision: &str) -> bool {
        let path = self.counts(documents);
        let fit = [
            "fit",
            &path,
            topics,
            precision,
            STEPS,
            "1",
            self.folder,
            "-",
        ];
        let Some(result) = self.run(&fit) else {
            return false;
        };
        self.rows.push(json!({
            "documents": documents,
            "topics": topics,
            "precision": precision,
            "result": result,
        }));
        self.save();
        true
    }

    fn row_table(&mut self, [rows, width]: [&str; 2]) {
        let path = self.path("rows.safetensors");
        if let Some(result) = self.run(&["rows", &path, rows, width, STEPS]) {
            self.row_table = json!({ "rows": rows, "width": width, "result": result });
            self.save();
        }
        let _ = fs::remove_file(path);
    }

    /// A fit of two epochs without an interruption; and one that ends after the first epoch, resumes, is killed in its
    /// second, and resumes again.
    fn killed(&mut self, [documents, topics]: [&str; 2]) -> Option<()> {
        let (path, checkpoint) = (self.counts(documents), self.path("fit.checkpoint"));
        let fit = |epochs, checkpoint| {
            let steps = STEPS_OF_KILLED;
            self.run(&[
                "fit",
                &path,
                topics,
                "f32",
                steps,
                epochs,
                self.folder,
                checkpoint,
            ])
        };
        let whole = fit("2", "-")?;
        let first = fit("1", &checkpoint)?;
        let epoch = whole["epochs"][1]["seconds"].as_f64().unwrap_or_default();
        let resume = |seconds: &str| self.run(&["continue", &path, &checkpoint, "2", seconds]);
        // Reading the checkpoint takes about as long as writing it: this is in the middle of the epoch.
        let before = first["seconds"].as_f64().unwrap_or_default()
            - first["epochs"][0]["seconds"].as_f64().unwrap_or_default();
        let killed = resume(&format!("{:.0}", (before / 2.0 + epoch / 2.0).max(1.0)))?;
        let continued = resume("0")?;
        self.killed = json!({
            "documents": documents,
            "topics": topics,
            "whole": whole,
            "first": first,
            "killed": killed,
            "continued": continued,
        });
        self.save();
        Some(())
    }

    fn save(&self) {
        let record = json!({
            "machine": record::machine(),
            "disk": self.disk,
            "limit": LIMIT,
            "rows": self.rows,
            "row_table": self.row_table,
            "killed": self.killed,
        });
        record::write(self.records, "tables", &record, &page::markdown(&record));
    }
}
