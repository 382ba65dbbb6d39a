//! Document-term counts: one handle, wherever they live.

mod csr;
mod dense;
mod dtype;
mod file;
mod nonzeros;
mod npy;
mod npz;
mod open;
mod resample;
mod rows;
mod safetensors;
mod stored;
mod summary;
mod triplets;
mod values;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub(crate) use self::csr::Csr;
use self::dense::{DenseStore, Held};
use self::npz::LazyCsr;
use crate::display::{Card, bytes, count};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::phase;

pub(crate) use self::dense::{DenseRows, as_bytes};
pub use self::dtype::{CountValue, Dtype};
pub(crate) use self::dtype::{Element, with_values};
pub use self::resample::Resample;
pub(crate) use self::stored::{Access, RowBuffer, SPARSE_BYTES, STAGE, Stage, Stored};
pub use self::summary::Summary;
pub(crate) use self::write::write_npy_file;

/// Document-term counts: one row per document, one column per term.
///
/// A handle that is cheap to clone. The counts live in memory or in a file, and stay there: nothing here
/// copies them as a whole, except where the documentation of a method says so.
///
/// ```
/// use topicbook::Counts;
/// let counts = Counts::dense(2, 3, vec![1u8, 0, 2, 0, 4, 0])?;
/// let mut batch = [0.0; 6];
/// counts.fill_rows(&[1, 0], &mut batch)?;
/// assert_eq!(batch, [0.0, 4.0, 0.0, 1.0, 0.0, 2.0]);
/// assert_eq!(counts.summary()?.total(), 7.0);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Clone)]
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
}

/// Borrowed counts: all rows of one dtype, or sparse rows.
#[derive(Clone, Copy)]
pub(crate) enum View<'a> {
    Dense(DenseRows<'a>),
    Csr(&'a Csr),
}

impl View<'_> {
    /// Rows as dense `f32`, one after the other; the caller has checked rows and lengths.
    pub(crate) fn fill(&self, terms: usize, rows: &[usize], out: &mut [f32]) {
        match self {
            View::Dense(values) => values.fill(terms, rows, out),
            View::Csr(csr) => csr.fill(terms, rows, out),
        }
    }
}

/// Bytes of anonymous memory that counts take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InMemory {
    /// Now.
    pub(crate) held: u64,
    /// More, once their values are needed.
    pub(crate) to_read: u64,
    /// On top of that while they are read and checked for the first time.
    pub(crate) while_checking: u64,
}

/// How counts are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Every count, row by row.
    Dense,
    /// The nonzero counts of each row (compressed sparse rows).
    Csr,
}

/// Where counts live.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Location {
    /// In memory.
    Memory,
    /// In this file, of which only the rows asked for are read (`.npy`, `.safetensors`).
    File(PathBuf),
    /// In memory, read from this file: `.csv` and `.parquet` when they are opened, `.npz` (which is
    /// compressed as a whole) the first time its counts are needed.
    Loaded(PathBuf),
}

