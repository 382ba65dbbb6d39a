//! Writes `.npz` archives.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::dense::{DenseRows, as_bytes};
use crate::dtype::{CountValue, Element, with_values};
use crate::error::{Error, Result};
use crate::formats::{invalid_value, npy, writing_progress};
use crate::rows::{NonzeroBuffer, Pick, find_nonzeros, nonzeros_of_row};
use crate::system::{DISK_FULL_REMEDY, Progress, write_atomic_sized};
use crate::{Counts, View};

use super::archive::MAX_SIZE;

/// Upper bound of the bytes of an archive's headers and directory.
pub(super) const MAX_HEADER_BYTES: u64 = 1 << 12;

/// Writes the nonzero counts of the picked rows as CSR, in the format of SciPy's `save_npz`, and opens the file.
///
/// Entries are stored without compression: rows can then be read separately, and the size of the file is known in
/// advance. Three passes over the counts (row lengths, columns, values) keep memory bounded.
pub fn write(counts: &Counts, pick: Pick, path: &Path) -> Result<Counts> {
    npy::check_extension(path, "npz")?;
    write_file(counts, pick, path)?;
    Counts::open(path)
}

/// [`write`] to a path of any extension, which is not opened.
pub fn write_file(counts: &Counts, pick: Pick, path: &Path) -> Result<()> {
    let documents = pick.documents(counts);
    if documents > MAX_SIZE as usize {
        return Err(Error::setting(format!(
            "{documents} documents are too many for one sparse file: at most {MAX_SIZE}"
        ))
        .fix("write several files, or the counts as .npy"));
    }
    // Fails on values that are not counts: a file with such values could not be read again.
    let summary = counts.summary()?;
    let dtype = counts.dtype();
    let row_bytes = summary.density() * (counts.terms() * (4 + dtype.bytes())) as f64;
    let progress = writing_progress(path, documents, 3, row_bytes);
    let indptr = row_starts(counts, pick, &progress)?;
    let stored = indptr[documents];
    let wide = is_wide(stored, counts.terms());
    let (index_dtype, index_bytes) = index_dtype(wide);
    let arrays = stored * (index_bytes + dtype.bytes() as u64) + indptr.len() as u64 * index_bytes;

    write_atomic_sized(path, arrays + MAX_HEADER_BYTES, DISK_FULL_REMEDY, |out| {
        let mut zip = Zip::new(out, path);
        zip.start("indices", index_dtype, &[stored], stored * index_bytes)?;
        let mut bytes = Vec::new();
        let mut buffer = NonzeroBuffer::default();
        pick.each_block(counts, &mut |picked| {
            for &row in picked.rows {
                bytes.clear();
                let (columns, _) = nonzeros_of_row(&picked.view, counts.terms(), row, &mut buffer);
                for &column in columns {
                    put_index(&mut bytes, u64::from(column), wide);
                }
                zip.put(&bytes)?;
            }
            progress.advance(picked.rows.len())
        })?;
        zip.put_row_starts(&indptr, wide)?;
        zip.put_shape(documents, counts.terms())?;
        zip.start(
            "data",
            dtype.npy(),
            &[stored],
            stored * dtype.bytes() as u64,
        )?;
        let mut columns = Vec::new();
        pick.each_block(counts, &mut |picked| {
            for &row in picked.rows {
                match &picked.view {
                    View::Csr(csr) => zip.put(as_bytes(csr.row(row).1))?,
                    View::Dense(rows) => with_values!(DenseRows, rows, values => {
                        let values = &values[row * counts.terms()..(row + 1) * counts.terms()];
                        zip.put(as_bytes(&nonzero_values(values, &mut columns)))?
                    }),
                }
            }
            progress.advance(picked.rows.len())
        })?;
        zip.finish()
    })
}

/// An archive being written.
pub(super) struct Zip<'a> {
    zip: ZipWriter<&'a mut BufWriter<File>>,
    path: &'a Path,
}

impl<'a> Zip<'a> {
    pub(super) fn new(out: &'a mut BufWriter<File>, path: &'a Path) -> Self {
        Self {
            zip: ZipWriter::new(out),
            path,
        }
    }

