//! `cargo xtask bench files`: people's own files that are larger than the memory limit, each compared with the library
//! that people read it with. Writes `files.json` and `files.md` into a folder after every row.
//!
//! ```text
//! files record RECORDS FOLDER PYTHON SCRIPT DOCUMENTATION [PART ...]   all rows, or those with a part in their name
//! files text PATH OUT     counts the terms of texts
//! files em PATH           passes of expectation-maximisation over counts that are streamed
//! files triplets PATH     opens a table of triplets
//! ```
//! All but the first print one JSON line.

mod page;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use testkit::Cgroup;
use topicbook::{Counts, Result, Solver, TopicModel, Vectorizer};

use crate::support::{arguments, long_text, record};

const MIB: u64 = 1 << 20;
/// Bytes of text, and the memory in which its terms are counted.
const TEXT: (usize, u64) = (5_000_000_000, 512 * MIB);
/// Cells, genes and the share of nonzero counts, and the memory of the fit.
const CELLS: ([&str; 3], u64) = (["500000", "30000", "0.03"], 2_048 * MIB);
const TOPICS: usize = 10;
/// The first pass is not counted: it finds in the page cache what the checks have left there.
const PASSES: usize = 3;
/// Rows of triplets, and the memory in which they are opened.
const TRIPLETS: (&str, u64) = ("500000000", 1_024 * MIB);

pub fn main() -> Result<()> {
    let arguments = arguments::arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match arguments.as_slice() {
        [
            "record",
            records,
            folder,
            python,
            script,
            documentation,
            parts @ ..,
        ] => {
            let bench = Bench {
                folder: Path::new(folder),
                python,
                script,
                documentation: Path::new(documentation),
            };
            bench.record(Path::new(records), parts);
            return Ok(());
        }
        ["text", path, out] => text(path, out)?,
        ["em", path] => em(path)?,
        ["triplets", path] => triplets(path)?,
        _ => return Err(arguments::unknown()),
    };
    println!("{line}");
    Ok(())
}

fn text(path: &str, out: &str) -> Result<Value> {
    let begin = Instant::now();
    let counted = Vectorizer::new().min_df(5).out(out).fit_transform(path)?;
    Ok(json!({
        "seconds": begin.elapsed().as_secs_f64(),
        "cpu": record::cpu_seconds(),
        "documents": counted.counts().documents(),
        "terms": counted.counts().terms(),
        "dropped": counted.dropped().to_string(),
    }))
}

fn em(path: &str) -> Result<Value> {
    let begin = Instant::now();
    let counts = Counts::open(path)?;
    let model = TopicModel::new(TOPICS).solver(Solver::em()).epochs(PASSES);
    let plan = model.seed(1).quiet().plan(&counts)?;
    let planned = begin.elapsed().as_secs_f64();
    let predicted = plan.peak_ram();
    let fit = plan.fit()?;
    let passes: Vec<f64> = fit
        .epochs()
        .iter()
        .map(|epoch| epoch.duration.as_secs_f64())
        .collect();
    Ok(json!({
        "seconds": passes[1..].iter().copied().fold(f64::INFINITY, f64::min),
        "passes": passes,
        "planned": planned,
        "predicted": predicted,
        "reading": format!("{:?}", fit.settings().reading),
        "nonzeros": counts.summary()?.nonzeros(),
        "cpu": record::cpu_seconds(),
    }))
}

fn triplets(path: &str) -> Result<Value> {
    let begin = Instant::now();
    let counts = Counts::open(path)?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(json!({
        "seconds": seconds,
        "cpu": record::cpu_seconds(),
        "documents": counts.documents(),
        "terms": counts.terms(),
        "total": counts.summary()?.total(),
    }))
}

struct Bench<'a> {
    folder: &'a Path,
    python: &'a str,
    script: &'a str,
    documentation: &'a Path,
}

impl Bench<'_> {
    /// Runs the rows, and writes the record after each, so that an interruption loses no result.
    fn record(&self, records: &Path, parts: &[&str]) {
        fs::create_dir_all(self.folder).expect("the folder is made");
        let mut rows = previous(records);
        type Row<'r> = fn(&Bench<'r>) -> Value;
        let all: [(&str, Row); 3] = [
            ("text", Bench::text),
            ("h5ad", Bench::cells),
            ("parquet", Bench::triplets),
        ];
        for (name, row) in all {
            if parts.is_empty() || parts.contains(&name) {
                let row = row(self);
                eprintln!("{name}: {row}");
                rows[name] = row;
                let whole = json!({ "machine": record::machine(), "rows": rows });
                record::write(records, "files", &whole, &page::markdown(&whole));
            }
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into()
    }

    /// The same work without a limit and within one.
    fn text(&self) -> Value {
        let (path, out) = (self.path("text.txt"), self.path("text.npz"));
        let pages = long_text::pages(self.documentation);
        long_text::write(Path::new(&path), &pages, TEXT.0).expect("the text is written");
        let free = ours(None, &["text", &path, &out]);
        let limited = ours(Some(TEXT.1), &["text", &path, &out]);
        let row =
            json!({ "bytes": bytes(&path), "limit": TEXT.1, "free": free, "limited": limited });
        remove(&[&path, &out]);
        row
    }

    fn cells(&self) -> Value {
        let path = self.path("cells.h5ad");
        let made = self.peer(&[&["make-h5ad", &path], &CELLS.0[..]].concat());
        let peer = self.peer(&["read-h5ad", &path]);
        let limited = ours(Some(CELLS.1), &["em", &path]);
        let row = json!({
            "bytes": bytes(&path), "limit": CELLS.1, "made": made, "peer": peer, "limited": limited,
        });
        remove(&[&path]);
        row
    }

    fn triplets(&self) -> Value {
        let path = self.path("triplets.parquet");
        let made = self.peer(&["make-parquet", &path, TRIPLETS.0]);
        let peer = self.peer(&["read-parquet", &path]);
        let limited = ours(Some(TRIPLETS.1), &["triplets", &path]);
        let row = json!({
            "bytes": bytes(&path), "limit": TRIPLETS.1, "made": made, "peer": peer, "limited": limited,
        });
        remove(&[&path]);
        row
    }

    fn peer(&self, arguments: &[&str]) -> Value {
        let mut program = Command::new(self.python);
        program.arg(self.script).args(arguments);
        record::result_of(&program.output().expect("Python starts"))
    }
}

/// The rows of the record that is there.
fn previous(records: &Path) -> Value {
    let text = fs::read_to_string(records.join("files.json")).unwrap_or_default();
    let record: Option<Value> = serde_json::from_str(&text).ok();
    let rows = record.map(|mut record| record["rows"].take());
    rows.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

/// Runs this program in a process of its own, in a control group of `limit` bytes if there is a limit.
fn ours(limit: Option<u64>, arguments: &[&str]) -> Value {
    let mut program = record::this_program(arguments);
    let Some(limit) = limit else {
        return record::result_of(&program.output().expect("the program starts"));
    };
    let Some(group) = Cgroup::or_skip(limit) else {
        return json!({ "skipped": "control groups cannot be written" });
    };
    let mut result = record::result_of(&group.run(&mut program).expect("the program starts"));
    result["cgroup_peak"] = json!(group.peak());
    result
}

fn bytes(path: &str) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn remove(paths: &[&str]) {
    for path in paths {
        // A file that was not written does not exist.
        let _ = fs::remove_file(path);
    }
}
