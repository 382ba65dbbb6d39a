//! The record as a page.

use serde_json::Value;

use crate::techniques::table::{Medians, median, number, table};

/// The share of the planned peak by which a measured one may differ from it.
const TOLERANCE: f64 = 0.1;

/// The page, and a line for each run that failed or whose peak is further from the plan's than [`TOLERANCE`].
pub fn markdown(record: &Value) -> (String, Vec<String>) {
    let machine = &record["machine"];
    let mut page = format!(
        "# What each technique saves\n\n\
         `cargo xtask bench techniques`, topicbook {} with Burn {} on {}, {} threads, {} of memory, {} of uptime; load at the \
         end {}.\n\n",
        text(&machine["topicbook"]),
        text(&record["burn"]),
        text(&machine["processor"]),
        machine["threads"],
        text(&machine["memory"]),
        uptime(&record["uptime"]),
        text(&machine["load_average"]),
    );
    let density = |index: usize| 100.0 * record["density"][index].as_f64().unwrap_or(f64::NAN);
    page += &format!(
        "Two sizes: {} ({:.1}% nonzero), where a batch's table of rates is the largest, and {} ({:.1}% nonzero) for optimizer \
         states and offloading, where L is. Counts are sparse (CSR, f32) and in memory where nothing else is said. Page \
         cache {}. Three epochs a run, {} runs each in a process of its own, in turn; the table has their medians.\n\n\
         Memory is the peak of the process's anonymous memory (on a GPU: of reserved VRAM), sampled every millisecond, above what the \
         process had before the counts existed, so that counts in memory count. *More time* is that of an epoch by the clock, *more \
         CPU time* that of the process, which other programs on the machine do not change. *Claimed* is what the table of techniques in \
         seed document 002 says of neural networks.\n\n",
        sizes(&record["sizes"][0]),
        density(0),
        sizes(&record["sizes"][1]),
        density(1),
        text(&record["cache"]),
        record["runs"]["kept"].as_array().map_or(0, Vec::len),
    );
    let rounds = |name: &str| record["runs"][name].as_array().cloned().unwrap_or_default();
    page += &table(rounds);
    let gpu = text(&record["gpu"]);
    if !gpu.starts_with("CUDA") {
        page += &format!("\nThe techniques on a GPU were skipped: {gpu}.\n");
    }
    page += "\nThe runs, with the peak of the whole process (on a GPU: of VRAM) beside its plan's:\n\n\
             | Run | Above the process before, MiB | Planned peak, MiB | Measured peak, MiB | Measured / planned | Epoch, s | CPU, s | Loss |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|\n";
    let mut wrong = Vec::new();
    for (name, rounds) in record["runs"].as_object().into_iter().flatten() {
        let Some(rounds) = rounds.as_array() else {
            continue;
        };
        for failed in rounds.iter().filter(|row| !row["failed"].is_null()) {
            wrong.push(format!("{name}: {} {}", failed["failed"], failed["stderr"]));
        }
        let prefix = if name.starts_with("GPU") { "vram_" } else { "" };
        let peak = |which: &str| median(rounds, |row| number(row, &format!("{prefix}{which}")));
        let (planned, measured) = (peak("predicted"), peak("measured"));
        let ratio = measured / planned;
        if (ratio - 1.0).abs() > TOLERANCE {
            wrong.push(format!(
                "{name}: measured {measured} bytes, planned {planned}"
            ));
        }
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        page += &format!(
            "| {name} | {:.1} | {:.1} | {:.1} | {ratio:.3} | {:.3} | {:.3} | {:.6e} |\n",
            mib(Medians::of(rounds).map_or(f64::NAN, |medians| medians.measured)),
            mib(planned),
            mib(measured),
            median(rounds, |row| number(row, "seconds")),
            median(rounds, |row| number(row, "cpu_seconds")),
            median(rounds, |row| number(row, "loss")),
        );
    }
    for line in &wrong {
        page += &format!("\nWrong: {line}\n");
    }
    (page, wrong)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn sizes(sizes: &Value) -> String {
    format!(
        "{} x {} counts of documents with {} tokens, k = {}, batch {}",
        sizes["documents"], sizes["terms"], sizes["tokens"], sizes["topics"], sizes["batch"]
    )
}

/// Hours from the text of `/proc/uptime`.
fn uptime(value: &Value) -> String {
    let seconds = text(value);
    let seconds = seconds
        .split(' ')
        .next()
        .and_then(|seconds| seconds.parse::<f64>().ok());
    format!("{:.1} h", seconds.unwrap_or(f64::NAN) / 3600.0)
}
