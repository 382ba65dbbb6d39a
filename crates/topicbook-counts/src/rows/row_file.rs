//! Reads rows of a counts file by position, into buffers that are reused.

use std::ops::Range;

use crate::csr::Csr;
use crate::dense::{DenseStore, ValueStorage, as_bytes_mut};
use crate::dtype::{CountValue, Dtype, Element, with_dtype, with_values};
use crate::error::{Error, Result};
use crate::formats::{Checksums, FileRows};
use crate::system::memory::MAPPED_BYTES;
use crate::system::{Advice, OpenFile};
use crate::{Counts, Layout, Store, View};

use super::nonzeros::append_nonzeros;
use super::row_files::RowFiles;

/// Size of a [`Stage`], small enough to stay in the CPU cache.
pub const STAGE_BYTES: usize = 1 << 20;

/// Bytes of one nonzero count of a [`Csr`]: its column and its value.
pub const NONZERO_BYTES: u64 = (size_of::<u32>() + size_of::<f32>()) as u64;

/// A file of counts whose rows can be read separately: `.npy`, `.safetensors`, `.tbc`, a `.npz` whose entries are stored
/// without compression, or CSR in HDF5.
pub struct RowFile {
    file: OpenFile,
    documents: usize,
    terms: usize,
    layout: FileLayout,
    /// Whether dense rows are converted to CSR when they are read.
    to_csr: bool,
    /// Mean number of nonzero counts in a document, if known.
    mean_nonzeros: Option<usize>,
    /// Checksums of sparse counts that have not been verified yet: a pass from the first row to the last verifies them.
    checksums: Option<Checksums>,
}

enum FileLayout {
    Dense {
        /// Byte offset of the first row.
        start: u64,
        dtype: Dtype,
    },
    Csr(FileRows),
}

/// Order in which rows of a file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// From the first row to the last.
    Sequential,
    /// Ranges of rows in any order.
    Scattered,
}

/// Rows read from a file, in the order they were read. Clearing keeps the memory.
pub enum RowBuffer {
    Dense {
        values: DenseStore,
        /// Number of valid rows. Values after them are left over from an earlier fill.
        rows: usize,
    },
    Csr(Csr),
}

/// A read buffer of [`STAGE_BYTES`] bytes, aligned for every dtype.
pub struct Stage(Vec<i64>);

impl Stage {
    pub fn new() -> Self {
        Self(vec![0; STAGE_BYTES / size_of::<i64>()])
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
    /// Opens the files of the counts for reading separate rows; `None` if the counts are not in files that allow it.
    /// With `to_csr`, dense rows are converted to CSR.
    #[doc(hidden)]
    pub fn row_file(&self, to_csr: bool) -> Result<Option<RowFiles>> {
        match &self.inner.store {
            Store::Files(files) => files.row_files(to_csr),
            _ => Ok(self
                .open_rows(to_csr)?
                .map(|file| RowFiles::new(vec![file]))),
        }
    }

    /// The same for counts in one file.
    pub(crate) fn open_rows(&self, to_csr: bool) -> Result<Option<RowFile>> {
        let (file, layout, checksums) = match &self.inner.store {
            Store::Dense(store) => match store.in_file() {
                Some((file, start)) => {
                    let dtype = store.dtype();
                    (file, FileLayout::Dense { start, dtype }, None)
                }
                None => return Ok(None),
            },
            Store::Csr(csr) => match csr.rows() {
                Some((file, rows)) => {
                    let checksums = rows.checksums(file)?;
                    (file, FileLayout::Csr(rows), checksums)
                }
                None => return Ok(None),
            },
            Store::Files(_) | Store::Expected(_) => return Ok(None),
        };
        Ok(Some(RowFile {
            file: file.reopen()?,
            documents: self.documents(),
            terms: self.terms(),
            layout,
            to_csr,
            mean_nonzeros: self.mean_nonzeros(),
            checksums,
        }))
    }

    /// Whether [`row_file`](Self::row_file) can open the counts.
    #[doc(hidden)]
    pub fn has_row_file(&self) -> bool {
        match &self.inner.store {
            Store::Dense(store) => store.in_file().is_some(),
            Store::Csr(csr) => csr.rows().is_some(),
            Store::Files(files) => files.have_rows(),
            Store::Expected(_) => true,
        }
    }

    /// Whether buffers hold rows in CSR: if fewer than an eighth of the counts are nonzero, CSR needs less memory than dense
    /// rows of any dtype. With more nonzeros, passes take dense rows as tiles, and finding the nonzero counts of a file would
    /// take longer than reading it.
    #[doc(hidden)]
    pub fn is_buffered_as_csr(&self) -> Result<bool> {
        Ok(self.layout() == Layout::Csr
            || self.is_buffered_with(self.nonzeros()?, self.documents()))
    }

    /// The same for a known number of nonzero counts in `documents` documents.
    #[doc(hidden)]
    pub fn is_buffered_with(&self, nonzeros: u64, documents: usize) -> bool {
        let cells = documents as u64 * self.terms() as u64;
        self.layout() == Layout::Csr || nonzeros * NONZERO_BYTES < cells
    }
}

impl RowFile {
    pub(super) fn forget_checksums(&mut self) {
        self.checksums = None;
    }

