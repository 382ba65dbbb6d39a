//! Data types that the other folders share: matrices, tables, terms, documents, and files of named matrices.

mod csv_quotes;
mod csv_rows;
#[cfg(feature = "polars")]
mod csv_text;
mod documents;
mod epoch;
mod find_term;
mod indices;
#[cfg(feature = "polars")]
mod labels;
mod matrix;
mod number_text;
mod or_ref;
#[cfg(feature = "polars")]
pub(crate) mod parquet;
mod row_draws;
mod sort_documents;
#[cfg(feature = "polars")]
mod table;
pub(crate) mod tensor_file;
mod terms;
mod top_n;

pub(crate) use csv_quotes::{CsvByte, CsvQuotes};
pub(crate) use csv_rows::{CsvRows, check_names};
#[cfg(feature = "polars")]
pub(crate) use csv_text::{CsvScan, csv_header, csv_names};
pub(crate) use documents::SavedDocuments;
pub use documents::{Documents, LabelValue};
pub use epoch::Epoch;
pub use indices::Indices;
#[cfg(feature = "polars")]
pub(crate) use labels::Labels;
pub use matrix::Matrix;
#[cfg(feature = "charts")]
pub(crate) use matrix::Picked;
pub(crate) use number_text::NumberText;
pub use or_ref::OrRef;
pub(crate) use or_ref::{or_ref, sealed};
pub(crate) use row_draws::{drawn_rows, first_part};
pub use sort_documents::sort_documents;
#[cfg(feature = "charts")]
pub(crate) use sort_documents::{dominant, row_sum};
#[cfg(feature = "polars")]
pub(crate) use table::TableParts;
#[cfg(feature = "polars")]
pub use table::{
    ColumnValues, Columns, Condition, DataFrameJoinOps, GroupBy, JoinKeys, Table, TableValue,
};
pub(crate) use tensor_file::{FileKind, NamedTable, invalid_file, table_bytes};
pub use terms::Terms;
pub(crate) use top_n::{TopN, top_n};
