//! Tables into CSV and Parquet files.

use std::path::Path;

use polars::prelude::{CsvWriter, ParquetWriter, PolarsError, SerWriter};

use crate::error::{Error, Result};
use crate::system::write_atomic;
use crate::text::shown_path;

use super::Table;

impl Table {
    /// Writes a CSV file with a header line. The write is atomic: on an error, an existing file stays unchanged.
    ///
    /// Excel and LibreOffice open the file. Texts are written as they are, so that every reader gets them back. A spreadsheet takes a text that begins with `=`,
    /// `+`, `-` or `@` for a formula: there, import the columns of a file with texts of strangers as text.
    ///
    /// ```
    /// use topicbook::Table;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let table = Table::new().with_column("term", ["model", "data"])?.with_column("count", [31, 20])?;
    /// table.write_csv("terms.csv")?;
    /// assert_eq!(std::fs::read_to_string("terms.csv")?, "term,count\nmodel,31\ndata,20\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written, or a column has a type without a form in CSV, such as lists.
    #[doc(alias = "to_csv")]
    pub fn write_csv(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_csv(path.as_ref())
    }

    fn save_csv(&self, path: &Path) -> Result<()> {
        write_atomic(path, |file| {
            CsvWriter::new(file)
                .finish(&mut self.frame.clone())
                .map_err(|error| not_written(path, error))
        })
    }

    /// Writes a Parquet file. The write is atomic: on an error, an existing file stays unchanged.
    ///
    /// ```
    /// use topicbook::{Counts, Table, polars::prelude::*};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// Table::from(df!("doc" => [0, 1], "term" => [2, 0], "count" => [3, 1])?).write_parquet("X.parquet")?;
    /// assert_eq!(Counts::open("X.parquet")?.shape(), (2, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written.
    #[doc(alias = "to_parquet")]
    pub fn write_parquet(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_parquet(path.as_ref())
    }

    fn save_parquet(&self, path: &Path) -> Result<()> {
        write_atomic(path, |file| {
            ParquetWriter::new(file)
                .finish(&mut self.frame.clone())
                .map(|_| ())
                .map_err(|error| not_written(path, error))
        })
    }
}

fn not_written(path: &Path, error: PolarsError) -> Error {
    Error::table(format!(
        "cannot write the table to {}: {error}",
        shown_path(path)
    ))
    .fix("check that the folder exists and has space, and for CSV that no column contains lists")
    .because(error)
}
