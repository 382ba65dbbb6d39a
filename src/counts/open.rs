//! Which reader a file gets.

use std::path::Path;

use super::{Counts, npy, npz, safetensors, triplets};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::phase;

pub(super) fn open(path: &Path) -> Result<Counts> {
    let _phase = phase("open");
    let metadata = std::fs::metadata(path).map_err(|source| Error::io("open", path, source))?;
    if metadata.is_dir() {
        return Err(
            Error::new(ErrorKind::Io, format!("{} is a folder", path.display()))
                .fix("name a file inside it"),
        );
    }
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("npy") => npy::open(path),
        Some("npz") => npz::open(path),
        Some("safetensors") => safetensors::open(path),
        Some("parquet" | "csv") => triplets::open(path, None),
        other => {
            let what = match other {
                None => "has no ending that says what it holds".to_string(),
                Some(ending) => format!("counts are not read from .{ending} files"),
            };
            Err(Error::format(path, what).fix("use .npy, .npz, .safetensors, .parquet or .csv"))
        }
    }
}
