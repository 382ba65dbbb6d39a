//! The record as a page, and what it falls short of.

use serde_json::Value;

/// Seconds of an epoch at most, for 100,000 documents; how much longer than the bus; how much faster than tinytopics; how
/// far a prediction of VRAM may be off.
const EPOCH: f64 = 1.5;
const OVER_BUS: f64 = 1.3;
const FASTER: f64 = 15.0;
const OFF: f64 = 0.1;
/// Bytes by which what the pool holds may change from fit to fit.
const FLAT: f64 = 1048576.0;

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

/// The quickest epoch after the first, which compiles kernels.
fn epoch(row: &Value) -> Option<f64> {
    let seconds = row["epoch_seconds"].as_array()?;
    let seconds = seconds.iter().skip(1).filter_map(Value::as_f64);
    seconds.min_by(f64::total_cmp)
}

fn over_bus(row: &Value) -> Option<f64> {
    Some(epoch(row)? / row["bus_seconds"].as_f64()?)
}

/// What was predicted of VRAM, over what was measured, less one.
fn off(row: &Value) -> Option<f64> {
    Some(row["vram_predicted"].as_f64()? / row["vram_reserved_peak"].as_f64()? - 1.0)
}

/// The row of counts in RAM that goals are about.
fn in_ram(record: &Value) -> &Value {
    &record["rows"][format!("f32 in RAM, batch {}", record["batch"])]
}

/// How many times faster than tinytopics, document by document.
fn faster(record: &Value) -> Option<f64> {
    let (peer, ours) = (&record["rows"]["tinytopics"], in_ram(record));
    let a_document =
        |seconds: Option<f64>, row: &Value| Some(seconds? / row["documents"].as_f64()?);
    let theirs = a_document(peer["seconds_per_epoch"].as_f64(), peer)?;
    Some(theirs / a_document(epoch(ours), ours)?)
}

/// Goals that were missed, and those that could not be looked at. None of a dry run, but what failed.
pub fn shortcomings(record: &Value) -> Vec<String> {
    let mut short = Vec::new();
    let rows = record["rows"].as_object().cloned().unwrap_or_default();
    for (name, row) in &rows {
        if !row["failed"].is_null() {
            let says = text(&row["says"]);
            let last = says.lines().last().unwrap_or_default();
            short.push(format!("{name}: failed, {} ({last})", text(&row["failed"])));
        }
    }
    if record["small"] == true {
        return short;
    }
    let mut goal =
        |what: &str, seen: Option<f64>, good: &dyn Fn(f64) -> bool, asked: &str| match seen {
            Some(seen) if good(seen) => {}
            Some(seen) => short.push(format!("{what}: {}, {asked} asked", show(Some(seen), 1.0))),
            None => short.push(format!("{what}: not measured, {asked} asked")),
        };
    let ours = in_ram(record);
    let share = ours["documents"].as_f64().unwrap_or(0.0) / 1e5;
    goal(
        "f32 in RAM, seconds an epoch (for 100,000 documents)",
        epoch(ours).map(|seconds| seconds / share),
        &|seconds| seconds <= EPOCH,
        &format!("at most {EPOCH}"),
    );
    goal(
        "f32 in RAM, over the time of the bus",
        over_bus(ours),
        &|times| times <= OVER_BUS,
        &format!("at most {OVER_BUS}"),
    );
    goal(
        "times faster than tinytopics",
        faster(record),
        &|times| times >= FASTER,
        &format!("at least {FASTER}"),
    );
    for (name, row) in rows
        .iter()
        .filter(|(_, row)| !row["epoch_seconds"].is_null())
    {
        goal(
            &format!("{name}, VRAM predicted over measured, less one"),
            off(row),
            &|off| off.abs() <= OFF,
            &format!("within {OFF}"),
        );
    }
    let fits = &record["rows"]["fits one after the other"];
    for pool in ["in_use", "reserved"] {
        goal(
            &format!(
                "fits one after the other, bytes {pool} after the last, less those after the second"
            ),
            growth(&fits[pool]),
            &|bytes| bytes.abs() <= FLAT,
            &format!("at most {FLAT}"),
        );
    }
    short
}

/// From the second fit to the last: the first has one epoch.
fn growth(after: &Value) -> Option<f64> {
    let after = after.as_array()?;
    Some(after.last()?.as_f64()? - after.get(1)?.as_f64()?)
}

