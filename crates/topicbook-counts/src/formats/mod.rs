//! File formats of counts, one module per format.

mod csr_arrays;
mod file_rows;
pub mod hdf5;
pub mod invalid_value;
mod lazy_csr;
pub mod npy;
pub mod npz;
mod number_runs;
pub mod packed;
mod pytorch;
mod safetensors;
pub mod text;
#[cfg(feature = "polars")]
pub mod triplets;
mod widen;

use std::path::Path;

pub use csr_arrays::Checksums;
pub use file_rows::FileRows;
pub use lazy_csr::LazyCsr;
pub use npz::{NewCounts, RowSink};

use crate::data::{TableFormat, converted};
use crate::error::{Error, Result};
use crate::system::memory::phase;
use crate::system::{Progress, Throughput, check_regular, unpacked_extension};
use crate::text::{bytes, counted, shown_path};

use super::Counts;

/// Opens a file of counts.
type Open = fn(&Path) -> Result<Counts>;

/// All formats but those of tables, by extensions in lower case, in the order in which messages name them. To add a format, add
/// a row here and a row to the table in the documentation of [`Counts::open`].
const FORMATS: [(&str, Open); 10] = [
    ("npy", npy::open),
    ("npz", npz::open),
    ("tbc", packed::open),
    ("safetensors", safetensors::open),
    ("pt", pytorch::open),
    ("pth", pytorch::open),
    ("h5ad", hdf5::open_h5ad),
    ("h5", hdf5::open_tenx),
    ("mtx", text::open_documents_by_terms),
    ("txt", text::open_docword),
];

/// Whether the file is a table of triplets, of any format of tables.
pub fn is_table(path: &Path) -> bool {
    TableFormat::of(path).is_some()
}

/// Opens a file in the format of its extension.
pub fn open(path: &Path) -> Result<Counts> {
    let _phase = phase("open");
    let extension = extension(path);
    // A Zarr store is a folder.
    if extension != "zarr" {
        check_regular(path)?;
    }
    match FORMATS.into_iter().find(|(name, _)| *name == extension) {
        Some((_, open)) => open(path),
        #[cfg(feature = "polars")]
        None if is_table(path) => triplets::open(path, None),
        #[cfg(not(feature = "polars"))]
        None if is_table(path) => Err(Error::format(
            path,
            "topicbook was built without the feature polars, which reads tables",
        )
        .fix("switch the feature on, or save the counts as .npy, .npz or .safetensors")),
        None => Err(not_counts(path)),
    }
}

/// The extension of a path, in lower case; for `X.mtx.gz` the one before `.gz`, if that format is also read compressed.
pub fn extension(path: &Path) -> String {
    let inner = unpacked_extension(path);
    match inner.as_str() {
        "mtx" | "txt" => inner,
        _ => path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase(),
    }
}

/// Writes the rows that `fill` appends as CSR, as `.tbc` or `.npz`, and opens the file.
pub fn write_rows(
    path: &Path,
    new: NewCounts,
    fill: impl FnOnce(&mut dyn RowSink) -> Result<()>,
) -> Result<Counts> {
    match extension(path).as_str() {
        "tbc" => packed::write_rows(path, new, fill),
        _ => npz::write_rows(path, new, fill),
    }
}

/// The extensions of all formats that this build reads.
fn extensions() -> impl Iterator<Item = &'static str> {
    let tables = TableFormat::EXTENSIONS.map(|(extension, _)| extension);
    let tables = tables.into_iter().filter(|_| cfg!(feature = "polars"));
    let others = FORMATS.map(|(extension, _)| extension);
    others.into_iter().chain(tables)
}

/// The error for a file that has no extension of `FORMATS` or of a table.
fn not_counts(path: &Path) -> Error {
    let extensions: Vec<String> = extensions()
        .map(|extension| format!(".{extension}"))
        .collect();
    let (last, others) = extensions
        .split_last()
        .map_or((String::new(), String::new()), |(last, others)| {
            (last.clone(), others.join(", "))
        });
    let what = match path.extension() {
        None => "has no file extension, so its format is unknown".into(),
        Some(extension) => format!(
            "counts cannot be read from .{} files",
            extension.to_string_lossy().to_lowercase()
        ),
    };
    converted(path)
        .unwrap_or_else(|| Error::format(path, what).fix(format!("use {others} or {last}")))
}

/// Progress of writing `documents` documents of `row_bytes` bytes each in `passes` passes.
pub fn writing_progress(path: &Path, documents: usize, passes: usize, row_bytes: f64) -> Progress {
    let size = bytes((documents as f64 * row_bytes) as u64);
    Progress::new(
        format!(
            "writing {} to {} ({size})",
            counted(documents, "document"),
            shown_path(path)
        ),
        documents,
        passes,
        Throughput::Bytes(row_bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_documented() {
        let documented = include_str!("../open.rs");
        for extension in extensions() {
            let row = format!("`.{extension}`");
            assert!(documented.contains(&row), "{extension}");
        }
    }
}
