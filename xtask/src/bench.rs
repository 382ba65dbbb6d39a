//! Figures that users feel, measured and kept.

use std::fs;

use crate::places::Places;
use crate::setup;
use crate::task::{At, Result, run};

/// Seconds from a kernel's start to a value, and of single cells, beside a kernel without any dependency.
pub fn cells(places: &Places) -> Result<()> {
    setup::all(places)?;
    let records = places.root.join("benches");
    fs::create_dir_all(&records).at(&records)?;
    run(setup::jupyter(places, "python")
        .arg(places.root.join("xtask/python/bench_cells.py"))
        .arg(places.evcxr_exe())
        .arg(records.join("cells.json"))
        .env("TOPICBOOK_KERNELS", places.kernels()))
}