    pub fn documents(&self) -> usize {
        self.documents
    }

    /// Mean number of nonzero counts in a document, if known.
    pub(super) fn mean_nonzeros(&self) -> Option<usize> {
        self.mean_nonzeros
    }

    /// Frees what was kept for the next read: other files are read now.
    pub(super) fn rest(&mut self) {
        if let FileLayout::Csr(rows) = &mut self.layout {
            rows.rest();
        }
    }

    /// Length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.file.length
    }

    /// Mean bytes of a row in the file, at least 1.
    pub fn row_bytes(&self) -> u64 {
        match &self.layout {
            FileLayout::Dense { dtype, .. } => (self.terms * dtype.bytes()) as u64,
            FileLayout::Csr(rows) => rows.bytes() / self.documents as u64,
        }
        .max(1)
    }

    /// An empty buffer for rows of this file.
    pub fn buffer(&self) -> RowBuffer {
        match &self.layout {
            FileLayout::Dense { dtype, .. } if !self.to_csr => RowBuffer::Dense {
                values: DenseStore::empty(*dtype),
                rows: 0,
            },
            _ => RowBuffer::Csr(Csr::empty()),
        }
    }

    /// Reserves capacity for `rows` rows, if their size is known: a buffer that grows while it is filled is copied.
    pub fn reserve(&self, buffer: &mut RowBuffer, rows: usize) {
        match buffer {
            RowBuffer::Dense { values, .. } => with_values!(DenseStore, values, storage => {
                if let ValueStorage::Memory(values) = storage {
                    reserve_mapped(values, (rows * self.terms).saturating_sub(values.len()));
                }
            }),
            RowBuffer::Csr(csr) => {
                csr.indptr.reserve_exact(rows);
                if let Some(mean) = self.mean_nonzeros {
                    // An eighth more than the mean, since these rows may be longer. Pages that are never written use
                    // no physical memory.
                    let nonzeros = rows * mean + rows * mean / 8;
                    reserve_mapped(&mut csr.indices, nonzeros);
                    reserve_mapped(&mut csr.values, nonzeros);
                }
            }
        }
    }

    /// Tells the OS in which order the file will be read.
    pub fn advise_access(&self, access: Access) {
        let advice = match access {
            Access::Sequential => Advice::Sequential,
            // The OS's own readahead would read past the end of every range of rows.
            Access::Scattered => Advice::Random,
        };
        self.file.advise(0, 0, advice);
    }

    /// Asks the OS to start reading rows into the page cache (`POSIX_FADV_WILLNEED`).
    pub fn prefetch(&self, rows: Range<usize>) -> Result<()> {
        self.advise(rows, Advice::WillNeed)
    }

    /// Asks the OS to drop rows from the page cache (`POSIX_FADV_DONTNEED`).
    pub fn evict(&self, rows: Range<usize>) -> Result<()> {
        self.advise(rows, Advice::DontNeed)
    }

    fn advise(&self, rows: Range<usize>, advice: Advice) -> Result<()> {
        const PAGE: u64 = 1 << 12;
        let ranges = match &self.layout {
            FileLayout::Dense { start, dtype } => {
                let row = (self.terms * dtype.bytes()) as u64;
                [
                    start + row * rows.start as u64..start + row * rows.end as u64,
                    0..0,
                ]
            }
            FileLayout::Csr(in_file) => in_file.byte_ranges(&self.file, rows)?,
        };
        for range in ranges {
            if !range.is_empty() {
                self.file
                    .advise(range.start / PAGE * PAGE, range.end, advice);
            }
        }
        Ok(())
    }

    /// Fails if the file was modified, truncated or replaced since the counts were opened.
    pub fn check_unchanged(&self) -> Result<()> {
        self.file.check_unchanged()?;
        self.file.check_not_replaced()
    }

