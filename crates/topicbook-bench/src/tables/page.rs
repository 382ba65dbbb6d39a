//! The page of the record.

use serde_json::Value;

/// A number of the record, NaN where it is missing.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

pub fn markdown(record: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (machine, disk) = (&record["machine"], &record["disk"]);
    let mut page = format!(
        "# Tables larger than memory\n\n`cargo xtask bench tables`: fits of L of the sizes that two documents of this project name, \
        each in a control group of {:.0} GiB with L's logits and their optimizer state in a mapped file (`TableStorage::File`). \
        `Optimizer::RowwiseAdamW`, one epoch of 10,000 steps; counts of 500 terms (CSR in a `.npz`, 5 nonzero counts a document: 1%), so that the work is that on L. The table is written at the start, so that the page cache has a part of it; a batch has \
        documents from everywhere in the file, or from many blocks where counts are streamed in blocks.\n\n\
        {}, {} threads, {} of memory; load average {}. topicbook {}. The disk was measured in the same run: {:.2} GB/s written, \
        {:.2} GB/s read, {:.0} random blocks of 4 KiB a second, one at a time.\n\n\
        - Read and written are bytes of the process in `/proc` during the steps, pages as they became dirty. The share in which \
        something waited for the disk is that of pressure stall information of the machine.\n\
        - Anonymous memory is what the plan predicts; the group's peak has the page cache, too, and so reaches its limit.\n\n",
        number(&record["limit"]) / 1024f64.powi(3),
        text(&machine["processor"]),
        machine["threads"],
        text(&machine["memory"]),
        text(&machine["load_average"]),
        text(&machine["topicbook"]),
        number(&disk["write_bytes_per_second"]) / 1e9,
        number(&disk["read_bytes_per_second"]) / 1e9,
        number(&disk["random_reads_per_second"]),
    );
    page += "| L | dtype | table | batch | counts | iterations/s | read, written a step | waiting for the disk | processor time | \
        anonymous memory: predicted, seen | peak of the group | whole fit |\n\
        |---|---|---:|---:|---|---:|---|---:|---:|---|---:|---:|\n";
    for row in record["rows"].as_array().into_iter().flatten() {
        page += &line(row);
    }
    page + &row_table(&record["row_table"]) + &killed(&record["killed"])
}

fn line(row: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (result, epoch) = (&row["result"], &row["result"]["epochs"][0]);
    let [documents, topics] = ["documents", "topics"].map(|name| text(&row[name]));
    let precision = text(&row["precision"]);
    if let Some(failed) = result["failed"].as_str() {
        return format!("| {documents} x {topics} | {precision} | {failed} | | | | | | | | | |\n");
    }
    let width = if precision == "bf16" { 2.0 } else { 4.0 };
    let values = documents.parse().unwrap_or(f64::NAN) * topics.parse().unwrap_or(f64::NAN);
    let (steps, seconds) = (number(&result["steps"]), number(&epoch["seconds"]));
    format!(
        "| {documents} x {topics} | {precision} | {:.1} GB | {} | {} | {:.1} | {:.2}, {:.2} MB | {:.0}% | {:.0}% of {} threads | \
        {:.1}, {:.1} MB | {:.2} GiB | {:.0} s |\n",
        // A logit and one value of state for each entry.
        2.0 * width * values / 1e9,
        result["batch_size"],
        match result["reading"].as_str() {
            Some("InPlace") => "in place",
            _ => "in blocks",
        },
        number(&epoch["steps_per_second"]),
        number(&epoch["read"]) / steps / 1e6,
        number(&epoch["written"]) / steps / 1e6,
        100.0 * number(&epoch["waiting_seconds"]) / seconds,
        100.0 * number(&epoch["cpu_seconds"]) / seconds / 2.0,
        2,
        number(&result["predicted_anonymous"]) / 1e6,
        number(&result["peak_anonymous"]) / 1e6,
        number(&result["cgroup_peak"]) / 1024f64.powi(3),
        number(&result["seconds"]),
    )
}

fn row_table(table: &Value) -> String {
    let result = &table["result"];
    if result["failed"].is_string() || table.is_null() {
        return String::new();
    }
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let seconds = number(&result["seconds"]);
    let steps = number(&result["steps_per_second"]) * seconds;
    format!(
        "\n## RowTable\n\n{} x {} in f32 in a file, in the same limit. A step gathers {} rows from everywhere in the table and updates them \
        by row-wise AdamW: {:.1} steps a second. A step reads {:.2} MB and changes {:.2} MB; something waits for the disk in {:.0}% of the \
        time, and the processor works in {:.0}% of that of 2 threads. {:.1} MB of anonymous memory; the flush at the end takes {:.0} s.\n",
        text(&table["rows"]),
        text(&table["width"]),
        result["batch_size"],
        number(&result["steps_per_second"]),
        number(&result["read"]) / steps / 1e6,
        number(&result["written"]) / steps / 1e6,
        100.0 * number(&result["waiting_seconds"]) / seconds,
        100.0 * number(&result["cpu_seconds"]) / seconds / 2.0,
        number(&result["peak_anonymous"]) / 1e6,
        number(&result["flush_seconds"]),
    )
}

fn killed(killed: &Value) -> String {
    if killed.is_null() {
        return String::new();
    }
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let (whole, first) = (&killed["whole"], &killed["first"]);
    let (stopped, continued) = (&killed["killed"], &killed["continued"]);
    let same = whole["digest"].is_string() && whole["digest"] == continued["digest"];
    format!(
        "\n## Killed and continued\n\nL of {} x {} in f32, two epochs of {} steps, in the same limit. The fit without an interruption takes \
        {:.0} s. Another one ends after its first epoch and leaves a checkpoint: {:.0} s, {:.0} of them for the epoch. Taken up for \
        its second epoch, it ends by `{}`. Taken up again after {} epoch, it reads the checkpoint in {:.0} s and ends \
        after {:.0} s, at most {:.1} MB of anonymous memory in use: L's tables of the checkpoint stay in its file. L and F \
        have {} those of the fit without an interruption (digests {} and {}).\n",
        text(&killed["documents"]),
        text(&killed["topics"]),
        whole["steps"],
        number(&whole["seconds"]),
        number(&first["seconds"]),
        number(&first["epochs"][0]["seconds"]),
        text(&stopped["failed"]),
        continued["epochs_done"],
        number(&continued["open_seconds"]),
        number(&continued["seconds"]),
        number(&continued["peak_anonymous"]) / 1e6,
        if same {
            "the same bits as"
        } else {
            "OTHER BITS than"
        },
        text(&whole["digest"]),
        text(&continued["digest"]),
    )
}
