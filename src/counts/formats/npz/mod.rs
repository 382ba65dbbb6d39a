//! Sparse counts in `.npz` archives, in the format of `scipy.sparse.save_npz` and `load_npz`.

mod append;
mod archive;
mod checksum;
mod read;
mod stored;
mod write;

pub(crate) use append::{NewCounts, RowSink, write_rows};
pub(in crate::counts::formats) use archive::Archive;
pub(crate) use checksum::EntryChecksum;
pub(crate) use read::{NpzFile, open, open_unlinked};
pub(crate) use stored::FileArray;
pub(crate) use write::{write, write_file};
