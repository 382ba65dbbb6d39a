//! A batch of documents, for a training loop of one's own.

use std::ops::Range;

use crate::data::Matrix;

/// A batch of documents, for a training loop of one's own.
#[derive(Debug, Clone)]
pub struct CountBatch {
    pub(super) epoch: usize,
    pub(super) batch: usize,
    pub(super) is_last: bool,
    pub(super) documents: Vec<usize>,
    /// Empty without labels.
    pub(super) labels: Vec<i64>,
    pub(super) rows: Matrix,
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

    /// The class of each document as a number from 0, in the order of [`documents`](Self::documents);
    /// [`Batches::labels`](crate::Batches::labels) has an example. Empty without labels: a loss of Burn's then panics over a shape
    /// of 0.
    pub fn labels(&self) -> Vec<i64> {
        self.labels.clone()
    }

    /// These documents of the batch: a micro-batch.
    #[doc(hidden)]
    pub fn slice(&self, range: Range<usize>) -> Self {
        if range.len() == self.documents.len() {
            return self.clone();
        }
        let columns = self.rows.columns();
        let values = self.rows.values()[range.start * columns..range.end * columns].to_vec();
        Self {
            documents: self.documents[range.clone()].to_vec(),
            labels: self
                .labels
                .get(range.clone())
                .map(<[i64]>::to_vec)
                .unwrap_or_default(),
            rows: Matrix::from_parts(range.len(), columns, values),
            ..*self
        }
    }
}
