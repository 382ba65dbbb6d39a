//! Counts into files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::dense::{DenseRows, as_bytes};
use super::dtype::{CountValue, Dtype, Element, with_dtype, with_values};
use super::rows::{Pick, PickedRows};
use super::{Counts, View, npy, npz, values};
use crate::beside::write_beside_sized;
use crate::display::{bytes, counted};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::phase;
use crate::progress::{Progress, Throughput};

/// Writes a `.npy` file whose rows `write` puts out one after the other, and opens it.
pub(crate) fn write_npy_file(
    path: &Path,
    (documents, terms): (usize, usize),
    dtype: Dtype,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<Counts> {
    npy::check_ending(path, "npy")?;
    let _phase = phase("write");
    let shape = [documents as u64, terms as u64];
    let needed = shape[0]
        .checked_mul(shape[1])
        .and_then(|values| values.checked_mul(dtype.bytes() as u64))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Space,
                format!("no disk holds {documents} x {terms} counts as dense {dtype}"),
            )
            .fix("keep them sparse: write_npz")
        })?;
    write_beside_sized(path, needed, |out| {
        npy::write_header(&mut *out, dtype.npy(), &shape)
            .map_err(|source| Error::io("write", path, source))?;
        write(out)
    })?;
    Counts::open(path)
}

impl Counts {
    /// Writes the counts as a `.npy` file of the same dtype (`f32` for sparse counts) and opens it.
    ///
    /// The file appears under its name only when it is complete; an earlier one of that name is replaced.
    ///
    /// # Errors
    /// When the disk is too small (found before anything is written) or writing fails.
    ///
    /// # Cost
    /// `documents * terms` values on disk; up to 64 MB of memory for counts in memory or in a `.npy` or `.safetensors`
    /// file (those of a `.npz` file are read into memory). Prints progress when it takes longer than two seconds, unless
    /// [`show_progress`](crate::show_progress) was told not to.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.dtype())
    }

    /// Writes the counts as a `.npy` file of a given dtype and opens it. See [`write_npy`](Self::write_npy).
    ///
    /// ```
    /// use topicbook::{Counts, Dtype};
    /// # let folder = std::env::temp_dir().join(format!("topicbook-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let path = folder.join("X.npy");
    /// let counts = Counts::dense(1, 3, vec![0.0f32, 7.0, 300.0])?;
    /// let narrow = counts.write_npy_as(&path, Dtype::U16)?;
    /// assert_eq!(narrow.dtype(), Dtype::U16);
    /// let error = counts.write_npy_as(&path, Dtype::U8).unwrap_err();
    /// assert!(error.to_string().contains("row 0, column 2"));
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy), and on the first value that the dtype does not hold exactly.
    pub fn write_npy_as(&self, path: impl AsRef<Path>, dtype: Dtype) -> Result<Counts> {
        write_npy(self, Pick::All, path.as_ref(), dtype)
    }

    /// Writes the counts as a `.npy` file of the narrowest dtype that holds them, and opens it.
    /// See [`write_npy`](Self::write_npy).
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy) and [`summary`](Self::summary).
    ///
    /// # Cost
    /// One pass more than [`write_npy`](Self::write_npy), if there has been no summary yet.
    pub fn write_npy_narrow(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.narrowest()?)
    }

    /// Writes the nonzero counts as a `.npz` file that `scipy.sparse.load_npz` reads (CSR), and opens it. The values
    /// keep their dtype in the file. They are stored as they are and not deflated, so that parts of the file can be
    /// read where they lie.
    ///
    /// The file appears under its name only when it is complete; an earlier one of that name is replaced.
    ///
    /// # Errors
    /// On the first value that is not a count, or that the `f32` of sparse counts does not hold exactly;
    /// when the disk is too small (found before anything is written) or writing fails.
    ///
    /// # Cost
    /// 4 bytes and a value on disk a count (from 2^31 counts on 8 bytes). Three passes over the counts, on one thread;
    /// 8 bytes of memory a document besides what [`write_npy`](Self::write_npy) takes. Progress as there.
    pub fn write_npz(&self, path: impl AsRef<Path>) -> Result<Counts> {
        npz::write(self, Pick::All, path.as_ref())
    }

    /// The narrowest dtype that holds every count.
    pub(super) fn narrowest(&self) -> Result<Dtype> {
        let largest = self.summary()?.largest();
        // Whole numbers up to the largest: an integer type holds them all when it holds that one. Above
        // u32, i64 does; above i64, the values are f32 or f64 already and stay so.
        Ok([Dtype::U8, Dtype::U16, Dtype::U32, Dtype::I64]
            .into_iter()
            .find(|&dtype| with_dtype!(dtype, T => T::from_f64(largest).is_some()))
            .unwrap_or(self.dtype()))
    }
}

