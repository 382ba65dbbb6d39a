//! All rows, each in a process of its own, and the record of them.

use std::fs;
use std::path::Path;
use std::process::{Command, exit};

use serde_json::{Map, Value, json};
use topicbook::{Device, Result, doctor};

use crate::common::{self, json_of};
use crate::page;

/// What is asked for: documents, terms, topics, and what a card may take.
const SHAPE: [usize; 3] = [100_000, 100_000, 20];
const VRAM: &str = "24 GiB";
const BATCHES: [usize; 4] = [16, 256, 1_024, 4_096];
/// Documents at most that tinytopics gets: at the 24 s an epoch that were published for 100,000 it takes seconds.
const PEER_DOCUMENTS: usize = 20_000;
/// tinytopics' own.
const PEER_BATCH: usize = 16;

/// Sizes of one record.
struct Sizes {
    shape: [usize; 3],
    batches: [usize; 4],
    /// A batch for the rows that are not about batches.
    batch: usize,
    epochs: usize,
    vram: &'static str,
    few: &'static str,
    fewer: &'static str,
    plain: usize,
    table: [usize; 2],
    hosted: [usize; 4],
    flat: [usize; 4],
}

const LARGE: Sizes = Sizes {
    shape: SHAPE,
    batches: BATCHES,
    batch: BATCHES[2],
    epochs: 3,
    vram: VRAM,
    few: "6 GiB",
    fewer: "512 MiB",
    plain: 2 << 30,
    table: [131_072, 128],
    hosted: [10_000_000, 20, 1_024, 500],
    flat: [4_000, 10_000, 20, 10],
};

/// Every row that can run without a card, in seconds: says whether the program works, and nothing about speed.
const SMALL: Sizes = Sizes {
    shape: [300, 400, 4],
    batches: [16, 32, 64, 128],
    batch: 64,
    epochs: 2,
    vram: "64 MiB",
    few: "64 MiB",
    fewer: "64 MiB",
    plain: 1 << 20,
    table: [1_024, 128],
    hosted: [2_000, 4, 64, 20],
    flat: [100, 80, 3, 2],
};

/// Collects rows.
struct Rows {
    rows: Map<String, Value>,
}

impl Rows {
    /// Runs one piece of work; what fails is a row, too.
    fn run(&mut self, name: &str, command: &mut Command) -> Value {
        eprintln!("{name}");
        let result = match command.output() {
            Ok(output) => json_of(&output),
            Err(error) => json!({ "failed": error.to_string() }),
        };
        eprintln!("  {result}");
        self.rows.insert(name.into(), result.clone());
        result
    }
}