pub fn markdown(record: &Value) -> String {
    let rows = &record["rows"];
    let mut page = String::from("# On a card\n\n");
    if record["small"] == true {
        page += "A dry run (`--small`) at tiny sizes: it shows that the program works, and none of its figures means anything.\n\n";
    }
    if record["card"] != "CUDA card 0" {
        page += &format!(
            "Nothing here ran on a card: {}. What stands for one is the CPU.\n\n",
            text(&record["card"])
        );
    }
    page += &format!(
        "`cargo xtask bench gpu`, topicbook {}. {} documents x {} terms, k = {}; budget of VRAM {}.{}\n\n",
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
    page += "\nEpochs: the quickest after the first, which compiles kernels. *Bus*: the same counts in the same batches through the \
             same pinned stages, with nothing computed. VRAM in MiB: *reserved* and *in use* are the largest that the pool \
             had, *error* is of what it reserved, NVML is the most that the whole card had, less what it had before.\n\n\
             | Counts | X on the card | Batch (at once) | GB | Epoch, s | Bus, s | Over bus | Predicted | Reserved | Error, % | In use | NVML |\n\
             |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for (name, row) in rows.as_object().into_iter().flatten() {
        if row["epoch_seconds"].is_null() {
            continue;
        }
        let mib = |name: &str| show(row[name].as_f64(), 1048576.0);
        let nvml = || Some(row["nvml_peak"].as_f64()? - row["nvml_before"].as_f64()?);
        page += &format!(
            "| {name}, {} | {} | {} ({}) | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            text(&row["dtype"]),
            if row["held"] == true { "held" } else { "sent" },
            row["batch"],
            row["micro_batch"],
            show(row["bytes"].as_f64(), 1e9),
            show(epoch(row), 1.0),
            show(row["bus_seconds"].as_f64(), 1.0),
            show(over_bus(row), 1.0),
            mib("vram_predicted"),
            mib("vram_reserved_peak"),
            show(off(row), 0.01),
            mib("vram_in_use_peak"),
            show(nvml(), 1048576.0),
        );
    }
    let (bus, torch) = (&rows["bus"], &rows["PyTorch, pinned"]);
    page += &format!(
        "\nA large plain copy, of memory that is not pinned: {} GB/s. Tables of {} x {} f32, transfers a second:\n\n\
         | | to the card | from it |\n|---|---:|---:|\n",
        show(bus["plain_bytes_per_second"].as_f64(), 1e9),
        text(&bus["rows"]),
        text(&bus["columns"]),
    );
    for (name, row) in [("topicbook", bus), ("PyTorch, pinned", torch)] {
        page += &format!(
            "| {name} | {} | {} |\n",
            show(row["to_card_per_second"].as_f64(), 1.0),
            show(row["from_card_per_second"].as_f64(), 1.0),
        );
    }
    let table = &rows["L of many rows"];
    page += &format!(
        "\nL of {} rows, k = {}, batch {}: {} iterations a second with L on the card, {} with L beside it.\n",
        text(&table["documents"]),
        text(&table["topics"]),
        text(&table["batch"]),
        show(table["on_card_per_second"].as_f64(), 1.0),
        show(table["on_host_per_second"].as_f64(), 1.0),
    );
    let peer = &rows["tinytopics"];
    page += &match &peer["skipped"] {
        Value::Null => format!(
            "\ntinytopics on the first {} documents, batch {}: {} s an epoch. Document by document topicbook (batch {}) is {} \
             times faster.\n",
            text(&peer["documents"]),
            text(&peer["batch"]),
            show(peer["seconds_per_epoch"].as_f64(), 1.0),
            record["batch"],
            show(faster(record), 1.0),
        ),
        reason => format!("\ntinytopics was not run: {}.\n", text(reason)),
    };
    let fits = &rows["fits one after the other"];
    page += &format!(
        "\n{} fits of {} epochs in one process, after one of a single epoch. Bytes after each: in use {}; reserved {}; NVML {}.\n",
        text(&fits["fits"]),
        text(&fits["epochs"]),
        fits["in_use"],
        fits["reserved"],
        fits["nvml"],
    );
    let short = shortcomings(record);
    if !short.is_empty() {
        page += "\nShort of what is asked:\n\n";
        for line in short {
            page += &format!("- {line}\n");
        }
    }
    page
}
