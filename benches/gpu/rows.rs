//! Runs all rows, each in a process of its own, and writes the record.

use std::fs;
use std::path::Path;
use std::process::{Command, exit};

use serde_json::{Map, Value, json};
use topicbook::{Device, Result, doctor};

use crate::page;
use crate::record::{self, result_of};

/// Documents that tinytopics gets at most: seconds an epoch, at its published 24 s for 100,000 documents.
const PEER_DOCUMENTS: usize = 20_000;
/// tinytopics' default.
const PEER_BATCH: usize = 16;

/// The sizes of all rows.
#[derive(Clone, Copy)]
struct Sizes {
    /// Documents, terms, topics.
    shape: [usize; 3],
    batches: [usize; 4],
    /// The batch size of rows that do not compare batch sizes.
    batch: usize,
    epochs: usize,
    /// VRAM budgets: of most rows, and smaller ones of u8 and CSR counts, which would fit on the GPU otherwise.
    vram: &'static str,
    vram_of_u8: &'static str,
    vram_of_csr: &'static str,
    /// Bytes of the large copy out of pageable memory.
    pageable: usize,
    /// Rows and columns of the transferred table.
    table: [usize; 2],
    /// Documents, topics, batch size and steps of the fits with L on the GPU and offloaded.
    offload: [usize; 4],
    /// Documents, terms, topics and number of consecutive fits.
    growth: [usize; 4],
}

const FULL: Sizes = Sizes {
    shape: [100_000, 100_000, 20],
    batches: [16, 256, 1_024, 4_096],
    batch: 1_024,
    epochs: 3,
    vram: "24 GiB",
    vram_of_u8: "6 GiB",
    vram_of_csr: "512 MiB",
    pageable: 2 << 30,
    table: [131_072, 128],
    offload: [10_000_000, 20, 1_024, 500],
    growth: [4_000, 10_000, 20, 10],
};

/// A dry run within seconds, which also works without a GPU: it tests the program and measures nothing.
const SMALL: Sizes = Sizes {
    shape: [300, 400, 4],
    batches: [16, 32, 64, 128],
    batch: 64,
    epochs: 2,
    vram: "64 MiB",
    vram_of_u8: "64 MiB",
    vram_of_csr: "64 MiB",
    pageable: 1 << 20,
    table: [1_024, 128],
    offload: [2_000, 4, 64, 20],
    growth: [100, 80, 3, 2],
};

/// The results so far, by row.
struct Rows(Map<String, Value>);

impl Rows {
    /// Runs a process and keeps its result, or its failure.
    fn run(&mut self, name: &str, command: &mut Command) {
        eprintln!("{name}");
        let result = match command.output() {
            Ok(output) => result_of(&output),
            Err(error) => json!({ "failed": error.to_string() }),
        };
        eprintln!("  {result}");
        self.0.insert(name.into(), result);
    }
}

pub fn record(folder: &Path, arguments: &[&str]) -> Result<()> {
    let (small, peer) = match arguments {
        ["--small", peer @ ..] => (true, peer),
        peer => (false, peer),
    };
    let gpu = Device::Cuda(0).describe();
    let has_gpu = gpu == "CUDA GPU 0";
    if !has_gpu && !small {
        eprintln!(
            "No GPU can be used here: {gpu}. `./run.sh --small` tries everything that runs without one, at tiny sizes."
        );
        exit(2);
    }
    let on = if has_gpu { "0" } else { "cpu" };
    let data = folder.join("data");
    fs::create_dir_all(&data).unwrap_or_else(|error| panic!("{}: {error}", data.display()));
    let asked = if small { SMALL } else { FULL };
    let (shape, scaled) = scale_down(asked.shape, &data);
    let sizes = Sizes { shape, ..asked };
    let mut rows = Rows(Map::new());
    run_fits(&mut rows, &sizes, on, &data);
    run_other_rows(&mut rows, &sizes, on);
    if let [python, script] = peer {
        run_peers(&mut rows, &sizes, [python, script], &data);
    }
    let record = json!({
        "small": small,
        "asked": asked.shape,
        "shape": shape,
        "scaled": scaled,
        "GPU": gpu,
        "machine": machine(),
        "vram_budget": sizes.vram,
        "batch": sizes.batch,
        "rows": rows.0,
    });
    record::write(folder, "gpu", &record, &page::markdown(&record));
    let _ = fs::remove_dir_all(&data);
    let missed = page::missed_goals(&record);
    if !missed.is_empty() {
        eprintln!("Goals missed:\n{}", missed.join("\n"));
        exit(1);
    }
    Ok(())
}

