//! More documents than there are: rows drawn with replacement.

use std::path::Path;

use super::dtype::Dtype;
use super::rows::Pick;
use super::{Counts, npz, write};
use crate::display::{Card, count};
use crate::error::{Error, Result};

/// Counts whose documents are drawn, with replacement, from those of other counts: a way to files of any size with real
/// documents in them. Made by [`Counts::resample`].
///
/// Nothing is read before it is written. Writing takes up to 64 MB of memory (one document, where a document takes more;
/// for `.npz` also 8 bytes a document), however many documents are drawn: about four million counts at a time are drawn
/// and put into the order of the file they come from, read where they lie and written. So the source and the new file
/// may both be larger than memory (but for a source in a `.npz` file, which is read into memory); a drawn document
/// costs reading one.
///
/// ```
/// use topicbook::Counts;
/// # let folder = std::env::temp_dir().join(format!("topicbook-resample-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("X_large.npy");
/// let counts = Counts::dense(2, 3, vec![0u8, 7, 3, 1, 0, 2])?;
/// let large = counts.resample(1_000).seed(1).write_npy(&path)?;
/// assert_eq!(large.shape(), (1_000, 3));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), topicbook::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Resample {
    counts: Counts,
    documents: usize,
    seed: u64,
}

impl Counts {
    /// `n` documents drawn from these, each with the same probability and any number of times; seed 0. To be written
    /// to a file by the methods of [`Resample`].
    pub fn resample(&self, n: usize) -> Resample {
        Resample {
            counts: self.clone(),
            documents: n,
            seed: 0,
        }
    }
}

impl Resample {
    /// The seed; the same seed draws the same documents, whatever the number of threads and the dtype written.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Writes a `.npy` file of the dtype of the counts, and opens it. Otherwise as [`Counts::write_npy`]: complete or
    /// not there, refused before anything is written where the disk is too small, with progress.
    ///
    /// # Errors
    /// As [`Counts::write_npy`]; when `n` is zero; when the file that the counts come from changes.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.counts.dtype())
    }

    /// The same with a given dtype. See [`Counts::write_npy_as`].
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy), and on the first value that the dtype does not hold exactly.
    pub fn write_npy_as(&self, path: impl AsRef<Path>, dtype: Dtype) -> Result<Counts> {
        write::write_npy(&self.counts, self.pick()?, path.as_ref(), dtype)
    }

    /// The same with the narrowest dtype that holds all counts that could be drawn: a quarter or half of the bytes to
    /// write, and to read in every epoch. See [`Counts::write_npy_narrow`].
    ///
    /// # Errors
    /// As [`write_npy`](Self::write_npy) and [`Counts::summary`].
    pub fn write_npy_narrow(&self, path: impl AsRef<Path>) -> Result<Counts> {
        self.write_npy_as(path, self.counts.narrowest()?)
    }

    /// Writes a sparse `.npz` file and opens it. See [`Counts::write_npz`].
    ///
    /// # Errors
    /// As [`Counts::write_npz`]; when `n` is zero; when the file that the counts come from changes.
    ///
    /// # Cost
    /// Every drawn document is read three times.
    pub fn write_npz(&self, path: impl AsRef<Path>) -> Result<Counts> {
        npz::write(&self.counts, self.pick()?, path.as_ref())
    }

    fn pick(&self) -> Result<Pick> {
        match self.documents {
            0 => Err(Error::setting("0 documents to draw").fix("resample(n) with n of at least 1")),
            documents => Ok(Pick::Drawn {
                documents,
                seed: self.seed,
            }),
        }
    }

    /// Shows what will be drawn below a cell.
    pub fn evcxr_display(&self) {
        Card::new("Documents to be drawn with replacement")
            .row("documents", count(self.documents as u64))
            .row("from", self.counts.to_string())
            .row("seed", self.seed.to_string())
            .note(
                "Nothing is drawn before it is written: write_npy, write_npy_narrow or write_npz.",
            )
            .show();
    }
}
