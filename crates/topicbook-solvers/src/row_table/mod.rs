//! Tables of rows (embeddings) with the state of their optimizer, in memory or in a mapped file.

mod builder;
mod file;
mod rows;
mod rule;
#[cfg(test)]
mod tests;
mod update;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use builder::RowTableBuilder;

use crate::config::{Optimizer, Precision};
use crate::data::{Indices, Matrix, OrRef};
use crate::error::Result;
use crate::system::hold;
use crate::text::{bytes, count, shown_path};

use file::TableFile;
use rows::{Layout, SharedRows};

/// A table of rows, such as the embeddings of words, users or products, with the state of the optimizer that updates them: in
/// memory, or in a file much larger than memory. A model's step gathers the rows of its batch, computes their gradients with
/// any library, and updates these rows alone. A clone is cheap and shares the rows.
///
/// ```
/// use topicbook::{Matrix, RowTable};
/// let table = RowTable::builder(1_000, 3).create()?; // zeros
/// table.scatter([7, 2], Matrix::new(2, 3, vec![1.0; 6])?)?;
/// let gradients = Matrix::new(2, 3, vec![0.5, -0.5, 0.0, 0.5, -0.5, 0.0])?;
/// table.update([7, 8], gradients, 0.1)?; // one step of row-wise Adagrad
/// let rows = table.gather([7, 8])?;
/// assert_eq!(rows.row(0), [0.9, 1.1, 1.0]);
/// assert_eq!(rows.row(1), [-0.1, 0.1, 0.0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
///
/// # Gradients from Burn
///
/// With the feature `cuda`, a [`Matrix`] converts to a tensor of Burn and back
/// (`to_tensor`, `from_tensor`), on the CPU and on a GPU:
///
/// ```
/// use topicbook::burn::backend::{Autodiff, Flex};
/// use topicbook::{Matrix, RowTable};
/// let device = Default::default();
/// let table = RowTable::builder(100, 4).init_uniform(-0.1, 0.1).seed(1).create()?;
/// let words = [3, 17, 3, 99];
/// let mut losses = Vec::new();
/// for _ in 0..20 {
///     let rows = table.gather(words)?.to_tensor::<Autodiff<Flex>>(&device).require_grad();
///     let loss = (rows.clone() - 1.0).powi_scalar(2).sum(); // all entries should be 1
///     let gradients = rows.grad(&loss.backward()).unwrap();
///     table.update(words, Matrix::from_tensor(gradients)?, 0.1)?;
///     losses.push(loss.into_scalar());
/// }
/// assert!(losses[19] < losses[0] / 4.0);
/// # Ok::<(), topicbook::Error>(())
/// ```
///
/// # In a file
///
/// [`RowTableBuilder::file`] keeps values and state in a file that is mapped to read and write (`mmap`): the system keeps in
/// memory what is used often, and writes changed pages out when memory is short. [`flush`](Self::flush) writes all of them, and
/// [`open`](Self::open) continues with them in another process. The file is in the safetensors format, with the tensors `values`,
/// `state_0` and so on (rows x width each), so that Python reads it: `safetensors.torch.load_file(path)["values"]`.
///
/// # Threads
///
/// Every method takes `&self`, and clones may be used by several threads. A row is read and changed as a whole, under one of 256
/// locks, so that threads with different rows run in parallel and updates of the same row happen one after the other. A
/// gather during an update of the same rows may find some rows before and some after it.
#[derive(Clone)]
#[doc(alias("embedding", "memmap"))]
pub struct RowTable(Arc<Inner>);

struct Inner {
    rows: SharedRows,
    optimizer: Optimizer,
    /// Steps taken since the table was created.
    steps: AtomicU64,
    /// `None` in memory.
    file: Option<TableFile>,
}

impl Inner {
    /// Fails if rows in a file were lost.
    fn check_kept(&self) -> Result<()> {
        match &self.file {
            Some(file) if self.rows.map().is_lost() => Err(file.lost()),
            _ => Ok(()),
        }
    }

