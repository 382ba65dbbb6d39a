//! Fuzz targets: bytes in the place of a file. A target must return, whatever the bytes are; whether the file is read or
//! refused does not matter.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;
use topicbook::{Checkpoint, Counts, Fit, Reading, Terms, TopicModel};

/// A target's name and what it does with the bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them; a folder of the same name in `corpus` has the files that mutation starts from.
pub const TARGETS: [Target; 8] = [
    ("npy", |data| counts("npy", data)),
    ("npz", |data| counts("npz", data)),
    ("safetensors", |data| counts("safetensors", data)),
    ("csv", csv),
    ("parquet", |data| counts("parquet", data)),
    ("terms", terms),
    ("checkpoint", checkpoint),
    ("fit", fit),
];

/// Counts whose values are looked at: larger ones would only test the memory of this machine.
const FEW: usize = 1 << 16;

/// Digits of the largest number in a table: an id of more is a shape of so many documents, which takes its time and memory.
const DIGITS: usize = 6;

/// Opens a table whose shape is small.
fn csv(data: &[u8]) {
    let numbers = data.split(|byte| !byte.is_ascii_digit());
    if numbers.map(<[u8]>::len).max() <= Some(DIGITS) {
        counts("csv", data);
    }
}

/// Opens counts, checks them, reads rows in place, and has a fit stream them.
fn counts(extension: &str, data: &[u8]) {
    let Ok(counts) = Counts::open(file(extension, data)) else {
        return;
    };
    let Ok(summary) = counts.summary() else {
        return;
    };
    let (documents, terms) = counts.shape();
    if documents.saturating_mul(terms) > FEW || summary.total() == 0.0 {
        return;
    }
    let mut rows = vec![0.0; documents * terms];
    let all: Vec<usize> = (0..documents).collect();
    if counts.fill_rows(&all, &mut rows).is_ok() {
        let total: f64 = rows.iter().map(|&count| f64::from(count)).sum();
        // Counts above 2^24 are rounded to f32.
        assert!((total - summary.total()).abs() <= 1e-6 * summary.total());
    }
    for reading in [
        Reading::InPlace,
        Reading::Stream {
            block: 2,
            blocks: 3,
        },
    ] {
        let model = TopicModel::new(1).epochs(1).reading(reading).quiet();
        if let Ok(fit) = model.fit(&counts) {
            assert!(fit.l().values().iter().all(|weight| weight.is_finite()));
        }
    }
}

/// Reads term names.
fn terms(data: &[u8]) {
    if let Ok(terms) = Terms::open(file("txt", data)) {
        assert!(!terms.is_empty());
    }
}

/// Opens a checkpoint, and continues it where it is small.
fn checkpoint(data: &[u8]) {
    let Ok(checkpoint) = Checkpoint::open(file("ckpt", data)) else {
        return;
    };
    let counts = Counts::dense(4, 3, vec![1u8, 0, 2, 3, 1, 0, 0, 5, 1, 2, 2, 2]);
    if let Ok(counts) = counts
        && checkpoint.epochs_done() < 10
    {
        let _ = checkpoint.epochs(10).quiet().fit(&counts);
    }
}

/// Loads a saved fit and uses it.
fn fit(data: &[u8]) {
    let Ok(fit) = Fit::load(file("safetensors", data)) else {
        return;
    };
    if fit.documents().saturating_mul(fit.terms()) <= FEW {
        let _ = (fit.loss(), fit.epochs(), fit.top_terms(3), fit.doc_topics());
    }
}

/// Writes the bytes to a file of this process, in memory where the system has such a folder.
fn file(extension: &str, data: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let shared = Path::new("/dev/shm");
        match shared.is_dir() {
            true => TempDir::new_in(shared),
            false => TempDir::new(),
        }
        .expect("a folder for the files")
    });
    let path = folder.path().join(format!("file.{extension}"));
    fs::write(&path, data).expect("the folder can be written to");
    path
}