/// Writes the picked rows as a `.npy` file and opens it.
pub(super) fn write_npy(counts: &Counts, pick: Pick, path: &Path, dtype: Dtype) -> Result<Counts> {
    let (documents, terms) = (pick.documents(counts), counts.terms());
    let row_bytes = (terms * dtype.bytes()) as f64;
    write_npy_file(path, (documents, terms), dtype, |out| {
        let progress = progress(path, documents, 1, row_bytes);
        pick.each_block(counts, &mut |picked| {
            with_dtype!(dtype, T => write_rows::<T>(out, path, counts, &picked)?);
            progress.advance(picked.rows.len());
            Ok(())
        })
    })
}

fn write_rows<T: CountValue>(
    out: &mut impl Write,
    path: &Path,
    counts: &Counts,
    picked: &PickedRows<'_>,
) -> Result<()> {
    let terms = counts.terms();
    let as_they_are = counts.dtype() == T::DTYPE;
    let mut converted = Vec::with_capacity(terms);
    for (&row, &document) in picked.rows.iter().zip(picked.documents) {
        converted.clear();
        match &picked.view {
            View::Dense(dense) => with_values!(DenseRows, dense, values => {
                let values = &values[row * terms..(row + 1) * terms];
                if as_they_are {
                    out.write_all(as_bytes(values))
                } else {
                    convert::<_, T>(values, document, &mut converted)?;
                    out.write_all(as_bytes(&converted))
                }
            }),
            View::Csr(csr) => {
                converted.resize(terms, T::default());
                let (columns, values) = csr.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    let (column, value) = (column as usize, f64::from(value));
                    converted[column] = T::from_f64(value)
                        .ok_or_else(|| values::does_not_fit(value, document, column, T::DTYPE))?;
                }
                out.write_all(as_bytes(&converted))
            }
        }
        .map_err(|source| Error::io("write", path, source))?;
    }
    Ok(())
}

/// Converts a row; refuses the first value that does not fit.
fn convert<S: CountValue, T: CountValue>(
    values: &[S],
    document: usize,
    out: &mut Vec<T>,
) -> Result<()> {
    let exact = |value: &S| value.exact_f64().and_then(T::from_f64);
    let mut fits = true;
    out.extend(values.iter().map(|value| match exact(value) {
        Some(converted) => converted,
        None => {
            fits = false;
            T::default()
        }
    }));
    if fits {
        return Ok(());
    }
    let wrong = |at: &(usize, &S)| exact(at.1).is_none();
    match values.iter().enumerate().find(wrong) {
        None => Ok(()),
        Some((column, value)) => Err(values::does_not_fit(
            value.to_f64(),
            document,
            column,
            T::DTYPE,
        )),
    }
}

/// The progress of writing documents of so many bytes each.
pub(super) fn progress(path: &Path, documents: usize, passes: usize, row_bytes: f64) -> Progress {
    let size = bytes((documents as f64 * row_bytes) as u64);
    Progress::new(
        format!(
            "writing {} to {} ({size})",
            counted(documents, "document"),
            path.display()
        ),
        documents,
        passes,
        Throughput::Bytes(row_bytes),
    )
}
