//! Runs all rows of the record, each in a process and a cgroup of its own.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testkit::Cgroup;
use topicbook::Result;

use crate::memory::page;
use crate::support::record::{self, result_of, this_program};

/// Documents, terms, topics and mean document length: 8 GB as dense f32.
const SHAPE: [&str; 4] = ["20000", "100000", "20", "1000"];
const TOPICS: &str = "20";
/// Mean document length of the article: 47% of its counts are nonzero.
pub const ARTICLE_LENGTH: &str = "65536";
/// The first epoch finds in the page cache what the checks have left there.
const EPOCHS: &str = "3";
pub const LIMIT: u64 = 1 << 30;
/// The same stream for every file, so that all fits have the same batches and end with the same loss.
const STREAM: &str = "20x124";
/// The plan chooses how counts are read.
const BY_PLAN: &str = "auto";
/// Bytes per read where nothing is computed: a block of the one-pass solver, to a factor of two.
const READ_BYTES: usize = 16 << 20;
/// Documents and topics of the mapped L, and the stream of its counts.
const MAPPED_L: [&str; 2] = ["5000000", "64"];
const MAPPED_L_STREAM: &str = "1000x100";

/// `posix_fadvise` for a whole file.
pub fn advise(file: &File, advice: i32) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; the call touches no memory of this process.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
}

/// Runs a program in a cgroup of [`LIMIT`] bytes, with a file that is not in the page cache, if it exists. Gives its result,
/// with the cgroup's peak; `None` where cgroups cannot be made.
pub fn run_cold(file: &Path, program: &mut Command) -> Option<Value> {
    if let Ok(handle) = File::open(file) {
        handle.sync_all().unwrap();
        // Drops the file from the page cache.
        advise(&handle, libc::POSIX_FADV_DONTNEED);
    }
    let group = Cgroup::or_skip(LIMIT)?;
    let mut result = result_of(&group.run(program).unwrap());
    result["cgroup_peak"] = json!(group.peak());
    Some(result)
}

/// Runs all rows and writes the record after each, so that an interruption loses no result. `peer` is a Python with
/// tinytopics and the script that runs it, or empty.
pub fn record([records, folder]: [&Path; 2], peer: &[&str]) -> Result<()> {
    let mut rows = Vec::new();
    fs::create_dir_all(folder).unwrap();
    let data = folder.to_str().unwrap();
    // Data of an earlier run is used again.
    if !folder.join("X_small.npy").is_file() {
        eprintln!("generating {data}");
        let arguments = [&["generate", data], &SHAPE[..]].concat();
        let generated = this_program(&arguments).output().unwrap();
        eprintln!("  {}", result_of(&generated));
        let [documents, terms, topics, _] = SHAPE;
        let arguments = [
            "generate-article",
            data,
            documents,
            terms,
            topics,
            ARTICLE_LENGTH,
        ];
        let generated = this_program(&arguments).output().unwrap();
        eprintln!("  {}", result_of(&generated));
    }
    let mut run = |what: &str, file: &str, program: &mut Command| {
        eprintln!("{what}, {file}");
        let Some(result) = run_cold(&folder.join(file), program) else {
            return false;
        };
        eprintln!("  {result}");
        rows.push(json!({ "what": what, "file": file, "result": result }));
        save(records, &rows);
        true
    };
    let path = |file: &str| folder.join(file).to_str().unwrap().to_string();
    let solvers = [
        ("EM, one pass", "em", "16"),
        ("AdamW, batch 16", "adamw", "16"),
        ("AdamW, batch 256", "adamw", "256"),
        ("coordinate descent", "cd", "16"),
    ];
    for (file, solvers, stream) in [
        ("X_f32.npy", &solvers[..3], STREAM),
        ("X_u16.npy", &solvers[..3], STREAM),
        ("X_u8.npy", &solvers, STREAM),
        ("X.npz", &solvers[..3], STREAM),
        ("X_article_f32.npy", &solvers[..3], BY_PLAN),
        ("X_article_u8.npy", &solvers, BY_PLAN),
    ] {
        let path = path(file);
        let read = ["read", &path, &READ_BYTES.to_string()];
        for (what, solver, batch) in solvers {
            if !run("only reading", file, &mut this_program(&read)) {
                return Ok(());
            }
            let fit = ["fit", &path, solver, TOPICS, EPOCHS, batch, stream];
            run(what, file, &mut this_program(&fit));
        }
    }
    let (dense, small) = (path("X_f32.npy"), path("X_small.npy"));
    let planned = ["fit", &dense, "adamw", TOPICS, EPOCHS, "16", BY_PLAN];
    run(
        "AdamW, batch 16, sizes by plan",
        "X_f32.npy",
        &mut this_program(&planned),
    );
    if let [python, peers] = peer {
        for file in ["X_f32.npy", "X_article_f32.npy"] {
            let mut program = Command::new(python);
            program.args([peers, "npy", &path(file), TOPICS, "1"]);
            run("tinytopics, batch 16", file, &mut program);
        }
    }
    let growth = ["growth", &small, "10", "50"];
    run(
        "10 fits of 50 epochs",
        "X_small.npy",
        &mut this_program(&growth),
    );
    let [documents, topics] = MAPPED_L;
    let mapped = ["mapped-l", documents, topics, data, MAPPED_L_STREAM];
    run(
        "L mapped, documents in blocks",
        "X_table.npz",
        &mut this_program(&mapped),
    );
    Ok(())
}

fn save(records: &Path, rows: &[Value]) {
    let record = json!({ "machine": machine(), "limit": LIMIT, "shape": SHAPE, "rows": rows });
    let sizes = page::Sizes {
        topics: TOPICS,
        read_bytes: READ_BYTES,
        mapped_l: MAPPED_L,
    };
    record::write(records, "memory", &record, &page::markdown(&record, &sizes));
}

/// The machine, its kernel and the version of its control groups.
pub fn machine() -> Value {
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
