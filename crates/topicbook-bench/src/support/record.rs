//! The machine, the results of child processes, and the files of a record.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// The machine that a record is measured on.
pub fn machine() -> Value {
    let field = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or(String::new(), |(_, value)| value.trim().to_string())
    };
    json!({
        "processor": field("/proc/cpuinfo", "model name"),
        "instructions": instructions(),
        "threads": std::thread::available_parallelism().map_or(0, usize::from),
        "memory": field("/proc/meminfo", "MemTotal"),
        "load_average": fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
        "topicbook": env!("CARGO_PKG_VERSION"),
    })
}

/// The widest vector instructions of the processor that topicbook uses.
pub fn instructions() -> &'static str {
    match &*std::env::var("TOPICBOOK_INSTRUCTIONS").unwrap_or_default() {
        "none" => return "baseline",
        "avx2" => return "AVX2",
        _ => {}
    }
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx512dq") {
            return "AVX-512";
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            return "AVX2";
        }
    }
    "baseline"
}

/// This benchmark with other arguments, in a process of its own.
///
/// # Panics
/// When the system cannot tell its path.
pub fn this_program(arguments: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("this program: {error}"));
    let mut program = Command::new(program);
    program.args(std::env::args().nth(1)).args(arguments);
    program
}

/// The result that a process printed as its last line, or its exit status and standard error under `failed` and
/// `stderr`.
pub fn result_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last();
    match line.and_then(|line| serde_json::from_str(line).ok()) {
        Some(json) if output.status.success() => json,
        _ => json!({
            "failed": output.status.to_string(),
            "stderr": String::from_utf8_lossy(&output.stderr).trim(),
        }),
    }
}

/// CPU seconds of this process so far: user and system time, which `/proc` gives in ticks of 10 ms.
pub fn cpu_seconds() -> [f64; 2] {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: Vec<f64> = stat
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    [13, 14].map(|field| ticks.get(field).copied().unwrap_or(0.0) / 100.0)
}

/// Writes a record into a folder, as `NAME.json` and as the page `NAME.md`.
///
/// # Panics
/// When a file cannot be written.
pub fn write(folder: &Path, name: &str, record: &Value, page: &str) {
    for (ending, text) in [
        ("json", &format!("{record:#}\n")),
        ("md", &page.to_string()),
    ] {
        let path = folder.join(format!("{name}.{ending}"));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