    /// Reads rows and appends them to a buffer made by [`buffer`](Self::buffer).
    pub fn append(
        &mut self,
        rows: Range<usize>,
        buffer: &mut RowBuffer,
        stage: &mut Stage,
    ) -> Result<()> {
        let place = format!(
            "rows {} to {} (counted from 0)",
            rows.start,
            rows.end.saturating_sub(1)
        );
        match (&mut self.layout, buffer) {
            (FileLayout::Dense { start, dtype }, RowBuffer::Csr(csr)) => {
                let (start, dtype) = (*start, *dtype);
                with_dtype!(dtype, T => self.append_nonzeros::<T>(start, rows, csr, stage))
            }
            (
                FileLayout::Dense { start, .. },
                RowBuffer::Dense {
                    values,
                    rows: valid,
                },
            ) => {
                let start = *start;
                let begin = *valid * self.terms;
                *valid += rows.len();
                let end = *valid * self.terms;
                with_values!(DenseStore, values, storage => {
                    self.append_values(start, rows.start, storage, begin..end)
                })
            }
            (FileLayout::Csr(in_file), RowBuffer::Csr(csr)) => in_file.append(
                &self.file,
                self.terms,
                rows,
                csr,
                stage.bytes(),
                self.checksums.as_mut(),
            ),
            (FileLayout::Csr(_), RowBuffer::Dense { .. }) => Err(Error::shape(
                "sparse rows cannot be read into a dense buffer",
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

    /// Reads rows from `first` on into the values `range` of `storage`.
    fn append_values<T: Element>(
        &self,
        start: u64,
        first: usize,
        storage: &mut ValueStorage<T>,
        range: Range<usize>,
    ) -> Result<()> {
        let ValueStorage::Memory(values) = storage else {
            return Err(Error::shape("rows cannot be read into a mapped file"));
        };
        if values.len() < range.end {
            values.resize(range.end, T::default());
        }
        let offset = start + (first * self.terms * size_of::<T>()) as u64;
        self.file
            .read_exact_at(offset, as_bytes_mut(&mut values[range]))
    }

    /// Reads dense rows through `stage` and appends their nonzero counts to `csr`.
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
            let chunk = &mut stage[..length];
            self.file.read_exact_at(offset, as_bytes_mut(chunk))?;
            offset += size_of_val(chunk) as u64;
            left -= chunk.len();
            // A chunk may start and end inside a row.
            let mut chunk = &*chunk;
            while !chunk.is_empty() {
                let (row, rest) = chunk.split_at(chunk.len().min(self.terms - column));
                append_nonzeros(row, column as u32, &mut csr.indices, &mut csr.values);
                column += row.len();
                if column == self.terms {
                    csr.indptr.push(csr.indices.len() as u64);
                    column = 0;
                }
                chunk = rest;
            }
        }
        Ok(())
    }
}

/// Reserves capacity for `more` values, and at least enough bytes that malloc maps the buffer separately (`mmap`). Each pass
/// has a new reader thread, and smaller buffers would remain in the heap (arena) of the previous thread. Pages that are never
/// written use no physical memory.
fn reserve_mapped<T>(values: &mut Vec<T>, more: usize) {
    values.reserve_exact(more.max(MAPPED_BYTES / size_of::<T>()));
}

impl RowBuffer {
    pub fn clear(&mut self) {
        match self {
            RowBuffer::Dense { rows, .. } => *rows = 0,
            RowBuffer::Csr(csr) => csr.clear(),
        }
    }

    pub fn view(&self) -> Result<View<'_>> {
        Ok(match self {
            RowBuffer::Dense { values, .. } => View::Dense(values.rows()?),
            RowBuffer::Csr(csr) => View::Csr(csr),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_read_error_names_the_file_and_the_rows() {
        let (_folder, path) = testkit::temp_path("X.npy");
        let memory = Counts::dense(40, 3, vec![1u8; 120]).unwrap();
        let counts = memory.write_npy(&path).unwrap();
        for to_csr in [false, true] {
            let mut row_file = counts.open_rows(to_csr).unwrap().unwrap();
            // Reads from a write-only descriptor fail, as they do on a failing disk.
            row_file.file.handle = std::fs::File::options().append(true).open(&path).unwrap();
            let mut buffer = row_file.buffer();
            let error = row_file
                .append(10..20, &mut buffer, &mut Stage::new())
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{error}");
            assert!(error.to_string().contains("X.npy"), "{error}");
            assert_eq!(error.place(), Some("rows 10 to 19 (counted from 0)"));
            assert!(error.remedy().is_some());
        }
    }
}
