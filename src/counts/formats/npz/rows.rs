//! Positioned reads of CSR rows from an archive whose entries are stored without compression.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::CompressionMethod;

use crate::counts::csr::{Csr, check_row};
use crate::counts::dtype::Element;
use crate::counts::formats::invalid_value;
use crate::counts::rows::NONZERO_BYTES;
use crate::error::{Error, Result};
use crate::system::OpenFile;
use crate::text::counted;

use super::archive::{Archive, Decode, check_numbers, find_entry, open_entry};
use super::checksum::EntryChecksum;

/// The three arrays of a CSR matrix in a file.
#[derive(Clone)]
pub(crate) struct CsrArrays {
    documents: usize,
    /// Number of stored counts.
    stored: u64,
    indptr: FileArray,
    indices: FileArray,
    data: FileArray,
    /// Whether a pass has verified the checksums of the arrays. Shared by all that read the file.
    verified: Arc<AtomicBool>,
}

/// Checksums of the three arrays during a pass.
pub(crate) struct Checksums {
    indptr: EntryChecksum,
    indices: EntryChecksum,
    data: EntryChecksum,
}

/// An uncompressed array in a file.
#[derive(Clone, Copy)]
pub(super) struct FileArray {
    name: &'static str,
    /// The bytes of the entry in the file, and their checksum.
    entry: (u64, u64),
    crc32: u32,
    /// Byte offset of the first number.
    start: u64,
    /// Bytes of a number.
    width: usize,
    decode: Decode,
}

/// Locates the numbers of an entry; `None` if it is compressed.
pub(super) fn locate_array(
    file: &OpenFile,
    archive: &mut Archive<'_>,
    name: &'static str,
) -> Result<Option<FileArray>> {
    let found = find_entry(file, archive, name)?;
    let (start, crc32) = (found.data_start(), found.crc32());
    let uncompressed = found.compression() == CompressionMethod::Stored;
    drop(found);
    let (header, size, _) = open_entry(file, archive, name)?;
    let (_, (width, decode)) = check_numbers(&file.path, name, &header, size)?;
    Ok(start.filter(|_| uncompressed).map(|start| FileArray {
        name,
        entry: (start, start + size),
        crc32,
        start: start + header.length as u64,
        width,
        decode,
    }))
}

fn damaged<T>(file: &OpenFile, what: String, place: String) -> Result<T> {
    Err(Error::format(&file.path, what)
        .at(place)
        .fix("write it again with scipy.sparse.save_npz"))
}

impl FileArray {
    /// The bytes of the numbers `range`.
    fn byte_range(&self, range: &Range<u64>) -> Range<u64> {
        let width = self.width as u64;
        self.start + range.start * width..self.start + range.end * width
    }

    /// Begins a checksum of the entry: with the header before the numbers.
    fn checksum(&self, file: &OpenFile) -> Result<EntryChecksum> {
        let (start, end) = self.entry;
        let mut header = vec![0; (self.start - start) as usize];
        file.read_exact_at(start, &mut header)?;
        let mut checksum = EntryChecksum::new(self.name, start, end, self.crc32);
        checksum.update(start, &header);
        Ok(checksum)
    }

    /// Reads the numbers `range` through the buffer `stage` and calls `visit` with them, in order. Continues `checksum` with
    /// their bytes.
    fn read(
        &self,
        file: &OpenFile,
        range: Range<u64>,
        stage: &mut [u8],
        mut checksum: Option<&mut EntryChecksum>,
        mut visit: impl FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let in_file = self.byte_range(&range);
        let chunk = stage.len() / self.width * self.width;
        let mut offset = in_file.start;
        while offset < in_file.end {
            let length = (in_file.end - offset).min(chunk as u64);
            let bytes = &mut stage[..length as usize];
            file.read_exact_at(offset, bytes)?;
            if let Some(checksum) = &mut checksum {
                checksum.update(offset, bytes);
            }
            for number in bytes.chunks_exact(self.width) {
                visit((self.decode)(number))?;
            }
            offset += length;
        }
        Ok(())
    }
}

