//! Sparse counts in `.npz` archives, in the format of `scipy.sparse.save_npz` and `load_npz`.

mod append;
mod archive;
mod checksum;
mod read;
mod rows;
mod write;

pub(crate) use append::{NewCounts, RowSink, write_rows};
pub(crate) use read::{LazyCsr, open, open_unlinked};
pub(crate) use rows::{Checksums, CsrArrays};
pub(crate) use write::{write, write_file};
