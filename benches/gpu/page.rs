//! The record as a page, and the goals that it misses.

use serde_json::Value;

/// Goals: seconds of an epoch of 100,000 documents at most.
const EPOCH_SECONDS: f64 = 1.5;
/// An epoch's time at most, relative to that of its bytes on the bus.
const OVER_BUS: f64 = 1.3;
/// Speed relative to tinytopics at least.
const TIMES_FASTER: f64 = 15.0;
/// Relative error of a VRAM prediction at most.
const VRAM_ERROR: f64 = 0.1;
/// Bytes by which the memory of the pool may change from fit to fit.
const POOL_GROWTH: f64 = 1048576.0;

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}

fn show(value: Option<f64>, unit: f64) -> String {
    value.map_or("-".into(), |value| {
        let value = value / unit;
        match value.abs() {
            size if size >= 100.0 => format!("{value:.0}"),
            size if size >= 1.0 => format!("{value:.2}"),
            _ => format!("{value:.4}"),
        }
    })
}

/// Seconds of the fastest epoch after the first, which compiles kernels.
fn epoch(row: &Value) -> Option<f64> {
    let seconds = row["epoch_seconds"].as_array()?;
    let seconds = seconds.iter().skip(1).filter_map(Value::as_f64);
    seconds.min_by(f64::total_cmp)
}

fn over_bus(row: &Value) -> Option<f64> {
    Some(epoch(row)? / row["bus_seconds"].as_f64()?)
}

/// Relative error of the predicted VRAM.
fn vram_error(row: &Value) -> Option<f64> {
    Some(row["vram_predicted"].as_f64()? / row["vram_reserved_peak"].as_f64()? - 1.0)
}

/// The row of counts in RAM to which the goals apply.
fn in_ram(record: &Value) -> &Value {
    &record["rows"][format!("f32 in RAM, batch {}", record["batch"])]
}

/// Speed per document relative to tinytopics.
fn times_faster(record: &Value) -> Option<f64> {
    let (peer, ours) = (&record["rows"]["tinytopics"], in_ram(record));
    let per_document =
        |seconds: Option<f64>, row: &Value| Some(seconds? / row["documents"].as_f64()?);
    let peer_seconds = per_document(peer["seconds_per_epoch"].as_f64(), peer)?;
    Some(peer_seconds / per_document(epoch(ours), ours)?)
}

/// Rows that failed, and goals that were missed or not measured. A dry run has no goals.
pub fn missed_goals(record: &Value) -> Vec<String> {
    let mut missed = Vec::new();
    let rows = record["rows"].as_object().cloned().unwrap_or_default();
    for (name, row) in &rows {
        if !row["failed"].is_null() {
            let stderr = text(&row["stderr"]);
            let last = stderr.lines().last().unwrap_or_default();
            missed.push(format!("{name}: failed, {} ({last})", text(&row["failed"])));
        }
    }
    if record["small"] == true {
        return missed;
    }
    let mut goal = |what: &str,
                    measured: Option<f64>,
                    reached: &dyn Fn(f64) -> bool,
                    asked: &str| match measured {
        Some(measured) if reached(measured) => {}
        Some(measured) => {
            missed.push(format!(
                "{what}: {}, {asked} asked",
                show(Some(measured), 1.0)
            ));
        }
        None => missed.push(format!("{what}: not measured, {asked} asked")),
    };
    let ours = in_ram(record);
    let scale = ours["documents"].as_f64().unwrap_or(0.0) / 1e5;
    goal(
        "f32 in RAM, seconds an epoch (for 100,000 documents)",
        epoch(ours).map(|seconds| seconds / scale),
        &|seconds| seconds <= EPOCH_SECONDS,
        &format!("at most {EPOCH_SECONDS}"),
    );
    goal(
        "f32 in RAM, over the time of the bus",
        over_bus(ours),
        &|times| times <= OVER_BUS,
        &format!("at most {OVER_BUS}"),
    );
    goal(
        "times faster than tinytopics",
        times_faster(record),
        &|times| times >= TIMES_FASTER,
        &format!("at least {TIMES_FASTER}"),
    );
    for (name, row) in rows
        .iter()
        .filter(|(_, row)| !row["epoch_seconds"].is_null())
    {
        goal(
            &format!("{name}, VRAM predicted over measured, less one"),
            vram_error(row),
            &|error| error.abs() <= VRAM_ERROR,
            &format!("within {VRAM_ERROR}"),
        );
    }
    let fits = &record["rows"]["fits one after the other"];
    for pool in ["in_use", "reserved"] {
        goal(
            &format!(
                "fits one after the other, bytes {pool} after the last, less those after the second"
            ),
            growth(&fits[pool]),
            &|bytes| bytes.abs() <= POOL_GROWTH,
            &format!("at most {POOL_GROWTH}"),
        );
    }
    missed
}

/// The change from the second fit to the last; the first has only one epoch.
fn growth(after_fits: &Value) -> Option<f64> {
    let bytes = after_fits.as_array()?;
    Some(bytes.last()?.as_f64()? - bytes.get(1)?.as_f64()?)
}

