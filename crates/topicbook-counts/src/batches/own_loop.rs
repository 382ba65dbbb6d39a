//! Batches for a training loop of one's own.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::data::{LabelValue, Matrix, first_part, or_ref};
use crate::error::{Error, Result};
use crate::system::{EpochOrders, TorchRandom};
use crate::text::{count, counted};
use crate::{Counts, View};

use super::count_batch::BatchValues;
use super::own_rows::Rows;
use super::{CountBatch, Order, Reading, Source, open_source};

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
    /// A batch is copied: 4 bytes x batch size x terms, or 8 bytes for each nonzero count of sparse counts.
    #[doc(alias = "DataLoader")]
    pub fn batches(&self, batch_size: usize) -> Result<Batches> {
        Batches::new(Rows::Counts(self.clone()), batch_size)
    }
}

/// Batches of documents in random order, for a training loop of one's own; [`Counts::batches`] makes them and has an example.
pub struct Batches {
    rows: Rows,
    /// For each row, its number in what the batches were made of, where they are a part of it.
    origin: Option<Arc<[usize]>>,
    labels: Option<Labels>,
    batch_size: usize,
    /// `None`: in the order of the counts.
    seed: Option<u64>,
    reading: Reading,
    epochs: usize,
    /// Epoch and batch that come next, both counted from 0.
    next: (usize, usize),
    /// Opened with the first batch.
    source: Option<Box<dyn Source>>,
    /// The order of rows that are not counts, and the epoch that has it.
    order: Option<(usize, Vec<usize>)>,
}

or_ref!(Batches);

/// The same batches, of which none has been read.
impl Clone for Batches {
    fn clone(&self) -> Self {
        self.with(|_| {})
    }
}

/// The class of each row, and the names of the classes.
#[derive(Debug, Clone)]
struct Labels {
    classes: Arc<[String]>,
    of: Arc<[i64]>,
}

impl Batches {
    fn new(rows: Rows, batch_size: usize) -> Result<Self> {
        if batch_size == 0 {
            return Err(
                Error::setting("a batch of 0 documents").fix("use a batch size of at least 1")
            );
        }
        Ok(Self {
            rows,
            origin: None,
            labels: None,
            batch_size,
            seed: Some(0),
            reading: Reading::Auto,
            epochs: 1,
            next: (0, 0),
            source: None,
            order: None,
        })
    }

    /// Batches of the rows of a matrix, such as features of any sign.
    ///
    /// ```
    /// use topicbook::{Batches, Matrix};
    /// let features = Matrix::new(3, 2, vec![0.5, -1.0, 2.0, 0.0, -0.5, 1.5])?;
    /// let batch = Batches::of_matrix(&features, 2)?.in_order().next().expect("there are two")?;
    /// assert_eq!(batch.rows().row(0), [0.5, -1.0]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a batch has no row.
    pub fn of_matrix(matrix: &Matrix, batch_size: usize) -> Result<Self> {
        Self::new(Rows::Matrix(matrix.clone()), batch_size)
    }

    /// Batches of row numbers alone, for data of one's own: pairs of words, ratings, places in a text.
    /// [`CountBatch::documents`] has the numbers.
    ///
    /// ```
    /// use topicbook::Batches;
    /// let ratings = [5, 3, 4];
    /// let mut sum = 0;
    /// for batch in Batches::of_rows(ratings.len(), 2)? {
    ///     sum += batch?.documents().iter().map(|&row| ratings[row]).sum::<i32>();
    /// }
    /// assert_eq!(sum, 12);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a batch has no row.
    pub fn of_rows(rows: usize, batch_size: usize) -> Result<Self> {
        Self::new(Rows::Numbers(rows), batch_size)
    }

