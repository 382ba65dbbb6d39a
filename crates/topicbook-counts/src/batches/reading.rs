//! How a fit reads its counts, and the memory it needs for that.

use serde::{Deserialize, Serialize};

use crate::Counts;
use crate::error::{Error, Result};
use crate::rows::{NONZERO_BYTES, STAGE_BYTES};
use crate::system::memory::free_memory;
use crate::text::count;

/// How a fit reads its counts.
///
/// Streaming needs a file whose rows can be read separately: `.npy`, `.safetensors`, `.tbc`, a `.h5ad` or 10x `.h5` that is sparse by
/// rows, or an uncompressed `.npz` (as [`Counts::write_npz`] and SciPy's `save_npz(compressed=False)` write it). It keeps two
/// shuffle buffers in memory, one in use and one being read. Dense rows become CSR in the buffers if that needs less memory.
///
/// ```
/// use topicbook::{Reading, Synthetic, TopicModel};
/// # let _folder = topicbook::example_folder()?;
/// let counts = Synthetic::new(60, 30, 3).seed(1).write_npy("X.npy")?.counts();
/// let model = TopicModel::new(3).epochs(2).quiet();
/// assert_eq!(model.fit(&counts)?.settings().reading, Reading::InPlace); // what `Auto` has chosen
/// let stream = Reading::Stream { block: 4, blocks: 8 };
/// assert_eq!(model.reading(stream).fit(&counts)?.settings().reading, stream);
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
#[doc(alias("DataLoader", "streaming"))]
pub enum Reading {
    /// In place, unless the counts are in a file that is larger than the budget or half of the free memory, or memory is too
    /// small for a fit in place. Then the fit streams, or reads in place after all if a stream does not fit.
    #[default]
    Auto,
    /// From memory or a memory-mapped file, with the documents in fully random order.
    InPlace,
    /// From the file, with positioned reads on a background thread: blocks of consecutive documents are read in random
    /// order into a buffer of `blocks` blocks, whose documents are then shuffled. Every document occurs once per epoch.
    Stream {
        /// Documents in a block, at least 1.
        block: usize,
        /// Blocks in the shuffle buffer, at least 1.
        blocks: usize,
    },
}

/// Sizes of the block shuffle of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shuffle {
    /// Documents in a block.
    pub block: usize,
    /// Blocks in the buffer.
    pub blocks: usize,
}

/// Bytes of a block in the file. From about one megabyte on, blocks in random order are read as fast as the whole file
/// in sequence (measured, see benches/records/memory.md).
const BLOCK_BYTES: u64 = 2 << 20;
/// Minimum number of blocks in the buffer. With fewer, the documents of a buffer are not mixed well enough.
const MIN_BLOCKS: usize = 32;
/// Default memory for the buffers.
pub const DEFAULT_BUFFER_BYTES: u64 = 256 << 20;
/// Bytes per document of the index vectors of [`Streamed`](super::source::Streamed): its row, its document, and its document in
/// the next buffer.
const INDEX_BYTES: u64 = 3 * size_of::<usize>() as u64;

impl Shuffle {
    /// Documents in the buffer, rounded up to whole batches, so that no batch spans two buffers.
    pub fn documents(&self, batch_size: usize) -> usize {
        // Settings and checkpoints may state sizes beyond the number of documents.
        self.block
            .saturating_mul(self.blocks)
            .checked_next_multiple_of(batch_size)
            .unwrap_or(usize::MAX)
    }

