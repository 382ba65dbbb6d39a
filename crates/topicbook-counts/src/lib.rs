//! Document-term counts of topicbook, in memory or in a file, in one handle: [`Counts`]; their batches, and synthetic counts.
//!
//! Users import `topicbook`, which shows the items of this crate. Hidden items are for the crates of this repository alone.
//!
//! | Feature | What it adds |
//! |---|---|
//! | `polars` | `CountTable`, and counts from Parquet, Arrow and CSV files |
//! | `charts` | charts of synthetic corpora |

mod access;
#[doc(hidden)]
pub mod batches;
mod by_term;
mod cells;
mod check_documents;
mod co_occurrence;
mod copy;
#[cfg(feature = "polars")]
mod count_table;
#[doc(hidden)]
pub mod csr;
#[doc(hidden)]
pub mod dense;
mod documents;
#[doc(hidden)]
pub mod dtype;
mod expected;
mod file_set;
mod fingerprint;
#[doc(hidden)]
pub mod formats;
mod halves;
mod known;
mod layout;
mod open;
mod pass;
mod resample;
#[doc(hidden)]
pub mod rows;
mod samples;
#[doc(hidden)]
pub mod select_terms;
mod show;
mod split;
mod spool;
mod summary;
#[doc(hidden)]
pub mod synthetic;
mod term_blocks;
#[doc(hidden)]
pub mod write;
mod writer;

use std::fmt;
use std::sync::{Arc, OnceLock};

pub use cells::Cells;
#[doc(hidden)]
pub use check_documents::check_documents;
#[doc(hidden)]
pub use co_occurrence::{CoOccurrence, EPSILON, npmi};
#[cfg(feature = "polars")]
pub use count_table::CountTable;
#[doc(hidden)]
pub use csr::Csr;
#[doc(hidden)]
pub use dense::{DenseRows, as_bytes};
#[doc(hidden)]
pub use dtype::Element;
pub use dtype::{CountValue, Dtype};
#[doc(hidden)]
pub use fingerprint::Fingerprint;
#[doc(hidden)]
pub use known::InMemory;
pub use layout::{Layout, Location};
#[doc(hidden)]
pub use pass::{READ_BYTES, pass_bytes, read_bytes};
pub use resample::Resample;
pub use select_terms::DocumentFrequency;
pub use summary::Summary;
#[doc(hidden)]
pub use summary::Totals;
#[doc(hidden)]
pub use summary::scratch_bytes as summary_scratch_bytes;
#[doc(hidden)]
pub use term_blocks::for_each_term_block;
#[doc(hidden)]
pub use write::write_npy_file;
pub use writer::CountsWriter;

pub use batches::{Batches, CountBatch, Reading};
pub use synthetic::{Corpus, Synthetic};
#[doc(hidden)]
pub use topicbook_base::{Error, ErrorKind, Result};
#[doc(hidden)]
pub use topicbook_data::{Documents, Matrix, Terms};

pub(crate) use topicbook_base::{error, evcxr, system, text};
#[cfg(feature = "charts")]
pub(crate) use topicbook_charts as charts;
pub(crate) use topicbook_data as data;

use crate::data::{Indices, or_ref};
use crate::formats::LazyCsr;
use crate::system::memory::phase;
use crate::text::{bytes, count};

use dense::DenseStore;
use expected::Expected;
use file_set::FileSet;

/// Document-term counts: one row per document, one column per term. Every fit starts from them.
///
/// A handle that is cheap to clone. The counts are in memory or in a file; no method copies all of them unless its documentation
/// says so, so a file may be larger than the memory. Texts become counts by a `Vectorizer`, and a table whose columns have to be
/// named by a `CountTable`.
///
/// The three things that people do with it:
///
/// ```
/// # let _folder = topicbook::example_folder()?;
/// # use topicbook::{Counts, TopicModel};
/// # Counts::dense(3, 3, vec![1u8, 0, 2, 0, 4, 0, 3, 0, 5])?.write_npy("X.npy")?;
/// // 1. Open what is there, or take what is in memory.
/// let counts = Counts::open("X.npy")?;
/// let same = Counts::dense(3, 3, vec![1u8, 0, 2, 0, 4, 0, 3, 0, 5])?;
/// // 2. Look at it: sizes, density, empty documents and terms.
/// assert_eq!(counts.shape(), (3, 3));
/// assert_eq!(counts.summary()?.total(), 15.0);
/// // 3. Fit it; or cut it first: some documents, frequent terms, a part that is held out.
/// let (train, held_out) = counts.split(0.6, 1)?;
/// let fit = TopicModel::new(2).epochs(5).quiet().fit(&train)?;
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "document_term_matrix")]
pub struct Counts {
    inner: Arc<Inner>,
}

