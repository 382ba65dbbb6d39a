//! Writing synthetic counts to a file while they are drawn, in bounded memory.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};
use crate::formats::{RowSink, packed};
use crate::rows::find_nonzeros;
use crate::system::DISK_FULL_REMEDY;
use crate::text::shown_path;
use crate::{CountValue, Counts, Dtype, as_bytes, write_npy_file};

use super::corpus::Corpus;
use super::{BLOCK, Synthetic, Truth, too_large};

/// Number of counts that are drawn before they are written.
const BLOCK_VALUES: usize = 1 << 24;

impl Synthetic {
    /// Draws the corpus into a `.npy` file of the narrowest dtype that fits the counts, and opens it.
    /// [`generate`](Self::generate) draws the same counts.
    ///
    /// ```
    /// use topicbook::{Location, Synthetic};
    /// # let _folder = topicbook::example_folder()?;
    /// let recipe = Synthetic::new(50, 20, 3).avg_doc_length(200).seed(1);
    /// let corpus = recipe.write_npy("X.npy")?;
    /// assert_eq!(corpus.counts().location(), Location::File("X.npy".into()));
    /// assert_eq!(corpus.counts().summary()?, recipe.generate()?.counts().summary()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a size or the mean length is zero, or the path does not end in `.npy`. If L, F and the buffers do not fit into the
    /// free memory. If a count is above 4,294,967,294, the disk is too small (checked before any write), or writing fails.
    ///
    /// # Cost
    /// The operations of [`generate`](Self::generate), `n * m` values on disk, and a bounded memory: about 100 MB, and
    /// L and F.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<Corpus> {
        self.check()?;
        let rows = documents_at_once(self.terms).min(self.documents) as u64;
        self.check_memory(rows.saturating_mul(size_of::<u32>() as u64 * self.terms as u64))?;
        let path = path.as_ref();
        let truth = Truth::draw(self);
        let counts = match truth.dtype(self) {
            Dtype::U8 => truth.write::<u8>(self, path)?,
            Dtype::U16 => truth.write::<u16>(self, path)?,
            _ => None,
        };
        let counts = match counts {
            Some(counts) => counts,
            None => truth.write::<u32>(self, path)?.ok_or_else(too_large)?,
        };
        truth.into_corpus(self, counts)
    }

    /// Draws the corpus into packed counts, a `.tbc` file of the counts that are not zero, and opens it.
    /// [`generate`](Self::generate) draws the same counts; [`Counts::write_packed`] describes the file.
    ///
    /// ```
    /// use topicbook::Synthetic;
    /// # let _folder = topicbook::example_folder()?;
    /// let recipe = Synthetic::new(50, 20, 3).avg_doc_length(200).seed(1);
    /// let corpus = recipe.write_packed("X.tbc")?;
    /// assert_eq!(corpus.counts().summary()?, recipe.generate()?.counts().summary()?);
    /// # Ok::<(), topicbook::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a size or the mean length is zero, or the path does not end in `.tbc`. If L, F and the buffers do not fit into the
    /// free memory. If a count is above 4,294,967,294, or writing fails.
    ///
    /// # Cost
    /// The operations of [`generate`](Self::generate), 1 to 2 bytes for a count on disk, and a bounded memory: about 100 MB, and
    /// L and F.
    pub fn write_packed(&self, path: impl AsRef<Path>) -> Result<Corpus> {
        self.check()?;
        let rows = documents_at_once(self.terms).min(self.documents) as u64;
        self.check_memory(rows.saturating_mul(size_of::<u32>() as u64 * self.terms as u64))?;
        let truth = Truth::draw(self);
        let counts = truth.pack(self, path.as_ref())?;
        truth.into_corpus(self, counts)
    }
}

/// Number of documents that are drawn before they are written.
fn documents_at_once(terms: usize) -> usize {
    (BLOCK_VALUES / terms).next_multiple_of(BLOCK).max(BLOCK)
}

impl Truth {
    fn pack(&self, recipe: &Synthetic, path: &Path) -> Result<Counts> {
        let documents = documents_at_once(self.terms);
        let mut rows = vec![0; documents.min(recipe.documents) * self.terms];
        let mean = (self.density(recipe) * self.terms as f64) as u64;
        let progress = recipe.progress(&format!(" to {}", shown_path(path)));
        let (mut columns, mut counts) = (Vec::new(), Vec::new());
        packed::write_file(path, self.terms, mean, |out| {
            for first in (0..recipe.documents).step_by(documents) {
                let rows = &mut rows[..documents.min(recipe.documents - first) * self.terms];
                if !self.draw_rows(recipe, first, rows, &progress)? {
                    return Err(too_large());
                }
                for row in rows.chunks(self.terms) {
                    columns.clear();
                    find_nonzeros(row, 0, &mut columns);
                    counts.clear();
                    counts.extend(columns.iter().map(|&column| row[column as usize]));
                    out.append(&columns, &counts)?;
                }
            }
            Ok(())
        })
    }

    /// Writes and opens the file; `None` if a count does not fit the type.
    fn write<T>(&self, recipe: &Synthetic, path: &Path) -> Result<Option<Counts>>
    where
        T: CountValue + TryFrom<u32>,
    {
        let documents = documents_at_once(self.terms);
        let mut rows = vec![T::default(); documents.min(recipe.documents) * self.terms];
        let mut fits = true;
        let shape = (recipe.documents, self.terms);
        let progress = recipe.progress(&format!(" to {}", shown_path(path)));
        let written = write_npy_file(path, shape, T::DTYPE, DISK_FULL_REMEDY, |out| {
            for first in (0..recipe.documents).step_by(documents) {
                let rows = &mut rows[..documents.min(recipe.documents - first) * self.terms];
                fits = self.draw_rows(recipe, first, rows, &progress)?;
                if !fits {
                    return Err(too_large());
                }
                out.write_all(as_bytes(rows))
                    .map_err(|error| Error::io("write", path, error))?;
            }
            Ok(())
        });
        if fits { written.map(Some) } else { Ok(None) }
    }
}
