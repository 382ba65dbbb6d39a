//! The settings of a new table.

use std::path::PathBuf;

use rand::RngExt;
use rayon::prelude::*;

use crate::config::{Optimizer, Precision};
use crate::data::With;
use crate::error::{Error, Result};
use crate::system::memory::check_free;
use crate::system::{Purpose, SharedMap, stream};

use super::RowTable;
use super::file::{Header, TableFile, remove};
use super::rows::{Layout, SharedRows};
use super::rule::{check_row_wise, state_values};
use super::update::ROWS_AT_ONCE;

/// The settings of a new [`RowTable`]. Each setter returns the changed settings; [`create`](Self::create) makes the table.
///
/// ```
/// use topicbook::RowTable;
/// let words = RowTable::builder(1_000, 16).init_uniform(-0.5, 0.5).seed(42);
/// let (first, second) = (words.create()?, words.seed(43).create()?);
/// assert_ne!(first.gather([0])?, second.gather([0])?);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "no table is made before `create` is called"]
pub struct RowTableBuilder {
    #[doc(hidden)]
    pub rows: usize,
    #[doc(hidden)]
    pub width: usize,
    precision: Precision,
    optimizer: Optimizer,
    #[doc(hidden)]
    pub file: Option<PathBuf>,
    /// The range of the first values; zeros where there is none.
    uniform: Option<(f32, f32)>,
    seed: u64,
}

impl RowTableBuilder {
    pub(super) fn new(rows: usize, width: usize) -> Self {
        Self {
            rows,
            width,
            precision: Precision::F32,
            optimizer: Optimizer::RowwiseAdagrad,
            file: None,
            uniform: None,
            seed: 0,
        }
    }

