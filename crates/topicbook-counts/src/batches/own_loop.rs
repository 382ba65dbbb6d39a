//! Batches for a training loop of one's own.

use std::fmt;

use crate::Counts;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::system::{EpochOrders, TorchRandom};
use crate::text::{count, counted};

use super::{Order, Reading, Source, open_source};

impl Counts {
    /// Batches of this number of documents, for a training loop of one's own: an iterator over all batches of one epoch or of
    /// several, each epoch in another random order. Counts in a file are read as a fit reads them, in place or as a stream,
    /// and while one buffer of a stream is in use, the next one is read.
    ///
    /// The iterator owns a handle of the counts, so that a variable keeps it from cell to cell:
    /// `for batch in batches.by_ref().take(10)` takes ten more.
    ///
    /// ```
    /// use topicbook::Synthetic;
    /// let counts = Synthetic::new(60, 30, 3).avg_doc_length(200).seed(1).generate()?.counts();
    /// let mut seen = 0;
    /// for batch in counts.batches(16)?.epochs(2).seed(1) {
    ///     let batch = batch?;
    ///     assert_eq!(batch.rows().shape(), (batch.documents().len(), 30));
    ///     seen += batch.documents().len();
    /// }
    /// assert_eq!(seen, 2 * 60);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a batch has no document. Each batch is a `Result`: a file may have been changed or damaged meanwhile.
    ///
    /// # Cost
    /// A batch is copied into dense rows: 4 bytes x batch size x terms.
    #[doc(alias = "DataLoader")]
    pub fn batches(&self, batch_size: usize) -> Result<Batches> {
        if batch_size == 0 {
            return Err(
                Error::setting("a batch of 0 documents").fix("use a batch size of at least 1")
            );
        }
        Ok(Batches {
            counts: self.clone(),
            batch_size,
            seed: Some(0),
            reading: Reading::Auto,
            epochs: 1,
            next: (0, 0),
            source: None,
        })
    }
}

/// Batches of documents in random order, for a training loop of one's own; [`Counts::batches`] makes them and has an example.
pub struct Batches {
    counts: Counts,
    batch_size: usize,
    /// `None`: in the order of the counts.
    seed: Option<u64>,
    reading: Reading,
    epochs: usize,
    /// Epoch and batch that come next, both counted from 0.
    next: (usize, usize),
    /// Opened with the first batch.
    source: Option<Box<dyn Source>>,
}

impl Batches {
    /// These batches with other settings, of which none has been read.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = Self {
            counts: self.counts.clone(),
            source: None,
            ..*self
        };
        change(&mut changed);
        changed
    }

    /// The seed of the order; 0 by default. Read in place, the documents have the order that PyTorch's
    /// `DataLoader(shuffle=True)` gives them on the CPU after `torch.manual_seed(seed)`.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let first = |seed| counts.batches(4)?.seed(seed).next().expect("there are documents");
    /// assert_eq!(first(7)?.documents(), first(7)?.documents());
    /// assert_ne!(first(7)?.documents(), first(8)?.documents());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "manual_seed")]
    pub fn seed(&self, seed: u64) -> Self {
        self.with(|batches| batches.seed = Some(seed))
    }

    /// The documents in the order of the counts, read in place: for evaluation.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let first = counts.batches(4)?.in_order().next().expect("there are documents")?;
    /// assert_eq!(first.documents(), [0, 1, 2, 3]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn in_order(&self) -> Self {
        self.with(|batches| batches.seed = None)
    }

    /// Number of epochs; 1 by default.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// assert_eq!(counts.batches(16)?.epochs(3).count(), 3 * 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn epochs(&self, epochs: usize) -> Self {
        self.with(|batches| batches.epochs = epochs)
    }

    /// How counts in a file are read; [`Reading::Auto`] by default.
    ///
    /// ```
    /// use topicbook::{Reading, Synthetic};
    /// # let folder = tempfile::tempdir().unwrap();
    /// # std::env::set_current_dir(&folder).unwrap();
    /// let counts = Synthetic::new(60, 30, 3).seed(1).write_npy("X.npy")?.counts();
    /// let stream = counts.batches(16)?.reading(Reading::Stream { block: 4, blocks: 8 });
    /// assert_eq!(stream.count(), 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn reading(&self, reading: Reading) -> Self {
        self.with(|batches| batches.reading = reading)
    }

    /// Goes on at a batch of an epoch, both counted from 0, as a loop that was interrupted there would have: the same
    /// documents come in the same order.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let batches = counts.batches(16)?.epochs(2);
    /// let sixth = batches.start_at(1, 1).next().expect("there are eight")?;
    /// let all: Vec<_> = batches.start_at(0, 0).collect::<Result<_, _>>()?;
    /// assert_eq!(sixth.documents(), all[5].documents());
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "resume")]
    pub fn start_at(&self, epoch: usize, batch: usize) -> Self {
        self.with(|batches| batches.next = (epoch, batch))
    }

    /// Number of batches in an epoch; the last one may have fewer documents.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// assert_eq!(counts.batches(16)?.batches_per_epoch(), 4);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn batches_per_epoch(&self) -> usize {
        self.counts.documents().div_ceil(self.batch_size)
    }

    /// The source of the batches, as for a fit.
    fn open(&self) -> Result<Box<dyn Source>> {
        self.reading.check()?;
        let documents = self.counts.documents();
        let reading = match self.seed {
            Some(_) => self.reading.resolve(&self.counts, self.batch_size)?,
            None => Reading::InPlace,
        };
        let order = || -> Order {
            let Some(seed) = self.seed else {
                return Box::new(move |_| (0..documents).collect());
            };
            let mut orders = EpochOrders::new(TorchRandom::new(seed), documents);
            Box::new(move |epoch| orders.of(epoch))
        };
        let stream = (self.seed.unwrap_or_default(), self.epochs);
        open_source(&self.counts, reading, self.batch_size, stream, order)
    }

    fn read(&mut self, epoch: usize, batch: usize) -> Result<CountBatch> {
        let terms = self.counts.terms();
        let is_last = batch + 1 == self.batches_per_epoch();
        let mut source = match self.source.take() {
            Some(source) => source,
            None => self.open()?,
        };
        let read = source.batch(epoch, batch)?;
        let documents = read.documents.to_vec();
        let rows = Matrix::from_parts(documents.len(), terms, read.dense(terms));
        self.source = Some(source);
        // No value of a file that has been changed may be used.
        self.counts.check_unchanged()?;
        Ok(CountBatch {
            epoch,
            batch,
            is_last,
            documents,
            rows,
        })
    }
}

