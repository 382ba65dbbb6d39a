//! Samples of documents, drawn with replacement and written to a file.

use std::path::Path;

use crate::data::With;
use crate::error::{Error, Result};
use crate::formats::{npz, packed};
use crate::rows::Pick;

use super::dtype::Dtype;
use super::{Counts, write};

/// A sample of documents, drawn with replacement from counts. Made by [`Counts::resample`]; useful to make files of any
/// size from real documents.
///
/// Nothing is read before one of the `write` methods is called. The source and the new file may both be larger than
/// memory, except for a source in a `.npz` file, which is read into memory.
///
/// ```
/// use topicbook::Counts;
/// # let _folder = topicbook::example_folder()?;
/// let counts = Counts::dense(2, 3, vec![0u8, 7, 3, 1, 0, 2])?;
/// let large = counts.resample(1_000).seed(1).write_npy("X_large.npy")?;
/// assert_eq!(large.shape(), (1_000, 3));
/// # Ok::<(), topicbook::Error>(())
/// ```
///
/// # Cost
/// Writing works in blocks of about four million counts: the documents of a block are drawn, read in file order and
/// written. It needs up to 64 MB of memory (at least one document; for `.npz` also 8 bytes per document), for any
/// number of documents. Each drawn document costs one read.
#[derive(Debug, Clone)]
#[must_use = "nothing is drawn before one of the `write` methods is called"]
pub struct Resample {
    #[doc(hidden)]
    pub counts: Counts,
    #[doc(hidden)]
    pub documents: usize,
    #[doc(hidden)]
    pub seed: u64,
}

impl Counts {
    /// A sample of `n` documents (at least 1), drawn uniformly with replacement; seed 0. The methods of [`Resample`]
    /// write it to a file.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![0u8, 7, 3, 1, 0, 2])?;
    /// let sample = counts.resample(5).write_npy("X_sample.npy")?;
    /// assert_eq!(sample.shape(), (5, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "bootstrap")]
    pub fn resample(&self, n: usize) -> Resample {
        Resample {
            counts: self.clone(),
            documents: n,
            seed: 0,
        }
    }
}

impl Resample {
    /// Sets the seed; 0 by default, any `u64`. The same seed draws the same documents, for any number of threads and
    /// any dtype of the file.
    ///
    /// ```
    /// use topicbook::Counts;
    /// # let _folder = topicbook::example_folder()?;
    /// let sample = Counts::dense(2, 1, vec![0u8, 7])?.resample(100);
    /// let total = |counts: Counts| counts.summary().map(|summary| summary.total());
    /// let first = total(sample.seed(1).write_npy("a.npy")?)?;
    /// assert_eq!(first, total(sample.seed(1).write_npy("b.npy")?)?);
    /// assert_ne!(first, total(sample.seed(2).write_npy("c.npy")?)?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    #[doc(alias = "random_state")]
    pub fn seed(&self, seed: u64) -> Self {
        self.with(|changed| changed.seed = seed)
    }

    /// Writes a `.npy` file of the dtype of the counts, and opens it. Like [`Counts::write_npy`], it writes atomically,
    /// checks the free disk space first, and prints progress.
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = topicbook::Counts::dense(2, 3, vec![0u8, 7, 3, 1, 0, 2])?;
    /// let sample = counts.resample(5).seed(1).write_npy("X_sample.npy")?;
    /// assert_eq!((sample.shape(), sample.dtype()), ((5, 3), counts.dtype()));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Counts::write_npy`], and if `n` is 0.
    ///
    /// # Cost
    /// Reads every drawn document once; see [`Resample`].
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.counts.dtype())
    }

    /// Writes a `.npy` file of a given dtype, and opens it. See [`Counts::write_npy_as`].
    ///
    /// ```
    /// use topicbook::{Counts, Dtype};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![0i64, 7, 3, 1, 0, 2])?;
    /// let sample = counts.resample(5).seed(1).write_npy_as("X_sample.npy", Dtype::F32)?;
    /// assert_eq!(sample.dtype(), Dtype::F32);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy), and on the first value that the dtype does not represent exactly.
    ///
    /// # Cost
    /// As [`write_npy`](Self::write_npy).
    pub fn write_npy_as(&self, path: impl AsRef<Path>, dtype: Dtype) -> Result<Counts> {
        write::write_npy(&self.counts, self.pick()?, path.as_ref(), dtype)
    }

    /// Writes a `.npy` file of the narrowest dtype that represents every count of the source, and opens it. That is
    /// often a quarter or half of the bytes, to write now and to read in every epoch. See [`Counts::write_npy_narrow`].
    ///
    /// ```
    /// use topicbook::{Counts, Dtype};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![0i64, 7, 3, 1, 0, 2])?;
    /// let sample = counts.resample(5).seed(1).write_npy_narrow("X_sample.npy")?;
    /// assert_eq!(sample.dtype(), Dtype::U8);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy) and [`Counts::summary`].
    ///
    /// # Cost
    /// As [`write_npy`](Self::write_npy), and one pass over all counts of the source if its summary is not cached yet.
    pub fn write_npy_narrow(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.counts.narrowest()?)
    }

    /// Writes a sparse `.npz` file and opens it. See [`Counts::write_npz`].
    ///
    /// ```
    /// use topicbook::{Counts, Layout};
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = Counts::dense(2, 3, vec![0u8, 7, 3, 1, 0, 2])?;
    /// let sample = counts.resample(5).seed(1).write_npz("X_sample.npz")?;
    /// assert_eq!(sample.layout(), Layout::Csr);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Counts::write_npz`], and if `n` is 0.
    ///
    /// # Cost
    /// Reads every drawn document three times.
    pub fn write_npz(&self, path: impl AsRef<Path>) -> Result<Counts> {
        npz::write(&self.counts, self.pick()?, path.as_ref())
    }

    /// Writes packed counts (`.tbc`) and opens the file. See [`Counts::write_packed`].
    ///
    /// ```
    /// # let _folder = topicbook::example_folder()?;
    /// let counts = topicbook::Counts::dense(2, 3, vec![0u8, 7, 3, 1, 0, 2])?;
    /// let sample = counts.resample(5).seed(1).write_packed("X_sample.tbc")?;
    /// assert_eq!(sample.shape(), (5, 3));
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Counts::write_packed`], and if `n` is 0.
    ///
    /// # Cost
    /// Reads every drawn document once.
    pub fn write_packed(&self, path: impl AsRef<Path>) -> Result<Counts> {
        packed::write(&self.counts, self.pick()?, path.as_ref())
    }

    fn pick(&self) -> Result<Pick> {
        match self.documents {
            0 => {
                Err(Error::setting("0 documents to draw")
                    .fix("call resample(n) with n of at least 1"))
            }
            documents => Ok(Pick::Drawn {
                documents,
                seed: self.seed,
            }),
        }
    }
}