struct Inner {
    documents: usize,
    terms: usize,
    store: Store,
    location: Location,
    summary: OnceLock<Summary>,
}

enum Store {
    Dense(DenseStore),
    Csr(LazyCsr),
    /// Several files.
    Files(Box<FileSet>),
    /// Only facts, for an estimate.
    Expected(Expected),
}

/// Borrowed counts: dense rows of one dtype, or sparse rows.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// Rows of a dense matrix.
    Dense(DenseRows<'a>),
    /// Sparse rows.
    Csr(&'a Csr),
}

impl View<'_> {
    /// Writes rows to `out` as dense `f32`, one after the other. The caller has checked the row numbers and that `out`
    /// has `rows.len() * terms` values.
    pub fn fill(&self, terms: usize, rows: &[usize], out: &mut [f32]) {
        match self {
            View::Dense(values) => values.fill(terms, rows, out),
            View::Csr(csr) => csr.fill(terms, rows, out),
        }
    }
}

impl Counts {
    /// Number of documents (rows).
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.documents(), 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("n_samples", "num_documents"))]
    pub fn documents(&self) -> usize {
        self.inner.documents
    }

    /// Number of terms (columns).
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.terms(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias("n_features", "num_terms"))]
    pub fn terms(&self) -> usize {
        self.inner.terms
    }

    /// Number of documents and number of terms.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.shape(), (2, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        (self.inner.documents, self.inner.terms)
    }

    /// Number type of the counts; `f32` for all sparse counts.
    ///
    /// ```
    /// use topicbook::{Counts, Dtype};
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.dtype(), Dtype::U8);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn dtype(&self) -> Dtype {
        match &self.inner.store {
            Store::Dense(store) => store.dtype(),
            Store::Csr(_) => Dtype::F32,
            Store::Files(files) => files.one().dtype(),
            Store::Expected(expected) => expected.dtype,
        }
    }

    /// Memory layout of the counts.
    ///
    /// ```
    /// use topicbook::{Counts, Layout};
    /// let counts = Counts::csr(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 4.0])?;
    /// assert_eq!(counts.layout(), Layout::Csr);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn layout(&self) -> Layout {
        match &self.inner.store {
            Store::Dense(_) => Layout::Dense,
            Store::Csr(_) => Layout::Csr,
            Store::Files(files) => files.one().layout(),
            Store::Expected(expected) => expected.layout,
        }
    }

    /// Where the counts are stored.
    ///
    /// ```
    /// use topicbook::{Counts, Location};
    /// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.location(), Location::Memory);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn location(&self) -> Location {
        self.inner.location.clone()
    }

    /// Size of the counts in bytes, in their dtype and layout. For sparse counts: values and column indices (4 bytes
    /// each per stored count) and row starts (8 bytes per document), which is the size in memory after an `.npz` is
    /// read.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u16, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.bytes_stored(), 12);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "nbytes")]
    pub fn bytes_stored(&self) -> u64 {
        match self.stored_counts() {
            None => {
                let values = self.inner.documents as u64 * self.inner.terms as u64;
                values * self.dtype().bytes() as u64
            }
            Some(stored) => {
                let value = (size_of::<f32>() + size_of::<u32>()) as u64;
                stored * value + (self.inner.documents as u64 + 1) * size_of::<u64>() as u64
            }
        }
    }

    /// Size in bytes that the counts would have as dense `f32`: 4 bytes x documents x terms.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u16, 0, 2, 0, 4, 0])?;
    /// assert_eq!(counts.bytes_dense_f32(), 24);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn bytes_dense_f32(&self) -> u64 {
        (self.inner.documents as u64)
            .saturating_mul(self.inner.terms as u64)
            .saturating_mul(4)
    }

    /// Total, document lengths, and empty documents and terms. Checks every count.
    ///
    /// ```
    /// use topicbook::Counts;
    /// let summary = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?.summary()?;
    /// assert_eq!((summary.total(), summary.nonzeros()), (7.0, 3));
    /// let error = Counts::dense(2, 3, vec![1.0, 0.0, 2.0, 0.0, -4.0, 0.0])?.summary().unwrap_err();
    /// assert_eq!(error.place(), Some("row 1, column 1 (counted from 0)"));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// On the first value (by row, then column) that is negative, NaN, infinite or fractional. If the counts' file cannot
    /// be read or changed since it was opened. If the summary does not fit into the free memory: 8 bytes for each document,
    /// each empty document and each empty term.
    ///
    /// # Cost
    /// The first call reads all counts, on all threads, and caches the result. A file is read sequentially, with
    /// positioned reads into 33 MB of buffers, or two rows where a row is larger, so that truncation of the file during the
    /// pass is an error. The pass verifies the checksums of an `.npz` or `.tbc`. Every fit starts with this pass: streamed counts are
    /// read once more than the number of epochs.
    #[doc(alias = "describe")]
    pub fn summary(&self) -> Result<Summary> {
        self.summary_by(false, pass::READ_BYTES)
    }

    /// [`summary`](Self::summary), with buffers of about `read_bytes`. With `streamed`, an uncompressed `.npz` is streamed
    /// instead of read into memory.
    #[doc(hidden)]
    pub fn summary_by(&self, streamed: bool, read_bytes: u64) -> Result<Summary> {
        if let Some(summary) = self.inner.summary.get() {
            return Ok(summary.clone());
        }
        let _phase = phase("check");
        let summary = summary::summarise(self, streamed, read_bytes)?;
        Ok(self.inner.summary.get_or_init(|| summary).clone())
    }

    /// Takes a summary that another process has computed, unless it is computed already.
    #[doc(hidden)]
    pub fn know_summary(&self, totals: &Totals, lengths: Vec<f64>) {
        self.inner
            .summary
            .get_or_init(|| Summary::restored(totals, lengths));
    }

    /// Writes rows to `out` as dense `f32`, one after the other, in the order given (rows may repeat).
    ///
    /// Reads no other rows. Counts above 2^24 are rounded to the nearest `f32`.
    ///
    /// ```
    /// let counts = topicbook::Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
    /// let mut row = [0.0; 3];
    /// counts.fill_rows(&[1], &mut row)?;
    /// assert_eq!(row, [0.0, 4.0, 0.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `out` does not have `rows.len() * terms` values, a row does not exist, or the counts' file cannot be read or
    /// changed since it was opened.
    pub fn fill_rows(&self, rows: &[usize], out: &mut [f32]) -> Result<()> {
        let terms = self.terms();
        if rows.len().checked_mul(terms) != Some(out.len()) {
            return Err(Error::shape(format!(
                "{} rows of {terms} terms do not fit {} values",
                rows.len(),
                out.len()
            ))
            .fix("pass rows.len() * terms values"));
        }
        self.check_rows(rows)?;
        if let Some(files) = self.dense_files() {
            return files.fill(terms, rows, out);
        }
        self.with_view(|view| {
            view.fill(terms, rows, out);
            Ok(())
        })
    }

    /// Copies documents into memory, in the order given (documents may repeat).
    ///
    /// ```
    /// use topicbook::{Counts, Location};
    /// let counts = Counts::dense(3, 2, vec![1u8, 0, 2, 0, 4, 0])?;
    /// let held_out = counts.select([2, 0])?;
    /// assert_eq!(held_out.shape(), (2, 2));
    /// assert_eq!(held_out.location(), Location::Memory);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `rows` is empty, a row does not exist, or the counts' file cannot be read or changed since it was opened.
    ///
    /// # Cost
    /// Reads the given rows and keeps them in memory, in the same layout and dtype.
    pub fn select(&self, rows: impl Indices) -> Result<Self> {
        let rows = rows.to_indices();
        self.check_rows(&rows)?;
        if let Some(files) = self.dense_files() {
            return files.select(&rows);
        }
        match self.select_packed(&rows)? {
            Some(copy) => Ok(copy),
            None => self.with_view(|view| self.select_in(view, &rows)),
        }
    }

    /// Copies rows of a view.
    fn select_in(&self, view: View<'_>, rows: &[usize]) -> Result<Self> {
        let store = match view {
            View::Dense(values) => Store::Dense(values.select(self.terms(), rows)),
            View::Csr(csr) => Store::Csr(LazyCsr::ready(csr.select(rows))),
        };
        Self::new(rows.len(), self.terms(), store, Location::Memory)
    }

    /// A note for users of the counts.
    #[doc(hidden)]
    pub fn note(&self) -> Option<&str> {
        match &self.inner.store {
            Store::Csr(csr) => csr.source()?.note(),
            Store::Dense(_) | Store::Files(_) | Store::Expected(_) => None,
        }
    }

    fn check_rows(&self, rows: &[usize]) -> Result<()> {
        match rows.iter().find(|&&row| row >= self.documents()) {
            None => Ok(()),
            Some(row) => Err(Error::shape(format!(
                "row {row} of counts with {} documents",
                self.documents()
            ))
            .fix("rows are counted from 0")),
        }
    }
}

or_ref!(Counts);

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Counts: {} documents × {} terms, {} {}, {}, {}",
            count(self.documents() as u64),
            count(self.terms() as u64),
            self.layout(),
            self.dtype(),
            bytes(self.bytes_stored()),
            self.location_text()
        )?;
        self.note().map_or(Ok(()), |note| write!(f, "; {note}"))
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts")
            .field("shape", &self.shape())
            .field("layout", &self.layout())
            .field("dtype", &self.dtype())
            .field("location", &self.location())
            .finish_non_exhaustive()
    }
}