impl Counts {
    /// Opens a file of counts; its ending says how to read it.
    ///
    /// | Ending | Holds | Opening reads |
    /// |---|---|---|
    /// | `.npy` | a 2-D NumPy array in C order, little-endian | the header; counts stay in the file |
    /// | `.npz` | a sparse matrix of SciPy's `save_npz` (CSR; CSC and COO are converted) | the headers; counts are read into memory on first use |
    /// | `.safetensors` | a 2-D tensor named `X`, or the only 2-D tensor | the header; counts stay in the file |
    /// | `.parquet`, `.csv` | the columns `doc`, `term` (whole numbers from 0) and `count`, one row per nonzero count | everything, into memory |
    ///
    /// Dtypes read in place: `u8`, `u16`, `u32`, `i32`, `i64`, `f32`, `f64`. The values themselves are
    /// checked by [`summary`](Self::summary).
    ///
    /// # Errors
    /// When the file cannot be read, or is not what its ending says.
    ///
    /// # Cost
    /// A few kilobytes read, except for tables.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        open::open(path.as_ref())
    }

    /// Opens a table (`.parquet` or `.csv`) with the columns `doc`, `term` and `count` as counts of a
    /// given shape. [`open`](Self::open) takes the largest ids instead, and so cannot know of empty
    /// documents and terms at the end.
    ///
    /// # Errors
    /// When the file cannot be read, an id does not fit the shape, or a document and term come twice.
    ///
    /// # Cost
    /// Reads the whole table into memory: 8 bytes a count when done, about five times that on the way.
    pub fn open_triplets(path: impl AsRef<Path>, documents: usize, terms: usize) -> Result<Self> {
        triplets::open(path.as_ref(), Some((documents, terms)))
    }

    /// Dense counts in memory, row by row. Takes the vector over, without a copy.
    ///
    /// # Errors
    /// When `values` does not hold `documents * terms` counts, or the shape is empty.
    pub fn dense<T: CountValue>(documents: usize, terms: usize, values: Vec<T>) -> Result<Self> {
        if documents.checked_mul(terms) != Some(values.len()) {
            return Err(Error::new(
                ErrorKind::Shape,
                format!(
                    "counts of {documents} documents x {terms} terms do not fit {} values",
                    values.len()
                ),
            )
            .fix("pass documents * terms values, row by row"));
        }
        let store = Store::Dense(T::hold(Held::Memory(values)));
        Self::new(documents, terms, store, Location::Memory)
    }

    /// Sparse counts in memory: document `i` has `values[indptr[i]..indptr[i + 1]]` in the columns
    /// `indices[indptr[i]..indptr[i + 1]]`. Takes the vectors over; rows whose columns are not in order
    /// are sorted.
    ///
    /// # Errors
    /// When the three do not fit together or the shape, or a row names a column twice.
    pub fn csr(
        documents: usize,
        terms: usize,
        indptr: Vec<u64>,
        indices: Vec<u32>,
        values: Vec<f32>,
    ) -> Result<Self> {
        let csr =
            Csr::new(documents, terms, indptr, indices, values).map_err(csr::Problem::in_memory)?;
        Self::from_csr(documents, terms, csr, Location::Memory)
    }

    fn from_csr(documents: usize, terms: usize, csr: Csr, location: Location) -> Result<Self> {
        Self::new(documents, terms, Store::Csr(LazyCsr::ready(csr)), location)
    }

    fn new(documents: usize, terms: usize, store: Store, location: Location) -> Result<Self> {
        if documents == 0 || terms == 0 {
            let whose = match &location {
                Location::Memory => String::new(),
                Location::File(path) | Location::Loaded(path) => format!("{}: ", path.display()),
            };
            return Err(Error::new(
                ErrorKind::Shape,
                format!("{whose}counts of {documents} documents x {terms} terms are empty"),
            )
            .fix("pass at least one document and one term"));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                documents,
                terms,
                store,
                location,
                summary: OnceLock::new(),
            }),
        })
    }

    /// Number of documents (rows).
    pub fn documents(&self) -> usize {
        self.inner.documents
    }

    /// Number of terms (columns).
    pub fn terms(&self) -> usize {
        self.inner.terms
    }

    /// Documents and terms.
    pub fn shape(&self) -> (usize, usize) {
        (self.inner.documents, self.inner.terms)
    }

    /// How one count is stored; always `f32` for sparse counts.
    pub fn dtype(&self) -> Dtype {
        match &self.inner.store {
            Store::Dense(store) => store.dtype(),
            Store::Csr(_) => Dtype::F32,
        }
    }

    /// How the counts are laid out.
    pub fn layout(&self) -> Layout {
        match &self.inner.store {
            Store::Dense(_) => Layout::Dense,
            Store::Csr(_) => Layout::Csr,
        }
    }

    /// Where the counts live.
    pub fn location(&self) -> Location {
        self.inner.location.clone()
    }

    /// Bytes that the counts take as they are laid out: values, and for sparse counts their column
    /// indices (4 bytes a value) and row starts (8 bytes a document). For an `.npz` this is what they
    /// take in memory once read.
    pub fn bytes_stored(&self) -> u64 {
        match &self.inner.store {
            Store::Dense(store) => {
                let values = self.inner.documents as u64 * self.inner.terms as u64;
                values * store.dtype().bytes() as u64
            }
            Store::Csr(csr) => {
                let value = (size_of::<f32>() + size_of::<u32>()) as u64;
                csr.stored() * value + (self.inner.documents as u64 + 1) * size_of::<u64>() as u64
            }
        }
    }

    /// Bytes that the counts would take as dense `f32`.
    pub fn bytes_dense_f32(&self) -> u64 {
        (self.inner.documents as u64)
            .saturating_mul(self.inner.terms as u64)
            .saturating_mul(4)
    }

    /// Totals, document lengths and empty documents and terms, from one pass that checks every count.
    ///
    /// # Errors
    /// On the first value (by row, then column) that is negative, NaN, infinite or fractional.
    ///
    /// # Cost
    /// The first call reads all counts, on all threads; the result is kept. A file is read in order at the disk's speed,
    /// by positioned reads into 33 MB of buffers, so that one which is cut meanwhile is an error. A fit begins with
    /// this pass: for counts that are streamed, one more reading of the file than there are epochs.
    pub fn summary(&self) -> Result<Summary> {
        self.summary_by(false)
    }

    /// The same; `streamed` when the counts will be streamed, and so must not be read into memory as a whole.
    pub(crate) fn summary_by(&self, streamed: bool) -> Result<Summary> {
        if let Some(summary) = self.inner.summary.get() {
            return Ok(summary.clone());
        }
        let _phase = phase("check");
        let summary = summary::summarise(self, streamed)?;
        Ok(self.inner.summary.get_or_init(|| summary).clone())
    }

    /// Writes rows as dense `f32` into `out`, one after the other, in the order given (rows may repeat).
    ///
    /// Reads no other rows. Counts above 2^24 are rounded to the nearest `f32`.
    ///
    /// # Errors
    /// When `out` does not hold `rows.len() * terms` values, a row does not exist, or the file behind the
    /// counts changed since it was opened.
    pub fn fill_rows(&self, rows: &[usize], out: &mut [f32]) -> Result<()> {
        let terms = self.terms();
        if rows.len().checked_mul(terms) != Some(out.len()) {
            return Err(Error::new(
                ErrorKind::Shape,
                format!(
                    "{} rows of {terms} terms do not fit {} values",
                    rows.len(),
                    out.len()
                ),
            )
            .fix("pass rows.len() * terms values"));
        }
        self.check_rows(rows)?;
        self.view()?.fill(terms, rows, out);
        Ok(())
    }

    /// Some documents, in the order given (documents may repeat), copied into memory.
    ///
    /// # Errors
    /// When a row does not exist or none is asked for, or the file behind the counts changed.
    ///
    /// # Cost
    /// The rows asked for are read and held, in the same layout and dtype.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        self.check_rows(rows)?;
        let store = match self.view()? {
            View::Dense(values) => Store::Dense(values.select(self.terms(), rows)),
            View::Csr(csr) => Store::Csr(LazyCsr::ready(csr.select(rows))),
        };
        Self::new(rows.len(), self.terms(), store, Location::Memory)
    }

    fn check_rows(&self, rows: &[usize]) -> Result<()> {
        match rows.iter().find(|&&row| row >= self.documents()) {
            None => Ok(()),
            Some(row) => Err(Error::new(
                ErrorKind::Shape,
                format!("row {row} of counts with {} documents", self.documents()),
            )
            .fix("rows are counted from 0")),
        }
    }

    /// The counts, borrowed as they lie. Reads an `.npz` if that has not happened yet, and checks that a
    /// mapped file is still whole.
    pub(crate) fn view(&self) -> Result<View<'_>> {
        Ok(match &self.inner.store {
            Store::Dense(store) => View::Dense(store.rows()?),
            Store::Csr(csr) => View::Csr(csr.get()?),
        })
    }

    /// Whether sparse counts have not been read from their file yet.
    fn waits(&self) -> bool {
        matches!(&self.inner.store, Store::Csr(csr) if csr.waits())
    }

    /// The file, for messages.
    fn path(&self) -> Option<&Path> {
        match &self.inner.location {
            Location::Memory => None,
            Location::File(path) | Location::Loaded(path) => Some(path),
        }
    }

    /// How much of the process's own memory the counts take.
    pub(crate) fn in_memory(&self) -> InMemory {
        match (&self.inner.store, &self.inner.location) {
            (_, Location::File(_)) => InMemory {
                while_checking: summary::bytes(self),
                ..InMemory::default()
            },
            (Store::Csr(csr), _) if csr.waits() => InMemory {
                held: 0,
                to_read: self.bytes_stored(),
                while_checking: csr.reading_bytes(),
            },
            _ => InMemory {
                held: self.bytes_stored(),
                ..InMemory::default()
            },
        }
    }

    /// Nonzero counts of a document, on average, where that is known without a look at them.
    pub(crate) fn mean_nonzeros(&self) -> Option<usize> {
        let all = match (&self.inner.store, self.inner.summary.get()) {
            (Store::Csr(csr), _) => csr.stored(),
            (_, Some(summary)) => summary.nonzeros(),
            _ => return None,
        };
        usize::try_from(all.div_ceil(self.documents() as u64)).ok()
    }

    /// Whether a summary has been made already.
    pub(crate) fn is_summarised(&self) -> bool {
        self.inner.summary.get().is_some()
    }

    /// Where the counts live, and whether they are there already.
    fn lives_in(&self) -> String {
        match (&self.inner.store, &self.inner.location) {
            (Store::Csr(csr), Location::Loaded(path)) if csr.waits() => {
                format!("file {}, read into memory on first use", path.display())
            }
            (_, location) => location.to_string(),
        }
    }

    /// Shows shape, layout and sizes in a notebook cell, without a pass over the counts.
    pub fn evcxr_display(&self) {
        let mut card = Card::new("Counts")
            .row("documents", count(self.documents() as u64))
            .row("terms", count(self.terms() as u64))
            .row("layout", self.layout().to_string())
            .row("dtype", self.dtype().to_string())
            .row("lives in", self.lives_in());
        if let Store::Csr(csr) = &self.inner.store {
            card = card.row("stored counts", count(csr.stored()));
        }
        if let Some(summary) = self.inner.summary.get() {
            card = card.row("total count", count(summary.total() as u64));
        }
        card.row("bytes as stored", bytes(self.bytes_stored()))
            .row("bytes as dense f32", bytes(self.bytes_dense_f32()))
            .show();
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Counts: {} documents x {} terms, {} {}, {}, {}",
            count(self.documents() as u64),
            count(self.terms() as u64),
            self.layout(),
            self.dtype(),
            bytes(self.bytes_stored()),
            self.lives_in()
        )
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Layout {
    /// Shows the layout in a notebook cell.
    pub fn evcxr_display(&self) {
        let name = self.to_string();
        crate::display::show(&name, &name);
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layout::Dense => "dense",
            Layout::Csr => "sparse rows (CSR)",
        })
    }
}

impl Location {
    /// Shows the place in a notebook cell.
    pub fn evcxr_display(&self) {
        Card::new("Location")
            .row("lives in", self.to_string())
            .show();
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Memory => f.write_str("memory"),
            Location::File(path) => write!(f, "file {}", path.display()),
            Location::Loaded(path) => write!(f, "memory, read from {}", path.display()),
        }
    }
}