    /// Starts the entry of an array whose values have `bytes` bytes.
    pub(super) fn start(
        &mut self,
        name: &str,
        dtype: &str,
        shape: &[u64],
        bytes: u64,
    ) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes >= 1 << 31);
        self.zip
            .start_file(format!("{name}.npy"), options)
            .map_err(|error| self.failed(error.into()))?;
        npy::write_header(&mut self.zip, dtype, shape).map_err(|error| self.failed(error))
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.zip
            .write_all(bytes)
            .map_err(|error| self.failed(error))
    }

    pub(super) fn finish(self) -> Result<()> {
        let path = self.path;
        match self.zip.finish() {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::io("write", path, error.into())),
        }
    }

    /// Writes the entry `indptr`.
    pub(super) fn put_row_starts(&mut self, indptr: &[u64], wide: bool) -> Result<()> {
        let (dtype, bytes) = index_dtype(wide);
        let length = indptr.len() as u64;
        self.start("indptr", dtype, &[length], length * bytes)?;
        let mut bytes = Vec::new();
        for chunk in indptr.chunks(1 << 16) {
            bytes.clear();
            for &offset in chunk {
                put_index(&mut bytes, offset, wide);
            }
            self.put(&bytes)?;
        }
        Ok(())
    }

    /// Writes the entries `format` and `shape`.
    pub(super) fn put_shape(&mut self, documents: usize, terms: usize) -> Result<()> {
        self.start("format", "|S3", &[], 3)?;
        self.put(b"csr")?;
        self.start("shape", "<i8", &[2], 16)?;
        for size in [documents, terms] {
            self.put(&(size as i64).to_le_bytes())?;
        }
        Ok(())
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io("write", self.path, error)
    }
}

/// Whether indices need 64 bits: SciPy uses one dtype for columns and offsets.
pub(super) fn is_wide(stored: u64, terms: usize) -> bool {
    stored > i32::MAX as u64 || terms > i32::MAX as usize
}

/// The dtype of indices, and their bytes.
pub(super) fn index_dtype(wide: bool) -> (&'static str, u64) {
    if wide { ("<i8", 8) } else { ("<i4", 4) }
}

/// Appends an index as 32 or 64 bits, little-endian.
pub(super) fn put_index(bytes: &mut Vec<u8>, index: u64, wide: bool) {
    if wide {
        bytes.extend_from_slice(&(index as i64).to_le_bytes());
    } else {
        bytes.extend_from_slice(&(index as i32).to_le_bytes());
    }
}

/// The nonzero values of a dense row, in their own dtype. `columns` is scratch memory.
fn nonzero_values<T: CountValue>(row: &[T], columns: &mut Vec<u32>) -> Vec<T> {
    columns.clear();
    find_nonzeros(row, 0, columns);
    columns.iter().map(|&column| row[column as usize]).collect()
}

/// The column and value of the first count of a dense row that `f32` does not represent exactly. `columns` has the
/// columns of the nonzero counts.
fn first_inexact<T: Element>(row: &[T], columns: &[u32]) -> Option<(usize, f64)> {
    let exact = |value: T| {
        value
            .exact_f64()
            .is_some_and(|wide| f64::from(wide as f32) == wide)
    };
    columns
        .iter()
        .map(|&column| (column as usize, row[column as usize]))
        .find(|&(_, value)| !exact(value))
        .map(|(column, value)| (column, value.to_f64()))
}

/// Computes `indptr`. Fails on the first count that the `f32` of sparse counts does not represent exactly.
fn row_starts(counts: &Counts, pick: Pick, progress: &Progress) -> Result<Vec<u64>> {
    let terms = counts.terms();
    let mut starts = Vec::with_capacity(pick.documents(counts) + 1);
    let mut stored = 0;
    let mut columns = Vec::new();
    starts.push(stored);
    pick.each_block(counts, &mut |picked| {
        for (&row, &document) in picked.rows.iter().zip(picked.documents) {
            match &picked.view {
                View::Csr(csr) => stored += csr.row(row).0.len() as u64,
                View::Dense(rows) => with_values!(DenseRows, rows, values => {
                    let values = &values[row * terms..(row + 1) * terms];
                    columns.clear();
                    find_nonzeros(values, 0, &mut columns);
                    stored += columns.len() as u64;
                    if let Some((column, value)) = first_inexact(values, &columns) {
                        return Err(invalid_value::too_large_for_sparse(
                            value, document, column, None,
                        ));
                    }
                }),
            }
            starts.push(stored);
        }
        progress.advance(picked.rows.len())
    })?;
    Ok(starts)
}
