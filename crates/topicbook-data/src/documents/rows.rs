//! Some of the documents: the rows that the methods of counts select, split and draw.

use crate::Indices;
use crate::error::{Error, Result};
use crate::row_draws::{drawn_rows, first_part};
use crate::text::counted;

use super::Documents;

impl Documents {
    /// The documents of these rows, in the order given (rows may repeat or be left out), as
    /// `Counts::select` takes them. [`sort_documents`](crate::sort_documents) gives an order by
    /// topics.
    ///
    /// ```
    /// let documents = topicbook::Documents::new(["a", "b", "c"])?;
    /// assert_eq!(documents.select([2, 0])?.names(), ["c", "a"]);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such row, or no row at all.
    #[doc(alias = "take")]
    pub fn select(&self, rows: impl Indices) -> Result<Self> {
        self.rows(&rows.to_indices())
    }

    /// The documents of both parts of `Counts::split` with the same share and seed.
    ///
    /// ```
    /// use topicbook::{Counts, Documents};
    /// let counts = Counts::dense(4, 1, vec![1u8, 2, 3, 4])?;
    /// let documents = Documents::numbered(4)?.with_numbers("length", [1, 2, 3, 4])?;
    /// let (train, test) = counts.split(0.5, 1)?;
    /// let (train_documents, test_documents) = documents.split(0.5, 1)?;
    /// assert_eq!(train.summary()?.document_lengths(), train_documents.numbers("length")?);
    /// assert_eq!(test.summary()?.document_lengths(), test_documents.numbers("length")?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `share` is not between 0 and 1, or one of the parts would have no document.
    #[doc(alias = "train_test_split")]
    pub fn split(&self, share: f64, seed: u64) -> Result<(Self, Self)> {
        let in_first = first_part(self.len(), share, seed)?;
        let part = |first: bool| -> Result<Self> {
            let rows: Vec<usize> = (0..self.len())
                .filter(|&row| in_first[row] == first)
                .collect();
            self.rows(&rows)
        };
        Ok((part(true)?, part(false)?))
    }

    /// The documents that `Counts::resample` draws with the same number and seed; its seed is 0
    /// unless `Resample::seed` sets it.
    ///
    /// ```
    /// use topicbook::{Counts, Documents};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(3, 1, vec![1u8, 2, 3])?;
    /// let documents = Documents::numbered(3)?.with_numbers("length", [1, 2, 3])?;
    /// let sample = counts.resample(5).seed(7).write_npy("sample.npy")?;
    /// assert_eq!(sample.summary()?.document_lengths(), documents.resample(5, 7)?.numbers("length")?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// When `n` is 0.
    #[doc(alias = "bootstrap")]
    pub fn resample(&self, n: usize, seed: u64) -> Result<Self> {
        self.rows(&drawn_rows(self.len(), 0..n, seed))
    }

    fn rows(&self, rows: &[usize]) -> Result<Self> {
        if let Some(&row) = rows.iter().find(|&&row| row >= self.len()) {
            return Err(
                Error::shape(format!("row {row} of {}", counted(self.len(), "document")))
                    .fix("rows are counted from 0"),
            );
        }
        let mut selected = Self::numbered(rows.len())?;
        // Documents without names keep the numbers that they had.
        selected.names = Some(rows.iter().filter_map(|&row| self.name(row)).collect());
        let columns = self.columns.iter();
        selected.columns = columns
            .map(|(name, values)| (name.clone(), values.select(rows)))
            .collect();
        selected.left_out = self.left_out.clone();
        Ok(selected)
    }
}
