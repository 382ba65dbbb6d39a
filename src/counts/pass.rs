//! A sequential pass over all counts in their stored dtype, in bounded memory.

use crate::counts::rows::{Block, RowFile, STAGE_BYTES, for_each_file_block};
use crate::error::Result;
use crate::system::memory::free_memory;

use super::{Counts, Layout};

/// Bytes of a read buffer; one is filled while the other is in use.
const READ_BYTES: u64 = 16 << 20;

/// Bytes of memory that the pass uses in addition to the counts.
pub(super) fn pass_bytes(counts: &Counts) -> u64 {
    match counts.has_row_file() && counts.layout() == Layout::Dense {
        true => 2 * READ_BYTES.min(counts.bytes_stored()) + STAGE_BYTES as u64,
        false => 0,
    }
}

/// Calls `visit` with all documents in order: in one block where the counts are in memory, in blocks of about 16 MB where
/// they are read from their file.
///
/// Dense counts of a file are always streamed, since a sequential read is faster than page faults; an `.npz` that has not been
/// read is streamed with `streamed`, or if it needs more than a quarter of the free memory.
pub(super) fn for_each_stored_block(
    counts: &Counts,
    streamed: bool,
    visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    let documents = counts.documents();
    match file_to_stream(counts, streamed)? {
        // Dense rows keep their dtype, so that counts that are not exact in `f32` stay exact.
        Some(row_file) => {
            // Bytes of a row in the buffer; a sparse row may be smaller in the file.
            let row_bytes = (counts.bytes_stored() / documents as u64).max(1);
            let block = (READ_BYTES / row_bytes).max(1) as usize;
            // Two buffers; a single row may be larger than a buffer should be.
            counts
                .claim()
                .check_memory(row_bytes.saturating_mul(2 * block as u64))?;
            for_each_file_block(row_file, block, visit)
        }
        None => counts.with_view(|view| {
            visit(Block {
                view,
                rows: 0..documents,
                first: 0,
            })
        }),
    }
}

/// Opens the counts' file for the pass, if the pass streams it.
fn file_to_stream(counts: &Counts, streamed: bool) -> Result<Option<RowFile>> {
    let fits = || !streamed && counts.bytes_stored() <= free_memory() / 4;
    match counts.layout() {
        Layout::Csr if !counts.is_unread() || fits() => Ok(None),
        _ => counts.row_file(false),
    }
}