    /// Chooses sizes for a memory budget in bytes: blocks large enough for fast reads, and as many as fit. `None` if
    /// not even one batch fits.
    pub fn for_budget(counts: &Counts, batch_size: usize, budget: u64) -> Result<Option<Self>> {
        let documents = counts.documents();
        let batch = batch_size.min(documents);
        let per_document = 2 * row_bytes(counts)? + INDEX_BYTES;
        let piece = counts.piece_bytes();
        let capacity = budget.saturating_sub(STAGE_BYTES as u64 + piece) / per_document.max(1);
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        if capacity < batch {
            return Ok(None);
        }
        // A buffer of an eighth of the documents mixes them well enough; a larger one would delay the first batch.
        let buffer = (capacity / batch * batch)
            .min((documents / 8).max(batch * MIN_BLOCKS))
            .min(documents);
        let file_row_bytes = (counts.bytes_stored() / documents as u64).max(1);
        // A block that is smaller than a piece would be unpacked with its neighbours.
        let fast = BLOCK_BYTES.max(piece) / file_row_bytes;
        let fast = usize::try_from(fast).unwrap_or(usize::MAX);
        let block = fast.min(buffer / MIN_BLOCKS).max(1);
        let block = match counts.piece_documents() {
            Some(piece) if piece < block => block / piece * piece,
            _ => block,
        };
        Ok(Some(Self {
            block,
            blocks: (buffer / block).max(1),
        }))
    }

    /// Bytes of memory of both buffers, their indices, the reader's stage and what it unpacks.
    pub fn bytes(&self, counts: &Counts, batch_size: usize) -> Result<u64> {
        let documents = self.documents(batch_size).min(counts.documents()) as u64;
        let reader = STAGE_BYTES as u64 + counts.piece_bytes();
        Ok(documents * (2 * row_bytes(counts)? + INDEX_BYTES) + reader)
    }
}

/// Mean bytes of a document in a buffer.
fn row_bytes(counts: &Counts) -> Result<u64> {
    let documents = counts.documents() as u64;
    Ok(if counts.is_buffered_as_csr()? {
        (counts.nonzeros()? * NONZERO_BYTES).div_ceil(documents) + size_of::<u64>() as u64
    } else {
        counts.bytes_stored() / documents
    })
}

impl Reading {
    /// Replaces `Auto` by one of the other two, and checks that streaming is possible.
    #[doc(hidden)]
    pub fn resolve(self, counts: &Counts, batch_size: usize) -> Result<Self> {
        match self {
            Reading::Auto if counts.has_row_file() && counts.bytes_stored() > free_memory() / 2 => {
                let budget = DEFAULT_BUFFER_BYTES.min(free_memory() / 4);
                let Shuffle { block, blocks } = Shuffle::for_budget(counts, batch_size, budget)?
                    .ok_or_else(|| batch_too_large(batch_size, budget))?;
                Ok(Reading::Stream { block, blocks })
            }
            Reading::Auto => Ok(Reading::InPlace),
            Reading::Stream { .. } if !counts.has_row_file() => Err(Error::setting(
                "only counts in a file whose rows can be read separately can be streamed",
            )
            .at(counts.to_string())
            .fix("write them with write_npy or write_npz (which does not compress), or read them in place")),
            other => Ok(other),
        }
    }

    /// The sizes of the stream; `None` for other ways of reading.
    #[doc(hidden)]
    pub fn shuffle(self) -> Option<Shuffle> {
        match self {
            Reading::Stream { block, blocks } => Some(Shuffle { block, blocks }),
            _ => None,
        }
    }

    #[doc(hidden)]
    pub fn check(self) -> Result<()> {
        match self {
            Reading::Stream { block: 0, .. } | Reading::Stream { blocks: 0, .. } => Err(
                Error::setting("a stream needs blocks of documents, and a buffer of blocks")
                    .fix("use at least one document per block, and one block in the buffer"),
            ),
            _ => Ok(()),
        }
    }

    /// Description for users.
    #[doc(hidden)]
    pub fn describe(self) -> String {
        match self {
            Reading::Auto => "in place, or streamed if the file is large".into(),
            Reading::InPlace => "in place, documents in fully random order".into(),
            Reading::Stream { block, blocks } => format!(
                "streamed: blocks of {} documents in random order, shuffled in a buffer of {} blocks",
                count(block as u64),
                count(blocks as u64)
            ),
        }
    }
}

fn batch_too_large(batch_size: usize, budget: u64) -> Error {
    Error::setting(format!(
        "a batch of {batch_size} documents does not fit into buffers of {}",
        crate::text::bytes(budget)
    ))
    .fix("use a smaller batch size")
}
