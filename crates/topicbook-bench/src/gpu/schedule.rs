//! Runs rows one after the other within a time, each in a process that is stopped at a limit of its own, and has the record
//! written after each.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::support::record::result_of;

/// A piece of work in a process.
pub struct Row {
    pub name: String,
    /// Seconds after which the process is stopped.
    pub limit: u64,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The row with a peer's `documents` and `score`, which become further arguments.
    pub target: Option<String>,
    /// Whether other rows need the file that it makes.
    pub makes_counts: bool,
}

/// Rows that are run until a time, and their results so far.
pub struct Schedule {
    began: Instant,
    within: Duration,
    names: Vec<String>,
    results: Map<String, Value>,
}

impl Schedule {
    /// All rows have to end within this time from now.
    pub fn new(within: Duration) -> Self {
        Self {
            began: Instant::now(),
            within,
            names: Vec::new(),
            results: Map::new(),
        }
    }

    /// Runs a row and keeps its result under its name: what it printed, with the `seconds_of_row` that it took, or why it `failed`
    /// or was `skipped`.
    pub fn run(&mut self, row: &Row) {
        eprintln!("{:.0} s: {}", self.began.elapsed().as_secs_f64(), row.name);
        let began = Instant::now();
        let mut result = self.result(row);
        result["seconds_of_row"] = json!(began.elapsed().as_secs_f64());
        eprintln!("  {result}");
        self.names.push(row.name.clone());
        self.results.insert(row.name.clone(), result);
    }

    fn result(&self, row: &Row) -> Value {
        let left = self.within.saturating_sub(self.began.elapsed()).as_secs();
        if left == 0 {
            let within = self.within.as_secs();
            return json!({ "skipped": format!("the {within} s of the whole run were over") });
        }
        let mut arguments = row.arguments.clone();
        if let Some(target) = &row.target {
            let result = &self.results.get(target).unwrap_or(&Value::Null);
            let (documents, score) = (&result["documents"], &result["score"]);
            if !documents.is_u64() || !score.is_f64() {
                return json!({ "skipped": format!("the row {target} has no score") });
            }
            arguments.extend([documents.to_string(), score.to_string()]);
        }
        let limit = row.limit.min(left);
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", &limit.to_string()]);
        match command.arg(&row.program).args(arguments).output() {
            // The statuses of a process that `timeout` has stopped, and of one that had to be killed.
            Ok(output) if matches!(output.status.code(), Some(124 | 137)) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                json!({ "failed": format!("stopped after {limit} s"), "stderr": stderr.trim() })
            }
            Ok(output) => result_of(&output),
            Err(error) => json!({ "failed": format!("timeout: {error}") }),
        }
    }

    /// The results by name, and the names in their order.
    pub fn results(&self) -> (Value, Value) {
        (json!(self.results), json!(self.names))
    }
}
