//! Where the training loop gets its batches.

use super::order::BlockShuffle;
use super::reader::Reader;
use super::{Batch, Shuffle};
use crate::counts::{Access, Counts, RowBuffer, Stored};
use crate::error::Result;

/// The batches of a fit. Any batch can be asked for; one after the other is quick.
pub(crate) trait Source: Send {
    /// A batch of an epoch, both counted from 0.
    fn batch(&mut self, epoch: usize, batch: usize) -> Result<Batch<'_>>;
}

/// The documents of an epoch (counted from 0) in the order they are met.
pub(crate) type Order<'a> = Box<dyn FnMut(usize) -> Vec<usize> + Send + 'a>;

/// All counts at once, in memory or in a mapped file.
pub(crate) struct InPlace<'a> {
    counts: &'a Counts,
    batch_size: usize,
    order: Order<'a>,
    /// The order of this epoch.
    epoch: Option<usize>,
    documents: Vec<usize>,
}

impl<'a> InPlace<'a> {
    pub(crate) fn new(counts: &'a Counts, batch_size: usize, order: Order<'a>) -> Self {
        Self {
            counts,
            batch_size,
            order,
            epoch: None,
            documents: Vec::new(),
        }
    }
}

impl Source for InPlace<'_> {
    fn batch(&mut self, epoch: usize, batch: usize) -> Result<Batch<'_>> {
        if self.epoch != Some(epoch) {
            self.documents = (self.order)(epoch);
            self.epoch = Some(epoch);
        }
        let first = batch * self.batch_size;
        let last = self.documents.len().min(first + self.batch_size);
        let documents = &self.documents[first..last];
        Ok(Batch {
            // Asked for anew, which checks that a file is still whole.
            view: self.counts.view()?,
            rows: documents,
            documents,
        })
    }
}

/// A part of the counts at a time, read from their file while the part before it is trained on.
pub(crate) struct Streamed {
    order: BlockShuffle,
    batch_size: usize,
    /// Nothing is read ahead for this epoch and those after it.
    end: usize,
    /// Epoch and filling that are in `buffer`.
    place: Option<Place>,
    /// Read last, and looked at; empty while the next is read into it for the first time.
    buffer: RowBuffer,
    rows: Vec<usize>,
    documents: Vec<usize>,
    /// What the reader is reading, with the documents of its rows.
    next: Option<(Place, Vec<usize>)>,
    /// The order of the blocks of an epoch.
    blocks: Option<(usize, Vec<usize>)>,
    /// Not in use and not with the reader.
    spare: Option<RowBuffer>,
    reader: Reader,
}

type Place = (usize, usize);

impl Streamed {
    /// Reads nothing yet.
    pub(crate) fn new(
        stored: Stored,
        shuffle: Shuffle,
        batch_size: usize,
        seed: u64,
        end: usize,
    ) -> Result<Self> {
        let order = BlockShuffle {
            documents: stored.documents(),
            block: shuffle.block,
            buffer: shuffle.documents(batch_size),
            seed,
        };
        Ok(Self {
            order,
            batch_size,
            end,
            place: None,
            buffer: stored.buffer(),
            rows: Vec::new(),
            documents: Vec::new(),
            next: None,
            blocks: None,
            spare: Some(stored.buffer()),
            reader: Reader::start(stored, Access::Scattered)?,
        })
    }

    fn request(&mut self, place: Place, buffer: RowBuffer) {
        let (epoch, filling) = place;
        let order = self.order;
        let blocks = match self.blocks.take() {
            Some((of, blocks)) if of == epoch => blocks,
            _ => order.blocks(epoch),
        };
        let runs = order.runs(&blocks, filling);
        self.blocks = Some((epoch, blocks));
        let documents: Vec<usize> = runs.iter().cloned().flatten().collect();
        self.reader.request(runs, buffer);
        self.next = Some((place, documents));
    }

    fn turn_to(&mut self, place: Place) -> Result<()> {
        let expected = matches!(&self.next, Some((next, _)) if *next == place);
        if !expected {
            // The fit begins here, or was continued from here.
            if self.next.take().is_some() {
                self.spare = Some(self.reader.receive()?);
            }
            if let Some(spare) = self.spare.take() {
                self.request(place, spare);
            }
        }
        let filled = self.reader.receive()?;
        let used = std::mem::replace(&mut self.buffer, filled);
        let all = self
            .next
            .take()
            .map(|(_, documents)| documents)
            .unwrap_or_default();
        let (epoch, filling) = place;
        self.rows = self.order.rows(epoch, filling, all.len());
        self.documents = self.rows.iter().map(|&row| all[row]).collect();
        self.place = Some(place);
        let after = if filling + 1 < self.order.fillings() {
            (epoch, filling + 1)
        } else {
            (epoch + 1, 0)
        };
        if after.0 < self.end {
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
        let filling = first / self.order.buffer;
        if self.place != Some((epoch, filling)) {
            self.turn_to((epoch, filling))?;
        }
        let first = first - filling * self.order.buffer;
        let last = self.rows.len().min(first + self.batch_size);
        Ok(Batch {
            view: self.buffer.view()?,
            rows: &self.rows[first..last],
            documents: &self.documents[first..last],
        })
    }
}
