//! Counts into files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::dense::{DenseRows, as_bytes};
use super::dtype::{CountValue, Dtype, with_dtype, with_values};
use super::{Counts, View, npy, npz, values};
use crate::beside::write_beside_sized;
use crate::error::{Error, ErrorKind, Result};

/// Values converted at a time: the memory that writing takes, times 8 bytes.
const BLOCK_VALUES: usize = 1 << 20;

/// Writes a `.npy` file whose rows `write` puts out one after the other, and opens it.
pub(crate) fn write_npy_file(
    path: &Path,
    (documents, terms): (usize, usize),
    dtype: Dtype,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<Counts> {
    npy::check_ending(path, "npy")?;
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
    /// `documents * terms` values on disk; a few megabytes of memory, wherever the counts live.
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
        let path = path.as_ref();
        write_npy_file(
            path,
            self.shape(),
            dtype,
            |out| with_dtype!(dtype, T => self.write_rows::<T>(out, path)),
        )
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
        use super::dtype::Element;
        let largest = self.summary()?.largest();
        // Whole numbers up to the largest: an integer type holds them all when it holds that one. Above
        // u32, i64 does; above i64, the values are f32 or f64 already and stay so.
        let dtype = [Dtype::U8, Dtype::U16, Dtype::U32, Dtype::I64]
            .into_iter()
            .find(|&dtype| with_dtype!(dtype, T => T::from_f64(largest).is_some()))
            .unwrap_or(self.dtype());
        self.write_npy_as(path, dtype)
    }

    /// Writes the nonzero counts as a `.npz` file that `scipy.sparse.load_npz` reads (CSR, deflated), and
    /// opens it. The values keep their dtype in the file.
    ///
    /// The file appears under its name only when it is complete; an earlier one of that name is replaced.
    ///
    /// # Errors
    /// On the first value that is not a count, or that the `f32` of sparse counts does not hold exactly;
    /// when writing fails.
    ///
    /// # Cost
    /// Three passes over dense counts, one thread; 8 bytes of memory a document, wherever the counts live.
    pub fn write_npz(&self, path: impl AsRef<Path>) -> Result<Counts> {
        let path = path.as_ref();
        npz::write(self, path)?;
        Counts::open(path)
    }

    fn write_rows<T: CountValue>(&self, out: &mut impl Write, path: &Path) -> Result<()> {
        let (documents, terms) = self.shape();
        let block = (BLOCK_VALUES / terms).max(1);
        let mut converted = Vec::new();
        for first in (0..documents).step_by(block) {
            let last = documents.min(first + block);
            match self.view()? {
                View::Dense(rows) if self.dtype() == T::DTYPE => {
                    with_values!(DenseRows, rows, values => {
                        out.write_all(as_bytes(&values[first * terms..last * terms]))
                    })
                }
                View::Dense(rows) => {
                    with_values!(DenseRows, rows, values => {
                        converted.clear();
                        let values = &values[first * terms..last * terms];
                        convert::<_, T>(values, first, terms, &mut converted)?;
                    });
                    out.write_all(as_bytes(&converted))
                }
                View::Csr(csr) => {
                    converted.clear();
                    converted.resize((last - first) * terms, T::default());
                    for (row, out) in (first..last).zip(converted.chunks_exact_mut(terms)) {
                        let (columns, values) = csr.row(row);
                        for (&column, &value) in columns.iter().zip(values) {
                            let (column, value) = (column as usize, f64::from(value));
                            out[column] = T::from_f64(value).ok_or_else(|| {
                                values::does_not_fit(value, row, column, T::DTYPE)
                            })?;
                        }
                    }
                    out.write_all(as_bytes(&converted))
                }
            }
            .map_err(|source| Error::io("write", path, source))?;
        }
        Ok(())
    }
}

/// Converts whole rows, from row `first` on; refuses the first value that does not fit.
fn convert<S: CountValue, T: CountValue>(
    values: &[S],
    first: usize,
    terms: usize,
    out: &mut Vec<T>,
) -> Result<()> {
    for (position, value) in values.iter().enumerate() {
        let converted = value.exact_f64().and_then(T::from_f64).ok_or_else(|| {
            values::does_not_fit(
                value.to_f64(),
                first + position / terms,
                position % terms,
                T::DTYPE,
            )
        })?;
        out.push(converted);
    }
    Ok(())
}
