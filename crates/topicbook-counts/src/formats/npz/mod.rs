//! Sparse counts in `.npz` archives, in the format of `scipy.sparse.save_npz` and `load_npz`.

mod append;
mod archive;
mod checksum;
mod read;
mod stored;
mod write;

pub use append::{NewCounts, RowSink, write_rows};
pub(in crate::formats) use archive::Archive;
pub use checksum::EntryChecksum;
pub use read::{open, open_unlinked};
pub use stored::FileArray;
pub use write::{write, write_file};
