//! Synthetic counts straight into a file, in bounded memory.

use std::io::Write;
use std::path::Path;

use super::{BLOCK, Corpus, Synthetic, Truth, too_large};
use crate::counts::{CountValue, Counts, Dtype, as_bytes, write_npy_file};
use crate::error::{Error, Result};

/// Counts drawn before they are written.
const BLOCK_VALUES: usize = 1 << 24;

impl Synthetic {
    /// Draws the corpus into a `.npy` file of the narrowest dtype that holds the counts, and opens it: the same counts as
    /// [`generate`](Self::generate) draws. Memory stays bounded: about 100 MB, L and F.
    ///
    /// # Errors
    /// When a size is zero, the disk is too small (found before anything is written), or writing fails.
    pub fn write_npy(&self, path: impl AsRef<Path>) -> Result<Corpus> {
        self.check()?;
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
}

impl Truth {
    /// The file, or `None` when a count does not fit the type.
    fn write<T>(&self, recipe: &Synthetic, path: &Path) -> Result<Option<Counts>>
    where
        T: CountValue + TryFrom<u32>,
    {
        let documents = (BLOCK_VALUES / self.terms)
            .next_multiple_of(BLOCK)
            .max(BLOCK);
        let mut rows = vec![T::default(); documents.min(recipe.documents) * self.terms];
        let mut fits = true;
        let shape = (recipe.documents, self.terms);
        let progress = recipe.progress(&format!(" to {}", path.display()));
        let written = write_npy_file(path, shape, T::DTYPE, |out| {
            for first in (0..recipe.documents).step_by(documents) {
                let rows = &mut rows[..documents.min(recipe.documents - first) * self.terms];
                fits = self.draw_rows(recipe, first, rows, &progress);
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
