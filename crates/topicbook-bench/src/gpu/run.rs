//! Runs the rows and writes the record after each.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use topicbook::Device;

use crate::gpu::goals::missed_goals;
use crate::gpu::host::{machine, scale_down};
use crate::gpu::page;
use crate::gpu::rows::Rows;
use crate::gpu::schedule::Schedule;
use crate::gpu::sizes::{FULL, SMALL, Sizes};
use crate::support::record;

/// Time of the whole run: the rest of eight minutes is for the last row's end and the removal of the counts.
const WITHIN: Duration = Duration::from_secs(465);

/// What is run, and where.
pub struct Call<'a> {
    /// The folder of the record.
    pub folder: &'a Path,
    /// The folder of the counts, which is removed at the end.
    pub data: &'a Path,
    pub program: &'a Path,
    /// A Python with the peers, and the script that runs them.
    pub peers: [&'a Path; 2],
    /// Whether everything has tiny sizes, without a GPU if there is none.
    pub small: bool,
    /// Parts of the names of the rows to run, besides those that make counts; none for all rows.
    pub parts: &'a [&'a str],
}

/// Runs the rows; the goals that are missed. `Err` has the reason why nothing can be run.
pub fn run(call: &Call<'_>) -> Result<Vec<String>, String> {
    let mut schedule = Schedule::new(WITHIN);
    let gpu = Device::Cuda(0).describe();
    let has_gpu = gpu == "CUDA GPU 0";
    if !has_gpu && !call.small {
        return Err(format!(
            "No GPU can be used here: {gpu}. `./run.sh --small` tries everything that runs without one, at tiny sizes."
        ));
    }
    for folder in [call.data, call.folder] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let (size, asked) = sizes_of(call.small);
    let (shape, scaled) = scale_down(asked.shape, call.data);
    let sizes = Sizes { shape, ..asked };
    let mut record = json!({
        "small": call.small,
        "asked": asked.shape,
        "shape": shape,
        "scaled": scaled,
        "GPU": gpu,
        "machine": machine(),
        "vram_budget": sizes.vram,
        "batch": sizes.batch,
    });
    let rows = Rows {
        sizes,
        size,
        on: if has_gpu { "0" } else { "cpu" },
        program: call.program,
        peers: call.peers,
        data: call.data,
    };
    let is_asked = |name: &str| call.parts.iter().any(|part| name.contains(part));
    for row in rows.all() {
        if call.parts.is_empty() || row.makes_counts || is_asked(&row.name) {
            schedule.run(&row);
            (record["rows"], record["order"]) = schedule.results();
            record::write(call.folder, "gpu", &record, &page::markdown(&record));
        }
    }
    if let Err(error) = fs::remove_dir_all(call.data) {
        eprintln!("{}: {error}", call.data.display());
    }
    Ok(missed_goals(&record))
}

/// The sizes, and their name in this program's arguments.
pub fn sizes_of(small: bool) -> (&'static str, Sizes) {
    match small {
        true => ("small", SMALL),
        false => ("full", FULL),
    }
}
