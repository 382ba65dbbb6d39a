//! Positioned reads of arrays in an archive whose entries are stored without compression.

use std::ops::Range;

use zip::CompressionMethod;

use crate::error::Result;
use crate::formats::number_runs::{Decode, visit_bytes};
use crate::system::OpenFile;

use super::archive::{Archive, check_numbers, find_entry, open_entry};
use super::checksum::EntryChecksum;

/// An uncompressed array in a file.
#[derive(Clone, Copy)]
pub struct FileArray {
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

impl FileArray {
    /// Bytes of a number.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The bytes of the numbers `range`.
    pub fn byte_range(&self, range: &Range<u64>) -> Range<u64> {
        let width = self.width as u64;
        self.start + range.start * width..self.start + range.end * width
    }

    /// Begins a checksum of the entry with the header, which precedes the numbers.
    pub fn checksum(&self, file: &OpenFile) -> Result<EntryChecksum> {
        let (start, end) = self.entry;
        let mut header = vec![0; (self.start - start) as usize];
        file.read_exact_at(start, &mut header)?;
        let mut checksum = EntryChecksum::new(self.name, start, end, self.crc32);
        checksum.update(start, &header);
        Ok(checksum)
    }

    /// Reads the numbers `range` through the buffer `stage` and calls `visit` with runs of them, in order. Continues
    /// `checksum` with their bytes.
    pub fn read(
        &self,
        file: &OpenFile,
        range: Range<u64>,
        stage: &mut [u8],
        mut checksum: Option<&mut EntryChecksum>,
        mut visit: impl FnMut(&[f64]) -> Result<()>,
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
            visit_bytes(bytes, self.width, self.decode, &mut visit)?;
            offset += length;
        }
        Ok(())
    }
}
