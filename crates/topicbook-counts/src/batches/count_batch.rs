//! A batch of documents, for a training loop of one's own.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::Csr;
use crate::data::Matrix;
use crate::rows::append_nonzeros;

/// A batch of documents, for a training loop of one's own.
#[derive(Debug, Clone)]
pub struct CountBatch {
    pub(super) epoch: usize,
    pub(super) batch: usize,
    pub(super) is_last: bool,
    pub(super) documents: Vec<usize>,
    /// Empty without labels.
    pub(super) labels: Vec<i64>,
    pub(super) values: BatchValues,
}

/// The rows of a batch.
#[derive(Debug, Clone)]
pub(super) enum BatchValues {
    Dense(Matrix),
    /// Of sparse counts: the number of terms, the nonzero counts, and the dense rows once they have been asked for.
    Sparse(usize, Arc<Csr>, Arc<OnceLock<Matrix>>),
}

impl BatchValues {
    pub(super) fn sparse(terms: usize, rows: Csr) -> Self {
        Self::Sparse(terms, Arc::new(rows), Arc::default())
    }

    fn dense(&self) -> Matrix {
        match self {
            Self::Dense(rows) => rows.clone(),
            Self::Sparse(terms, csr, dense) => dense.get_or_init(|| csr.to_dense(*terms)).clone(),
        }
    }

    /// These rows.
    fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Dense(rows) => {
                let columns = rows.columns();
                let values = rows.values()[range.start * columns..range.end * columns].to_vec();
                Self::Dense(Matrix::from_parts(range.len(), columns, values))
            }
            Self::Sparse(terms, csr, _) => Self::sparse(*terms, csr.select(&Vec::from_iter(range))),
        }
    }
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
    /// tensor of Burn of it. Of sparse counts, the first call fills them: 4 bytes x documents x terms.
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
        self.values.dense()
    }

    /// The nonzero counts in the three vectors that [`Counts::csr`](crate::Counts::csr) takes: where the counts of each document
    /// start and the last end, then their terms, in increasing order, and the counts themselves. Copied: 8 bytes each. Of sparse
    /// counts, no dense rows are filled.
    ///
    /// ```
    /// use topicbook::Counts;
    /// let counts = Counts::csr(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 4.0])?;
    /// let batch = counts.batches(2)?.in_order().next().expect("there are documents")?;
    /// let (starts, terms, values) = batch.nonzeros();
    /// assert_eq!((starts, terms, values), (vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 4.0]));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "csr_matrix")]
    pub fn nonzeros(&self) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
        let rows = match &self.values {
            BatchValues::Sparse(_, csr, _) => {
                return (csr.indptr.clone(), csr.indices.clone(), csr.values.clone());
            }
            BatchValues::Dense(rows) => rows,
        };
        let (mut starts, mut terms, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..rows.rows() {
            append_nonzeros(rows.row(row), 0, &mut terms, &mut values);
            starts.push(terms.len() as u64);
        }
        (starts, terms, values)
    }

    /// The class of each document as a number from 0, in the order of [`documents`](Self::documents);
    /// [`Batches::labels`](crate::Batches::labels) has an example. Empty without labels.
    pub fn labels(&self) -> Vec<i64> {
        self.labels.clone()
    }

    /// These documents of the batch: a micro-batch.
    #[doc(hidden)]
    pub fn slice(&self, range: Range<usize>) -> Self {
        if range.len() == self.documents.len() {
            return self.clone();
        }
        Self {
            documents: self.documents[range.clone()].to_vec(),
            labels: self
                .labels
                .get(range.clone())
                .map(<[i64]>::to_vec)
                .unwrap_or_default(),
            values: self.values.slice(range),
            ..*self
        }
    }
}