    /// These batches with other settings, of which none has been read.
    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = Self {
            rows: self.rows.clone(),
            origin: self.origin.clone(),
            labels: self.labels.clone(),
            source: None,
            order: None,
            ..*self
        };
        change(&mut changed);
        changed
    }

    /// A label for each row, as `documents.labels("folder")?` has them, from which a classifier learns: [`CountBatch::labels`] has
    /// the classes of a batch as numbers from 0, in the order of [`classes`](Self::classes).
    ///
    /// ```
    /// use topicbook::Counts;
    /// let counts = Counts::dense(3, 2, vec![1u32, 0, 0, 2, 3, 0])?;
    /// let batches = counts.batches(3)?.labels(["sport", "art", "sport"])?;
    /// assert_eq!(batches.classes(), ["art", "sport"]);
    /// let batch = batches.in_order().next().expect("there is one")?;
    /// assert_eq!(batch.labels(), [1, 0, 1]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there are fewer or more labels than rows, or a row has none.
    #[doc(alias = "targets")]
    pub fn labels<I>(&self, labels: I) -> Result<Self>
    where
        I: IntoIterator,
        I::Item: LabelValue,
    {
        self.labelled(labels.into_iter().map(LabelValue::into_label).collect())
    }

    fn labelled(&self, labels: Vec<Option<String>>) -> Result<Self> {
        if let Some(row) = labels.iter().position(Option::is_none) {
            return Err(Error::setting(format!("row {row} has no label"))
                .fix("select the rows that have one, or give the others a label of their own"));
        }
        let labels: Vec<String> = labels.into_iter().flatten().collect();
        if labels.len() != self.rows.len() {
            let (found, rows) = (
                counted(labels.len(), "label"),
                counted(self.rows.len(), "row"),
            );
            return Err(Error::setting(format!("{found} for {rows}"))
                .fix("give one label for each row, in the order of the rows"));
        }
        let mut classes: Vec<&String> = labels.iter().collect();
        // Numbers in their order, and before words.
        classes.sort_by(|a, b| {
            let number = |label: &str| label.parse::<f64>().unwrap_or(f64::INFINITY);
            number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
        });
        classes.dedup();
        let numbers: HashMap<&String, i64> = classes.iter().copied().zip(0..).collect();
        let of = labels.iter().map(|label| numbers[label]).collect();
        let classes = classes.into_iter().cloned().collect();
        Ok(self.with(|batches| batches.labels = Some(Labels { classes, of })))
    }

    /// The classes of the [`labels`](Self::labels), sorted; numbers in their order. Empty without labels.
    ///
    /// ```
    /// # use topicbook::Counts;
    /// let counts = Counts::dense(3, 2, vec![1u32, 0, 0, 2, 3, 0])?;
    /// let batches = counts.batches(3)?.labels([10, 2, 10])?;
    /// assert_eq!(batches.classes(), ["2", "10"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn classes(&self) -> Vec<String> {
        let labels = self.labels.as_ref();
        labels.map_or_else(Vec::new, |labels| labels.classes.to_vec())
    }

    /// Two parts, as [`Counts::split`] makes them: batches for training with `share` of the rows, and batches in order for
    /// validation. Labels and settings are kept, and [`CountBatch::documents`] numbers the rows as before.
    ///
    /// ```
    /// let counts = topicbook::Synthetic::new(60, 30, 3).seed(1).generate()?.counts();
    /// let (train, valid) = counts.batches(16)?.split(0.75, 1)?;
    /// assert_eq!((train.rows(), valid.rows()), (45, 15));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Counts::split`], whose cost it has, too: both parts are copied in memory.
    #[doc(alias = "train_test_split")]
    pub fn split(&self, share: f64, seed: u64) -> Result<(Self, Self)> {
        let in_first = first_part(self.rows(), share, seed)?;
        let (train, valid): (Vec<usize>, Vec<usize>) =
            (0..self.rows()).partition(|&row| in_first[row]);
        Ok((self.part(&train)?, self.part(&valid)?.in_order()))
    }

    fn part(&self, rows: &[usize]) -> Result<Self> {
        let chosen = self.rows.select(rows)?;
        let origin = rows.iter().map(|&row| self.origin_of(row)).collect();
        let labels = self.labels.as_ref().map(|labels| Labels {
            classes: labels.classes.clone(),
            of: rows.iter().map(|&row| labels.of[row]).collect(),
        });
        Ok(self.with(|batches| {
            (batches.rows, batches.origin, batches.labels) = (chosen, Some(origin), labels);
        }))
    }

    fn origin_of(&self, row: usize) -> usize {
        self.origin.as_ref().map_or(row, |origin| origin[row])
    }

    /// Number of rows.
    ///
    /// ```
    /// assert_eq!(topicbook::Batches::of_rows(10, 4)?.rows(), 10);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.rows.len()
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
    /// # let _folder = topicbook::example_folder()?;
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
        self.rows.len().div_ceil(self.batch_size)
    }

    /// The order of the rows, epoch by epoch.
    fn order(&self) -> Order {
        let rows = self.rows.len();
        let Some(seed) = self.seed else {
            return Box::new(move |_| (0..rows).collect());
        };
        let mut orders = EpochOrders::new(TorchRandom::new(seed), rows);
        Box::new(move |epoch| orders.of(epoch))
    }

    /// The source of batches of counts, as for a fit.
    fn open(&self, counts: &Counts) -> Result<Box<dyn Source>> {
        self.reading.check()?;
        let reading = match self.seed {
            Some(_) => self.reading.resolve(counts, self.batch_size)?,
            None => Reading::InPlace,
        };
        let stream = (self.seed.unwrap_or_default(), self.epochs);
        open_source(counts, reading, self.batch_size, stream, || self.order())
    }

    /// The rows of a batch: their numbers here, and their values.
    fn values(&mut self, epoch: usize, batch: usize) -> Result<(Vec<usize>, BatchValues)> {
        if let Rows::Counts(counts) = &self.rows {
            let counts = counts.clone();
            let mut source = match self.source.take() {
                Some(source) => source,
                None => self.open(&counts)?,
            };
            let (terms, read) = (counts.terms(), source.batch(epoch, batch)?);
            let rows = read.documents.to_vec();
            let values = match read.view {
                View::Csr(csr) => BatchValues::sparse(terms, csr.select(read.rows)),
                View::Dense(_) => {
                    BatchValues::Dense(Matrix::from_parts(rows.len(), terms, read.dense(terms)))
                }
            };
            self.source = Some(source);
            // No value of a file that has been changed may be used.
            counts.check_unchanged()?;
            return Ok((rows, values));
        }
        let order = match self.order.take() {
            Some((known, order)) if known == epoch => order,
            _ => (self.order())(epoch),
        };
        let first = batch * self.batch_size;
        let rows = order[first..order.len().min(first + self.batch_size)].to_vec();
        self.order = Some((epoch, order));
        let values = match &self.rows {
            Rows::Matrix(matrix) => {
                let values = rows
                    .iter()
                    .flat_map(|&row| matrix.row(row))
                    .copied()
                    .collect();
                Matrix::from_parts(rows.len(), matrix.columns(), values)
            }
            _ => Matrix::from_parts(rows.len(), 0, Vec::new()),
        };
        Ok((rows, BatchValues::Dense(values)))
    }

    fn read(&mut self, epoch: usize, batch: usize) -> Result<CountBatch> {
        let (rows, values) = self.values(epoch, batch)?;
        let labels = self.labels.as_ref();
        let labels = labels.map(|labels| rows.iter().map(|&row| labels.of[row]).collect());
        Ok(CountBatch {
            epoch,
            batch,
            is_last: batch + 1 == self.batches_per_epoch(),
            documents: rows.iter().map(|&row| self.origin_of(row)).collect(),
            labels: labels.unwrap_or_default(),
            values,
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
            .field("rows", &self.rows)
            .field("batch_size", &self.batch_size)
            .field("seed", &self.seed)
            .field("reading", &self.reading)
            .field("epochs", &self.epochs)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
