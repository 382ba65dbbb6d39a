//! Sources of batches for the training loop.

use crate::Counts;
use crate::error::Result;
use crate::rows::{Access, Reader, RowBuffer, RowFiles};

use super::Batch;
use super::reading::{Reading, Shuffle};
use super::shuffle::BlockShuffle;

/// The batches of a fit. Any batch can be requested; consecutive requests are fastest.
pub trait Source: Send {
    /// Returns a batch of an epoch, both counted from 0.
    fn batch(&mut self, epoch: usize, batch: usize) -> Result<Batch<'_>>;
}

/// Returns the order of the documents in an epoch (counted from 0).
pub type Order = Box<dyn FnMut(usize) -> Vec<usize> + Send>;

/// Batches of counts: streamed from their file where `reading` says so and the file allows it, and otherwise in place. The seed
/// and the number of epochs are those of a stream, and `order` is called for the other one alone.
pub fn open_source(
    counts: &Counts,
    reading: Reading,
    batch_size: usize,
    (seed, epochs): (u64, usize),
    order: impl FnOnce() -> Order,
) -> Result<Box<dyn Source>> {
    if let Some(shuffle) = reading.shuffle()
        && let Some(row_file) = counts.row_file(counts.is_buffered_as_csr()?)?
    {
        let file = (row_file, counts.largest_known());
        let stream = Streamed::new(file, shuffle, batch_size, seed, epochs)?;
        return Ok(Box::new(stream));
    }
    Ok(Box::new(InPlace::new(counts, batch_size, order())))
}

/// Batches of counts in memory or in a memory-mapped file.
pub struct InPlace {
    counts: Counts,
    batch_size: usize,
    order: Order,
    /// The epoch whose order `documents` has.
    epoch: Option<usize>,
    documents: Vec<usize>,
}

impl InPlace {
    pub fn new(counts: &Counts, batch_size: usize, order: Order) -> Self {
        Self {
            counts: counts.clone(),
            batch_size,
            order,
            epoch: None,
            documents: Vec::new(),
        }
    }
}

impl Source for InPlace {
    fn batch(&mut self, epoch: usize, batch: usize) -> Result<Batch<'_>> {
        if self.epoch != Some(epoch) {
            self.documents = (self.order)(epoch);
            self.epoch = Some(epoch);
        }
        // Checks that a mapped file has not changed. The training loop checks that again before it uses results.
        let view = self.counts.view()?;
        let first = batch * self.batch_size;
        let last = self.documents.len().min(first + self.batch_size);
        let documents = &self.documents[first..last];
        Ok(Batch {
            view,
            rows: documents,
            documents,
            largest: self.counts.largest_known(),
        })
    }
}

/// Batches from a shuffle buffer that is filled from a file. While one buffer is in use, a background thread fills the
/// next.
pub struct Streamed {
    order: BlockShuffle,
    batch_size: usize,
    /// No count of the file is larger.
    largest: f64,
    /// Number of epochs of the fit: buffers of later epochs are not read ahead.
    epochs: usize,
    /// The fill that `buffer` has.
    cursor: Option<Cursor>,
    /// The buffer in use; empty until the first fill is received.
    buffer: RowBuffer,
    /// For each document of the fill, in shuffled order, its row in `buffer`.
    rows: Vec<usize>,
    /// For each document of the fill, in shuffled order, its row in the counts.
    documents: Vec<usize>,
    /// The fill that was requested from the reader, with the documents of its rows.
    next: Option<(Cursor, Vec<usize>)>,
    /// An epoch and the order of its blocks.
    blocks: Option<(usize, Vec<usize>)>,
    /// A buffer that is neither in use nor with the reader.
    spare: Option<RowBuffer>,
    reader: Reader,
}

/// A buffer fill of an epoch, both counted from 0.
#[derive(Clone, Copy, PartialEq)]
struct Cursor {
    epoch: usize,
    fill: usize,
}

impl Streamed {
    /// Starts the reader's thread. Reads nothing yet. No count of the file is larger than `largest`.
    pub fn new(
        (row_file, largest): (RowFiles, f64),
        shuffle: Shuffle,
        batch_size: usize,
        seed: u64,
        epochs: usize,
    ) -> Result<Self> {
        let order = BlockShuffle {
            documents: row_file.documents(),
            block: shuffle.block,
            buffer: shuffle.documents(batch_size),
            seed,
        };
        Ok(Self {
            order,
            batch_size,
            largest,
            epochs,
            cursor: None,
            buffer: row_file.buffer(),
            rows: Vec::new(),
            documents: Vec::new(),
            next: None,
            blocks: None,
            spare: Some(row_file.buffer()),
            reader: Reader::start(row_file, Access::Scattered)?,
        })
    }

    /// Requests a fill of `buffer` from the reader.
    fn request(&mut self, cursor: Cursor, buffer: RowBuffer) {
        let Cursor { epoch, fill } = cursor;
        let order = self.order;
        let blocks = match self.blocks.take() {
            Some((of, blocks)) if of == epoch => blocks,
            _ => order.blocks(epoch),
        };
        let ranges = order.row_ranges(&blocks, fill);
        self.blocks = Some((epoch, blocks));
        let documents: Vec<usize> = ranges.iter().cloned().flatten().collect();
        self.reader.request(ranges, buffer);
        self.next = Some((cursor, documents));
    }

    /// Waits for a fill, makes it the one in use, and requests the one after it.
    fn load(&mut self, cursor: Cursor) -> Result<()> {
        let requested = matches!(&self.next, Some((next, _)) if *next == cursor);
        if !requested {
            // The first batch of a fit, or of a resumed fit. Another fill in flight is discarded.
            if self.next.take().is_some() {
                self.spare = Some(self.reader.receive()?);
            }
            if let Some(spare) = self.spare.take() {
                self.request(cursor, spare);
            }
        }
        let filled = self.reader.receive()?;
        let used = std::mem::replace(&mut self.buffer, filled);
        let all = self
            .next
            .take()
            .map(|(_, documents)| documents)
            .unwrap_or_default();
        let Cursor { epoch, fill } = cursor;
        self.rows = self.order.row_order(epoch, fill, all.len());
        self.documents = self.rows.iter().map(|&row| all[row]).collect();
        self.cursor = Some(cursor);
        let after = if fill + 1 < self.order.fills() {
            Cursor {
                epoch,
                fill: fill + 1,
            }
        } else {
            Cursor {
                epoch: epoch + 1,
                fill: 0,
            }
        };
        if after.epoch < self.epochs {
            self.request(after, used);
        } else {
            self.spare = Some(used);
        }
        Ok(())
    }
}

impl Source for Streamed {
    fn batch(&mut self, epoch: usize, batch: usize) -> Result<Batch<'_>> {
        let first = batch * self.batch_size;
        let fill = first / self.order.buffer;
        let cursor = Cursor { epoch, fill };
        if self.cursor != Some(cursor) {
            self.load(cursor)?;
        }
        let first = first - fill * self.order.buffer;
        let last = self.rows.len().min(first + self.batch_size);
        Ok(Batch {
            view: self.buffer.view()?,
            rows: &self.rows[first..last],
            documents: &self.documents[first..last],
            largest: self.largest,
        })
    }
}
