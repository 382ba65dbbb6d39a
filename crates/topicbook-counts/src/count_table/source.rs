//! Where a table of counts is: in a file, or in memory.

use std::sync::Arc;

use crate::data::{Table, TableSource};
use crate::error::Result;
use crate::formats::triplets::of_frame;
use crate::system::memory::free_memory;
use crate::{Counts, Location};

use super::{CountTable, Settings};

/// Share of the free memory for what is converted at once, and for the counts that stay in memory.
pub(super) const MEMORY_SHARE: u64 = 8;

impl CountTable {
    /// Where its counts come from.
    pub(super) fn location(&self) -> Location {
        match &self.source {
            TableSource::File(path) => Location::Loaded(path.clone()),
            TableSource::Memory(_) => Location::Memory,
        }
    }

    /// Bytes of counts that stay in memory: of a table that is there, all.
    pub(super) fn memory(&self) -> u64 {
        match self.source {
            TableSource::File(_) => free_memory() / MEMORY_SHARE,
            TableSource::Memory(_) => u64::MAX,
        }
    }

    /// A table in memory: a `Table`, or a `DataFrame` of Polars.
    ///
    /// ```
    /// use topicbook::polars::prelude::*;
    /// use topicbook::CountTable;
    /// let frame = df!("doc" => ["Austen", "Byron"], "year" => [1811, 1819], "sea" => [0, 7], "tea" => [5, 0])?;
    /// let letters = CountTable::from_frame(&frame).labels(["year"])?;
    /// assert_eq!(letters.terms()?.as_slice(), ["sea", "tea"]);
    /// assert_eq!(letters.documents()?.numbers("year")?, [1811.0, 1819.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "from_pandas")]
    pub fn from_frame(frame: impl Into<Table>) -> Self {
        Self {
            source: TableSource::Memory(frame.into()),
            settings: Settings::default(),
            read: Arc::default(),
        }
    }
}

impl Counts {
    /// The counts of a table in memory, a `DataFrame` of Polars or a [`Table`], without a file: of all that [`CountTable`] reads,
    /// wide or long, and of the columns `doc`, `term` and `count` in numbers, as [`open`](Self::open) reads them.
    /// [`CountTable::from_frame`] also has names and labels, and settings where the columns can be read in two ways.
    ///
    /// ```
    /// use topicbook::Counts;
    /// use topicbook::polars::prelude::*;
    /// let wide = df!("doc" => ["Austen", "Byron"], "sea" => [0, 7], "tea" => [5, 0])?;
    /// let long = df!("doc" => ["Austen", "Byron"], "word" => ["tea", "sea"], "n" => [5, 7])?;
    /// let numbers = df!("doc" => [0, 1], "term" => [1, 0], "count" => [5, 7])?;
    /// for frame in [wide, long, numbers] {
    ///     assert_eq!(Counts::from_frame(&frame)?.summary()?.document_lengths(), [5.0, 7.0]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`CountTable::counts`].
    ///
    /// # Cost
    /// Copies the nonzero counts: 8 bytes each.
    #[doc(alias = "from_pandas")]
    pub fn from_frame(frame: impl Into<Table>) -> Result<Self> {
        counts_of(frame.into())
    }
}

fn counts_of(table: Table) -> Result<Counts> {
    of_frame(&table).unwrap_or_else(|| CountTable::from_frame(table).counts())
}
