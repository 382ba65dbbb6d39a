//! Counts from files, and from arrays of the caller.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::system::hold;
use crate::text::{count, shown_path};

use super::dense::DenseStore;
use super::dtype::CountValue;
#[cfg(feature = "polars")]
use super::formats::triplets;
use super::formats::{self, LazyCsr};
use super::layout::{Location, shown_paths};
use super::{Counts, Csr, Inner, Store, csr, file_set};

/// Most terms of counts: the columns of nonzero counts are stored as 32-bit numbers.
const MOST_TERMS: usize = u32::MAX as usize;

impl Counts {
    /// Opens a file of counts, or the files of a pattern. The extension determines the format.
    ///
    /// | Extension | Content | Opening reads |
    /// |---|---|---|
    /// | `.npy` | a 2-D NumPy array in C order, little-endian | the header; counts stay in the file |
    /// | `.npz` | a sparse matrix of SciPy's `save_npz` (CSR; CSC and COO are converted) | the headers; counts are read into memory on first use |
    /// | `.tbc` | packed counts of [`write_packed`](Self::write_packed) | the index, 16 bytes for about 65,536 counts; counts are read into memory on first use |
    /// | `.safetensors` | a 2-D tensor named `X`, or the only 2-D tensor | the header; counts stay in the file |
    /// | `.pt`, `.pth` | PyTorch's `torch.save` of a 2-D tensor, or of a dictionary with one or with one named `X`; nothing that the file names is called | the description; counts stay in the file |
    /// | `.h5ad` | the matrix `X` of anndata; [`Cells`](crate::Cells) has layers, raw and names | the headers, where it is sparse by rows: counts stay in the file; see [`Cells::counts`](crate::Cells::counts) |
    /// | `.h5` | the matrix of 10x Genomics' Cell Ranger | the headers; counts stay in the file |
    /// | `.mtx`, `.mtx.gz` | MatrixMarket in coordinates: rows are documents, columns terms; one with files of gene and cell names next to it is genes x cells, which [`Cells`](crate::Cells) reads | everything, into memory |
    /// | `.txt`, `.txt.gz` | UCI's bags of words, `docword.*.txt`; its `vocab.*.txt` is read by [`Terms::open`](crate::Terms::open) | everything, into memory |
    /// | `.csv`, `.tsv`, `.tab`, `.jsonl`, `.ndjson`, `.json`, `.parquet`, `.pq`, `.arrow`, `.feather`, `.ipc`, `.xlsx`, `.xlsm` | a table as `Table::open` reads it, with the columns `doc`, `term` (whole numbers from 0) and `count`, one row per nonzero count; text may be compressed (`.csv.gz`, `.csv.zst`, a zip archive of one file) | everything, into memory |
    /// | `.parquet`, `.pq`, `.arrow`, `.feather`, `.ipc` | the same columns with lists in `term` and `count`, one row per document; without `doc`, the rows number the documents | everything, into memory |
    ///
    /// Supported dtypes of dense counts: `u8`, `u16`, `u32`, `i32`, `i64`, `f32`, `f64`, which stay in the file. `bool` and `i8`
    /// are read as `u8`, `i16` as `u16`, `u64` as `i64`, after a pass on opening that refuses negative values. `f16` and `bf16`
    /// are read into memory on opening, as `u16` and `f32`. [`summary`](Self::summary) checks the values themselves. Tables
    /// need the feature `polars`.
    ///
    /// ```
    /// use topicbook::{Counts, Location};
    /// # let _folder = topicbook::example_folder()?;
    /// # Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?.write_npy("X.npy")?;
    /// let counts = Counts::open("X.npy")?;
    /// assert_eq!(counts.shape(), (2, 3));
    /// assert_eq!(counts.location(), Location::File("X.npy".into()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// A path with `*`, `?` or `[..]` that names no file is a pattern: `shards/*.npz` opens all files that match as one handle,
    /// as [`open_files`](Self::open_files) does, in the order of their paths as texts (`part-10` comes before `part-2`).
    ///
    /// # Errors
    /// If the file cannot be read, is no regular file, has another extension, is truncated or damaged, or has a dtype or an
    /// order that is not supported. If it states sizes that it or the free memory does not hold. If it has no documents or no
    /// terms, or `X` of a `.h5ad` holds no counts. For a table also if a column is missing or has no numbers, an
    /// id is negative or fractional, or the two lists of a row differ in length. If a pair of document and term occurs twice.
    ///
    /// # Cost
    /// Reads a few kilobytes, except for tables, see [`open_triplets`](Self::open_triplets), and for
    /// `.mtx` and `.txt`. These take 8 bytes of memory per count, and 20 more during the read if their lines are not in the
    /// order of the documents.
    #[doc(alias(
        "NumpyDiskDataset",
        "load_npz",
        "read_csv",
        "read_parquet",
        "read_feather",
        "read_ipc"
    ))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let is_pattern = path.to_string_lossy().contains(['*', '?', '[']);
        match is_pattern && !path.exists() {
            true => file_set::open_pattern(path),
            false => formats::open(path),
        }
    }

    /// Opens several files as one handle. The documents are numbered consecutively in the order given: the second file's
    /// documents follow the last document of the first. Each file counts its own documents from 0.
    ///
    /// The files have one format, one dtype and the same terms. A table has the terms up to its largest
    /// id; several tables together have the terms up to the largest id of all.
    ///
    /// Fits stream the files as they stream one; a fit that does not stream reads them into memory first. They give the same
    /// results as the same counts in one file.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?.write_npy("part-0.npy")?;
    /// Counts::dense(1, 3, vec![0u8, 0, 9])?.write_npy("part-1.npy")?;
    /// let counts = Counts::open_files(["part-0.npy", "part-1.npy"])?;
    /// assert_eq!(counts.shape(), (3, 3));
    /// assert_eq!(Counts::open("part-*.npy")?.summary()?.document_lengths(), [3.0, 4.0, 9.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open); if no file is named; if two files differ in format, dtype or number of terms, which the error
    /// names.
    ///
    /// # Cost
    /// Reads a few kilobytes of each file. Tables are read into memory; those of Parquet and Arrow that are together too large
    /// for that stay in their files, see [`open_triplets`](Self::open_triplets).
    #[doc(alias("concat", "vstack"))]
    pub fn open_files(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self> {
        let paths = paths.into_iter().map(|path| path.as_ref().to_path_buf());
        file_set::open_paths(paths.collect())
    }

    /// Opens a table (`.csv`, `.parquet`, `.arrow`) with the columns `doc`, `term` and `count`, as [`open`](Self::open) reads
    /// them, as counts of a given shape. `open` derives the shape from the largest ids instead, which leaves out empty
    /// documents and terms at the end.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// std::fs::write("X.csv", "doc,term,count\n0,1,3\n2,0,1\n").unwrap();
    /// assert_eq!(Counts::open("X.csv")?.shape(), (3, 2));
    /// assert_eq!(Counts::open_triplets("X.csv", 4, 3)?.shape(), (4, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, a column is missing or has no numbers, an id is negative, fractional or out of range
    /// of the shape, or a pair of document and term occurs twice.
    ///
    /// # Cost
    /// Reads the whole table into memory: 8 bytes per count, and about five times that during the read. A Parquet or Arrow file
    /// that needs more than half of the free memory is read by row groups or record batches, once to check it. If it is in the
    /// order of documents and terms, the counts stay there, and a pass over them decodes these again: write a `.npz`
    /// ([`write_npz`](Self::write_npz)) for many passes. If it is not, it is sorted into temporary files in its folder.
    #[cfg(feature = "polars")]
    pub fn open_triplets(path: impl AsRef<Path>, documents: usize, terms: usize) -> Result<Self> {
        triplets::open(path.as_ref(), Some((documents, terms)))
    }

    /// Dense counts in memory, in row-major order. The vector is moved, not copied.
    ///
    /// The values themselves are checked by [`summary`](Self::summary), and so before every fit.
    ///
    /// ```
    /// use topicbook::Counts;
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.shape(), (2, 3));
    /// assert!(Counts::dense(2, 3, vec![1u8, 0, 2]).is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `values` does not have `documents * terms` counts, or `documents` or `terms` is 0.
    pub fn dense<T: CountValue>(documents: usize, terms: usize, values: Vec<T>) -> Result<Self> {
        if documents.checked_mul(terms) != Some(values.len()) {
            return Err(Error::shape(format!(
                "counts of {documents} documents × {terms} terms do not fit {} values",
                values.len()
            ))
            .fix("pass documents * terms values, row by row"));
        }
        let store = Store::Dense(DenseStore::from_vec(values));
        Self::new(documents, terms, store, Location::Memory)
    }

    /// Sparse counts in memory, in CSR: document `i` has the counts `values[indptr[i]..indptr[i + 1]]` in the columns
    /// `indices[indptr[i]..indptr[i + 1]]`. The vectors are moved, not copied; rows that are not sorted by column are
    /// sorted.
    ///
    /// ```
    /// use topicbook::Counts;
    /// // Document 0 has 1 of term 0 and 2 of term 2, document 1 has 4 of term 1.
    /// let counts = Counts::csr(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 4.0])?;
    /// let mut dense = [0.0; 6];
    /// counts.fill_rows(&[0, 1], &mut dense)?;
    /// assert_eq!(dense, [1.0, 0.0, 2.0, 0.0, 4.0, 0.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `indptr` does not have `documents + 1` entries that start at 0, never fall and end at the number of values. If
    /// `indices` and `values` differ in length, a column is not below `terms`, or a row has a column twice. If `documents`
    /// or `terms` is 0.
    #[doc(alias = "csr_matrix")]
    pub fn csr(
        documents: usize,
        terms: usize,
        indptr: Vec<u64>,
        indices: Vec<u32>,
        values: Vec<f32>,
    ) -> Result<Self> {
        let csr = Csr::new(documents, terms, indptr, indices, values)
            .map_err(csr::CsrDefect::in_memory)?;
        Self::from_csr(documents, terms, csr, Location::Memory)
    }

    pub(super) fn from_csr(
        documents: usize,
        terms: usize,
        csr: Csr,
        location: Location,
    ) -> Result<Self> {
        Self::new(documents, terms, Store::Csr(LazyCsr::ready(csr)), location)
    }

    pub(super) fn new(
        documents: usize,
        terms: usize,
        store: Store,
        location: Location,
    ) -> Result<Self> {
        if documents == 0 || terms == 0 {
            let file = match &location {
                Location::Memory => String::new(),
                Location::File(path) | Location::Loaded(path) => format!("{}: ", shown_path(path)),
                Location::Files(paths) => format!("{}: ", shown_paths(paths)),
            };
            return Err(Error::shape(format!(
                "{file}counts of {documents} documents × {terms} terms are empty"
            ))
            .fix("pass at least one document and one term"));
        }
        if terms > MOST_TERMS {
            let what = format!("counts of {} terms", count(terms as u64));
            let place = match &location {
                Location::Memory => "the number of terms".into(),
                Location::File(path) | Location::Loaded(path) => shown_path(path),
                Location::Files(paths) => shown_paths(paths),
            };
            return Err(Error::shape(what)
                .at(place)
                .fix(format!("use at most {} terms", count(MOST_TERMS as u64))));
        }
        let counts = Self {
            inner: Arc::new(Inner {
                documents,
                terms,
                store,
                location,
                summary: OnceLock::new(),
            }),
        };
        let what = format!(
            "{} × {}, {} {}, {}",
            count(documents as u64),
            count(terms as u64),
            counts.layout(),
            counts.dtype(),
            counts.location_text()
        );
        let bytes = counts.in_memory().loaded;
        hold(&counts.inner, ("counts", what, bytes), Vec::new());
        Ok(counts)
    }
}
