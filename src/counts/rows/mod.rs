//! Access to rows of counts, in memory or in a file.

mod blocks;
mod nonzeros;
mod pick;
mod prefetch;
mod row_file;
mod row_files;
mod row_reader;

#[cfg(any(test, feature = "cluster-worker"))]
pub(crate) use blocks::ReadAhead;
pub(crate) use blocks::{Block, Visit, for_each_block, for_each_file_block};
pub(crate) use nonzeros::{
    NonzeroBuffer, append_nonzeros, columns_between, count_between, find_nonzeros, nonzeros_after,
    nonzeros_between, nonzeros_of_row, prefetch_nonzeros,
};
pub(crate) use pick::{Pick, PickedRows};
pub(crate) use prefetch::Reader;
pub(crate) use row_file::{Access, NONZERO_BYTES, RowBuffer, RowFile, STAGE_BYTES, Stage};
pub(crate) use row_files::RowFiles;
pub(crate) use row_reader::RowReader;