pub fn markdown(record: &Value) -> String {
    let mut page = header(record);
    page += &fits(&record["rows"]);
    page += &transfers(&record["rows"]);
    page += &offload(&record["rows"]["L of many rows"]);
    page += &tinytopics(record);
    page += &consecutive_fits(&record["rows"]["fits one after the other"]);
    let missed = missed_goals(record);
    if !missed.is_empty() {
        page += "\nGoals missed:\n\n";
        for line in missed {
            page += &format!("- {line}\n");
        }
    }
    page
}

fn header(record: &Value) -> String {
    let mut page = String::from("# On a GPU\n\n");
    if record["small"] == true {
        page += "A dry run (`--small`) at tiny sizes: it shows that the program works, and none of its figures means anything.\n\n";
    }
    if record["GPU"] != "CUDA GPU 0" {
        page += &format!(
            "Nothing here ran on a GPU: {}. The CPU stands for one.\n\n",
            text(&record["GPU"])
        );
    }
    page += &format!(
        "`cargo xtask bench gpu`, topicbook {}. {} documents x {} terms, k = {}; VRAM budget {}.{}\n\n",
        text(&record["machine"]["topicbook"]),
        record["shape"][0],
        record["shape"][1],
        record["shape"][2],
        text(&record["vram_budget"]),
        match &record["scaled"] {
            Value::Null => String::new(),
            scaled => format!(" Scaled down: {}.", text(scaled)),
        },
    );
    for (name, value) in record["machine"].as_object().into_iter().flatten() {
        page += &format!("- {name}: {}\n", text(value).trim().replace('\n', "; "));
    }
    page
}

fn fits(rows: &Value) -> String {
    let mut page = String::from(
        "\nEpochs: the fastest after the first, which compiles kernels. *Bus*: the same counts in the same batches through the \
         same pinned staging buffers, with nothing computed. VRAM in MiB: *reserved* and *in use* are the peaks of the memory \
         pool, *error* is that of the prediction relative to *reserved*, NVML is the peak of the whole GPU less its use before \
         the fit.\n\n\
         | Counts | X on the GPU | Batch (micro-batch) | GB | Epoch, s | Bus, s | Over bus | Predicted | Reserved | Error, % | In use | NVML |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (name, row) in rows.as_object().into_iter().flatten() {
        if row["epoch_seconds"].is_null() {
            continue;
        }
        let mib = |name: &str| show(row[name].as_f64(), 1048576.0);
        let nvml = || Some(row["nvml_peak"].as_f64()? - row["nvml_before"].as_f64()?);
        page += &format!(
            "| {name}, {} | {} | {} ({}) | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            text(&row["dtype"]),
            if row["resident"] == true {
                "resident"
            } else {
                "uploaded"
            },
            row["batch"],
            row["micro_batch"],
            show(row["bytes"].as_f64(), 1e9),
            show(epoch(row), 1.0),
            show(row["bus_seconds"].as_f64(), 1.0),
            show(over_bus(row), 1.0),
            mib("vram_predicted"),
            mib("vram_reserved_peak"),
            show(vram_error(row), 0.01),
            mib("vram_in_use_peak"),
            show(nvml(), 1048576.0),
        );
    }
    page
}

fn transfers(rows: &Value) -> String {
    let (bus, torch) = (&rows["bus"], &rows["PyTorch, pinned"]);
    let mut page = format!(
        "\nA large copy out of pageable memory: {} GB/s. Tables of {} x {} f32, transfers a second:\n\n\
         | | to the GPU | from it |\n|---|---:|---:|\n",
        show(bus["pageable_bytes_per_second"].as_f64(), 1e9),
        text(&bus["rows"]),
        text(&bus["columns"]),
    );
    for (name, row) in [("topicbook", bus), ("PyTorch, pinned", torch)] {
        page += &format!(
            "| {name} | {} | {} |\n",
            show(row["to_gpu_per_second"].as_f64(), 1.0),
            show(row["from_gpu_per_second"].as_f64(), 1.0),
        );
    }
    page
}

fn offload(row: &Value) -> String {
    format!(
        "\nL of {} rows, k = {}, batch {}: {} iterations a second with L on the GPU, {} with L offloaded to host memory.\n",
        text(&row["documents"]),
        text(&row["topics"]),
        text(&row["batch"]),
        show(row["on_gpu_per_second"].as_f64(), 1.0),
        show(row["on_host_per_second"].as_f64(), 1.0),
    )
}

fn tinytopics(record: &Value) -> String {
    let peer = &record["rows"]["tinytopics"];
    match &peer["skipped"] {
        Value::Null => format!(
            "\ntinytopics on the first {} documents, batch {}: {} s an epoch. Per document, topicbook (batch {}) is {} times \
             faster. Large batches need more epochs for the same score: `benches/records/batches.md` has how many.\n",
            text(&peer["documents"]),
            text(&peer["batch"]),
            show(peer["seconds_per_epoch"].as_f64(), 1.0),
            record["batch"],
            show(times_faster(record), 1.0),
        ),
        reason => format!("\ntinytopics was not run: {}.\n", text(reason)),
    }
}

fn consecutive_fits(row: &Value) -> String {
    format!(
        "\n{} fits of {} epochs in one process, after one of a single epoch. Bytes after each: in use {}; reserved {}; NVML {}.\n",
        text(&row["fits"]),
        text(&row["epochs"]),
        row["in_use"],
        row["reserved"],
        row["nvml"],
    )
}