    fn flush(&self) -> Result<()> {
        match &self.file {
            Some(file) => file.flush(&self.rows, || self.steps.load(Ordering::Acquire)),
            None => Ok(()),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Where it fails, the file keeps its mark and is refused when it is opened.
        let _ = self.flush();
    }
}

impl RowTable {
    /// The settings of a new table of `rows` x `width` values, each at least 1: zeros of `f32` in memory, for row-wise Adagrad.
    /// [`RowTableBuilder::create`] makes the table.
    ///
    /// ```
    /// use topicbook::{Optimizer, Precision, RowTable};
    /// let table = RowTable::builder(1_000, 64)
    ///     .precision(Precision::Bf16)
    ///     .optimizer(Optimizer::RowwiseAdam)
    ///     .create()?;
    /// assert_eq!(table.shape(), (1_000, 64));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn builder(rows: usize, width: usize) -> RowTableBuilder {
        RowTableBuilder::new(rows, width)
    }

    /// Opens a table in a file that [`create`](RowTableBuilder::create) made, with its values, the optimizer's state and the number
    /// of steps. The file is locked (`flock`) until the last clone is dropped.
    ///
    /// ```
    /// use topicbook::RowTable;
    /// # let folder = std::env::temp_dir().join(format!("topicbook-doc-open-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("words.safetensors");
    /// let table = RowTable::builder(100, 4).file(&path).init_uniform(-1.0, 1.0).create()?;
    /// let row = table.gather([42])?;
    /// drop(table); // flushes, as `flush` does
    /// assert_eq!(RowTable::open(&path)?.gather([42])?, row);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be opened to read and write, is open as a table already, is not of a row table, or is not as long as its
    /// header says. If it was not flushed, because the process that wrote it was killed: its rows may be from different steps.
    /// [`open_unflushed`](Self::open_unflushed) opens it nevertheless.
    ///
    /// # Cost
    /// Reads the header, 4 KiB; rows are read when they are used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_file(path.as_ref(), false)
    }

    /// Opens a table as [`open`](Self::open) does, also if it was not flushed. Rows that changed since the last flush may be from
    /// any later step. If the machine stopped, a row's values may be from another step than its state. [`steps`](Self::steps)
    /// continues from that flush.
    ///
    /// ```
    /// use topicbook::{Matrix, RowTable};
    /// # let folder = std::env::temp_dir().join(format!("topicbook-doc-unflushed-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("words.safetensors");
    /// let table = RowTable::builder(100, 4).file(&path).create()?;
    /// table.update([1], Matrix::new(1, 4, vec![1.0; 4])?, 0.1)?;
    /// let copy = folder.join("copy.safetensors");
    /// std::fs::copy(&path, &copy)?; // what a killed process leaves
    /// assert!(RowTable::open(&copy).is_err());
    /// assert_eq!(RowTable::open_unflushed(&copy)?.gather([1])?.row(0), [-0.1; 4]);
    /// # drop(table);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`open`](Self::open), except the last one.
    pub fn open_unflushed(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_file(path.as_ref(), true)
    }

    fn open_file(path: &Path, unflushed: bool) -> Result<Self> {
        let (file, rows, steps) = TableFile::open(path, unflushed)?;
        Ok(Self::of(rows, file.optimizer(), steps, Some(file)))
    }

    fn of(rows: SharedRows, optimizer: Optimizer, steps: u64, file: Option<TableFile>) -> Self {
        let layout = rows.layout();
        let in_memory = if file.is_some() { 0 } else { layout.bytes() };
        let what = format!(
            "{} × {}",
            count(layout.rows as u64),
            count(layout.width as u64)
        );
        let inner = Arc::new(Inner {
            rows,
            optimizer,
            steps: AtomicU64::new(steps),
            file,
        });
        hold(&inner, ("row table", what, in_memory), Vec::new());
        Self(inner)
    }

    /// The values of these rows, counted from 0, in their order (rows x width, `f32`). A row may come twice.
    ///
    /// ```
    /// use topicbook::RowTable;
    /// let table = RowTable::builder(100, 4).init_uniform(-1.0, 1.0).create()?;
    /// let rows = table.gather([99, 0, 99])?;
    /// assert_eq!(rows.shape(), (3, 4));
    /// assert_eq!(rows.row(0), rows.row(2));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such row, the matrix does not fit into the free memory, or rows in a file were lost.
    ///
    /// # Cost
    /// Copies the rows, on all cores where there are many; a row that is not in memory is read from the disk, a page of 4 KiB at
    /// least. If the file is larger than half of the free memory, 64 rows are prefetched at once (`MADV_WILLNEED`), so that the
    /// disk serves them in parallel.
    #[doc(alias("index_select", "lookup"))]
    pub fn gather(&self, rows: impl Indices) -> Result<Matrix> {
        update::gather(&self.0, &rows.to_indices())
    }

    /// The `n` rows that are most like a row, by the cosine of their values: their numbers and cosines, the largest first, without
    /// the row itself. A row of zeros has the cosine 0 with all others.
    ///
    /// ```
    /// use topicbook::{Matrix, RowTable};
    /// let table = RowTable::builder(4, 2).create()?;
    /// table.scatter(0..3, Matrix::new(3, 2, vec![1.0, 1.0, -2.0, 0.0, 3.0, 3.0])?)?;
    /// let nearest = table.nearest(0, 2)?;
    /// assert_eq!((nearest[0].0, nearest[1].0), (2, 3));
    /// assert!((nearest[0].1 - 1.0).abs() < 1e-6 && nearest[1].1 == 0.0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such row, or rows in a file were lost.
    ///
    /// # Cost
    /// Reads all rows once, some thousands at a time.
    #[doc(alias("most_similar", "kneighbors"))]
    pub fn nearest(&self, row: usize, n: usize) -> Result<Vec<(usize, f32)>> {
        update::nearest(&self.0, row, n)
    }

    /// Replaces the values of these rows with a matrix (rows x width); the optimizer's state stays. Where a row comes twice, its
    /// last values count. In `bf16` values are rounded to the nearest ones.
    ///
    /// ```
    /// use topicbook::{Matrix, RowTable};
    /// let table = RowTable::builder(100, 2).create()?;
    /// let values = Matrix::new(2, 2, vec![1.0, 2.0, 3.0, 4.0])?;
    /// table.scatter(10..12, &values)?;
    /// assert_eq!(table.gather([11])?.row(0), [3.0, 4.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such row, the matrix has another shape, or a value is NaN or infinite, before anything is written; if rows in
    /// a file were lost, or the file cannot be written.
    #[doc(alias = "index_copy")]
    pub fn scatter(&self, rows: impl Indices, values: impl OrRef<Matrix>) -> Result<()> {
        update::scatter(&self.0, &rows.to_indices(), values.value())
    }

    /// One step of the optimizer for these rows, with the gradients of their values (rows x width) and a learning rate of at least
    /// 0. Where a row comes twice, its gradients are summed first, as PyTorch does for `Embedding(sparse=True)`. There is no
    /// weight decay.
    ///
    /// The step's number, which [`Optimizer`]'s table calls s, counts the updates of the table. Row-wise AdamW takes the rows of the
    /// table over the distinct rows of this update for n, the steps between two updates of a row. With the same sequence of updates
    /// results are the same, on any number of cores; in `bf16` rounding is stochastic, with random bits that depend on row and
    /// step alone.
    ///
    /// ```
    /// use topicbook::{Matrix, RowTable};
    /// let table = RowTable::builder(100, 2).create()?;
    /// let gradients = Matrix::new(3, 2, vec![1.0, -1.0, 1.0, 2.0, 5.0, -5.0])?;
    /// table.update([8, 8, 9], &gradients, 0.1)?; // row 8 has the gradient (2, 1)
    /// assert_eq!(table.gather([8])?.row(0), [-0.1, -0.1]); // Adagrad's first step has the size 0.1
    /// assert_eq!(table.steps(), 1);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such row, the gradients have another shape, a gradient or a sum of gradients is NaN or infinite, or the
    /// learning rate is out of its range, before anything is written. If rows in a file were lost, or the file cannot be written.
    ///
    /// # Cost
    /// O(rows x width), for any number of rows of the table, on all cores where there are many; the first update after a flush
    /// also writes the file's mark (`fdatasync`, some ms).
    pub fn update(
        &self,
        rows: impl Indices,
        gradients: impl OrRef<Matrix>,
        learning_rate: f64,
    ) -> Result<()> {
        let rows = rows.to_indices();
        update::update(&self.0, &rows, gradients.value(), learning_rate)
    }

    /// Writes changed rows to the disk (`msync`), and marks the file as flushed. It waits for the rows that other threads are
    /// writing. In memory it does nothing. Dropping the last clone flushes too, but cannot report an error.
    ///
    /// ```
    /// use topicbook::{Matrix, RowTable};
    /// # let folder = std::env::temp_dir().join(format!("topicbook-doc-flush-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("words.safetensors");
    /// let table = RowTable::builder(100, 4).file(&path).create()?;
    /// table.update([1], Matrix::new(1, 4, vec![1.0; 4])?, 0.1)?;
    /// table.flush()?;
    /// std::fs::copy(&path, folder.join("backup.safetensors"))?; // a whole copy
    /// # drop(table);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the disk fails, or the file was cut by another program.
    pub fn flush(&self) -> Result<()> {
        self.0.flush()
    }

    /// Number of rows.
    ///
    /// ```
    /// assert_eq!(topicbook::RowTable::builder(100, 4).create()?.rows(), 100);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.layout().rows
    }

    /// Values of a row.
    ///
    /// ```
    /// assert_eq!(topicbook::RowTable::builder(100, 4).create()?.width(), 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.layout().width
    }

    /// Number of rows and values of a row.
    ///
    /// ```
    /// assert_eq!(topicbook::RowTable::builder(100, 4).create()?.shape(), (100, 4));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        (self.layout().rows, self.layout().width)
    }

    /// Steps of the optimizer: calls of [`update`](Self::update) since the table was created, also before it was opened again.
    ///
    /// ```
    /// assert_eq!(topicbook::RowTable::builder(100, 4).create()?.steps(), 0);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn steps(&self) -> u64 {
        self.0.steps.load(Ordering::Acquire)
    }

    /// Bytes of the values and of the optimizer's state, in memory or in the file.
    ///
    /// ```
    /// // Adagrad keeps one number for each value.
    /// assert_eq!(topicbook::RowTable::builder(100, 4).create()?.bytes(), 100 * 4 * 2 * 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn bytes(&self) -> u64 {
        self.layout().bytes()
    }

    /// The optimizer that updates the rows.
    ///
    /// ```
    /// use topicbook::{Optimizer, RowTable};
    /// let table = RowTable::builder(100, 4).create()?;
    /// assert_eq!(table.optimizer(), Optimizer::RowwiseAdagrad);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn optimizer(&self) -> Optimizer {
        self.0.optimizer
    }

    /// The dtype of the values and of the optimizer's state.
    ///
    /// ```
    /// use topicbook::{Precision, RowTable};
    /// assert_eq!(RowTable::builder(100, 4).create()?.precision(), Precision::F32);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn precision(&self) -> Precision {
        self.layout().precision
    }

    /// Where the rows are, for people.
    #[doc(hidden)]
    pub fn location(&self) -> String {
        match &self.0.file {
            Some(file) => shown_path(file.path()),
            None => "memory".into(),
        }
    }

    fn layout(&self) -> Layout {
        self.0.rows.layout()
    }
}

impl fmt::Debug for RowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "RowTable {} × {} of {} for {:?}, {} in {}",
            count(self.rows() as u64),
            count(self.width() as u64),
            self.precision(),
            self.optimizer(),
            bytes(self.bytes()),
            self.location()
        )
    }
}