    /// Sets the dtype of the values and of the optimizer's state; `f32` by default. `Bf16` halves the bytes: a row is widened,
    /// changed in `f32`, and rounded stochastically, so that small changes are not lost on average.
    ///
    /// ```
    /// use topicbook::{Precision, RowTable};
    /// let table = RowTable::builder(100, 4).precision(Precision::Bf16).create()?;
    /// assert_eq!(table.bytes(), 100 * 4 * 2 * 2);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn precision(&self, precision: Precision) -> Self {
        self.with(|changed| changed.precision = precision)
    }

    /// Sets the optimizer, a row-wise one; [`Optimizer::RowwiseAdagrad`] by default. AdamW, Adagrad and SGD keep one number of
    /// state for each value, the others two.
    ///
    /// ```
    /// use topicbook::{Optimizer, RowTable};
    /// let table = RowTable::builder(100, 4).optimizer(Optimizer::RowwiseAdam).create()?;
    /// assert_eq!(table.bytes(), 100 * 4 * 3 * 4);
    /// assert!(RowTable::builder(100, 4).optimizer(Optimizer::AdamW).create().is_err());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn optimizer(&self, optimizer: Optimizer) -> Self {
        self.with(|changed| changed.optimizer = optimizer)
    }

    /// Keeps the rows in a new file that is mapped to read and write; by default they are in memory. Its name should end in
    /// `.safetensors`.
    ///
    /// ```
    /// use topicbook::RowTable;
    /// # let folder = std::env::temp_dir().join(format!("topicbook-doc-file-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("words.safetensors");
    /// let table = RowTable::builder(100, 4).file(&path).create()?;
    /// assert_eq!(std::fs::metadata(&path)?.len(), 4096 + table.bytes());
    /// # drop(table);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file(&self, path: impl Into<PathBuf>) -> Self {
        self.with(|changed| changed.file = Some(path.into()))
    }

    /// Draws the first values from the uniform distribution between two finite numbers; by default they are zeros.
    ///
    /// ```
    /// use topicbook::RowTable;
    /// let table = RowTable::builder(100, 4).init_uniform(0.5, 1.0).create()?;
    /// assert!(table.gather(0..100)?.values().iter().all(|value| (0.5..=1.0).contains(value)));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn init_uniform(&self, low: f32, high: f32) -> Self {
        self.with(|changed| changed.uniform = Some((low, high)))
    }

    /// Sets the seed of the first values; 0 by default, any `u64`. The same seed gives the same rows, on any number of cores.
    ///
    /// ```
    /// use topicbook::RowTable;
    /// let first = |seed| RowTable::builder(9, 4).init_uniform(0.0, 1.0).seed(seed).create()?.gather(0..9);
    /// assert_eq!(first(1)?, first(1)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn seed(&self, seed: u64) -> Self {
        self.with(|changed| changed.seed = seed)
    }

    /// Makes the table, with its values set and the optimizer's state zero.
    ///
    /// ```
    /// use topicbook::RowTable;
    /// assert_eq!(RowTable::builder(100, 4).create()?.gather([99])?.row(0), [0.0; 4]);
    /// let error = RowTable::builder(1 << 40, 1 << 10).create().unwrap_err();
    /// assert_eq!(error.kind(), topicbook::ErrorKind::Space);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If rows or width are 0, the optimizer is the dense AdamW, or the range of the first values is not one of finite numbers. If
    /// memory or disk space is short, the file exists (open it with [`RowTable::open`]) or cannot be created. Then no file is left.
    ///
    /// # Cost
    /// Zeros in memory cost nothing before they are used; space in a file is reserved (`fallocate`). Values that are drawn are written
    /// once, on all cores.
    pub fn create(&self) -> Result<RowTable> {
        let layout = self.checked_layout()?;
        let table = match &self.file {
            None => RowTable::of(in_memory(layout)?, self.optimizer, 0, None),
            Some(path) => {
                let header = Header {
                    layout,
                    optimizer: self.optimizer,
                };
                let (file, rows) = TableFile::create(path, header)?;
                RowTable::of(rows, self.optimizer, 0, Some(file))
            }
        };
        self.fill(&table.0.rows);
        if let Err(error) = table.flush() {
            drop(table);
            if let Some(path) = &self.file {
                remove(path);
            }
            return Err(error);
        }
        Ok(table)
    }

    fn checked_layout(&self) -> Result<Layout> {
        let Self { rows, width, .. } = *self;
        if rows == 0 || width == 0 {
            return Err(
                Error::setting(format!("a row table of {rows} rows x {width} values"))
                    .fix("RowTable::builder(rows, width) needs at least one row and one value"),
            );
        }
        check_row_wise(self.optimizer)?;
        if let Some((low, high)) = self.uniform
            && !(low.is_finite() && high.is_finite() && low <= high && (high - low).is_finite())
        {
            return Err(Error::setting(format!(
                "no uniform distribution lies between {low} and {high}"
            ))
            .fix("init_uniform(low, high) takes two finite numbers, the smaller one first"));
        }
        let layout = Layout {
            rows,
            width,
            tables: 1 + state_values(self.optimizer),
            precision: self.precision,
        };
        match layout.bytes_of_table() {
            Some(_) => Ok(layout),
            None => Err(Error::space(format!(
                "{rows} rows x {width} values are more than can be addressed"
            ))
            .fix("use fewer rows, or a smaller width")),
        }
    }

    /// Draws the first values, each row from a stream of its own.
    fn fill(&self, rows: &SharedRows) {
        let Some((low, high)) = self.uniform else {
            return;
        };
        let chunks = (0..self.rows).into_par_iter().with_min_len(ROWS_AT_ONCE);
        let buffers = || (rows.scratch(), vec![0.0; self.width]);
        chunks.for_each_init(buffers, |(scratch, values), row| {
            let mut random = stream(self.seed, Purpose::RowTable, row as u64);
            for value in values.iter_mut() {
                let part: f32 = random.random();
                *value = part.mul_add(high - low, low).min(high);
            }
            rows.replace(row, values, scratch);
        });
    }
}

fn in_memory(layout: Layout) -> Result<SharedRows> {
    const REMEDY: &str = "use fewer rows or Precision::Bf16, free some memory, or keep the rows in a file (RowTableBuilder::file)";
    check_free(layout.bytes(), "the row table").map_err(|error| error.fix(REMEDY))?;
    let map = SharedMap::zeros(layout.bytes() as usize).map_err(|source| {
        let what = format!("the system gives no memory for the row table: {source}");
        Error::space(what).fix(REMEDY)
    })?;
    Ok(SharedRows::new(layout, map, 0))
}
