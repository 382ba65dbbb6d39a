//! Rows of a file, read by their position into buffers that are used again and again.

use std::ops::Range;

use super::csr::Csr;
use super::dense::{DenseStore, Held, as_bytes_mut};
use super::dtype::{CountValue, Dtype, Element, with_dtype, with_values};
use super::file::{Advice, KeptFile};
use super::npz::Parts;
use super::{Counts, Layout, Store, View, nonzeros};
use crate::error::{Error, ErrorKind, Result};

/// Bytes on their way from the file to where they are used: small enough to stay in the processor's cache.
pub(crate) const STAGE: usize = 1 << 20;

/// Bytes of a sparse count in memory: its column and its value.
pub(crate) const SPARSE_BYTES: u64 = (size_of::<u32>() + size_of::<f32>()) as u64;

/// Counts in a file whose rows can be read where they lie: `.npy`, `.safetensors`, and `.npz` whose entries are stored
/// and not deflated.
pub(crate) struct Stored {
    file: KeptFile,
    documents: usize,
    terms: usize,
    arrangement: Arrangement,
    /// Whether dense rows are kept as their nonzero counts.
    sparse: bool,
    /// Nonzero counts of a document, on average, where that is known.
    nonzeros: Option<usize>,
}

enum Arrangement {
    Dense {
        /// First byte of the first row.
        start: u64,
        dtype: Dtype,
    },
    Csr(Parts),
}

/// How the rows of a file will be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// One after the other.
    Sequential,
    /// Some here and some there.
    Scattered,
}

/// Rows that were read, one after the other. Its memory is kept when it is filled again.
pub(crate) enum RowBuffer {
    Dense {
        values: DenseStore,
        /// Rows in it; what lies behind them is left from before.
        rows: usize,
    },
    Csr(Csr),
}

/// The stage, aligned for every dtype.
pub(crate) struct Stage(Vec<i64>);

impl Stage {
    pub(crate) fn new() -> Self {
        Self(vec![0; STAGE / size_of::<i64>()])
    }

    fn bytes(&mut self) -> &mut [u8] {
        as_bytes_mut(&mut self.0)
    }

    fn values<T: Element>(&mut self) -> &mut [T] {
        // SAFETY: every bit pattern is a valid value of the (sealed) element types.
        unsafe { self.0.align_to_mut::<T>().1 }
    }
}

impl Counts {
    /// The counts as rows of their file, or `None` when they do not lie in one that rows can be read from. Dense rows are
    /// kept as they are, or as their nonzero counts (`sparse`).
    pub(crate) fn stored(&self, sparse: bool) -> Result<Option<Stored>> {
        let (file, arrangement) = match &self.inner.store {
            Store::Dense(store) => match store.in_file() {
                Some((file, start)) => {
                    let dtype = store.dtype();
                    (file, Arrangement::Dense { start, dtype })
                }
                None => return Ok(None),
            },
            Store::Csr(csr) => match csr.parts() {
                Some((file, parts)) => (file, Arrangement::Csr(parts)),
                None => return Ok(None),
            },
        };
        Ok(Some(Stored {
            file: file.open_again()?,
            documents: self.documents(),
            terms: self.terms(),
            arrangement,
            sparse,
            nonzeros: self.mean_nonzeros(),
        }))
    }

    /// Whether rows can be read from the file where they lie.
    pub(crate) fn is_stored(&self) -> bool {
        match &self.inner.store {
            Store::Dense(store) => store.in_file().is_some(),
            Store::Csr(csr) => csr.parts().is_some(),
        }
    }

    /// Whether their nonzero counts take less memory than the rows as they are.
    pub(crate) fn better_sparse(&self) -> Result<bool> {
        let sparse = self.layout() == Layout::Csr;
        Ok(sparse || self.summary()?.nonzeros() * SPARSE_BYTES < self.bytes_stored())
    }
}

impl Stored {
    pub(crate) fn documents(&self) -> usize {
        self.documents
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.file.length
    }

    /// Bytes of one row in the file, on average.
    pub(crate) fn row_bytes(&self) -> u64 {
        match &self.arrangement {
            Arrangement::Dense { dtype, .. } => (self.terms * dtype.bytes()) as u64,
            Arrangement::Csr(parts) => parts.bytes() / self.documents as u64,
        }
        .max(1)
    }

    /// An empty buffer for rows of this file.
    pub(crate) fn buffer(&self) -> RowBuffer {
        match &self.arrangement {
            Arrangement::Dense { dtype, .. } if !self.sparse => RowBuffer::Dense {
                values: with_dtype!(*dtype, T => T::hold(Held::Memory(Vec::new()))),
                rows: 0,
            },
            _ => RowBuffer::Csr(Csr::empty()),
        }
    }

    /// Makes room for so many rows, as far as it is known how much they take: a buffer that grows would be copied.
    pub(crate) fn reserve(&self, buffer: &mut RowBuffer, rows: usize) {
        match buffer {
            RowBuffer::Dense { values, .. } => with_values!(DenseStore, values, held => {
                if let Held::Memory(values) = held {
                    values.reserve_exact((rows * self.terms).saturating_sub(values.len()));
                }
            }),
            RowBuffer::Csr(csr) => {
                csr.indptr.reserve_exact(rows);
                if let Some(mean) = self.nonzeros {
                    // These rows may be longer than most; room that is not used takes no memory.
                    let all = rows * mean + rows * mean / 8;
                    csr.indices.reserve_exact(all);
                    csr.values.reserve_exact(all);
                }
            }
        }
    }

    /// Says how the file will be read.
    pub(crate) fn expect(&self, access: Access) {
        let advice = match access {
            Access::Sequential => Advice::Sequential,
            // Reading ahead by itself, the system would read past every run of rows.
            Access::Scattered => Advice::Random,
        };
        self.file.advise(0, 0, advice);
    }

