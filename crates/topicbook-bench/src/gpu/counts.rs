//! The counts of the rows: drawn into a file, converted, and loaded in the form that a row names.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use topicbook::{CountValue, Counts, Dtype, Result, Synthetic};

/// How a fit gets its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `f32` in memory.
    F32,
    /// In the narrowest dtype, in memory: usually bytes.
    Narrow,
    /// CSR in memory.
    Csr,
    /// `f32` in a file, streamed.
    Disk,
}

impl Form {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "f32" => Self::F32,
            "narrow" => Self::Narrow,
            "csr" => Self::Csr,
            "disk" => Self::Disk,
            _ => return None,
        })
    }

    /// The first `documents` of the counts that [`generate`] and [`convert`] wrote into the folder.
    pub fn counts(self, folder: &Path, documents: usize) -> Result<Counts> {
        let narrow = || Counts::open(folder.join("X_narrow.npy"));
        match self {
            Self::F32 => in_memory::<f32>(&narrow()?, documents),
            Self::Narrow => {
                let counts = narrow()?;
                match counts.dtype() {
                    Dtype::U8 => in_memory::<u8>(&counts, documents),
                    _ => in_memory::<u16>(&counts, documents),
                }
            }
            Self::Csr => Counts::open(folder.join("X.npz"))?.select(0..documents),
            Self::Disk => Counts::open(streamed_file(folder)),
        }
    }
}

fn streamed_file(folder: &Path) -> PathBuf {
    folder.join("X_f32.npy")
}

/// Has the system forget the pages of the streamed file (`POSIX_FADV_DONTNEED`, by `dd`), so that the next epoch reads it from the
/// disk.
pub fn forget_pages(folder: &Path) {
    let mut dd = Command::new("dd");
    dd.arg(format!("if={}", streamed_file(folder).display()));
    let done = dd
        .args(["iflag=nocache", "count=0", "status=none"])
        .status();
    assert!(done.is_ok_and(|status| status.success()), "dd failed");
}

/// A dtype to which counts are converted in memory.
trait FromF32: CountValue {
    fn from_f32(value: f32) -> Self;
}

impl FromF32 for f32 {
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl FromF32 for u8 {
    fn from_f32(value: f32) -> Self {
        value as u8
    }
}

impl FromF32 for u16 {
    fn from_f32(value: f32) -> Self {
        value as u16
    }
}

/// A copy of the first documents in anonymous memory: the pages of a mapped file could be evicted. Each processor converts a
/// part, because one alone would take longer to touch 40 GB than the fit takes.
fn in_memory<T: FromF32>(counts: &Counts, documents: usize) -> Result<Counts> {
    const BLOCK: usize = 64;
    let terms = counts.terms();
    let mut values = vec![T::from_f32(0.0); documents * terms];
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = documents.div_ceil(threads).max(1);
    let fill = |first: usize, out: &mut [T]| -> Result<()> {
        let mut rows = vec![0.0f32; BLOCK * terms];
        for (block, out) in out.chunks_mut(BLOCK * terms).enumerate() {
            let first = first + block * BLOCK;
            let numbers: Vec<usize> = (first..first + out.len() / terms).collect();
            let rows = &mut rows[..out.len()];
            counts.fill_rows(&numbers, rows)?;
            for (out, value) in out.iter_mut().zip(rows) {
                *out = T::from_f32(*value);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let parts = values.chunks_mut(part * terms).enumerate();
        let threads: Vec<_> = parts
            .map(|(number, out)| scope.spawn(move || fill(number * part, out)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("the thread did not panic"))
    })?;
    Counts::dense(documents, terms, values)
}

/// Draws counts with `length` tokens a document into the folder's `X_narrow.npy`.
pub fn generate(folder: &Path, [documents, terms, topics, length]: [usize; 4]) -> Result<Value> {
    fs::create_dir_all(folder).expect("a folder for the counts");
    let corpus = Synthetic::new(documents, terms, topics)
        .avg_doc_length(length)
        .seed(1)
        .write_npy(folder.join("X_narrow.npy"))?;
    let counts = corpus.counts();
    Ok(json!({
        "documents": documents,
        "terms": terms,
        "dtype": counts.dtype().name(),
        "density": counts.summary()?.density(),
        "bytes": counts.bytes_stored(),
    }))
}

/// Writes the first documents of the drawn counts as the file of a form: `X.npz`, or `X_f32.npy`, down to the disk.
///
/// # Panics
/// When the form has no file of its own.
pub fn convert(folder: &Path, form: Form, documents: usize) -> Result<Value> {
    let counts = Form::Narrow.counts(folder, documents)?;
    let written = match form {
        Form::Csr => counts.write_npz(folder.join("X.npz"))?,
        Form::Disk => {
            let path = streamed_file(folder);
            let written = counts.write_npy_as(&path, Dtype::F32)?;
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.expect("the file is on the disk");
            written
        }
        Form::F32 | Form::Narrow => panic!("{form:?} has no file of its own"),
    };
    Ok(json!({ "documents": documents, "bytes": written.bytes_stored() }))
}
