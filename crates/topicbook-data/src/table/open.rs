//! Tables from CSV, TSV, JSON lines, Parquet, Arrow and spreadsheet files.

use std::path::Path;

use crate::error::Result;
use crate::{OrRef, TextFormat};

use super::{Table, TableFile};

impl Table {
    /// Opens a table in a file, whose extension says its format.
    ///
    /// | Extension | Format |
    /// |---|---|
    /// | `.csv` | text with a header line; values are separated by commas, semicolons, tabs or vertical bars (the one that gives most columns), or as a first line `sep=;` of Excel says |
    /// | `.tsv`, `.tab` | the same, separated by tabs |
    /// | `.jsonl`, `.ndjson`, `.json` | JSON lines: an object in each line, whose fields are the columns |
    /// | `.csv.gz`, `.csv.zst`, `.csv.zip`, `.jsonl.gz` ... | the same, compressed by gzip or Zstandard, or alone in a zip archive |
    /// | `.parquet`, `.pq` | Parquet |
    /// | `.arrow`, `.feather`, `.ipc` | Arrow IPC, which is Feather of version 2; plain or compressed with LZ4 or Zstandard |
    /// | `.xlsx`, `.xlsm` | a spreadsheet of Excel or LibreOffice: the first sheet that has values, or that of [`TextFormat::sheet`] |
    ///
    /// The type of a CSV column depends on all its values: whole numbers, numbers, `true` and `false`, or text. A column of whole
    /// numbers with one beyond 2^63, which no integer of 64 bits holds, is one of texts, also in JSON lines. Empty values are null,
    /// and so are the words for a missing number (`NA`, `NaN`, `null` and the others of pandas, `-`, Stata's `.`, MySQL's `\N`) in
    /// a column that otherwise has numbers alone. The names in a header lose the space around them. A quotation mark encloses a
    /// value only where the value begins with it: `3" nail` is a text. Counts (documents x terms) are opened by `Counts::open`.
    ///
    /// The fields of JSON lines are columns in the order in which they first occur; a field that a line does not have is null
    /// there. Lists and objects in a field are texts of JSON, and values of several types are texts.
    ///
    /// Text is UTF-8, UTF-16 with a byte order mark, or Windows-1252 where its words are Western European ones. Numbers may have
    /// a decimal comma where commas do not separate the values, and thousands (`1.234,5`, `1,234.5`); a column of numbers
    /// such as `1,234` alone, which can be read in two ways, is one of texts, and [`open_with`](Self::open_with) says what they
    /// are. If all rows have a value more than the header has names, the first column has the row names, as R's
    /// `write.table` writes them. What was found in a file stands below the table in a cell.
    ///
    /// In a spreadsheet, the first row that has values is the header, and each cell has its type: a column is of whole numbers,
    /// numbers, days (or days with a time), truth values, or else texts, with empty cells and the words for missing ones as
    /// null. A formula counts as the value that Excel stored. Cells with errors such as `#N/A` are null, and the card
    /// says so; it also says which sheet was read, and where numbers are stored as texts. A text with leading zeros stays one.
    /// Of merged cells, the first one has the value.
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
    /// a CSV file has more values than the header, or two columns have one name. When a line is no object of JSON, or each has
    /// other fields. When a Parquet or Arrow file is
    /// damaged or has a column of a type that is not read, such as decimals. When an Arrow file is a stream, which has no
    /// footer, or Feather of version 1. When a spreadsheet is protected by a password, is damaged, or has no values.
    ///
    /// # Cost
    /// The whole file is read into memory; a CSV file is read three times: for the number of its values, for the types of its
    /// columns, and for the values. JSON lines are read twice. A spreadsheet is unpacked twice: for what it
    /// may take in memory, and for the values.
    #[doc(alias = "read_csv")]
    #[doc(alias = "read_excel")]
    #[doc(alias = "read_json")]
    #[doc(alias = "read_ndjson")]
    #[doc(alias = "read_parquet")]
    #[doc(alias = "read_feather")]
    #[doc(alias = "read_ipc")]
    #[doc(alias = "scan_csv")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        TableFile::open(path.as_ref())?.into_table()
    }

    /// [`open`](Self::open) a file of text of which the encoding, the separator or the decimal mark is stated, or a spreadsheet of
    /// which the sheet is.
    ///
    /// ```
    /// use topicbook::{Table, TextFormat};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// std::fs::write("prices.csv", "thing;price\nship;1,234\ntea;2,500\n")?;
    /// let by = |mark| Table::open_with("prices.csv", TextFormat::new().decimal(mark)?);
    /// assert_eq!(by(',')?.numbers("price")?, [1.234, 2.5]);
    /// assert_eq!(by('.')?.numbers("price")?, [1234.0, 2500.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open), and if a file of this format does not have what is stated, such as a separator in Parquet; or if the
    /// spreadsheet does not have the sheet.
    ///
    /// # Cost
    /// As [`open`](Self::open); a file with decimal commas is read once more.
    #[doc(alias = "read_csv2")]
    #[doc(alias = "thousands")]
    pub fn open_with(path: impl AsRef<Path>, format: impl OrRef<TextFormat>) -> Result<Self> {
        TableFile::open_with(path.as_ref(), *format.value())?.into_table()
    }
}
