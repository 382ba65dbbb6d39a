//! The machine, and the documents that it can hold.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use topicbook::doctor;

use crate::support::record;

/// The machine, its GPU as the driver reports it, and the library's own checks.
pub fn machine() -> Value {
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

/// The shape with as many of the documents as memory and disk can hold, and the reason where these are fewer.
pub fn scale_down(
    [documents, terms, topics]: [usize; 3],
    data: &Path,
) -> ([usize; 3], Option<String>) {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let memory = memory.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    // f32 counts in four fifths of the memory; on nine tenths of the disk, u8 of two densities, CSR, and f32 of a part.
    let by_memory = memory.map_or(documents, |kib| kib * 1024 / 5 * 4 / (4 * terms));
    let by_disk = free_disk(data).map_or(documents, |bytes| bytes / 10 * 9 / (3 * terms));
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