/// Generates the counts, and fits them in all forms, with all methods, resident or uploaded.
fn run_fits(rows: &mut Rows, sizes: &Sizes, on: &str, data: &Path) {
    let data = data.display().to_string();
    let [n, m, k] = sizes.shape;
    let generate = strings(&[&"generate", &data, &n, &m, &k]);
    rows.run("generate", &mut this_program(&generate));
    let by_batch = sizes.batches.map(|batch| {
        let name = format!("f32 in RAM, batch {batch}");
        (name, "f32", "f32", batch, sizes.vram)
    });
    let others = [
        ("u8 in RAM", "narrow", "f32", sizes.vram_of_u8),
        ("u8 in RAM, bf16", "narrow", "bf16", sizes.vram_of_u8),
        ("CSR in RAM", "csr", "f32", sizes.vram_of_csr),
        ("f32 on the GPU", "f32", "f32", "all"),
        ("u8 on the GPU", "narrow", "f32", "all"),
        ("u8 on the GPU, bf16", "narrow", "bf16", "all"),
        ("CSR on the GPU", "csr", "f32", "all"),
        ("CSR on the GPU, bf16", "csr", "bf16", "all"),
        ("f32 from disk", "disk", "f32", sizes.vram),
        ("EM, f32 in RAM", "f32", "em", sizes.vram),
        ("EM, CSR on the GPU", "csr", "em", "all"),
    ];
    let others =
        others.map(|(name, form, method, vram)| (name.into(), form, method, sizes.batch, vram));
    for (name, form, method, batch, vram) in by_batch.into_iter().chain(others) {
        let fit = strings(&[
            &"fit",
            &on,
            &data,
            &form,
            &method,
            &k,
            &batch,
            &sizes.epochs,
            &vram,
        ]);
        rows.run(&name, &mut this_program(&fit));
    }
}

/// The rows that need no generated counts.
fn run_other_rows(rows: &mut Rows, sizes: &Sizes, on: &str) {
    let [table_rows, columns] = sizes.table;
    let bus = strings(&[&"bus", &on, &sizes.pageable, &table_rows, &columns]);
    rows.run("bus", &mut this_program(&bus));
    let [documents, topics, batch, steps] = sizes.offload;
    let offload = strings(&[&"offload", &on, &documents, &topics, &batch, &steps]);
    rows.run("L of many rows", &mut this_program(&offload));
    let [documents, terms, topics, fits] = sizes.growth;
    let growth = strings(&[&"growth", &on, &documents, &terms, &topics, &fits]);
    rows.run("fits one after the other", &mut this_program(&growth));
}

/// PyTorch and tinytopics, by a Python and a script.
fn run_peers(rows: &mut Rows, sizes: &Sizes, [python, script]: [&str; 2], data: &Path) {
    let peer = |arguments: &[String]| {
        let mut command = Command::new(python);
        command.arg(script).args(arguments);
        command
    };
    let [table_rows, columns] = sizes.table;
    let transfers = strings(&[&"transfers", &table_rows, &columns]);
    rows.run("PyTorch, pinned", &mut peer(&transfers));
    let [n, _, k] = sizes.shape;
    let counts = format!("{}/X_f32.npy", data.display());
    let documents = n.min(PEER_DOCUMENTS);
    let tinytopics = strings(&[&"tinytopics", &counts, &documents, &k, &PEER_BATCH]);
    rows.run("tinytopics", &mut peer(&tinytopics));
}

/// This program with other arguments.
fn this_program(arguments: &[String]) -> Command {
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn strings(arguments: &[&dyn ToString]) -> Vec<String> {
    arguments
        .iter()
        .map(|argument| argument.to_string())
        .collect()
}

/// The shape with as many of the documents as memory and disk can hold, and the reason where these are fewer.
fn scale_down([documents, terms, topics]: [usize; 3], data: &Path) -> ([usize; 3], Option<String>) {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let memory = memory.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    // f32 counts in four fifths of the memory; on nine tenths of the disk, also u8 and CSR.
    let by_memory = memory.map_or(documents, |kib| kib * 1024 / 5 * 4 / (4 * terms));
    let by_disk = free_disk(data).map_or(documents, |bytes| bytes / 10 * 9 / (6 * terms));
    let fits = documents.min(by_memory).min(by_disk).max(topics);
    let scaled = (fits < documents).then(|| {
        let limit = match by_memory < by_disk {
            true => "free memory",
            false => "free disk space",
        };
        format!("{fits} of {documents} documents: as many as {limit} holds")
    });
    ([fits, terms, topics], scaled)
}

fn free_disk(folder: &Path) -> Option<usize> {
    let output = Command::new("df")
        .args(["-B1", "--output=avail"])
        .arg(folder)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().nth(1)?.trim().parse().ok()
}

/// The machine, its GPU as the driver reports it, and the library's own checks.
fn machine() -> Value {
    let driver = Command::new("nvidia-smi")
        .args([
            "--query-gpu=name,memory.total,driver_version,pcie.link.gen.current,pcie.link.width.current,power.limit",
            "--format=csv,noheader",
        ])
        .output();
    let driver = driver.map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    });
    let mut machine = record::machine();
    machine["GPU, memory, driver, PCIe generation and width, power limit"] = json!(driver);
    machine["doctor"] = json!(doctor().to_string());
    machine
}
