//! The page of the record.

use std::fmt::Write;

use serde_json::Value;

/// One size in a line of text.
pub fn line(row: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    format!(
        "{:.0} MB: {:.2} s ({:.1} s of CPU), scikit-learn {:.1} s ({:.1} s), {:.1}x; same counts: {}",
        number(&row["bytes"]) / 1e6,
        fastest(row, "ours"),
        fastest(row, "ours_cpu"),
        number(&row["peer"]["seconds"]),
        number(&row["peer"]["cpu"]),
        number(&row["ratio"]),
        row["peer"]["equal"]
    )
}

fn fastest(row: &Value, what: &str) -> f64 {
    let runs = row[what].as_array().into_iter().flatten();
    runs.filter_map(Value::as_f64).fold(f64::INFINITY, f64::min)
}

pub fn markdown(record: &Value) -> String {
    let machine = &record["machine"];
    let mut page = format!(
        "# Counting terms\n\n`cargo xtask bench text`: `Vectorizer::new().out(...)` beside scikit-learn's \
         `CountVectorizer()`, on the same file of one document per line: pages of Rust's documentation, repeated with \
         changed words. Ours is the fastest of two runs, with two passes and the writing of the file; scikit-learn's is one \
         run, from reading the file to the sparse matrix in memory. Its script compares the counts cell by cell.\n\n\
         {}, {} threads, load average {} at the end. Other work on the machine changes the times, and the \
         CPU seconds, of all threads together, less.\n\n\
         | text | documents | terms | ours | scikit-learn | ratio | ours, CPU | scikit-learn, CPU | same counts |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---|\n",
        machine["processor"].as_str().unwrap_or_default(),
        machine["threads"],
        machine["load_average"].as_str().unwrap_or_default(),
    );
    for row in record["rows"].as_array().into_iter().flatten() {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        // Writing to a text cannot fail.
        let _ = writeln!(
            page,
            "| {:.0} MB | {} | {} | {:.2} s | {:.1} s | {:.1}x | {:.1} s | {:.1} s | {} |",
            number(&row["bytes"]) / 1e6,
            row["documents"],
            row["terms"],
            fastest(row, "ours"),
            number(&row["peer"]["seconds"]),
            number(&row["ratio"]),
            fastest(row, "ours_cpu"),
            number(&row["peer"]["cpu"]),
            row["peer"]["equal"]
        );
    }
    page
}
