//! Sparse counts in `.npz` archives, in the format of `scipy.sparse.save_npz` and `load_npz`.

mod archive;
mod checksum;
mod read;
mod stored;
mod write;

pub(crate) use checksum::EntryChecksum;
pub(crate) use read::{NpzFile, open};
pub(crate) use stored::FileArray;
pub(crate) use write::write;
