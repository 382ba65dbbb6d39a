//! All rows of the record of memory, each in a process and a cgroup of its own.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use topicbook::Result;

use crate::cgroup::Cgroup;
use crate::record::{self, json_of};

/// 8 GB as dense f32.
const SHAPE: [&str; 4] = ["20000", "100000", "20", "1000"];
const TOPICS: &str = "20";
/// The first finds in the page cache what the checks have left there.
const EPOCHS: &str = "3";
const LIMIT: u64 = 1 << 30;
/// The same for every file, so that all fits meet the same batches and must end at the same loss.
const STREAM: &str = "20x124";
/// What is read at a time where nothing is computed: the same as the one-pass solver has in a block, to a factor of two.
const BLOCK: usize = 16 << 20;
/// Documents and topics of the table behind L that lies in a file, and the blocks of its counts where they are streamed.
const TABLE: [&str; 2] = ["5000000", "64"];
const TABLE_STREAM: &str = "1000x100";

/// Tells the system how a file will be read.
pub fn advise(file: &File, advice: i32) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; the call touches no memory.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
}

/// This program again, to do one piece of work.
fn ours(words: &[&str]) -> Command {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(words);
    program
}

/// Runs all rows, and writes them down. `peer` names a Python with tinytopics and the script that runs it.
pub fn record(folder: &Path, peer: &[&str]) -> Result<()> {
    let mut rows = Vec::new();
    fs::create_dir_all(folder).unwrap();
    let place = folder.to_str().unwrap();
    // Written once and used again, where nobody removes it.
    if !folder.join("X_small.npy").is_file() {
        eprintln!("generating {place}");
        let words = [&["generate", place], &SHAPE[..]].concat();
        eprintln!("  {}", json_of(&ours(&words).output().unwrap()));
    }
    let mut run = |what: &str, file: &str, program: &mut Command| {
        if let Ok(handle) = File::open(folder.join(file)) {
            handle.sync_all().unwrap();
            // Cold: nothing of it in the page cache.
            advise(&handle, libc::POSIX_FADV_DONTNEED);
        }
        let Some(group) = Cgroup::or_skip(LIMIT) else {
            return false;
        };
        eprintln!("{what}, {file}");
        let mut result = json_of(&group.run(program).unwrap());
        result["cgroup_peak"] = json!(group.largest_use());
        eprintln!("  {result}");
        rows.push(json!({ "what": what, "file": file, "result": result }));
        // After every row: what was measured is kept when something ends the rest.
        save(&rows);
        true
    };
    let path = |file: &str| folder.join(file).to_str().unwrap().to_string();
    for file in ["X_f32.npy", "X_u16.npy", "X_u8.npy", "X.npz"] {
        let path = path(file);
        let read = ["read", &path, &BLOCK.to_string()];
        for (what, solver, batch) in [
            ("EM, one pass", "em", "16"),
            ("AdamW, batch 16", "adamw", "16"),
            ("AdamW, batch 256", "adamw", "256"),
        ] {
            if !run("only reading", file, &mut ours(&read)) {
                return Ok(());
            }
            let words = ["fit", &path, solver, TOPICS, EPOCHS, batch, STREAM];
            run(what, file, &mut ours(&words));
        }
    }
    let (dense, small) = (path("X_f32.npy"), path("X_small.npy"));
    let words = ["fit", &dense, "adamw", TOPICS, EPOCHS, "16", "auto"];
    run(
        "AdamW, batch 16, sizes by plan",
        "X_f32.npy",
        &mut ours(&words),
    );
    if let [python, peers] = peer {
        let mut program = Command::new(python);
        program.args([peers, "npy", &dense, TOPICS, "1"]);
        run("tinytopics, batch 16", "X_f32.npy", &mut program);
    }
    let words = ["flat", &small, "10", "50"];
    run("10 fits of 50 epochs", "X_small.npy", &mut ours(&words));
    let words = ["table", TABLE[0], TABLE[1], place, TABLE_STREAM];
    run(
        "L mapped, documents in blocks",
        "X_table.npz",
        &mut ours(&words),
    );
    Ok(())
}

fn save(rows: &[Value]) {
    let record = json!({ "machine": machine(), "limit": LIMIT, "shape": SHAPE, "rows": rows });
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    record::write(&benches, "memory", &record, &markdown(&record));
}

/// The machine, and what limits are made of.
fn machine() -> Value {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = match Path::new("/sys/fs/cgroup/memory").is_dir() {
        true => 1,
        false => 2,
    };
    let mut machine = record::machine();
    machine["kernel"] = json!(kernel.trim());
    machine["cgroup"] = json!(version);
    machine
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values.get(middle).copied(),
        _ => Some((values.get(middle)? + values.get(middle.checked_sub(1)?)?) / 2.0),
    }
}

fn show(value: Option<f64>, unit: f64, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{:.digits$}", value / unit))
}

