//! Tables: Polars DataFrames with methods that give tables again, text and HTML forms, and files.

mod arrow_file;
mod columns;
mod convert;
mod csv_file;
mod csv_numbers;
mod error;
mod file;
mod file_text;
mod frame_joins;
mod group;
mod join;
mod json_file;
mod names;
mod number_format;
mod open;
mod parquet_file;
mod pivot;
mod row_groups;
mod sheet_columns;
mod sheet_entries;
mod sheet_file;
mod source;
mod summary;
#[cfg(test)]
mod tests;
mod values;
mod verbs;
mod view;
mod viewer;
mod write;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use polars::prelude::{Column, DataFrame, IntoLazy, LazyFrame};

pub use columns::{ColumnValues, TableValue};
pub use csv_file::CsvFile;
pub use file::{IN_MEMORY, TableFile};
pub use frame_joins::DataFrameJoinOps;
pub use group::GroupBy;
pub use join::JoinKeys;
pub use names::Columns;
pub use row_groups::RowGroups;
pub use source::TableSource;
pub use verbs::Condition;

/// A table: named columns of one length, each of one type, with a Polars DataFrame inside.
///
/// | To | Write |
/// |---|---|
/// | open, make, write | [`open`](Self::open), [`new`](Self::new), [`write_csv`](Self::write_csv), [`write_parquet`](Self::write_parquet) |
/// | choose rows | [`filter`](Self::filter), [`head`](Self::head), [`tail`](Self::tail), [`slice`](Self::slice), [`row`](Self::row), [`unique`](Self::unique), [`drop_nulls`](Self::drop_nulls) |
/// | choose and make columns | [`select`](Self::select), [`drop`](Self::drop), [`rename`](Self::rename), [`with_column`](Self::with_column), [`with_columns`](Self::with_columns) |
/// | sort | [`sort_by`](Self::sort_by), [`sort_by_desc`](Self::sort_by_desc) |
/// | summarise | [`group_by`](Self::group_by), [`value_counts`](Self::value_counts), [`describe`](Self::describe), [`mean`](Self::mean), [`pivot`](Self::pivot) |
/// | combine | [`join`](Self::join), [`left_join`](Self::left_join), [`vstack`](Self::vstack) |
/// | take numbers and texts out | [`numbers`](Self::numbers), [`texts`](Self::texts), [`into_inner`](Self::into_inner) |
/// | see more rows | [`rows`](Self::rows) |
///
/// Columns are given by name or as Polars' expressions ([`Columns`]); `col` and `lit` are in the prelude. Each of these
/// methods gives a new table and leaves this one as it is; cloning is cheap, because Polars shares the columns. A table
/// needs no type annotation in a notebook when it is kept in a variable. It dereferences to its DataFrame, so every
/// read-only method of Polars works on it too.
///
/// ```
/// use topicbook::prelude::*;
///
/// let papers = Table::new()
///     .with_column("title", ["Neurons", "Kernels", "Spikes"])?
///     .with_column("year", [1987, 1998, 1987])?
///     .with_column("words", [310.0, 204.0, 120.0])?;
/// let long = papers.filter(col("words").gt(150.0))?.sort_by_desc("words")?;
/// assert_eq!(long.texts("title")?, ["Neurons", "Kernels"]);
/// let years = papers.group_by("year")?.mean("words")?;
/// assert_eq!(years.numbers("words")?, [215.0, 204.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
#[doc(alias = "DataFrame")]
pub struct Table {
    frame: DataFrame,
    /// Rows that a cell shows.
    rows_shown: usize,
    /// What was understood of the file that the table was read from, where a cell says so.
    note: Option<Arc<str>>,
}

impl Table {
    /// A table without columns, to which [`with_column`](Self::with_column) adds them.
    ///
    /// ```
    /// use topicbook::Table;
    /// let table = Table::new().with_column("term", ["model", "data"])?.with_column("count", [31, 20])?;
    /// assert_eq!(table.shape(), (2, 2));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "df!")]
    #[doc(alias = "from_columns")]
    pub fn new() -> Self {
        Self::from(DataFrame::default())
    }

    /// A table of columns; they have one height and different names by construction.
    ///
    /// Polars has no other reason to refuse columns: a debug build then panics, a release build gives an empty table.
    #[doc(hidden)]
    pub fn from_columns(columns: Vec<Column>) -> Self {
        let frame = DataFrame::new_infer_height(columns);
        debug_assert!(frame.is_ok(), "{frame:?}");
        Self::from(frame.unwrap_or_default())
    }

