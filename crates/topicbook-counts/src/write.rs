//! Writing counts to files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::data::{Documents, Terms};
use crate::error::{Error, Result};
#[cfg(feature = "polars")]
use crate::formats::triplets;
use crate::formats::{hdf5, invalid_value, npy, npz, packed, text, writing_progress};
use crate::rows::{Pick, PickedRows};
use crate::system::memory::phase;
use crate::system::{DISK_FULL_REMEDY, write_atomic_sized};

use super::dense::{DenseRows, as_bytes};
use super::dtype::{CountValue, Dtype, Element, with_dtype, with_values};
use super::{Counts, View};

/// Writes a `.npy` file, whose values `write` writes in row-major order, and opens it. `remedy` is the advice for a
/// disk without room for it.
pub fn write_npy_file(
    path: &Path,
    (documents, terms): (usize, usize),
    dtype: Dtype,
    remedy: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<Counts> {
    npy::check_extension(path, "npy")?;
    let _phase = phase("write");
    let shape = [documents as u64, terms as u64];
    let needed = shape[0]
        .checked_mul(shape[1])
        .and_then(|values| values.checked_mul(dtype.bytes() as u64))
        .ok_or_else(|| {
            Error::space(format!(
                "{documents} × {terms} counts as dense {dtype} are too large for any disk"
            ))
            .fix("keep them sparse: write_npz")
        })?;
    write_atomic_sized(path, needed, remedy, |out| {
        npy::write_header(&mut *out, dtype.npy(), &shape)
            .map_err(|source| Error::io("write", path, source))?;
        write(out)
    })?;
    Counts::open(path)
}

impl Counts {
    /// Writes the counts as a `.npy` file of the same dtype (`f32` for sparse counts) and opens it.
    ///
    /// The file is written atomically: to a temporary file, which then replaces a file of that name.
    ///
    /// ```
    /// use topicbook::{Counts, Location};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// let in_file = counts.write_npy("X.npy")?; // numpy.load("X.npy") reads the same
    /// assert_eq!(in_file.location(), Location::File("X.npy".into()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the path does not end in `.npy`, the disk is too small (checked before anything is written), writing fails,
    /// or the source file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// `documents * terms` values on disk. Up to 64 MB of memory, for counts in memory or in a `.npy` or `.safetensors`
    /// file; counts of a `.npz` file are read into memory. Prints progress if it takes longer than two seconds, unless
    /// `show_progress` is off.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.dtype())
    }

    /// Writes the counts as a `.npy` file of a given dtype and opens it. See [`write_npy`](Self::write_npy).
    ///
    /// ```
    /// use topicbook::{Counts, Dtype};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(1, 3, vec![0.0f32, 7.0, 300.0])?;
    /// assert_eq!(counts.write_npy_as("X.npy", Dtype::U16)?.dtype(), Dtype::U16);
    /// let error = counts.write_npy_as("X.npy", Dtype::U8).unwrap_err();
    /// assert_eq!(error.place(), Some("row 0, column 2 (counted from 0)"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy), and on the first value that the dtype does not represent exactly.
    ///
    /// # Cost
    /// As [`write_npy`](Self::write_npy).
    pub fn write_npy_as(&self, path: impl AsRef<Path>, dtype: Dtype) -> Result<Counts> {
        write_npy(self, Pick::All, path.as_ref(), dtype)
    }

    /// Writes the counts as a `.npy` file of the narrowest dtype that represents all of them, and opens it. See
    /// [`write_npy`](Self::write_npy).
    ///
    /// ```
    /// use topicbook::{Counts, Dtype};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(1, 3, vec![0i64, 7, 300])?;
    /// assert_eq!(counts.write_npy_narrow("X.npy")?.dtype(), Dtype::U16);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy) and [`summary`](Self::summary).
    ///
    /// # Cost
    /// One pass more than [`write_npy`](Self::write_npy), if the summary is not cached yet.
    pub fn write_npy_narrow(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.narrowest()?)
    }

    /// Writes the nonzero counts as a `.npz` file that `scipy.sparse.load_npz` reads (CSR), and opens it. The values
    /// keep their dtype in the file. The file is not compressed, so that rows can be read from it separately.
    ///
    /// The file is written atomically: to a temporary file, which then replaces a file of that name.
    ///
    /// ```
    /// use topicbook::{Counts, Layout};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.write_npz("X.npz")?.layout(), Layout::Csr);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the path does not end in `.npz`. On the first value that is not a count, or that the `f32` of sparse counts does
    /// not represent exactly. If the disk is too small (checked before anything is written) or writing fails. If the source
    /// file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// On disk, per nonzero count: a value and a column index of 4 bytes (8 bytes from 2^31 counts on). Three passes
    /// over the counts, on one thread. In addition to the memory of [`write_npy`](Self::write_npy), 8 bytes per
    /// document. Prints progress as `write_npy` does.
    #[doc(alias = "save_npz")]
    pub fn write_npz(&self, path: impl AsRef<Path>) -> Result<Counts> {
        npz::write(self, Pick::All, path.as_ref())
    }

    /// Writes the nonzero counts as packed counts (`.tbc`), and opens the file. Gaps between columns and counts take as few bits
    /// as they need: one to two bytes together for single cells and texts, where a `.npz` has 8. Fits stream the file, and the
    /// thread that reads it unpacks it. `docs/packed-counts.md` describes the format.
    ///
    /// The file is written atomically: to a temporary file, which then replaces a file of that name.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.write_packed("X.tbc")?.summary()?, counts.summary()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the path does not end in `.tbc`. On the first value that is not a count, that the `f32` of sparse counts does not
    /// represent exactly, or that is above 4,294,967,295. If the disk is too small or writing fails, or the source file cannot
    /// be read or changed since it was opened.
    ///
    /// # Cost
    /// One pass over the counts, on one thread, and one more over dense counts whose summary is not cached yet. In addition to
    /// the memory of [`write_npy`](Self::write_npy), a block of about 65,536 counts (at least one document), and 16 bytes per
    /// block. Prints progress as `write_npy` does.
    pub fn write_packed(&self, path: impl AsRef<Path>) -> Result<Counts> {
        packed::write(self, Pick::All, path.as_ref())
    }

    /// Writes the nonzero counts as a Parquet file with the columns `doc`, `term` (numbers from 0) and `count`, one row per
    /// count, by document and term, and opens it.
    ///
    /// The file is written atomically, a row group of a million counts at a time.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(3, 3, vec![1u8, 0, 2, 0, 4, 0, 0, 0, 0])?;
    /// assert_eq!(counts.write_parquet("X.parquet")?.shape(), (3, 3));
    /// // The table alone does not say that there is a third document.
    /// assert_eq!(Counts::open("X.parquet")?.shape(), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_npz`](Self::write_npz); if all counts are zero; if a count is above 2^24.
    ///
    /// # Cost
    /// Two passes over the counts. Up to 100 MB of memory in addition to the memory of [`write_npy`](Self::write_npy).
    #[cfg(feature = "polars")]
    #[doc(alias = "to_parquet")]
    pub fn write_parquet(&self, path: impl AsRef<Path>) -> Result<Counts> {
        let path = path.as_ref();
        triplets::write(self, path)?;
        triplets::open(path, Some(self.shape()))
    }

    /// Writes the nonzero counts as a MatrixMarket file, one line each: `.mtx`, or gzipped as `.mtx.gz`. Rows are documents.
    ///
    /// The file is written atomically: to a temporary file, which then replaces a file of that name.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// counts.write_mtx("X.mtx.gz")?;
    /// assert_eq!(Counts::open("X.mtx.gz")?.summary()?.total(), 7.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the path ends neither in `.mtx` nor in `.mtx.gz`. On the first value that is not a count. If the disk is too small
    /// or writing fails, or the source file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// One pass over the counts, on one thread, in the memory of [`write_npy`](Self::write_npy).
    #[doc(alias = "mmwrite")]
    pub fn write_mtx(&self, path: impl AsRef<Path>) -> Result<()> {
        text::write_mtx(self, path.as_ref())
    }

    /// Writes a `.h5ad` file, which anndata and Scanpy read, and opens it. The counts become the sparse matrix `X`, the terms
    /// the index of `var`, and the documents the table `obs`, with their names as its index. Terms or documents that are
    /// `None` are numbered from 0. Labels and dates are written as categories.
    ///
    /// The file is written atomically: to a temporary file, which then replaces a file of that name. It is not compressed.
    ///
    /// ```
    /// use topicbook::{Cells, Counts, Documents, Terms};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// let terms = Terms::new(["ant", "bee", "cat"])?;
    /// let documents = Documents::new(["a", "b"])?.with_labels("book", ["Letters", "Poems"])?;
    /// let written = counts.write_h5ad("X.h5ad", Some(&terms), Some(&documents))?;
    /// assert_eq!(written.summary()?.total(), 7.0);
    /// assert_eq!(Cells::open("X.h5ad")?.documents()?.labels("book")?[1].as_deref(), Some("Poems"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the path does not end in `.h5ad`, or there is not one term per column and one document per row. If a column of the
    /// documents is called `_index` or has a slash in its name. On the first value that is not a count, or if a count is above
    /// 2^24. If the free memory does not hold the tables, or the disk is too small (both checked before anything is written).
    /// If writing fails, or the source file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// Two passes over the counts, on one thread. On disk, 8 bytes per nonzero count (12 from 2^31 counts or terms on). In
    /// addition to the memory of [`write_npy`](Self::write_npy), a few megabytes and the tables: up to 160 bytes for each
    /// name, label or number of `obs` and `var`.
    #[doc(alias = "AnnData")]
    pub fn write_h5ad(
        &self,
        path: impl AsRef<Path>,
        terms: Option<&Terms>,
        documents: Option<&Documents>,
    ) -> Result<Counts> {
        let path = path.as_ref();
        hdf5::write_h5ad(self, path, terms, documents)?;
        hdf5::open_h5ad(path)
    }

    /// The narrowest dtype that represents every count exactly.
    pub(super) fn narrowest(&self) -> Result<Dtype> {
        let largest = self.summary()?.largest();
        // An integer type represents all whole numbers up to the largest count if it represents that one. Counts above
        // the range of i64 are f32 or f64 already and keep their dtype.
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
    let remedy = match dtype {
        Dtype::U8 => DISK_FULL_REMEDY,
        _ => "free some disk space, write elsewhere, or use a narrower dtype (write_npy_narrow)",
    };
    write_npy_file(path, (documents, terms), dtype, remedy, |out| {
        let progress = writing_progress(path, documents, 1, row_bytes);
        pick.each_block(counts, &mut |picked| {
            with_dtype!(dtype, T => write_rows::<T>(out, path, counts, &picked)?);
            progress.advance(picked.rows.len())
        })
    })
}

