//! What records have in common.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

#[allow(dead_code)] // not every record says it
/// The machine that a record was made on.
pub fn machine() -> Value {
    let field = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or(String::new(), |(_, value)| value.trim().to_string())
    };
    json!({
        "processor": field("/proc/cpuinfo", "model name"),
        "threads": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": field("/proc/meminfo", "MemTotal"),
        "topicbook": env!("CARGO_PKG_VERSION"),
    })
}

#[allow(dead_code)] // not every benchmark starts processes
/// The line that a process of one row printed last, or what went wrong.
pub fn json_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last();
    match line.and_then(|line| serde_json::from_str(line).ok()) {
        Some(json) if output.status.success() => json,
        _ => json!({
            "failed": output.status.to_string(),
            "says": String::from_utf8_lossy(&output.stderr).trim(),
        }),
    }
}

#[allow(dead_code)] // not every benchmark counts them
/// Processor seconds of this process so far, in the program and in the system.
pub fn cpu_seconds() -> [f64; 2] {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: Vec<f64> = stat
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    [13, 14].map(|at| ticks.get(at).copied().unwrap_or(0.0) / 100.0)
}

#[allow(dead_code)] // not every record is a page
/// Writes a record into a folder, as `NAME.json` and as a page.
///
/// # Panics
/// When a file cannot be written: there is no record then.
pub fn write(folder: &Path, name: &str, record: &Value, page: &str) {
    for (ending, text) in [
        ("json", &format!("{record:#}\n")),
        ("md", &page.to_string()),
    ] {
        let path = folder.join(format!("{name}.{ending}"));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
