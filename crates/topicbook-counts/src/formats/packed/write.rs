//! Writes files of packed counts, a block at a time.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bitpacking::{BitPacker, BitPacker4x};

use crate::Counts;
use crate::error::{Error, Result};
use crate::formats::npz::{NewCounts, RowSink};
use crate::formats::{invalid_value, npy, writing_progress};
use crate::rows::Pick;
use crate::system::memory::phase;
use crate::system::{DISK_FULL_REMEDY, write_atomic_sized};
use crate::writer::each_sparse_row;

use super::chunks::{CHUNK, pack};
use super::{END, ENTRY_BYTES, HEADER_BYTES, MAGIC, VERSION};

/// Counts in a block, about: a block is read whole, and its rows stay in the L2 cache.
const BLOCK_COUNTS: u64 = 1 << 16;
/// Most documents in a block.
const BLOCK_DOCUMENTS: u64 = 1 << 12;
/// Bytes of a nonzero count, for progress.
const COUNT_BYTES: f64 = 1.5;

/// Writes the picked rows and opens the file. One pass over the counts.
pub fn write(counts: &Counts, pick: Pick, path: &Path) -> Result<Counts> {
    let _phase = phase("write");
    let documents = pick.documents(counts);
    let mean = counts.nonzeros()? / counts.documents() as u64;
    let progress = writing_progress(path, documents, 1, mean as f64 * COUNT_BYTES);
    write_file(path, counts.terms(), mean, |rows| {
        let mut whole = Vec::new();
        each_sparse_row(counts, pick, &mut |document, columns, values| {
            // The next `f32` above the largest u32 is 2^32.
            if let Some(at) = values.iter().position(|&value| value >= u32::MAX as f32) {
                let (value, column) = (values[at].into(), columns[at] as usize);
                let path = counts.path();
                return Err(invalid_value::too_large_for_packed(
                    value, document, column, path,
                ));
            }
            whole.clear();
            whole.extend(values.iter().map(|&value| value as u32));
            progress.advance(1)?;
            rows.append(columns, &whole)
        })
    })
}

/// Writes the rows that `fill` appends, and opens the file.
///
/// # Errors
/// When there are other rows or counts than `new` says, writing or `fill` fails: nothing is written then.
pub fn write_rows(
    path: &Path,
    new: NewCounts,
    fill: impl FnOnce(&mut dyn RowSink) -> Result<()>,
) -> Result<Counts> {
    let mean = new.nonzeros / (new.documents as u64).max(1);
    write_file(path, new.terms, mean, |rows| {
        fill(rows)?;
        new.check(
            rows.documents as usize + rows.lengths.len(),
            rows.stored + rows.counts.len() as u64,
        )
    })
}

/// Writes the rows that `fill` appends, which have `mean` counts each, and opens the file.
pub fn write_file(
    path: &Path,
    terms: usize,
    mean: u64,
    fill: impl FnOnce(&mut Rows<'_>) -> Result<()>,
) -> Result<Counts> {
    npy::check_extension(path, "tbc")?;
    let in_block = (BLOCK_COUNTS / mean.max(1)).clamp(1, BLOCK_DOCUMENTS);
    // A power of two, so that the blocks of a shuffle can be whole blocks.
    let in_block = 1 << in_block.ilog2();
    write_atomic_sized(path, 0, DISK_FULL_REMEDY, |out| {
        let mut rows = Rows::new(out, path, in_block)?;
        fill(&mut rows)?;
        rows.finish(terms)
    })?;
    Counts::open(path)
}

/// A file being written.
pub struct Rows<'a> {
    out: &'a mut BufWriter<File>,
    path: &'a Path,
    packer: BitPacker4x,
    /// Documents in a block.
    in_block: usize,
    header: [u8; HEADER_BYTES],
    index: Vec<u8>,
    /// Bytes, documents and stored counts of the blocks that are written.
    at: u64,
    documents: u64,
    stored: u64,
    /// The next block: the lengths of its rows, the gaps before the columns, and what the counts are above 1.
    lengths: Vec<u32>,
    gaps: Vec<u32>,
    counts: Vec<u32>,
}

impl<'a> Rows<'a> {
    fn new(out: &'a mut BufWriter<File>, path: &'a Path, in_block: u32) -> Result<Self> {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..].copy_from_slice(&in_block.to_le_bytes());
        let mut rows = Self {
            out,
            path,
            packer: BitPacker4x::new(),
            in_block: in_block as usize,
            header,
            index: Vec::new(),
            at: 0,
            documents: 0,
            stored: 0,
            lengths: Vec::new(),
            gaps: Vec::new(),
            counts: Vec::new(),
        };
        rows.put(&[&header])?;
        Ok(rows)
    }

    fn put(&mut self, parts: &[&[u8]]) -> Result<()> {
        for part in parts {
            self.out
                .write_all(part)
                .map_err(|source| Error::io("write", self.path, source))?;
            self.at += part.len() as u64;
        }
        Ok(())
    }

    fn write_block(&mut self) -> Result<()> {
        let (mut heads, mut bodies) = (Vec::new(), Vec::new());
        let mut add = |numbers: &[u32]| {
            let mut chunk = [0; CHUNK];
            chunk[..numbers.len()].copy_from_slice(numbers);
            pack(self.packer, &chunk, &mut heads, &mut bodies);
        };
        self.lengths.chunks(CHUNK).for_each(&mut add);
        for (gaps, counts) in self.gaps.chunks(CHUNK).zip(self.counts.chunks(CHUNK)) {
            add(gaps);
            add(counts);
        }
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&heads);
        checksum.update(&bodies);
        self.put(&[&checksum.finalize().to_le_bytes(), &heads, &bodies])?;
        self.documents += self.lengths.len() as u64;
        self.stored += self.counts.len() as u64;
        for number in [self.at, self.stored] {
            self.index.extend(number.to_le_bytes());
        }
        self.lengths.clear();
        self.gaps.clear();
        self.counts.clear();
        Ok(())
    }

    /// Writes the last block, the index and the footer.
    fn finish(mut self, terms: usize) -> Result<()> {
        if !self.lengths.is_empty() {
            self.write_block()?;
        }
        debug_assert_eq!(
            self.index.len() as u64,
            self.documents.div_ceil(self.in_block as u64) * ENTRY_BYTES as u64
        );
        let mut end = std::mem::take(&mut self.index);
        end.extend(self.documents.to_le_bytes());
        end.extend((terms as u64).to_le_bytes());
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&self.header);
        checksum.update(&end);
        end.extend(checksum.finalize().to_le_bytes());
        end.extend(END);
        self.put(&[&end])
    }
}

impl RowSink for Rows<'_> {
    fn append(&mut self, columns: &[u32], counts: &[u32]) -> Result<()> {
        let (before, mut next) = (self.counts.len(), 0);
        for (&column, &count) in columns.iter().zip(counts) {
            if count > 0 {
                self.gaps.push(column - next);
                self.counts.push(count - 1);
                next = column + 1;
            }
        }
        self.lengths.push((self.counts.len() - before) as u32);
        match self.lengths.len() == self.in_block {
            true => self.write_block(),
            false => Ok(()),
        }
    }
}
