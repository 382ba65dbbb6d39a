//! `cargo xtask bench memory`: fits to counts larger than the memory they get, in a cgroup.
//!
//! ```text
//! memory record FOLDER [PYTHON PEERS.py]   everything, into benches/memory.json and benches/memory.md
//! memory fit PATH SOLVER K EPOCHS BATCH READING   one fit; READING is auto, inplace or BLOCKxBLOCKS, SOLVER adamw or em
//! memory read PATH BYTES                   only reading, so many bytes at a time
//! memory generate FOLDER N M K LENGTH      X_f32.npy, X_narrow.npy and X.npz
//! ```
//! The last three print one JSON line.

#[path = "../tests/support/cgroup.rs"]
mod cgroup;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cgroup::Cgroup;
use serde_json::{Value, json};
use topicbook::{Counts, Dtype, Reading, Result, Solver, Synthetic, TopicModel};

/// 8 GB as dense f32.
const SHAPE: [&str; 4] = ["20000", "100000", "20", "1000"];
const TOPICS: &str = "20";
const LIMIT: u64 = 1 << 30;
/// The same for every file, so that all fits meet the same batches and must end at the same loss.
const STREAM: &str = "20x124";
/// What is read at a time where nothing is computed.
const BLOCK: u64 = 16 << 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match words.as_slice() {
        ["record", folder, peer @ ..] => return record(Path::new(folder), peer),
        ["fit", path, solver, k, epochs, batch, reading] => fit(
            path,
            solver,
            [number(k), number(epochs), number(batch)],
            reading,
        )?,
        ["read", path, bytes] => read(path, number(bytes)),
        ["generate", folder, n, m, k, length] => generate(
            Path::new(folder),
            [n, m, k, length].map(|word| number(word)),
        )?,
        // `cargo test` without arguments has nothing to measure.
        _ => return Ok(()),
    };
    println!("{line}");
    Ok(())
}

fn number(word: &str) -> usize {
    word.parse()
        .unwrap_or_else(|_| panic!("{word} is not a number"))
}

fn generate(folder: &Path, [n, m, k, length]: [usize; 4]) -> Result<Value> {
    let began = Instant::now();
    let corpus = Synthetic::new(n, m, k)
        .avg_doc_length(length)
        .seed(1)
        .write_npy(folder.join("X_narrow.npy"))?;
    let generated = began.elapsed().as_secs_f64();
    let counts = corpus.counts();
    let dense = counts.write_npy_as(folder.join("X_f32.npy"), Dtype::F32)?;
    let sparse = counts.write_npz(folder.join("X.npz"))?;
    let nonzeros = counts.summary()?.nonzeros();
    let dtype = counts.dtype().name();
    let sizes = [dense, counts, sparse].map(|counts| counts.bytes_stored());
    Ok(json!({
        "generate_seconds": generated,
        "seconds": began.elapsed().as_secs_f64(),
        "dtype": dtype,
        "nonzeros": nonzeros,
        "bytes": sizes,
    }))
}

/// The plain way: one thread, one buffer, in order.
fn read(path: &str, bytes: usize) -> Value {
    use std::io::Read;
    let mut file = File::open(path).unwrap();
    advise(&file, libc::POSIX_FADV_SEQUENTIAL);
    let mut buffer = vec![0; bytes];
    let began = Instant::now();
    let mut total = 0;
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => break,
            more => total += more,
        }
    }
    json!({ "seconds": began.elapsed().as_secs_f64(), "bytes": total })
}

fn advise(file: &File, advice: i32) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; the call touches no memory.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
}

fn fit(path: &str, solver: &str, [k, epochs, batch]: [usize; 3], reading: &str) -> Result<Value> {
    let watch = Watch::start();
    let reading = match (reading, reading.split_once('x')) {
        ("auto", _) => Reading::Auto,
        ("inplace", _) => Reading::InPlace,
        (_, Some((block, blocks))) => Reading::Stream {
            block: number(block),
            blocks: number(blocks),
        },
        _ => panic!("no such reading: {reading}"),
    };
    let counts = Counts::open(path)?;
    let solver = match solver {
        "adamw" => Solver::AdamW,
        "em" => Solver::Em,
        _ => panic!("no such solver: {solver}"),
    };
    // The counts are checked by a first pass, because they will be streamed.
    let began = Instant::now();
    let plan = TopicModel::new(k)
        .solver(solver)
        .epochs(epochs)
        .batch_size(batch)
        .seed(1)
        .reading(reading)
        .quiet()
        .plan(&counts)?;
    let checked = began.elapsed().as_secs_f64();
    let predicted = plan.peak_ram();
    if std::env::var_os("SHOW").is_some() { eprintln!("{plan}"); }
    let began = Instant::now();
    let fit = plan.fit()?;
    if std::env::var_os("SHOW").is_some() { eprintln!("{}", fit.memory()); }
    let seconds = began.elapsed().as_secs_f64();
    let history = fit.history();
    let column = history.column("seconds").unwrap().f64().unwrap();
    let epoch_seconds: Vec<f64> = column.into_no_null_iter().collect();
    Ok(json!({
        "check_seconds": checked,
        "fit_seconds": seconds,
        "epoch_seconds": epoch_seconds,
        "loss": fit.loss(),
        "predicted_anonymous": predicted,
        "peak_anonymous": watch.end(),
        "reading": format!("{:?}", fit.settings().reading),
        "cpu_seconds": cpu_seconds(),
    }))
}