    /// Has the system start to read some rows.
    pub(crate) fn prefetch(&self, rows: Range<usize>) -> Result<()> {
        self.advise(rows, Advice::WillNeed)
    }

    /// Takes some rows, which have been read, out of the page cache.
    pub(crate) fn forget(&self, rows: Range<usize>) -> Result<()> {
        self.advise(rows, Advice::DontNeed)
    }

    fn advise(&self, rows: Range<usize>, advice: Advice) -> Result<()> {
        const PAGE: u64 = 1 << 12;
        let ranges = match &self.arrangement {
            Arrangement::Dense { start, dtype } => {
                let row = (self.terms * dtype.bytes()) as u64;
                [
                    start + row * rows.start as u64..start + row * rows.end as u64,
                    0..0,
                ]
            }
            Arrangement::Csr(parts) => parts.places(&self.file, rows)?,
        };
        for range in ranges {
            if !range.is_empty() {
                self.file
                    .advise(range.start / PAGE * PAGE, range.end, advice);
            }
        }
        Ok(())
    }

    /// Refuses a file that was changed, cut or replaced since the counts were opened.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        self.file.check_unchanged()?;
        self.file.check_in_place()
    }

    /// Reads some rows and adds them to a buffer that [`buffer`](Self::buffer) made.
    pub(crate) fn append(
        &self,
        rows: Range<usize>,
        buffer: &mut RowBuffer,
        stage: &mut Stage,
    ) -> Result<()> {
        let place = format!(
            "rows {} to {} (counted from 0)",
            rows.start,
            rows.end.saturating_sub(1)
        );
        match (&self.arrangement, buffer) {
            (Arrangement::Dense { start, dtype }, RowBuffer::Csr(csr)) => {
                with_dtype!(*dtype, T => self.append_nonzeros::<T>(*start, rows, csr, stage))
            }
            (Arrangement::Dense { start, .. }, RowBuffer::Dense { values, rows: held }) => {
                let begin = *held * self.terms;
                *held += rows.len();
                let end = *held * self.terms;
                with_values!(DenseStore, values, held => {
                    self.append_values(*start, rows.start, held, begin..end)
                })
            }
            (Arrangement::Csr(parts), RowBuffer::Csr(csr)) => {
                parts.append(&self.file, self.terms, rows, csr, stage.bytes())
            }
            (Arrangement::Csr(_), RowBuffer::Dense { .. }) => Err(Error::new(
                ErrorKind::Shape,
                "sparse rows do not go into a dense buffer",
            )),
        }
        .map_err(|error| {
            if error.place().is_none() {
                error.at(place)
            } else {
                error
            }
        })
    }

    fn append_values<T: Element>(
        &self,
        start: u64,
        first: usize,
        held: &mut Held<T>,
        place: Range<usize>,
    ) -> Result<()> {
        let Held::Memory(values) = held else {
            return Err(Error::new(ErrorKind::Shape, "a mapped file is no buffer"));
        };
        if values.len() < place.end {
            values.resize(place.end, T::default());
        }
        let offset = start + (first * self.terms * size_of::<T>()) as u64;
        self.file
            .read_exact_at(offset, as_bytes_mut(&mut values[place]))
    }

    fn append_nonzeros<T: CountValue>(
        &self,
        start: u64,
        rows: Range<usize>,
        csr: &mut Csr,
        stage: &mut Stage,
    ) -> Result<()> {
        let stage = stage.values::<T>();
        let mut offset = start + (rows.start * self.terms * size_of::<T>()) as u64;
        let mut left = rows.len() * self.terms;
        let mut column = 0;
        while left > 0 {
            let length = left.min(stage.len());
            let part = &mut stage[..length];
            self.file.read_exact_at(offset, as_bytes_mut(part))?;
            offset += size_of_val(part) as u64;
            left -= part.len();
            let mut part = &*part;
            while !part.is_empty() {
                let (row, rest) = part.split_at(part.len().min(self.terms - column));
                let before = csr.indices.len();
                nonzeros::find(row, column as u32, &mut csr.indices);
                csr.values.extend(
                    csr.indices[before..]
                        .iter()
                        .map(|&at| row[at as usize - column].to_f32()),
                );
                column += row.len();
                if column == self.terms {
                    csr.indptr.push(csr.indices.len() as u64);
                    column = 0;
                }
                part = rest;
            }
        }
        Ok(())
    }
}

impl RowBuffer {
    pub(crate) fn clear(&mut self) {
        match self {
            RowBuffer::Dense { rows, .. } => *rows = 0,
            RowBuffer::Csr(csr) => csr.clear(),
        }
    }

    pub(crate) fn view(&self) -> Result<View<'_>> {
        Ok(match self {
            RowBuffer::Dense { values, .. } => View::Dense(values.rows()?),
            RowBuffer::Csr(csr) => View::Csr(csr),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fails_is_an_error_with_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("X.npy");
        let memory = Counts::dense(40, 3, vec![1u8; 120]).unwrap();
        let counts = memory.write_npy(&path).unwrap();
        for sparse in [false, true] {
            let mut stored = counts.stored(sparse).unwrap().unwrap();
            // The system refuses to read from a handle that is only for writing, as it does when a disk fails.
            stored.file.file = std::fs::File::options().append(true).open(&path).unwrap();
            let mut buffer = stored.buffer();
            let error = stored
                .append(10..20, &mut buffer, &mut Stage::new())
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            assert!(error.to_string().contains("X.npy"), "{error}");
            assert_eq!(error.place(), Some("rows 10 to 19 (counted from 0)"));
            assert!(error.remedy().is_some());
        }
    }
}
