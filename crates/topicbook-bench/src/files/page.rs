//! The record as a page.

use serde_json::Value;

pub fn markdown(record: &Value) -> String {
    let machine = &record["machine"];
    let mut page = format!(
        "# Files larger than their memory\n\nMade by `cargo xtask bench files`. {}, {} threads, load average {}; files in the page \
         cache. The last column is ours divided by the peer's.\n\n| work | file | memory allowed | ours | peer | ratio |\n\
         |---|---|---|---|---|---|\n",
        machine["processor"].as_str().unwrap_or_default(),
        machine["threads"],
        machine["load_average"].as_str().unwrap_or_default(),
    );
    let rows = &record["rows"];
    let lines = [
        (
            "the terms of texts, two passes, into a `.npz`",
            &rows["text"],
            "free",
            "the same without a limit",
        ),
        (
            "`.h5ad` of 500,000 x 30,000, 3% nonzero, gzip: one pass of expectation-maximisation, k = 10",
            &rows["h5ad"],
            "peer",
            "h5py reads the three arrays",
        ),
        (
            "Parquet, 500 million triplets sorted by document: opened",
            &rows["parquet"],
            "peer",
            "Polars reads the columns",
        ),
    ];
    for (work, row, other, peer) in lines {
        if row.is_null() {
            continue;
        }
        let (ours, theirs) = (&row["limited"]["seconds"], &row[other]["seconds"]);
        let ratio = ours.as_f64().zip(theirs.as_f64()).map(|(a, b)| a / b);
        page += &format!(
            "| {work} | {:.1} GB | {:.0} MiB, at most {:.0} used | {} | {peer}: {} | {} |\n",
            row["bytes"].as_f64().unwrap_or(f64::NAN) / 1e9,
            row["limit"].as_f64().unwrap_or(f64::NAN) / 1_048_576.0,
            row["limited"]["cgroup_peak"].as_f64().unwrap_or(f64::NAN) / 1_048_576.0,
            seconds(ours),
            seconds(theirs),
            ratio.map_or("failed".into(), |ratio| format!("{ratio:.2}")),
        );
    }
    page + "\nThe memory used is that of the control group, page cache included, which the system fills up to the limit.\n"
}

fn seconds(value: &Value) -> String {
    value
        .as_f64()
        .map_or("failed".into(), |seconds| format!("{seconds:.1} s"))
}
