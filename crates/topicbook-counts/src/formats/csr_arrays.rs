//! Rows of CSR arrays in a file, read by position: from the entries of an uncompressed `.npz`, from HDF5, or from the columns
//! of a Parquet or Arrow table.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::csr::{Csr, check_row};
use crate::dtype::Element;
use crate::error::{Error, Result, panic_text};
use crate::formats::invalid_value;
use crate::rows::NONZERO_BYTES;
use crate::system::OpenFile;
use crate::text::counted;

use super::hdf5::NumberArray;
use super::npz::{EntryChecksum, FileArray};
#[cfg(feature = "polars")]
use super::number_runs::visit_values;
#[cfg(feature = "polars")]
use super::triplets::GroupColumn;

/// Stored counts that are read at once into memory.
const READ: u64 = 1 << 18;

/// The three arrays of a CSR matrix in a file.
#[derive(Clone)]
pub struct CsrArrays {
    documents: usize,
    /// Number of stored counts.
    stored: u64,
    indptr: Numbers,
    indices: Numbers,
    data: Numbers,
    /// Whether the rows of the arrays are terms (CSC).
    by_terms: bool,
    /// Whether a pass has verified the checksums of the arrays. Shared by all that read the file.
    verified: Arc<AtomicBool>,
}

/// Checksums of the three arrays during a pass.
pub struct Checksums {
    indptr: EntryChecksum,
    indices: EntryChecksum,
    data: EntryChecksum,
}

/// An array of numbers in a file.
#[derive(Clone)]
pub(super) enum Numbers {
    Npz(FileArray),
    Hdf5(NumberArray),
    #[cfg(feature = "polars")]
    Groups(GroupColumn),
    #[cfg(feature = "polars")]
    Memory(Arc<[u64]>),
}

impl Numbers {
    fn width(&self) -> u64 {
        match self {
            Numbers::Npz(array) => array.width() as u64,
            Numbers::Hdf5(array) => array.width() as u64,
            #[cfg(feature = "polars")]
            Numbers::Groups(_) => GroupColumn::WIDTH,
            #[cfg(feature = "polars")]
            Numbers::Memory(_) => size_of::<u64>() as u64,
        }
    }

