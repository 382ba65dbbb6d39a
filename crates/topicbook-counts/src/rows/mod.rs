//! Access to rows of counts, in memory or in a file.

mod blocks;
mod nonzeros;
mod pick;
mod prefetch;
mod row_file;
mod row_files;
mod row_reader;

pub use blocks::ReadAhead;
pub use blocks::{Block, Visit, for_each_block, for_each_file_block};
pub use nonzeros::{
    NonzeroBuffer, append_nonzeros, columns_between, count_between, find_nonzeros, nonzeros_after,
    nonzeros_between, nonzeros_of_row, prefetch_nonzeros,
};
pub use pick::{Pick, PickedRows};
pub use prefetch::Reader;
pub use row_file::{Access, NONZERO_BYTES, RowBuffer, RowFile, STAGE_BYTES, Stage};
pub use row_files::RowFiles;
pub use row_reader::RowReader;
