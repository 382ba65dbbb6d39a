//! File formats of counts, one module per format.

mod csr_arrays;
pub mod hdf5;
pub mod invalid_value;
mod lazy_csr;
pub mod npy;
pub mod npz;
mod number_runs;
mod pytorch;
mod safetensors;
pub mod text;
#[cfg(feature = "polars")]
pub mod triplets;
mod widen;

use std::path::Path;

pub use csr_arrays::{Checksums, CsrArrays};
pub use lazy_csr::LazyCsr;

use crate::error::{Error, Result};
use crate::system::memory::phase;
use crate::system::{Progress, Throughput, check_regular};
use crate::text::{bytes, counted, shown_path};

use super::Counts;

/// A file format that counts are read from.
struct Format {
    /// File extension, in lower case and without the dot.
    extension: &'static str,
    open: fn(&Path) -> Result<Counts>,
}

/// All formats, in the order in which messages name them. To add a format, add a row here and a row to the table in the
/// documentation of [`Counts::open`].
const FORMATS: &[Format] = &[
    Format {
        extension: "npy",
        open: npy::open,
    },
    Format {
        extension: "npz",
        open: npz::open,
    },
    Format {
        extension: "safetensors",
        open: safetensors::open,
    },
    Format {
        extension: "pt",
        open: pytorch::open,
    },
    Format {
        extension: "pth",
        open: pytorch::open,
    },
    Format {
        extension: "h5ad",
        open: hdf5::open_h5ad,
    },
    Format {
        extension: "h5",
        open: hdf5::open_tenx,
    },
    Format {
        extension: "mtx",
        open: text::open_documents_by_terms,
    },
    Format {
        extension: "txt",
        open: text::open_docword,
    },
    #[cfg(feature = "polars")]
    Format {
        extension: "parquet",
        open: triplets::open_any_shape,
    },
    #[cfg(feature = "polars")]
    Format {
        extension: "csv",
        open: triplets::open_any_shape,
    },
];

/// Whether the file is a table of triplets.
pub fn is_table(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("parquet") || extension.eq_ignore_ascii_case("csv")
}

/// Opens a file in the format of its extension.
pub fn open(path: &Path) -> Result<Counts> {
    let _phase = phase("open");
    check_regular(path)?;
    let extension = extension(path);
    let format = FORMATS
        .iter()
        .find(|format| Some(format.extension) == extension.as_deref());
    match (format, extension) {
        (Some(format), _) => (format.open)(path),
        #[cfg(not(feature = "polars"))]
        (None, Some(extension)) if extension == "parquet" || extension == "csv" => {
            Err(Error::format(
                path,
                "topicbook was built without the feature polars, which reads tables",
            )
            .fix("switch the feature on, or save the counts as .npy, .npz or .safetensors"))
        }
        (None, Some(extension)) => Err(unknown_format(
            path,
            format!("counts cannot be read from .{extension} files"),
        )),
        (None, None) => Err(unknown_format(
            path,
            "has no file extension, so its format is unknown".into(),
        )),
    }
}

/// The extension of a path, in lower case; for `X.mtx.gz` the one before `.gz`, if that format is also read gzipped.
fn extension(path: &Path) -> Option<String> {
    let lower = |path: &Path| {
        path.extension()
            .map(|extension| extension.to_string_lossy().to_lowercase())
    };
    let extension = lower(path)?;
    let inner = path.file_stem().and_then(|stem| lower(Path::new(stem)));
    match inner {
        Some(inner) if extension == "gz" && (inner == "mtx" || inner == "txt") => Some(inner),
        _ => Some(extension),
    }
}

fn unknown_format(path: &Path, what: String) -> Error {
    let extensions: Vec<String> = FORMATS
        .iter()
        .map(|format| format!(".{}", format.extension))
        .collect();
    let (last, others) = extensions
        .split_last()
        .map_or((String::new(), String::new()), |(last, others)| {
            (last.clone(), others.join(", "))
        });
    Error::format(path, what).fix(format!("use {others} or {last}"))
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
        for Format { extension, .. } in FORMATS {
            let row = format!("`.{extension}`");
            assert!(documented.contains(&row), "{extension}");
        }
    }
}
