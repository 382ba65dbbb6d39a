//! The large sizes of tinytopics' article, at its density: one epoch of each solver over up to 50 GB of counts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use topicbook::Result;

use crate::memory::rows::{ARTICLE_LENGTH as LENGTH, LIMIT, machine, run_cold};
use crate::support::record::{self, result_of, this_program};

const TERMS: &str = "100000";
const TOPICS: &str = "20";
const FITS: [(&str, &str, &str); 3] = [
    ("AdamW, batch 16", "adamw", "16"),
    ("AdamW, batch 256", "adamw", "256"),
    ("EM, one pass", "em", "16"),
];

/// Draws counts of each number of documents into `folder`, fits them with all solvers in a cgroup, and removes them. The
/// record is written after every fit.
pub fn record([records, folder]: [&Path; 2], sizes: &[&str]) -> Result<()> {
    fs::create_dir_all(folder).unwrap();
    let mut rows: Vec<Value> = Vec::new();
    for documents in sizes {
        let path = folder.join("X_article.npy");
        let file = path.to_str().unwrap();
        let generate = ["generate-u8", file, documents, TERMS, TOPICS, LENGTH];
        let drawn = result_of(&this_program(&generate).output().unwrap());
        eprintln!("{documents} documents: {drawn}");
        for (what, solver, batch) in FITS {
            let fit = ["fit", file, solver, TOPICS, "1", batch, "auto"];
            let Some(result) = run_cold(&path, &mut this_program(&fit)) else {
                return Ok(());
            };
            eprintln!("{what}: {result}");
            rows.push(json!({
                "documents": documents,
                "what": what,
                "drawn": drawn,
                "load_average": record::machine()["load_average"],
                "result": result,
            }));
            let machine = machine();
            let all = json!({ "machine": machine, "limit": LIMIT, "rows": rows });
            record::write(records, "article", &all, &page(&all));
        }
        fs::remove_file(&path).unwrap();
    }
    Ok(())
}

fn page(record: &Value) -> String {
    let machine = &record["machine"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut page = format!(
        "# The sizes of tinytopics' article\n\n\
         `cargo xtask bench article`, topicbook {} on {}, {} threads, {} of memory, Linux {}.\n\n\
         Counts of {TERMS} terms, drawn from tinytopics' model with {LENGTH} tokens a document (47% nonzero), `u8` in a `.npy` file; k = {TOPICS}; \
         one epoch in a control group limited to {} MiB, with a cold page cache. The first pass checks the counts. The article (Xiao 2025) \
         reports 6 s an epoch at 100,000 documents, held in the memory of an RTX 4090 of 24 GB, and 5 to 6 minutes at 500,000, streamed from its disk.\n\n\
         | Documents | File, GB | Drawn and written in, s | What | First pass (checks), s | Epoch, s | Counts a second, millions | Predicted anonymous, MB | Peak anonymous, MB | Peak with page cache, MB | Load |\n\
         |---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|\n",
        text(&machine["topicbook"]),
        text(&machine["processor"]),
        machine["threads"],
        text(&machine["memory"]),
        text(&machine["kernel"]),
        LIMIT >> 20,
    );
    for row in record["rows"].as_array().into_iter().flatten() {
        let result = &row["result"];
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let bytes = number(&row["drawn"]["bytes"]);
        let seconds = number(&result["epoch_seconds"][0]);
        let load = text(&row["load_average"]);
        page += &format!(
            "| {} | {:.0} | {:.0} | {} | {:.0} | {seconds:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {} |\n",
            text(&row["documents"]),
            bytes / 1e9,
            number(&row["drawn"]["seconds"]),
            text(&row["what"]),
            number(&result["check_seconds"]),
            bytes / seconds / 1e6,
            number(&result["predicted_anonymous"]) / 1e6,
            number(&result["peak_anonymous"]) / 1e6,
            number(&result["cgroup_peak"]) / 1e6,
            load.split(' ').next().unwrap_or_default(),
        );
    }
    page
}