fn cpu_seconds() -> [f64; 2] {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks: Vec<f64> = stat
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    [13, 14].map(|at| ticks.get(at).copied().unwrap_or(0.0) / 100.0)
}

/// Looks at the process's anonymous memory all the time, and keeps the most.
struct Watch {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u64>,
}

impl Watch {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut most = 0;
            while !stopped.load(Ordering::Relaxed) {
                most = most.max(anonymous());
                std::thread::sleep(Duration::from_millis(20));
            }
            most
        });
        Self { stop, thread }
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

/// One line of the table.
struct Row {
    what: String,
    file: &'static str,
    json: Value,
}

fn record(folder: &Path, peer: &[&str]) -> Result<()> {
    let mut rows = Vec::new();
    let ours = |words: &[&str]| {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(words);
        program
    };
    fs::create_dir_all(folder).unwrap();
    // Written once and used again, where nobody removes it.
    if !folder.join("X.npz").is_file() {
        eprintln!("generating {}", folder.display());
        let mut words = vec!["generate", folder.to_str().unwrap()];
        words.extend(SHAPE);
        eprintln!("  {}", json_of(ours(&words).output().unwrap()));
    }
    let mut run = |what: &str, file: &'static str, program: &mut Command| {
        let path = folder.join(file);
        let handle = File::open(&path).unwrap();
        handle.sync_all().unwrap();
        // Cold: nothing of it in the page cache.
        advise(&handle, libc::POSIX_FADV_DONTNEED);
        let group = match Cgroup::new(LIMIT) {
            Ok(group) => group,
            Err(reason) => {
                eprintln!("skipped: {reason}");
                return false;
            }
        };
        eprintln!("{what}, {file}");
        let mut json = json_of(group.run(program).unwrap());
        json["cgroup_peak"] = json!(group.largest_use());
        eprintln!("  {json}");
        rows.push(Row {
            what: what.into(),
            file,
            json,
        });
        true
    };
    for file in ["X_f32.npy", "X_narrow.npy", "X.npz"] {
        let path: PathBuf = folder.join(file);
        let path = path.to_str().unwrap();
        if !run(
            "only reading",
            file,
            &mut ours(&["read", path, &BLOCK.to_string()]),
        ) {
            return Ok(());
        }
        for (what, solver, batch) in [
            ("EM, one pass", "em", "16"),
            ("AdamW, batch 16", "adamw", "16"),
            ("AdamW, batch 256", "adamw", "256"),
        ] {
            let words = ["fit", path, solver, TOPICS, "2", batch, STREAM];
            run(what, file, &mut ours(&words));
        }
    }
    if let [python, peers] = peer {
        let path = folder.join("X_f32.npy");
        run(
            "tinytopics, batch 16",
            "X_f32.npy",
            Command::new(python)
                .arg(peers)
                .arg("npy")
                .arg(path)
                .args([TOPICS, "1"]),
        );
    }
    let record = json!({
        "limit": LIMIT,
        "rows": rows.iter().map(|row| json!({"what": row.what, "file": row.file, "result": row.json})).collect::<Vec<_>>(),
    });
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    fs::write(benches.join("memory.json"), format!("{record:#}\n")).unwrap();
    fs::write(benches.join("memory.md"), table(&record)).unwrap();
    Ok(())
}

fn json_of(output: std::process::Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    match text
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
    {
        Some(json) if output.status.success() => json,
        _ => json!({
            "failed": output.status.to_string(),
            "says": String::from_utf8_lossy(&output.stderr),
        }),
    }
}

fn table(record: &Value) -> String {
    let mut text = format!(
        "# Counts larger than memory\n\n\
         `cargo xtask bench memory`: {} x {} counts in a cgroup limited to {} MiB, cold page cache. \
         Streamed in blocks of 20 documents, 124 blocks in the shuffle buffer; an epoch's seconds are those of the \
         second epoch (of tinytopics' only one).\n\n\
         | What | File | Epoch, s | Times reading | First pass (checks), s | Predicted anonymous, MB | Peak anonymous, MB | Peak with page cache, MB |\n\
         |---|---|---:|---:|---:|---:|---:|---:|\n",
        SHAPE[0],
        SHAPE[1],
        LIMIT >> 20
    );
    let rows = record["rows"].as_array().cloned().unwrap_or_default();
    let mut reading = 0.0;
    for row in rows {
        let result = &row["result"];
        let epoch = match &result["epoch_seconds"] {
            Value::Array(seconds) => seconds.last().and_then(Value::as_f64),
            _ => result["seconds_per_epoch"].as_f64(),
        };
        if row["what"] == "only reading" {
            reading = result["seconds"].as_f64().unwrap_or(0.0);
        }
        let seconds = epoch.or(result["seconds"].as_f64());
        let show = |value: Option<f64>, unit: f64, digits: usize| {
            value.map_or(String::new(), |value| format!("{:.digits$}", value / unit))
        };
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            row["what"].as_str().unwrap_or_default(),
            row["file"].as_str().unwrap_or_default(),
            show(seconds, 1.0, 1),
            show(seconds.map(|seconds| seconds / reading), 1.0, 2),
            show(result["check_seconds"].as_f64(), 1.0, 1),
            show(result["predicted_anonymous"].as_f64(), 1e6, 0),
            show(result["peak_anonymous"].as_f64(), 1e6, 0),
            show(result["cgroup_peak"].as_f64(), 1e6, 0),
        );
    }
    text
}