fn markdown(record: &Value) -> String {
    let machine = &record["machine"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut page = format!(
        "# Counts larger than memory\n\n\
         `cargo xtask bench memory`, topicbook {} on {}, {} threads, {} of memory, Linux {}, control groups of version {}.\n\n\
         {} x {} counts, k = {TOPICS}, in a control group limited to {} MiB. Every run begins with a cold page cache. \
         Streamed in blocks of 20 documents, 124 blocks in the shuffle buffer, except where the plan chose; an epoch's \
         seconds are the mean of the second and third (of tinytopics: its only one). *Times reading* is against reading the \
         same file in order, {} MB at a time, with nothing computed: the median of three times between the fits. Anonymous memory is the whole process's.\n\n\
         | What | File | Epoch, s | Times reading | First pass (checks), s | Predicted anonymous, MB | Peak anonymous, MB | Error, % | Peak with page cache, MB |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
        text(&machine["topicbook"]),
        text(&machine["processor"]),
        machine["threads"],
        text(&machine["memory"]),
        text(&machine["kernel"]),
        machine["cgroup"],
        SHAPE[0],
        SHAPE[1],
        LIMIT >> 20,
        BLOCK >> 20,
    );
    let rows = record["rows"].as_array().cloned().unwrap_or_default();
    // A file is only read once before every fit: disks of rented machines are not equally fast all the time.
    let reading = |file: &Value| {
        let only = rows.iter().filter(|row| row["what"] == "only reading");
        let times = only
            .filter(|row| row["file"] == *file)
            .filter_map(|row| row["result"]["seconds"].as_f64());
        median(times.collect())
    };
    let mut said = HashSet::new();
    for row in &rows {
        let result = &row["result"];
        let Some(reading) = reading(&row["file"]) else {
            continue;
        };
        let only = row["what"] == "only reading";
        if only && !said.insert(text(&row["file"])) {
            continue;
        }
        let seconds = match &result["epoch_seconds"] {
            _ if only => Some(reading),
            Value::Array(seconds) => {
                let rest = seconds.iter().skip(1).filter_map(Value::as_f64);
                median(rest.collect())
            }
            _ => result["seconds_per_epoch"].as_f64(),
        };
        let error = || {
            let predicted = result["predicted_anonymous"].as_f64()?;
            Some(100.0 * (predicted / result["peak_anonymous"].as_f64()? - 1.0))
        };
        page += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            text(&row["what"]),
            text(&row["file"]),
            show(seconds, 1.0, 2),
            show(seconds.map(|seconds| seconds / reading), 1.0, 2),
            show(result["check_seconds"].as_f64(), 1.0, 1),
            show(result["predicted_anonymous"].as_f64(), 1e6, 0),
            show(result["peak_anonymous"].as_f64(), 1e6, 0),
            show(error(), 1.0, 1),
            show(result["cgroup_peak"].as_f64(), 1e6, 0),
        );
    }
    page += &format!(
        "\nThe table behind L and its moments in a mapped file, {} documents x {} topics, one epoch at batch 16 by row-wise \
         AdamW in the same limit (documents of five terms each):\n\n\
         | What | Table and moments, MB | Iterations a second | Epoch, s | Predicted anonymous, MB | Peak anonymous, MB |\n\
         |---|---:|---:|---:|---:|---:|\n",
        TABLE[0], TABLE[1]
    );
    for row in &rows {
        let result = &row["result"];
        if result["iterations_per_second"].is_null() {
            continue;
        }
        page += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            text(&row["what"]),
            show(result["table_bytes"].as_f64(), 1e6, 0),
            show(result["iterations_per_second"].as_f64(), 1.0, 0),
            show(result["epoch_seconds"][0].as_f64(), 1.0, 1),
            show(result["predicted_anonymous"].as_f64(), 1e6, 0),
            show(result["peak_anonymous"].as_f64(), 1e6, 0),
        );
    }
    if let Some(flat) = rows.iter().find(|row| !row["result"]["fits"].is_null()) {
        let flat = &flat["result"];
        let kib = |name: &str| show(flat[name].as_f64(), 1024.0, 2);
        page += &format!(
            "\n{} streamed fits of {} epochs in one process: anonymous memory changes by {} KiB an epoch (standard error {}) \
             and by {} KiB a fit (standard error {}), at {} MB.\n",
            flat["fits"],
            flat["epochs"],
            kib("bytes_an_epoch"),
            kib("bytes_an_epoch_standard_error"),
            kib("bytes_a_fit"),
            kib("bytes_a_fit_standard_error"),
            show(flat["anonymous"].as_f64(), 1e6, 1),
        );
    }
    let share = rows.iter().filter_map(|row| {
        let result = &row["result"];
        // Of the fit itself: the checks before it are not watched.
        Some(result["monitor_cpu_seconds"].as_f64()? / result["fit_seconds"].as_f64()?)
    });
    page += &format!(
        "\nThe thread that samples memory ran for at most {:.2}% of a fit's time.\n",
        100.0 * share.fold(0.0, f64::max)
    );
    page
}
