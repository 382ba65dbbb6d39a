//! The record as a page.

use serde_json::Value;

use crate::gpu::goals::{
    epoch, missed_goals, over_bus, rows, times_faster, times_faster_to_score, vram_error,
    without_result,
};
use crate::gpu::sizes::DENSITIES;
use crate::gpu::table::table;

pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}

pub fn show(value: Option<f64>, unit: f64) -> String {
    value.map_or("-".into(), |value| {
        let value = value / unit;
        match value.abs() {
            size if size >= 100.0 => format!("{value:.0}"),
            size if size >= 1.0 => format!("{value:.2}"),
            _ => format!("{value:.4}"),
        }
    })
}

pub fn markdown(record: &Value) -> String {
    let mut page = header(record);
    page += &equal_quality(record);
    page += &fits(record);
    page += &transfers(&record["rows"]);
    page += &offload(&record["rows"]);
    page += &techniques(record);
    page += &consecutive_fits(&record["rows"]["fits one after the other"]);
    let missed = missed_goals(record);
    if !missed.is_empty() {
        page += "\nRows without a result, and goals missed:\n\n";
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

fn fits(record: &Value) -> String {
    let mut page = String::from(
        "\nEpochs: the fastest after the first, which compiles kernels. *Bus*: the same counts in the same batches through the \
         same pinned staging buffers, with nothing computed. VRAM in MiB: *reserved* and *in use* are the peaks of the memory \
         pool, *error* is that of the prediction relative to *reserved*, NVML is the peak of the whole GPU less its use before \
         the fit.\n\n\
         | Counts | Documents | Nonzero, % | X on the GPU | Batch (micro-batch) | GB | Epoch, s | Bus, s | Over bus | Predicted | Reserved | Error, % | In use | NVML |\n\
         |---|---:|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for (name, row) in rows(record).filter(|(_, row)| !row["epoch_seconds"].is_null()) {
        let mib = |name: &str| show(row[name].as_f64(), 1048576.0);
        let nvml = || Some(row["nvml_peak"].as_f64()? - row["nvml_before"].as_f64()?);
        page += &format!(
            "| {name}, {} | {} | {} | {} | {} ({}) | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            text(&row["dtype"]),
            row["documents"],
            show(row["density"].as_f64(), 0.01),
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
    let (bus, gathered) = (&rows["bus"], &rows["gathered rows"]);
    let mut page = format!(
        "\nA large copy out of pageable memory: {} GB/s. Transfers a second of tables of {} x {} f32, through pinned memory; \
         *gathered* are as many random rows of a table of {} rows, gathered on the way to the GPU and scattered on the way back, \
         which is the case of SpeedTorch:\n\n\
         | | to the GPU | from it | gathered to the GPU | scattered from it |\n|---|---:|---:|---:|---:|\n",
        show(bus["pageable_bytes_per_second"].as_f64(), 1e9),
        text(&bus["rows"]),
        text(&bus["columns"]),
        text(&gathered["table_rows"]),
    );
    for (name, whole, gathered) in [
        ("topicbook", bus, gathered),
        (
            "PyTorch",
            &rows["PyTorch, bus"],
            &rows["PyTorch, gathered rows"],
        ),
    ] {
        let rate = |row: &Value, way: &str| show(row[format!("{way}_per_second")].as_f64(), 1.0);
        page += &format!(
            "| {name} | {} | {} | {} | {} |\n",
            rate(whole, "to_gpu"),
            rate(whole, "from_gpu"),
            rate(gathered, "to_gpu"),
            rate(gathered, "from_gpu"),
        );
    }
    page
}

fn offload(rows: &Value) -> String {
    let ours = &rows["L of many rows"];
    let mut page = format!(
        "\nIterations a second with L of {} rows, k = {}, batch {}, on the GPU and beside it in host memory. The thread on \
         embeddings that a GPU does not hold (seed document 004) has 90 and 15 with SparseAdam, a factor of 6:\n\n\
         | | L on the GPU | L beside it | Times slower beside it |\n|---|---:|---:|---:|\n",
        text(&ours["documents"]),
        text(&ours["topics"]),
        text(&ours["batch"]),
    );
    for (name, row) in [
        ("topicbook, AdamW", ours),
        ("PyTorch, SparseAdam", &rows["PyTorch, L of many rows"]),
    ] {
        let [there, beside] =
            ["on_gpu", "on_host"].map(|place| row[format!("{place}_per_second")].as_f64());
        page += &format!(
            "| {name} | {} | {} | {} |\n",
            show(there, 1.0),
            show(beside, 1.0),
            show(there.zip(beside).map(|(there, beside)| there / beside), 1.0),
        );
    }
    page
}

fn equal_quality(record: &Value) -> String {
    let mut page = String::from(
        "\n*Score*: of L and F after the last epoch, the mean over tokens of log rate. tinytopics has its default batch of 16 and \
         learning rates; topicbook has the rates of its rule, and ends after the first epoch that scores as high as tinytopics at \
         its end, where an epoch's score is taken before the updates of its own batches. Both begin with the same counts in RAM, \
         after a fit that compiles kernels; seconds are of the whole fit, with the upload. An epoch's times are compared per \
         document, with f32 in RAM.\n\n\
         | Nonzero | Documents | tinytopics: epochs | s | Epoch, s | Score | topicbook: batch | Rates times | Epochs | s | Score | Times faster to the score | Times faster an epoch |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for density in DENSITIES {
        let of = |name: &str| &record["rows"][format!("{name}, {density}")];
        let (peer, ours) = (of("tinytopics"), of("equal score"));
        page += &format!(
            "| {density} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            text(&peer["documents"]),
            text(&peer["epochs"]),
            show(peer["seconds"].as_f64(), 1.0),
            show(peer["seconds_per_epoch"].as_f64(), 1.0),
            score(peer),
            text(&ours["batch"]),
            show(ours["factor"].as_f64(), 1.0),
            text(&ours["epochs"]),
            show(ours["seconds"].as_f64(), 1.0),
            score(ours),
            show(times_faster_to_score(record, density), 1.0),
            show(times_faster(record, density), 1.0),
        );
    }
    page
}

fn score(row: &Value) -> String {
    row["score"]
        .as_f64()
        .map_or("-".into(), |score| format!("{score:.5}"))
}

fn techniques(record: &Value) -> String {
    let result = |name: &str| {
        let row = Some(&record["rows"][name]);
        row.filter(|row| !row.is_null() && without_result(row).is_none())
    };
    format!(
        "\nThe techniques of `benches/records/techniques.md` on a GPU, one run of three epochs each; memory is the peak of reserved \
         VRAM:\n\n{}",
        table(result)
    )
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