/// Writes picked rows as dense values of `T`.
fn write_rows<T: CountValue>(
    out: &mut impl Write,
    path: &Path,
    counts: &Counts,
    picked: &PickedRows<'_>,
) -> Result<()> {
    let terms = counts.terms();
    let same_dtype = counts.dtype() == T::DTYPE;
    let mut converted = Vec::with_capacity(terms);
    for (&row, &document) in picked.rows.iter().zip(picked.documents) {
        converted.clear();
        match &picked.view {
            View::Dense(dense) => with_values!(DenseRows, dense, values => {
                let values = &values[row * terms..(row + 1) * terms];
                if same_dtype {
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
                    converted[column] = T::from_f64(value).ok_or_else(|| {
                        invalid_value::does_not_fit(value, document, column, T::DTYPE)
                    })?;
                }
                out.write_all(as_bytes(&converted))
            }
        }
        .map_err(|source| Error::io("write", path, source))?;
    }
    Ok(())
}

/// Converts a row and appends it to `out`. Fails on the first value that `T` does not represent exactly.
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
    let inexact = |(_, value): &(usize, &S)| exact(value).is_none();
    match values.iter().enumerate().find(inexact) {
        None => Ok(()),
        Some((column, value)) => Err(invalid_value::does_not_fit(
            value.to_f64(),
            document,
            column,
            T::DTYPE,
        )),
    }
}
