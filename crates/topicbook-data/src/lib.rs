//! Values that users of topicbook work with: matrices, tables, terms, documents, and files of named matrices.
//!
//! Users import `topicbook`, which shows the items of this crate. Hidden items are for the crates of this repository alone.
//!
//! | Feature | What it adds |
//! |---|---|
//! | `polars` | `Table` with its `GroupBy`, documents from tables, and what Parquet, Arrow and CSV files state |
//! | `burn` | conversions between matrices and tensors of Burn |

#[cfg(feature = "polars")]
mod arrow;
mod budget;
mod byte_size;
mod csv_header;
mod csv_quotes;
mod csv_rows;
#[cfg(feature = "polars")]
mod csv_scan;
mod decimal;
mod documents;
mod epoch;
mod find_term;
mod indices;
mod json_lines;
#[cfg(feature = "polars")]
mod labels;
mod matrix;
mod matrix_rows;
mod number_text;
mod or_ref;
#[cfg(feature = "polars")]
mod parquet;
#[cfg(feature = "polars")]
mod polars_input;
mod row_draws;
mod show;
mod sort_documents;
#[cfg(feature = "polars")]
mod table;
mod table_format;
#[doc(hidden)]
pub mod tensor_file;
#[cfg(feature = "burn")]
mod tensors;
mod terms;
mod text_format;
mod top_n;
mod with;

pub use budget::Budget;
pub use byte_size::ByteSize;
#[doc(hidden)]
pub use csv_header::CsvHeader;
#[doc(hidden)]
pub use csv_quotes::{CsvByte, CsvQuotes, LONGEST_QUOTED};
#[doc(hidden)]
pub use csv_rows::CsvRows;
#[doc(hidden)]
pub use decimal::{ColumnMarks, Decimal};
#[doc(hidden)]
pub use documents::SavedDocuments;
pub use documents::{Documents, LabelValue};
pub use epoch::Epoch;
#[doc(hidden)]
pub use find_term::remedy_by_nearest;
pub use indices::Indices;
#[doc(hidden)]
pub use json_lines::JsonLine;
#[cfg(feature = "polars")]
#[doc(hidden)]
pub use labels::Labels;
pub use matrix::Matrix;
#[doc(hidden)]
pub use matrix::Picked;
pub use matrix_rows::{MatrixRow, MatrixRows};
#[doc(hidden)]
pub use number_text::NumberText;
pub use or_ref::OrRef;
#[doc(hidden)]
pub use or_ref::sealed;
#[doc(hidden)]
pub use row_draws::{drawn_rows, first_part};
pub use sort_documents::sort_documents;
#[doc(hidden)]
pub use sort_documents::{dominant, row_sum};
#[cfg(feature = "polars")]
pub use table::{
    ColumnValues, Columns, Condition, DataFrameJoinOps, GroupBy, JoinKeys, Table, TableValue,
};
#[cfg(feature = "polars")]
#[doc(hidden)]
pub use table::{CsvFile, IN_MEMORY, RowGroups, TableFile, TableSource};
#[doc(hidden)]
pub use table_format::{TableFormat, converted, unknown_format};
#[doc(hidden)]
pub use tensor_file::{FileKind, NamedTable, invalid_file, table_bytes};
#[cfg(feature = "burn")]
#[doc(hidden)]
pub use tensors::{
    MAX_DOWNLOAD, NEED_LESS_MEMORY, download_failed, tensor_values, unexpected_data,
};
pub use terms::Terms;
pub use text_format::TextFormat;
#[doc(hidden)]
pub use top_n::{TopN, cosine, top_n};
#[doc(hidden)]
pub use topicbook_base::{Error, ErrorKind, Result};
#[doc(hidden)]
pub use with::With;

use csv_rows::check_names;
#[cfg(feature = "polars")]
use csv_scan::CsvScan;
pub(crate) use topicbook_base::{error, evcxr, system, text};

/// The Burn whose tensors [`Matrix::to_tensor`] gives and [`Matrix::from_tensor`] takes, so that nobody has to match its version.
///
/// ```
/// use topicbook::Matrix;
/// use topicbook::burn::backend::Flex;
/// let matrix = Matrix::new(1, 2, vec![0.5, 1.5])?;
/// let tensor = matrix.to_tensor::<Flex>(&Default::default());
/// assert_eq!(Matrix::from_tensor(tensor * 2.0)?.row(0), [1.0, 3.0]);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[cfg(feature = "burn")]
pub mod burn {
    pub use ::burn::*;
}

/// The Polars that [`Table`] is made of, so that nobody has to match its version.
#[cfg(feature = "polars")]
pub mod polars {
    pub use ::polars::*;

    /// The names of Polars' own prelude, with joins that cells compile quickly.
    pub mod prelude {
        pub use crate::DataFrameJoinOps;
        pub use ::polars::prelude::*;
    }
}
