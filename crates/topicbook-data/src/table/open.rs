//! Tables from CSV, TSV, Parquet and Arrow files.

use std::path::Path;

use crate::error::Result;

use super::{Table, TableFile};

impl Table {
    /// Opens a table in a file, whose extension says its format.
    ///
    /// | Extension | Format |
    /// |---|---|
    /// | `.csv` | text with a header line; columns are separated by commas, or by semicolons or tabs where the header has no comma |
    /// | `.tsv`, `.tab` | the same, separated by tabs |
    /// | `.parquet`, `.pq` | Parquet |
    /// | `.arrow`, `.feather`, `.ipc` | Arrow IPC, which is Feather of version 2; plain or compressed with LZ4 or Zstandard |
    ///
    /// The type of a CSV column depends on all its values: whole numbers, numbers, `true` and `false`, or text. Empty values
    /// are null, and so are the words for a missing number (`NA`, `N/A`, `NaN`, `null`, `None`) in a column that otherwise has
    /// numbers alone. The names in a header lose the space around them. A quotation mark encloses a value only where the value
    /// begins with it: `3" nail` is a text. Counts (documents x terms) are opened by `Counts::open`.
    ///
    /// ```
    /// use topicbook::Table;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::write("papers.csv", "title,year\nNeurons,1987\nKernels,1998\n")?;
    /// let papers = Table::open("papers.csv")?;
    /// assert_eq!(papers.shape(), (2, 2));
    /// assert_eq!(papers.numbers("year")?, [1987.0, 1998.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such file, the extension is none of these, or the free memory does not hold the values. When a row of
    /// a CSV file has more values than the header, or two columns have one name. When a Parquet or Arrow file is
    /// damaged or has a column of a type that is not read, such as decimals. When an Arrow file is a stream, which has no
    /// footer, or Feather of version 1.
    ///
    /// # Cost
    /// The whole file is read into memory; a CSV file is read three times: for the number of its values, for the types of its
    /// columns, and for the values.
    #[doc(alias = "read_csv")]
    #[doc(alias = "read_parquet")]
    #[doc(alias = "read_feather")]
    #[doc(alias = "read_ipc")]
    #[doc(alias = "scan_csv")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        TableFile::open(path.as_ref())?.into_table()
    }
}