impl CsrArrays {
    pub(super) fn new(documents: usize, stored: u64, arrays: [FileArray; 3]) -> Self {
        let [indptr, indices, data] = arrays;
        Self {
            documents,
            stored,
            indptr,
            indices,
            data,
            verified: Arc::default(),
        }
    }

    /// Checksums for a pass over the file; `None` if an earlier pass has verified them.
    ///
    /// Positioned reads go past the reader of the archive, which verifies what it reads.
    pub(crate) fn checksums(&self, file: &OpenFile) -> Result<Option<Checksums>> {
        if self.verified.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(Checksums {
            indptr: self.indptr.checksum(file)?,
            indices: self.indices.checksum(file)?,
            data: self.data.checksum(file)?,
        }))
    }

    /// Fails if an array that was read to its end has not the checksum that the archive states.
    fn verify(&self, file: &OpenFile, checksums: &Checksums) -> Result<()> {
        let mut verified = true;
        for checksum in [&checksums.indptr, &checksums.indices, &checksums.data] {
            verified &= checksum.is_verified(&file.path)?;
        }
        self.verified.fetch_or(verified, Ordering::Relaxed);
        Ok(())
    }

    /// Bytes of the columns and counts of all rows in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.stored * (self.indices.width + self.data.width) as u64
    }

    /// The bytes of the columns and of the counts of `rows` in the file.
    pub(crate) fn byte_ranges(
        &self,
        file: &OpenFile,
        rows: Range<usize>,
    ) -> Result<[Range<u64>; 2]> {
        let mut bounds = [0; 2];
        for (bound, row) in bounds.iter_mut().zip([rows.start, rows.end]) {
            let row = row as u64;
            self.indptr
                .read(file, row..row + 1, &mut [0; 8], None, |start| {
                    *bound = start as u64;
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
    pub(crate) fn append(
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
        let mut position = entries.start;
        let checksum = checksums.as_mut().map(|sums| &mut sums.indices);
        let visit = |index: f64| {
            if !(index >= 0.0 && index < terms as f64) {
                return damaged(
                    file,
                    format!("index {index} is out of range: from 0 to {}", terms - 1),
                    format!("indices[{position}]"),
                );
            }
            position += 1;
            csr.indices.push(index as u32);
            Ok(())
        };
        self.indices
            .read(file, entries.clone(), stage, checksum, visit)?;
        let checksum = checksums.as_mut().map(|sums| &mut sums.data);
        self.data.read(file, entries, stage, checksum, |value| {
            let exact = f64::from(value as f32) == value;
            if !exact || !value.is_count() {
                let entry = csr.values.len();
                let row = csr.indptr[first_row..].partition_point(|&start| start <= entry as u64);
                let (row, column) = (rows.start + row - 1, csr.indices[entry] as usize);
                return Err(match value.is_count() {
                    true => invalid_value::too_large_for_sparse(value, row, column, Some(path)),
                    false => invalid_value::not_a_count(value, row, column, Some(path)),
                });
            }
            csr.values.push(value as f32);
            Ok(())
        })?;
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
        self.indptr.read(file, bounds, stage, checksum, |start| {
            if !(start >= last as f64 && start <= self.stored as f64) {
                let stored = self.stored;
                let what = format!("indptr has {start}, which is not between {last} and {stored}");
                return damaged(file, what, format!("indptr[{row}]"));
            }
            last = start as u64;
            row += 1;
            match begin {
                None => begin = Some(last),
                Some(begin) => csr.indptr.push(first + last - begin),
            }
            Ok(())
        })?;
        let entries = begin.unwrap_or_default()..last;
        if rows.start == 0 && entries.start != 0 {
            let what = format!("indptr starts with {}, not with 0", entries.start);
            return damaged(file, what, "indptr[0]".into());
        }
        if rows.end == self.documents && last != self.stored {
            let stored = self.stored;
            let what = format!("indptr ends with {last} and there are {stored} values");
            return damaged(file, what, format!("indptr[{}]", rows.end));
        }
        // Rows of a chunk have about the mean length; one of them may hold most of the file.
        let number = entries.end - entries.start;
        file.claim(counted(number as usize, "stored count"))
            .at(format!("rows {} to {}", rows.start, rows.end - 1))
            .check_memory(number.saturating_mul(NONZERO_BYTES))?;
        Ok(entries)
    }
}
