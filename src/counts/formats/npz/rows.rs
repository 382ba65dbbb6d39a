//! Positioned reads of CSR rows from an archive whose entries are stored without compression.

use std::ops::Range;
use std::path::Path;

use zip::CompressionMethod;

use crate::counts::csr::{Csr, check_row};
use crate::counts::dtype::Element;
use crate::counts::formats::invalid_value;
use crate::counts::rows::OpenFile;
use crate::error::{Error, Result};

use super::archive::{Archive, Decode, check_numbers, damaged, open_entry};

/// The three arrays of a CSR matrix in a file.
#[derive(Clone, Copy)]
pub(crate) struct CsrArrays {
    /// Number of stored counts.
    stored: u64,
    indptr: FileArray,
    indices: FileArray,
    data: FileArray,
}

/// An uncompressed array in a file.
#[derive(Clone, Copy)]
pub(super) struct FileArray {
    /// Byte offset of the first number.
    start: u64,
    /// Bytes of a number.
    width: usize,
    decode: Decode,
}

/// Locates the numbers of an entry; `None` if it is compressed.
pub(super) fn locate_array(
    path: &Path,
    archive: &mut Archive<'_>,
    name: &str,
) -> Result<Option<FileArray>> {
    let file = archive.by_name(&format!("{name}.npy")).map_err(|source| {
        damaged(path, name, std::io::Error::other(source.to_string())).because(source)
    })?;
    let (start, uncompressed) = (
        file.data_start(),
        file.compression() == CompressionMethod::Stored,
    );
    drop(file);
    let (header, size, _) = open_entry(path, archive, name)?;
    let (_, (width, decode)) = check_numbers(path, name, &header, size)?;
    Ok(start.filter(|_| uncompressed).map(|start| FileArray {
        start: start + header.length as u64,
        width,
        decode,
    }))
}

impl FileArray {
    /// The bytes of the numbers `range`.
    fn byte_range(&self, range: &Range<u64>) -> Range<u64> {
        let width = self.width as u64;
        self.start + range.start * width..self.start + range.end * width
    }

    /// Reads the numbers `range` through the buffer `stage` and calls `visit` with them, in order.
    fn read(
        &self,
        file: &OpenFile,
        range: Range<u64>,
        stage: &mut [u8],
        mut visit: impl FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        let in_file = self.byte_range(&range);
        let chunk = stage.len() / self.width * self.width;
        let mut offset = in_file.start;
        while offset < in_file.end {
            let length = (in_file.end - offset).min(chunk as u64);
            let bytes = &mut stage[..length as usize];
            file.read_exact_at(offset, bytes)?;
            for number in bytes.chunks_exact(self.width) {
                visit((self.decode)(number))?;
            }
            offset += length;
        }
        Ok(())
    }
}

impl CsrArrays {
    pub(super) fn new(stored: u64, indptr: FileArray, indices: FileArray, data: FileArray) -> Self {
        Self {
            stored,
            indptr,
            indices,
            data,
        }
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
            self.indptr.read(file, row..row + 1, &mut [0; 8], |start| {
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
    ) -> Result<()> {
        let path = &file.path;
        let damaged = |what: String, place: String| {
            Err(Error::format(path, what)
                .at(place)
                .fix("write it again with scipy.sparse.save_npz"))
        };
        let first_row = csr.indptr.len() - 1;
        let first = csr.indices.len() as u64;
        let mut begin = None;
        let mut last = 0;
        let mut row = rows.start;
        let bounds = rows.start as u64..rows.end as u64 + 1;
        self.indptr.read(file, bounds, stage, |start| {
            if !(start >= last as f64 && start <= self.stored as f64) {
                return damaged(
                    format!(
                        "indptr has {start}, which is not between {last} and {}",
                        self.stored
                    ),
                    format!("indptr[{row}]"),
                );
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
        let mut position = entries.start;
        self.indices.read(file, entries.clone(), stage, |index| {
            if !(index >= 0.0 && index < terms as f64) {
                return damaged(
                    format!("index {index} is out of range: from 0 to {}", terms - 1),
                    format!("indices[{position}]"),
                );
            }
            position += 1;
            csr.indices.push(index as u32);
            Ok(())
        })?;
        self.data.read(file, entries, stage, |value| {
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
        for (offset, row) in rows.enumerate() {
            let bounds = &csr.indptr[first_row + offset..];
            let range = bounds[0] as usize..bounds[1] as usize;
            let (columns, values) = (&mut csr.indices[range.clone()], &mut csr.values[range]);
            check_row(row, terms, columns, values).map_err(|problem| problem.in_file(path))?;
        }
        Ok(())
    }
}