/// Ends after the last epoch, and after an error.
impl Iterator for Batches {
    type Item = Result<CountBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let (epoch, batch) = self.next;
        if epoch >= self.epochs || batch >= self.batches_per_epoch() {
            return None;
        }
        let read = self.read(epoch, batch);
        self.next = match &read {
            Ok(read) if read.is_last => (epoch + 1, 0),
            Ok(_) => (epoch, batch + 1),
            Err(_) => (self.epochs, 0),
        };
        Some(read)
    }
}

impl fmt::Display for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, batch) = self.next;
        write!(
            f,
            "{} batches an epoch, {} a batch, for {}; next is batch {} of epoch {}, both counted from 0",
            count(self.batches_per_epoch() as u64),
            counted(self.batch_size, "document"),
            counted(self.epochs, "epoch"),
            count(batch as u64),
            count(epoch as u64)
        )
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches")
            .field("counts", &self.counts)
            .field("batch_size", &self.batch_size)
            .field("seed", &self.seed)
            .field("reading", &self.reading)
            .field("epochs", &self.epochs)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// A batch of documents, for a training loop of one's own.
#[derive(Debug, Clone)]
pub struct CountBatch {
    epoch: usize,
    batch: usize,
    is_last: bool,
    documents: Vec<usize>,
    rows: Matrix,
}

impl CountBatch {
    /// The epoch, counted from 0.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let last = counts.batches(16)?.epochs(2).last().expect("there are documents")?;
    /// assert_eq!((last.epoch(), last.batch(), last.is_last()), (1, 3, true));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn epoch(&self) -> usize {
        self.epoch
    }

    /// The batch within the epoch, counted from 0; [`epoch`](Self::epoch) has an example.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Whether it is the last batch of its epoch; [`epoch`](Self::epoch) has an example.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// The documents, as row numbers of the counts: `labels.select(batch.documents())` and `l.select_rows(batch.documents())` have
    /// what belongs to them.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let batch = counts.batches(16)?.next().expect("there are documents")?;
    /// assert_eq!(batch.documents().len(), 16);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn documents(&self) -> Vec<usize> {
        self.documents.clone()
    }

    /// The counts, documents x terms, in the order of [`documents`](Self::documents). A handle, not a copy; `to_tensor` makes a
    /// tensor of Burn of it.
    ///
    /// ```
    /// # let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let batch = counts.batches(16)?.next().expect("there are documents")?;
    /// let mut row = vec![0.0; 30];
    /// counts.fill_rows(&batch.documents()[..1], &mut row)?;
    /// assert_eq!(batch.rows().row(0), row);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn rows(&self) -> Matrix {
        self.rows.clone()
    }
}
