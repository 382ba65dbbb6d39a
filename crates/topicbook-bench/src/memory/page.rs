//! The record as a page.

use std::collections::HashSet;

use serde_json::Value;

/// Sizes that are not in the record.
pub struct Sizes {
    pub topics: &'static str,
    pub read_bytes: usize,
    /// Documents and topics of the mapped L.
    pub mapped_l: [&'static str; 2],
}

pub fn markdown(record: &Value, sizes: &Sizes) -> String {
    let rows = record["rows"].as_array().cloned().unwrap_or_default();
    let mut page = header(record, sizes);
    page += &fits(&rows);
    page += &mapped_l(&rows, sizes);
    page += &growth(&rows);
    page += &monitor_share(&rows);
    page
}

fn header(record: &Value, sizes: &Sizes) -> String {
    let machine = &record["machine"];
    format!(
        "# Counts larger than memory\n\n\
         `cargo xtask bench memory`, topicbook {} on {}, {} threads, {} of memory, Linux {}, control groups of version {}.\n\n\
         {} x {} counts, k = {}, dtype as in the file's name, drawn from tinytopics' model with 1,000 or (`article`) 65,536 tokens a document, in a control \
         group limited to {} MiB. Every run begins with a cold page cache. \
         Streamed in blocks of 20 documents, 124 blocks in the shuffle buffer, except where the plan chose (`article`, *sizes by plan*); an epoch's \
         seconds are the mean of the second and third (of tinytopics: its only one). *Times reading* is against reading the \
         same file in order, {} MB at a time, with nothing computed: the median of three times between the fits. Anonymous memory is the whole process's.\n\n\
         | What | File | Nonzero, % | Epoch, s | Times reading | First pass (checks), s | Predicted anonymous, MB | Peak anonymous, MB | Error, % | Peak with page cache, MB |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        text(&machine["topicbook"]),
        text(&machine["processor"]),
        machine["threads"],
        text(&machine["memory"]),
        text(&machine["kernel"]),
        machine["cgroup"],
        text(&record["shape"][0]),
        text(&record["shape"][1]),
        sizes.topics,
        record["limit"].as_u64().unwrap_or_default() >> 20,
        sizes.read_bytes >> 20,
    )
}

/// The rows of the first table: reading and fits, by file.
fn fits(rows: &[Value]) -> String {
    // A file is read once before every fit, because disks of rented machines are not equally fast all the time.
    let reading_seconds = |file: &Value| {
        let reads = rows.iter().filter(|row| row["what"] == "only reading");
        let seconds = reads
            .filter(|row| row["file"] == *file)
            .filter_map(|row| row["result"]["seconds"].as_f64());
        median(seconds.collect())
    };
    // Only the results of fits have it.
    let nonzero_share = |file: &Value| {
        let fits = rows.iter().filter(|row| row["file"] == *file);
        fits.filter_map(|row| row["result"]["nonzero_share"].as_f64())
            .next()
    };
    let mut page = String::new();
    let mut files_with_reading = HashSet::new();
    for row in rows {
        let result = &row["result"];
        let Some(reading) = reading_seconds(&row["file"]) else {
            continue;
        };
        let only_reading = row["what"] == "only reading";
        if only_reading && !files_with_reading.insert(text(&row["file"])) {
            continue;
        }
        let seconds = match &result["epoch_seconds"] {
            _ if only_reading => Some(reading),
            Value::Array(seconds) => {
                let after_first = seconds.iter().skip(1).filter_map(Value::as_f64);
                median(after_first.collect())
            }
            _ => result["seconds_per_epoch"].as_f64(),
        };
        let error = || {
            let predicted = result["predicted_anonymous"].as_f64()?;
            Some(100.0 * (predicted / result["peak_anonymous"].as_f64()? - 1.0))
        };
        page += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            text(&row["what"]),
            text(&row["file"]),
            show(nonzero_share(&row["file"]), 0.01, 1),
            show(seconds, 1.0, 2),
            show(seconds.map(|seconds| seconds / reading), 1.0, 2),
            show(result["check_seconds"].as_f64(), 1.0, 1),
            show(result["predicted_anonymous"].as_f64(), 1e6, 0),
            show(result["peak_anonymous"].as_f64(), 1e6, 0),
            show(error(), 1.0, 1),
            show(result["cgroup_peak"].as_f64(), 1e6, 0),
        );
    }
    page
}

fn mapped_l(rows: &[Value], sizes: &Sizes) -> String {
    let [documents, topics] = sizes.mapped_l;
    let mut page = format!(
        "\nL's logits and their moments in a mapped file, {documents} documents x {topics} topics, one epoch at batch 16 by row-wise \
         AdamW in the same limit (documents of five terms each):\n\n\
         | What | Logits and moments, MB | Iterations a second | Epoch, s | Predicted anonymous, MB | Peak anonymous, MB |\n\
         |---|---:|---:|---:|---:|---:|\n"
    );
    for row in rows {
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
    page
}

/// Growth of memory over epochs and fits.
fn growth(rows: &[Value]) -> String {
    let Some(row) = rows.iter().find(|row| !row["result"]["fits"].is_null()) else {
        return String::new();
    };
    let growth = &row["result"];
    let kib = |name: &str| show(growth[name].as_f64(), 1024.0, 2);
    format!(
        "\n{} streamed fits of {} epochs in one process: anonymous memory changes by {} KiB an epoch (standard error {}) \
         and by {} KiB a fit (standard error {}), at {} MB.\n",
        growth["fits"],
        growth["epochs"],
        kib("bytes_an_epoch"),
        kib("bytes_an_epoch_standard_error"),
        kib("bytes_a_fit"),
        kib("bytes_a_fit_standard_error"),
        show(growth["anonymous"].as_f64(), 1e6, 1),
    )
}

fn monitor_share(rows: &[Value]) -> String {
    let shares = rows.iter().filter_map(|row| {
        let result = &row["result"];
        // Relative to the fit alone: the monitor does not run during the checks before it.
        Some(result["monitor_cpu_seconds"].as_f64()? / result["fit_seconds"].as_f64()?)
    });
    format!(
        "\nThe thread that samples memory ran for at most {:.2}% of a fit's time.\n",
        100.0 * shares.fold(0.0, f64::max)
    )
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values.get(middle).copied(),
        _ => Some((values.get(middle)? + values.get(middle.checked_sub(1)?)?) / 2.0),
    }
}

/// A value in `unit`s, or nothing.
fn show(value: Option<f64>, unit: f64, decimals: usize) -> String {
    value.map_or(String::new(), |value| {
        format!("{:.decimals$}", value / unit)
    })
}
