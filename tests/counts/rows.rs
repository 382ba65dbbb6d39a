//! Counts as plain numbers, and what is in the golden files.

use std::path::{Path, PathBuf};

use topicbook::Counts;

/// The counts of golden files, row by row; one row and one column are empty.
pub const VALUES: [u8; 20] = [
    0, 3, 0, 1, 0, //
    0, 0, 0, 0, 0, //
    7, 0, 0, 200, 1, //
    0, 1, 0, 0, 9,
];

/// Their names.
pub const CELLS: [&str; 4] = ["AAAC-1", "AAAG-1", "AAAT-1", "AACC-1"];

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/counts/golden")
        .join(name)
}

/// All counts, row by row.
pub fn rows(counts: &Counts) -> Vec<f32> {
    let (documents, terms) = counts.shape();
    let mut rows = vec![0.0; documents * terms];
    counts
        .fill_rows(&(0..documents).collect::<Vec<_>>(), &mut rows)
        .unwrap();
    rows
}
