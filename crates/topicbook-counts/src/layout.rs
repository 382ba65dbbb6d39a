//! How counts are laid out, and where they are stored.

use std::fmt;
use std::path::PathBuf;

use crate::text::shown_path;

/// Memory layout of counts.
///
/// ```
/// use topicbook::{Counts, Layout};
/// let dense = Counts::dense(1, 3, vec![0u8, 7, 1])?;
/// assert_eq!(dense.layout(), Layout::Dense);
/// assert_eq!(Layout::Csr.to_string(), "sparse rows (CSR)");
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// All counts, in row-major order.
    Dense,
    /// The nonzero counts of each row (compressed sparse rows).
    Csr,
}

/// Where counts are stored.
///
/// ```
/// use topicbook::{Counts, Location};
/// # let _folder = topicbook::example_folder()?;
/// let counts = Counts::dense(1, 3, vec![0u8, 7, 1])?;
/// assert_eq!(counts.location(), Location::Memory);
/// assert_eq!(counts.write_npy("X.npy")?.location(), Location::File("X.npy".into()));
/// assert_eq!(counts.write_npz("X.npz")?.location(), Location::Loaded("X.npz".into()));
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// In memory.
    Memory,
    /// In this file (`.npy`, `.safetensors`), which is memory-mapped: only the rows that are used are read.
    File(PathBuf),
    /// In memory, read from this file: `.csv` and `.parquet` on opening, `.npz` and `.tbc` on first use.
    Loaded(PathBuf),
    /// In these files, whose documents are numbered consecutively. Fits stream them, or they are read into memory on first use;
    /// tables are read on opening.
    Files(Vec<PathBuf>),
}

/// The number of files, the first and the last.
pub(super) fn shown_paths(paths: &[PathBuf]) -> String {
    let [first, .., last] = paths else {
        return "a file".into();
    };
    let (first, last) = (shown_path(first), shown_path(last));
    format!("{} files, {first} to {last}", paths.len())
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layout::Dense => "dense",
            Layout::Csr => "sparse rows (CSR)",
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Memory => f.write_str("memory"),
            Location::File(path) => write!(f, "file {}", shown_path(path)),
            Location::Loaded(path) => write!(f, "memory, read from {}", shown_path(path)),
            Location::Files(paths) => write!(f, "memory, read from {}", shown_paths(paths)),
        }
    }
}
