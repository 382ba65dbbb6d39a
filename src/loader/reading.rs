//! How a fit reads its counts, and what that takes.

use serde::{Deserialize, Serialize};

use crate::counts::{Counts, SPARSE_BYTES, STAGE};
use crate::display::{Card, count};
use crate::error::{Error, Result};
use crate::memory::free_memory;

/// How a fit reads its counts.
///
/// Streaming needs a file whose rows can be read where they lie: `.npy`, `.safetensors`, or a `.npz` that is stored and
/// not deflated (as [`Counts::write_npz`] and SciPy's `save_npz(compressed=False)` write it). It holds two fillings of
/// its buffer in memory, one in use and one being read; dense rows are kept as their nonzero counts where that is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reading {
    /// In place, unless the counts lie in a file and would take more than half of the free memory.
    #[default]
    Auto,
    /// In memory, or in a file that is mapped; documents in fully random order.
    InPlace,
    /// From the file, in positioned reads by a thread of its own: blocks of consecutive documents in random order, with
    /// the documents of `blocks` blocks shuffled among themselves. Every document is met once an epoch.
    Stream {
        /// Documents in a block.
        block: usize,
        /// Blocks in the shuffle buffer.
        blocks: usize,
    },
}

/// Blocks and buffer of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shuffle {
    /// Documents in a block.
    pub(crate) block: usize,
    /// Blocks in the buffer.
    pub(crate) blocks: usize,
}

/// Bytes of a block in the file: from about one megabyte on, scattered blocks are read as quickly as the whole file in
/// order (measured, see benches/memory.md).
const BLOCK_BYTES: u64 = 2 << 20;
/// A buffer of fewer blocks is mixed too badly.
const FEWEST_BLOCKS: usize = 32;
/// Memory for the buffers when nobody says how much.
pub(crate) const DEFAULT_BYTES: u64 = 256 << 20;
/// Bytes of a document's row number and document number.
const NUMBERS: u64 = 3 * size_of::<usize>() as u64;

impl Shuffle {
    /// Documents in a filling of the buffer: whole batches, so that none is cut in two.
    pub(crate) fn documents(&self, batch_size: usize) -> usize {
        self.block
            .saturating_mul(self.blocks)
            .next_multiple_of(batch_size)
    }

    /// The sizes for a budget of bytes: blocks large enough to be read quickly, as many of them as fit. `None` when not
    /// even a batch fits.
    pub(crate) fn for_budget(
        counts: &Counts,
        batch_size: usize,
        budget: u64,
    ) -> Result<Option<Self>> {
        let documents = counts.documents();
        let batch = batch_size.min(documents);
        let per_document = 2 * row_bytes(counts)? + NUMBERS;
        let fit = budget.saturating_sub(STAGE as u64) / per_document.max(1);
        let fit = usize::try_from(fit).unwrap_or(usize::MAX);
        if fit < batch {
            return Ok(None);
        }
        // An eighth of the documents mixes well enough, and the first batch need not wait for more.
        let buffer = (fit / batch * batch)
            .min((documents / 8).max(batch * FEWEST_BLOCKS))
            .min(documents);
        let in_file = (counts.bytes_stored() / documents as u64).max(1);
        let quick = usize::try_from(BLOCK_BYTES / in_file).unwrap_or(usize::MAX);
        let block = quick.min(buffer / FEWEST_BLOCKS).max(1);
        Ok(Some(Self {
            block,
            blocks: (buffer / block).max(1),
        }))
    }

    /// Bytes of memory that the buffers take.
    pub(crate) fn bytes(&self, counts: &Counts, batch_size: usize) -> Result<u64> {
        let documents = self.documents(batch_size).min(counts.documents()) as u64;
        Ok(documents * (2 * row_bytes(counts)? + NUMBERS) + STAGE as u64)
    }
}

/// Bytes of one document in a buffer, on average.
fn row_bytes(counts: &Counts) -> Result<u64> {
    let documents = counts.documents() as u64;
    Ok(if counts.better_sparse()? {
        (counts.summary()?.nonzeros() * SPARSE_BYTES).div_ceil(documents) + size_of::<u64>() as u64
    } else {
        counts.bytes_stored() / documents
    })
}

impl Reading {
    /// The same with nothing left open: in place, or a stream of known sizes.
    pub(crate) fn resolve(self, counts: &Counts, batch_size: usize) -> Result<Self> {
        match self {
            Reading::Auto if counts.is_stored() && counts.bytes_stored() > free_memory() / 2 => {
                let budget = DEFAULT_BYTES.min(free_memory() / 4);
                let Shuffle { block, blocks } = Shuffle::for_budget(counts, batch_size, budget)?
                    .ok_or_else(|| too_large_a_batch(batch_size, budget))?;
                Ok(Reading::Stream { block, blocks })
            }
            Reading::Auto => Ok(Reading::InPlace),
            Reading::Stream { .. } if !counts.is_stored() => Err(Error::setting(
                "only counts in a file whose rows can be read where they lie are streamed",
            )
            .at(counts.to_string())
            .fix("write them with write_npy or write_npz (which does not deflate), or read them in place")),
            other => Ok(other),
        }
    }

    /// The stream's sizes.
    pub(crate) fn shuffle(self) -> Option<Shuffle> {
        match self {
            Reading::Stream { block, blocks } => Some(Shuffle { block, blocks }),
            _ => None,
        }
    }

    pub(crate) fn check(self) -> Result<()> {
        match self {
            Reading::Stream { block: 0, .. } | Reading::Stream { blocks: 0, .. } => {
                Err(Error::setting("a stream of empty blocks, or of no blocks")
                    .fix("at least one document a block, and one block in the buffer"))
            }
            _ => Ok(()),
        }
    }

    /// In words, for cards.
    pub(crate) fn describe(self) -> String {
        match self {
            Reading::Auto => "in place, or streamed from a file that is large".into(),
            Reading::InPlace => "in place, documents in fully random order".into(),
            Reading::Stream { block, blocks } => format!(
                "streamed: blocks of {} documents in random order, {} at a time shuffled",
                count(block as u64),
                count(blocks as u64)
            ),
        }
    }

    /// Shows how counts are read below a cell.
    pub fn evcxr_display(&self) {
        Card::new("Reading")
            .row("counts are read", self.describe())
            .show();
    }
}

fn too_large_a_batch(batch_size: usize, budget: u64) -> Error {
    Error::setting(format!(
        "a batch of {batch_size} documents does not fit into {} of buffers",
        crate::display::bytes(budget)
    ))
    .fix("use a smaller batch size")
}