    /// Calls `visit` with runs of the numbers `range`, in order. An `.npz` is read through `stage`, and continues `checksum`.
    fn read(
        &self,
        file: &OpenFile,
        range: Range<u64>,
        stage: &mut [u8],
        checksum: Option<&mut EntryChecksum>,
        visit: impl FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Numbers::Npz(array) => array.read(file, range, stage, checksum, visit),
            Numbers::Hdf5(array) => array.read(range, visit),
            #[cfg(feature = "polars")]
            Numbers::Groups(column) => column.read(range, visit),
            #[cfg(feature = "polars")]
            Numbers::Memory(values) => {
                let range = range.start as usize..range.end as usize;
                visit_values(&values[range], |value| value as f64, visit)
            }
        }
    }

    /// Begins the checksum of an array of an `.npz`.
    fn checksum(&self, file: &OpenFile) -> Result<Option<EntryChecksum>> {
        match self {
            Numbers::Npz(array) => array.checksum(file).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether the numbers are stored in pieces that are unpacked whole.
    fn are_packed(&self) -> bool {
        match self {
            Numbers::Npz(_) => false,
            Numbers::Hdf5(_) => true,
            #[cfg(feature = "polars")]
            Numbers::Groups(_) => true,
            #[cfg(feature = "polars")]
            Numbers::Memory(_) => false,
        }
    }

    /// The bytes of the numbers `range` in the file; nothing for HDF5, where they lie in chunks.
    fn byte_range(&self, range: &Range<u64>) -> Range<u64> {
        match self {
            Numbers::Npz(array) => array.byte_range(range),
            Numbers::Hdf5(_) => 0..0,
            #[cfg(feature = "polars")]
            Numbers::Groups(column) => column.byte_range(range),
            #[cfg(feature = "polars")]
            Numbers::Memory(_) => 0..0,
        }
    }
}

impl CsrArrays {
    pub(super) fn new(documents: usize, stored: u64, arrays: [Numbers; 3]) -> Self {
        let [indptr, indices, data] = arrays;
        Self {
            documents,
            stored,
            indptr,
            indices,
            data,
            by_terms: false,
            verified: Arc::default(),
        }
    }

    /// The same arrays, whose rows are terms and whose columns are documents.
    pub(super) fn by_terms(self) -> Self {
        Self {
            by_terms: true,
            ..self
        }
    }

    fn damaged<T>(&self, file: &OpenFile, what: String, place: String) -> Result<T> {
        Err(Error::format(&file.path, what)
            .at(place)
            .fix(match self.data {
                Numbers::Npz(_) => "write it again with scipy.sparse.save_npz",
                Numbers::Hdf5(_) => "copy it again, or write it again with anndata (write_h5ad)",
                #[cfg(feature = "polars")]
                _ => "open it again when no program writes to it any more",
            }))
    }

    /// Checksums for a pass over the file; `None` if an earlier pass has verified them, or the file has none.
    ///
    /// Positioned reads bypass the reader of the archive, which verifies what it reads.
    pub fn checksums(&self, file: &OpenFile) -> Result<Option<Checksums>> {
        if self.verified.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let sums = [&self.indptr, &self.indices, &self.data].map(|array| array.checksum(file));
        let [indptr, indices, data] = sums;
        Ok(match (indptr?, indices?, data?) {
            (Some(indptr), Some(indices), Some(data)) => Some(Checksums {
                indptr,
                indices,
                data,
            }),
            _ => None,
        })
    }

    /// Fails if an array that was read to its end does not have the checksum that the archive states.
    fn verify(&self, file: &OpenFile, checksums: &Checksums) -> Result<()> {
        let mut verified = true;
        for checksum in [&checksums.indptr, &checksums.indices, &checksums.data] {
            verified &= checksum.is_verified(&file.path)?;
        }
        self.verified.fetch_or(verified, Ordering::Relaxed);
        Ok(())
    }

    /// Bytes of the columns and counts of all rows in the file.
    pub fn bytes(&self) -> u64 {
        self.stored * (self.indices.width() + self.data.width())
    }

    /// The bytes of the columns and of the counts of `rows` in the file.
    pub fn byte_ranges(&self, file: &OpenFile, rows: Range<usize>) -> Result<[Range<u64>; 2]> {
        let mut bounds = [0; 2];
        for (bound, row) in bounds.iter_mut().zip([rows.start, rows.end]) {
            let row = row as u64;
            self.indptr
                .read(file, row..row + 1, &mut [0; 8], None, |start| {
                    *bound = start[0] as u64;
                    Ok(())
                })?;
        }
        // Only for hints to the OS: `append` reports invalid bounds.
        let entries = bounds[0].min(self.stored)..bounds[1].min(self.stored);
        Ok([
            self.indices.byte_range(&entries),
            self.data.byte_range(&entries),
        ])
    }

    /// Reads rows, with the same checks as reading the whole archive, and appends them to `csr`.
    pub fn append(
        &self,
        file: &OpenFile,
        terms: usize,
        rows: Range<usize>,
        csr: &mut Csr,
        stage: &mut [u8],
        mut checksums: Option<&mut Checksums>,
    ) -> Result<()> {
        let path = &file.path;
        let first_row = csr.indptr.len() - 1;
        let checksum = checksums.as_mut().map(|sums| &mut sums.indptr);
        let entries = self.append_bounds(file, rows.clone(), csr, stage, checksum)?;
        let (columns, values) = (&mut csr.indices, &mut csr.values);
        let mut position = entries.start;
        let visit_indices = |indices: &[f64]| {
            let is_column = |index: &f64| (*index >= 0.0) & (*index < terms as f64);
            if let Some(at) = first_without(indices, is_column) {
                return self.damaged(
                    file,
                    format!(
                        "index {} is out of range: from 0 to {}",
                        indices[at],
                        terms - 1
                    ),
                    format!("indices[{}]", position + at as u64),
                );
            }
            position += indices.len() as u64;
            columns.extend(indices.iter().map(|&index| index as u32));
            Ok(())
        };
        let mut wrong = None;
        let visit_values = |run: &[f64]| {
            let is_count = |value: &f64| (f64::from(*value as f32) == *value) & value.is_count();
            if wrong.is_none() {
                wrong = first_without(run, is_count).map(|at| (values.len() + at, run[at]));
            }
            values.extend(run.iter().map(|&value| value as f32));
            Ok(())
        };
        let (indices, data) = (&self.indices, &self.data);
        if indices.are_packed() {
            // Unpacking takes most of the time of a pass: each array has a thread, outside the pool, which computes.
            std::thread::scope(|scope| {
                let all = entries.clone();
                let data = scope.spawn(move || data.read(file, all, &mut [], None, visit_values));
                let indices = indices.read(file, entries, &mut [], None, visit_indices);
                let data = data.join().unwrap_or_else(|panic| {
                    Err(Error::format(path, panic_text(panic.as_ref())).at("data"))
                });
                indices.and(data)
            })?;
        } else {
            let checksum = checksums.as_mut().map(|sums| &mut sums.indices);
            indices.read(file, entries.clone(), stage, checksum, visit_indices)?;
            let checksum = checksums.as_mut().map(|sums| &mut sums.data);
            data.read(file, entries, stage, checksum, visit_values)?;
        }
        if let Some((entry, value)) = wrong {
            let row = csr.indptr[first_row..].partition_point(|&start| start <= entry as u64);
            let (row, column) = (rows.start + row - 1, csr.indices[entry] as usize);
            return Err(self.wrong_value(path, value, row, column));
        }
        if let Some(checksums) = checksums {
            self.verify(file, checksums)?;
        }
        for (offset, row) in rows.enumerate() {
            let bounds = &csr.indptr[first_row + offset..];
            let range = bounds[0] as usize..bounds[1] as usize;
            let (columns, values) = (&mut csr.indices[range.clone()], &mut csr.values[range]);
            check_row(row, terms, columns, values).map_err(|problem| problem.in_file(path))?;
        }
        Ok(())
    }

    /// Frees what was kept for the next read.
    pub fn rest(&self) {
        #[cfg(feature = "polars")]
        for array in [&self.indices, &self.data] {
            if let Numbers::Groups(column) = array {
                column.rest();
            }
        }
    }

    /// Reads all rows, whose indices are below `columns`. The caller has checked that they fit into memory.
    pub(super) fn read_all(&self, file: &OpenFile, columns: usize) -> Result<Csr> {
        let rows = self.documents;
        let mut csr = Csr::empty();
        csr.indptr.reserve_exact(rows);
        csr.indices.reserve_exact(self.stored as usize);
        csr.values.reserve_exact(self.stored as usize);
        let window = (READ * rows as u64 / self.stored.max(1)).clamp(1, READ) as usize;
        for first in (0..rows).step_by(window) {
            let window = first..rows.min(first + window);
            self.append(file, columns, window, &mut csr, &mut [], None)?;
        }
        file.check_unchanged()?;
        Ok(csr)
    }

    /// The error for a value that is no count, or one that `f32` does not represent exactly.
    fn wrong_value(&self, path: &Path, value: f64, row: usize, column: usize) -> Error {
        let (row, column) = match self.by_terms {
            true => (column, row),
            false => (row, column),
        };
        invalid_value::no_sparse_count(value, row, column, Some(path))
    }

    /// Reads where the rows start and end, appends it to `csr`, and returns the entries of all of them.
    fn append_bounds(
        &self,
        file: &OpenFile,
        rows: Range<usize>,
        csr: &mut Csr,
        stage: &mut [u8],
        checksum: Option<&mut EntryChecksum>,
    ) -> Result<Range<u64>> {
        let first = csr.indices.len() as u64;
        let mut begin = None;
        let mut last = 0;
        let mut row = rows.start;
        let bounds = rows.start as u64..rows.end as u64 + 1;
        self.indptr.read(file, bounds, stage, checksum, |starts| {
            for &start in starts {
                if !(start >= last as f64 && start <= self.stored as f64) {
                    let stored = self.stored;
                    let what =
                        format!("indptr has {start}, which is not between {last} and {stored}");
                    return self.damaged(file, what, format!("indptr[{row}]"));
                }
                last = start as u64;
                row += 1;
                match begin {
                    None => begin = Some(last),
                    Some(begin) => csr.indptr.push(first + last - begin),
                }
            }
            Ok(())
        })?;
        let entries = begin.unwrap_or_default()..last;
        if rows.start == 0 && entries.start != 0 {
            let what = format!("indptr starts with {}, not with 0", entries.start);
            return self.damaged(file, what, "indptr[0]".into());
        }
        if rows.end == self.documents && last != self.stored {
            let stored = self.stored;
            let what = format!("indptr ends with {last} and there are {stored} values");
            return self.damaged(file, what, format!("indptr[{}]", rows.end));
        }
        // Rows of a chunk have about the mean length; one of them may hold most of the file.
        let number = entries.end - entries.start;
        file.claim(counted(number as usize, "stored count"))
            .at(format!("rows {} to {}", rows.start, rows.end - 1))
            .check_memory(number.saturating_mul(NONZERO_BYTES))?;
        Ok(entries)
    }
}

/// The position of the first number that `holds` refuses. All are tested before it is looked for, because a loop without an
/// early exit uses vector registers.
#[inline]
fn first_without(numbers: &[f64], holds: impl Fn(&f64) -> bool) -> Option<usize> {
    let all = numbers.iter().fold(true, |all, number| all & holds(number));
    match all {
        true => None,
        false => numbers.iter().position(|number| !holds(number)),
    }
}