    /// Rows and columns.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("count", [31, 20, 4])?;
    /// assert_eq!(table.shape(), (3, 1));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "size")]
    pub fn shape(&self) -> (usize, usize) {
        self.frame.shape()
    }

    /// The number of rows.
    ///
    /// ```
    /// # use topicbook::Table;
    /// assert_eq!(Table::new().with_column("count", [31, 20, 4])?.height(), 3);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "len")]
    pub fn height(&self) -> usize {
        self.frame.height()
    }

    /// The number of columns.
    ///
    /// ```
    /// # use topicbook::Table;
    /// assert_eq!(Table::new().with_column("count", [31, 20, 4])?.width(), 1);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn width(&self) -> usize {
        self.frame.width()
    }

    /// The names of the columns, in order.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("term", ["model"])?.with_column("count", [31])?;
    /// assert_eq!(table.column_names(), ["term", "count"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "columns")]
    #[doc(alias = "get_column_names")]
    pub fn column_names(&self) -> Vec<String> {
        let names = self.frame.columns().iter();
        names.map(|column| column.name().to_string()).collect()
    }

    /// The same table, of which a cell shows `n` rows instead of 20: the first three quarters of `n` and the last quarter
    /// where the table has more. Above 20 rows the table scrolls in a box of its own.
    ///
    /// In a trusted notebook a table of more than 20 rows has pages of `n` rows, at most 100, a search, and an order by a click
    /// on a column's name. They have as many rows as 90 KB hold, or 190 KB where `n` is above 20: some 500 or 1,000 rows of
    /// 13 columns. The line below the table says how many. Elsewhere it is a plain HTML table, of 100 KB at most.
    ///
    /// ```
    /// # use topicbook::Table;
    /// let table = Table::new().with_column("document", 0..1000)?;
    /// assert_eq!(table.rows(1000).to_string().lines().count(), 1002);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "show")]
    #[doc(alias = "display")]
    pub fn rows(&self, n: usize) -> Self {
        Self {
            rows_shown: n,
            ..self.clone()
        }
    }

    /// The same table, whose size in a cell is followed by these remarks.
    fn with_note(self, remarks: &[String]) -> Self {
        Self {
            note: (!remarks.is_empty()).then(|| remarks.join("; ").into()),
            ..self
        }
    }

    /// The rows that a cell shows, as HTML.
    #[doc(hidden)]
    pub fn html(&self) -> String {
        viewer::html(self)
    }

    /// What a cell shows where there is no HTML.
    #[doc(hidden)]
    pub fn short_text(&self) -> String {
        self.rows(self.rows_shown.min(viewer::ROWS_OF_PAGE))
            .to_string()
    }

    /// The DataFrame of the table.
    ///
    /// ```
    /// use topicbook::{Table, polars::prelude::*};
    /// let frame = df!("term" => ["model", "data"], "probability" => [0.31, 0.2])?;
    /// assert_eq!(Table::from(frame.clone()).into_inner(), frame);
    /// # Ok::<(), PolarsError>(())
    /// ```
    pub fn into_inner(self) -> DataFrame {
        self.frame
    }

    /// A lazy frame of the table, for queries of several steps in the names of Polars; `collect()?` computes it, and
    /// `Table::from` makes a table of the result.
    ///
    /// ```
    /// use topicbook::{Table, polars::prelude::*};
    /// let table = Table::new().with_column("document", 0..9)?;
    /// let few = table.lazy().filter(col("document").lt(3)).collect()?;
    /// assert_eq!(Table::from(few).height(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Cost
    /// Copies no values: the columns are shared.
    pub fn lazy(&self) -> LazyFrame {
        self.frame.clone().lazy()
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

/// The first and last rows as aligned text.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        view::View::text(self, f)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Deref for Table {
    type Target = DataFrame;

    fn deref(&self) -> &DataFrame {
        &self.frame
    }
}

impl From<DataFrame> for Table {
    fn from(frame: DataFrame) -> Self {
        Self {
            frame,
            rows_shown: view::ROWS_SHOWN,
            note: None,
        }
    }
}

/// The columns are shared, not copied.
impl From<&DataFrame> for Table {
    fn from(frame: &DataFrame) -> Self {
        frame.clone().into()
    }
}

/// The columns are shared, not copied.
impl From<&Table> for Table {
    fn from(table: &Table) -> Self {
        table.clone()
    }
}