pub fn record(folder: &Path, words: &[&str]) -> Result<()> {
    let (small, peer) = match words {
        ["--small", peer @ ..] => (true, peer),
        peer => (false, peer),
    };
    let card = Device::Cuda(0).describe();
    let has_card = card == "CUDA card 0";
    if !has_card && !small {
        eprintln!(
            "No card can be used here: {card}. `./run.sh --small` tries everything that runs without one, at tiny sizes."
        );
        exit(2);
    }
    let on = if has_card { "0" } else { "cpu" };
    let data = folder.join("data");
    fs::create_dir_all(&data).unwrap_or_else(|error| panic!("{}: {error}", data.display()));
    let sizes = if small { SMALL } else { LARGE };
    let (shape, scaled) = fitting(sizes.shape, &data);
    let mut rows = Rows { rows: Map::new() };
    let ours = |words: &[String]| {
        let program = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
        let mut command = Command::new(program);
        command.args(words);
        command
    };
    let place = data.display().to_string();
    let words = |words: &[&dyn ToString]| -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    };
    let [n, m, k] = shape;
    rows.run(
        "generate",
        &mut ours(&words(&[&"generate", &place, &n, &m, &k])),
    );
    let fits = sizes.batches.map(|batch| {
        let name = format!("f32 in RAM, batch {batch}");
        (name, "f32", "f32", batch, sizes.vram)
    });
    // Bytes and sparse counts would have room on the card: they get less, to be sent.
    let others = [
        ("u8 in RAM", "narrow", "f32", sizes.few),
        ("u8 in RAM, bf16", "narrow", "bf16", sizes.few),
        ("CSR in RAM", "csr", "f32", sizes.fewer),
        ("f32 on the card", "f32", "f32", "all"),
        ("u8 on the card", "narrow", "f32", "all"),
        ("u8 on the card, bf16", "narrow", "bf16", "all"),
        ("CSR on the card", "csr", "f32", "all"),
        ("CSR on the card, bf16", "csr", "bf16", "all"),
        ("f32 from disk", "disk", "f32", sizes.vram),
        ("EM, f32 in RAM", "f32", "em", sizes.vram),
        ("EM, CSR on the card", "csr", "em", "all"),
    ];
    let others = others.map(|(name, form, law, vram)| (name.into(), form, law, sizes.batch, vram));
    for (name, form, law, batch, vram) in fits.into_iter().chain(others) {
        let words = words(&[
            &"fit",
            &on,
            &place,
            &form,
            &law,
            &k,
            &batch,
            &sizes.epochs,
            &vram,
        ]);
        rows.run(&name, &mut ours(&words));
    }
    let [table_rows, columns] = sizes.table;
    rows.run(
        "bus",
        &mut ours(&words(&[&"bus", &on, &sizes.plain, &table_rows, &columns])),
    );
    let [documents, topics, batch, steps] = sizes.hosted;
    rows.run(
        "L of many rows",
        &mut ours(&words(&[
            &"hosted", &on, &documents, &topics, &batch, &steps,
        ])),
    );
    let [documents, terms, topics, fits] = sizes.flat;
    rows.run(
        "fits one after the other",
        &mut ours(&words(&[&"flat", &on, &documents, &terms, &topics, &fits])),
    );
    if let [python, script] = peer {
        let peer = |words: &[String]| {
            let mut command = Command::new(python);
            command.arg(script).args(words);
            command
        };
        rows.run(
            "PyTorch, pinned",
            &mut peer(&words(&[&"transfers", &table_rows, &columns])),
        );
        let documents = n.min(PEER_DOCUMENTS);
        rows.run(
            "tinytopics",
            &mut peer(&words(&[
                &"tinytopics",
                &format!("{place}/X_f32.npy"),
                &documents,
                &k,
                &PEER_BATCH,
            ])),
        );
    }
    let record = json!({
        "small": small,
        "asked": sizes.shape,
        "shape": shape,
        "scaled": scaled,
        "card": card,
        "machine": machine(),
        "vram_budget": sizes.vram,
        "batch": sizes.batch,
        "rows": rows.rows,
    });
    common::write(folder, "gpu", &record, &page::markdown(&record));
    let _ = fs::remove_dir_all(&data);
    let short = page::shortcomings(&record);
    if !short.is_empty() {
        eprintln!("short of what is asked:\n{}", short.join("\n"));
        exit(1);
    }
    Ok(())
}

/// Fewer documents where memory or disk do not hold them, and why.
fn fitting([documents, terms, topics]: [usize; 3], data: &Path) -> ([usize; 3], Option<String>) {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let memory = file("/proc/meminfo");
    let memory = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let memory = memory.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    // Of memory a fifth stays free; beside f32 the disk holds bytes and CSR.
    let by_memory = memory.map_or(documents, |kib| kib * 1024 / 5 * 4 / (4 * terms));
    let by_disk = free_disk(data).map_or(documents, |bytes| bytes / 10 * 9 / (6 * terms));
    let fits = documents.min(by_memory).min(by_disk).max(topics);
    let scaled = (fits < documents).then(|| {
        let what = match by_memory < by_disk {
            true => "free memory",
            false => "free disk space",
        };
        format!("{fits} of {documents} documents: as many as {what} holds")
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

/// The machine as the library and the driver see it.
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
    let mut machine = common::machine();
    machine["card, memory, driver, PCIe generation and width, power limit"] = json!(driver);
    machine["doctor"] = json!(doctor().to_string());
    machine
}
