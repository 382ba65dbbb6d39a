//! A sequential pass over all counts in their stored dtype, in bounded memory.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::rows::{Block, RowFiles, STAGE_BYTES, for_each_file_block};
use crate::system::memory::free_memory;

use super::{Counts, Layout};

/// Bytes of a read buffer where memory is not short; one is filled while the other is in use.
pub const READ_BYTES: u64 = 16 << 20;
/// Bytes of a read buffer below which a pass would spend its time in system calls.
const MIN_READ_BYTES: u64 = 128 << 10;

/// Sizes of a read buffer of a pass over a file, in bytes: at least one row, and no more than all rows.
pub fn read_bytes(counts: &Counts) -> RangeInclusive<u64> {
    let row = counts.bytes_stored().div_ceil(counts.documents() as u64);
    let least = row.max(MIN_READ_BYTES.min(counts.bytes_stored()));
    least..=least.max(READ_BYTES.min(counts.bytes_stored()))
}

/// Bytes of memory of a pass over a file whose read buffers have `read_bytes` each. Together they hold no more than all
/// rows.
pub fn pass_bytes(counts: &Counts, read_bytes: u64) -> u64 {
    (2 * read_bytes).min(counts.bytes_stored()) + STAGE_BYTES as u64 + counts.piece_bytes()
}

/// [`for_each_stored_block_within`] buffers of the default size.
pub(super) fn for_each_stored_block(
    counts: &Counts,
    streamed: bool,
    visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    for_each_stored_block_within(counts, streamed, READ_BYTES, visit)
}

/// Calls `visit` with all documents in order: in one block where the counts are in memory, in blocks of about `read_bytes`
/// where they are read from their file.
///
/// Dense counts of a file are always streamed, since a sequential read is faster than page faults. An `.npz` that has not
/// been read is streamed with `streamed`, or if it needs more than a quarter of the free memory. With `read_bytes` 0, sparse
/// counts are read into memory instead, where the fit whose plan says so has them anyway.
pub(super) fn for_each_stored_block_within(
    counts: &Counts,
    streamed: bool,
    read_bytes: u64,
    visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    let documents = counts.documents();
    let row_file = match read_bytes == 0 && counts.layout() == Layout::Csr {
        true => None,
        false => file_to_stream(counts, streamed)?,
    };
    match row_file {
        // Dense rows keep their dtype, so that counts that are not exact in `f32` stay exact.
        Some(row_file) => {
            // Bytes of a row in the buffer; a sparse row may be smaller in the file.
            let row_bytes = (counts.bytes_stored() / documents as u64).max(1);
            let block = (read_bytes / row_bytes).max(1) as usize;
            // Two buffers, which together hold no more than all rows; a single row may be larger than a buffer should be.
            let buffers = row_bytes.saturating_mul(2 * block as u64);
            counts
                .claim()
                .check_memory(buffers.min(counts.bytes_stored()))?;
            for_each_file_block(row_file, 0..documents, block, visit)
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
fn file_to_stream(counts: &Counts, streamed: bool) -> Result<Option<RowFiles>> {
    let fits = || !streamed && counts.bytes_stored() <= free_memory() / 4;
    match counts.layout() {
        Layout::Csr if !counts.is_unread() || fits() => Ok(None),
        _ => counts.row_file(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_has_blocks_of_the_size_of_its_buffers() {
        let folder = tempfile::tempdir().unwrap();
        let (documents, terms) = (100, 10);
        let values = (0..documents * terms).map(|at| u8::from(at % 10 == 0));
        let counts = Counts::dense(documents, terms, values.collect::<Vec<u8>>()).unwrap();
        let path = folder.path().join("X.npz");
        counts.write_npz(&path).unwrap();
        let blocks = |read_bytes| {
            let (mut blocks, mut rows) = (0, 0);
            let counts = Counts::open(&path).unwrap();
            for_each_stored_block_within(&counts, true, read_bytes, &mut |block| {
                blocks += 1;
                rows += block.rows.len();
                Ok(())
            })
            .unwrap();
            assert_eq!(rows, documents);
            blocks
        };
        let stored = Counts::open(&path).unwrap().bytes_stored();
        assert_eq!(blocks(1), documents);
        assert!((2..10).contains(&blocks(stored / 4)));
        // Read into memory, and not row by row.
        assert_eq!(blocks(0), 1);
    }
}
