//! Packed counts in `.tbc` files: blocks of documents, whose columns and counts are packed into few bits.
//! `docs/packed-counts.md` describes the format.

mod chunks;
mod read;
mod write;

pub use read::{PackedRows, open};
pub use write::{write, write_file, write_rows};

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"tbcounts";
/// The last bytes of a file.
const END: [u8; 4] = *b"tbc\n";
/// The version of the format that is written and read.
const VERSION: u32 = 1;
/// Bytes of the header: [`MAGIC`], version, documents of a block.
const HEADER_BYTES: usize = 16;
/// Bytes after the index: documents, terms, checksum, [`END`].
const FOOTER_BYTES: usize = 24;
/// Bytes of a block in the index: its end in the file, and the stored counts up to it.
const ENTRY_BYTES: usize = 16;
/// Bytes of the checksum at the start of a block.
const CHECKSUM_BYTES: usize = 4;
