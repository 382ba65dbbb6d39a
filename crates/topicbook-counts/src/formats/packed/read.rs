//! Opens files of packed counts, and reads their rows a block at a time.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bitpacking::{BitPacker, BitPacker4x};

use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::formats::file_rows::FileRows;
use crate::formats::invalid_value;
use crate::formats::lazy_csr::{CsrFile, LazyCsr};
use crate::rows::NONZERO_BYTES;
use crate::system::OpenFile;
use crate::text::counted;
use crate::{Counts, Location, Store};

use super::chunks::{CHUNK, HEAD_BYTES, Head, unpack};
use super::{CHECKSUM_BYTES, END, ENTRY_BYTES, FOOTER_BYTES, HEADER_BYTES, MAGIC, VERSION};

const DAMAGED: &str = "copy it again, or write it again with Counts::write_packed";

/// A file whose index has been read.
struct PackedFile {
    file: OpenFile,
    documents: usize,
    terms: usize,
    blocks: Arc<Blocks>,
}

/// The index of a file.
struct Blocks {
    /// Documents in a block; the last one may have fewer.
    documents: usize,
    /// Where the first block starts and where each one ends: its byte, and the stored counts before it.
    bounds: Vec<(u64, u64)>,
}

impl Blocks {
    fn bytes(&self, block: usize) -> Range<u64> {
        self.bounds[block].0..self.bounds[block + 1].0
    }

    fn stored(&self, block: usize) -> u64 {
        self.bounds[block + 1].1 - self.bounds[block].1
    }

    /// Bytes of the largest block, packed and as rows.
    fn largest(&self) -> u64 {
        let blocks = self.bounds.windows(2);
        let bytes = blocks.map(|ends| {
            let (packed, stored) = (ends[1].0 - ends[0].0, ends[1].1 - ends[0].1);
            packed + stored * NONZERO_BYTES
        });
        bytes.max().unwrap_or(0) + 8 * self.documents as u64
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut number = [0; N];
    number.copy_from_slice(&bytes[at..at + N]);
    number
}

/// Opens a file: reads its header, index and footer.
pub fn open(path: &Path) -> Result<Counts> {
    let file = OpenFile::open(path)?;
    let ends = (HEADER_BYTES + FOOTER_BYTES) as u64;
    let mut header = [0; HEADER_BYTES];
    if file.length >= ends {
        file.read_exact_at(0, &mut header)?;
    }
    if header[..MAGIC.len()] != MAGIC {
        return Err(Error::format(path, "has no packed counts")
            .fix("counts of another format need its extension; see Counts::open"));
    }
    let version = u32::from_le_bytes(number(&header, MAGIC.len()));
    if version != VERSION {
        let what = format!("has version {version} of packed counts, and version {VERSION} is read");
        return Err(Error::format(path, what)
            .fix("update topicbook, or write the counts again with this version"));
    }
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact_at(file.length - FOOTER_BYTES as u64, &mut footer)?;
    if footer[FOOTER_BYTES - END.len()..] != END {
        return Err(Error::format(path, "was cut: its end is missing").fix(DAMAGED));
    }
    let [documents, terms] = [0, 8].map(|at| u64::from_le_bytes(number(&footer, at)));
    let blocks = read_index(&file, (&header, &footer), documents, terms)?;
    let source = PackedFile {
        file,
        documents: documents as usize,
        terms: terms as usize,
        blocks: Arc::new(blocks),
    };
    let (documents, terms) = source.shape();
    let store = Store::Csr(LazyCsr::in_file(source));
    let location = Location::Loaded(path.to_path_buf());
    Counts::new(documents, terms, store, location)
}

/// Reads the index, and checks the sizes that it and the footer state.
fn read_index(
    file: &OpenFile,
    (header, footer): (&[u8], &[u8]),
    documents: u64,
    terms: u64,
) -> Result<Blocks> {
    let in_block = u64::from(u32::from_le_bytes(number(header, HEADER_BYTES - 4)));
    let damaged = |what: &str| Error::format(&file.path, what).at("its index").fix(DAMAGED);
    let blocks = documents.div_ceil(in_block.max(1));
    let claim = file.claim(format!(
        "{documents} documents in blocks of {in_block}, with {terms} terms"
    ));
    let before = file.length - FOOTER_BYTES as u64;
    let entry = ENTRY_BYTES as u64;
    claim.check_held(blocks, (before - HEADER_BYTES as u64) / entry)?;
    claim.check_memory(2 * blocks * entry)?;
    let mut index = vec![0; (blocks * entry) as usize];
    let start = before - index.len() as u64;
    file.read_exact_at(start, &mut index)?;
    let mut checksum = crc32fast::Hasher::new();
    let stated = FOOTER_BYTES - END.len() - CHECKSUM_BYTES;
    for part in [header, &index, &footer[..stated]] {
        checksum.update(part);
    }
    if checksum.finalize() != u32::from_le_bytes(number(footer, stated)) {
        return Err(damaged("is damaged: the checksum of its index is wrong"));
    }
    if in_block == 0 || terms > u64::from(u32::MAX) {
        return Err(damaged("states sizes that no file of packed counts has"));
    }
    let mut bounds = vec![(HEADER_BYTES as u64, 0)];
    for entry in index.chunks_exact(ENTRY_BYTES) {
        let (byte, stored) = bounds[bounds.len() - 1];
        let end = [0, 8].map(|at| u64::from_le_bytes(number(entry, at)));
        let left = documents - (bounds.len() as u64 - 1) * in_block;
        let held = end[1].checked_sub(stored);
        let least = held.and_then(|held| least_bytes(left.min(in_block), held, terms));
        let bytes = end[0].checked_sub(byte);
        if least.is_none_or(|least| bytes < Some(least)) {
            return Err(damaged("states blocks that cannot hold their counts"));
        }
        bounds.push((end[0], end[1]));
    }
    if bounds[bounds.len() - 1].0 != start {
        return Err(damaged("states blocks that are not next to each other"));
    }
    Ok(Blocks {
        documents: usize::try_from(in_block.min(documents)).unwrap_or(usize::MAX),
        bounds,
    })
}

/// The fewest bytes of a block; `None` if so many counts cannot be in it.
fn least_bytes(documents: u64, stored: u64, terms: u64) -> Option<u64> {
    let chunks = documents.div_ceil(CHUNK as u64) + 2 * stored.div_ceil(CHUNK as u64);
    let fits = stored <= documents.saturating_mul(terms);
    fits.then(|| chunks * HEAD_BYTES as u64 + CHECKSUM_BYTES as u64)
}

impl PackedFile {
    fn rows(&self) -> PackedRows {
        PackedRows {
            documents: self.documents,
            blocks: Arc::clone(&self.blocks),
            last: None,
            rows: Csr::empty(),
            bytes: Vec::new(),
        }
    }
}

impl CsrFile for PackedFile {
    fn file(&self) -> &OpenFile {
        &self.file
    }

    fn shape(&self) -> (usize, usize) {
        (self.documents, self.terms)
    }

    fn stored(&self) -> u64 {
        self.blocks.bounds.last().map_or(0, |end| end.1)
    }

    fn rows(&self) -> Option<FileRows> {
        Some(FileRows::Packed(self.rows()))
    }

    fn scratch_bytes(&self) -> u64 {
        self.blocks.largest()
    }

    fn held_bytes(&self) -> u64 {
        size_of_val(self.blocks.bounds.as_slice()) as u64
    }

    fn piece_bytes(&self) -> u64 {
        self.blocks.largest()
    }

    fn piece_documents(&self) -> Option<usize> {
        Some(self.blocks.documents)
    }

    fn read(&self) -> Result<Csr> {
        let mut csr = Csr::empty();
        csr.indptr.reserve_exact(self.documents);
        csr.indices.reserve_exact(self.stored() as usize);
        csr.values.reserve_exact(self.stored() as usize);
        self.rows()
            .append(&self.file, self.terms, 0..self.documents, &mut csr)?;
        self.file.check_unchanged()?;
        Ok(csr)
    }
}

/// Reads rows of a file by position.
pub struct PackedRows {
    documents: usize,
    blocks: Arc<Blocks>,
    /// The block in `rows`: ranges of rows that follow each other have it in common.
    last: Option<usize>,
    rows: Csr,
    bytes: Vec<u8>,
}

impl PackedRows {
    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.blocks.bounds.last().map_or(0, |end| end.0)
    }

    /// The bytes of the blocks that have these rows.
    pub fn byte_range(&self, rows: Range<usize>) -> Range<u64> {
        let end = rows.end.div_ceil(self.blocks.documents);
        self.blocks.bounds[rows.start / self.blocks.documents].0..self.blocks.bounds[end].0
    }

    /// Frees the block that was read last.
    pub fn rest(&mut self) {
        (self.last, self.rows, self.bytes) = (None, Csr::empty(), Vec::new());
    }

    /// Reads rows, and appends them to `csr`.
    pub fn append(
        &mut self,
        file: &OpenFile,
        terms: usize,
        rows: Range<usize>,
        csr: &mut Csr,
    ) -> Result<()> {
        let mut first = rows.start;
        while first < rows.end {
            let block = first / self.blocks.documents;
            let start = block * self.blocks.documents;
            let end = self.documents.min(start + self.blocks.documents);
            let part = first - start..rows.end.min(end) - start;
            if part.len() == end - start && self.last != Some(block) {
                self.decode(file, terms, block, csr)?;
            } else {
                if self.last != Some(block) {
                    let mut kept = std::mem::replace(&mut self.rows, Csr::empty());
                    kept.clear();
                    self.last = None;
                    self.decode(file, terms, block, &mut kept)?;
                    (self.last, self.rows) = (Some(block), kept);
                }
                csr.append_rows(&self.rows, part.clone());
            }
            first += part.len();
        }
        Ok(())
    }

    /// Reads a block, and appends its rows.
    fn decode(&mut self, file: &OpenFile, terms: usize, block: usize, csr: &mut Csr) -> Result<()> {
        let (range, stored) = (self.blocks.bytes(block), self.blocks.stored(block));
        let first = block * self.blocks.documents;
        let documents = first..self.documents.min(first + self.blocks.documents);
        let needed = (range.end - range.start) + stored.saturating_mul(NONZERO_BYTES);
        file.claim(counted(stored as usize, "stored count"))
            .at(shown(&documents))
            .check_memory(needed)?;
        self.bytes.resize((range.end - range.start) as usize, 0);
        file.read_exact_at(range.start, &mut self.bytes)?;
        let wrong = |what: &str| {
            Error::format(&file.path, what)
                .at(format!(
                    "{}, bytes {} to {}",
                    shown(&documents),
                    range.start,
                    range.end - 1
                ))
                .fix(self.remedy(&file.path, &documents))
        };
        let (stated, packed) = self.bytes.split_at(CHECKSUM_BYTES);
        if crc32fast::hash(packed) != u32::from_le_bytes(number(stated, 0)) {
            return Err(wrong("is damaged: the checksum of a block is wrong"));
        }
        let appended = append_block(packed, documents.len(), stored as usize, terms, csr);
        match appended.ok_or_else(|| wrong("has a block that is not packed as its index says"))? {
            None => Ok(()),
            Some((entry, count)) => {
                let before = csr.indptr.len() - 1 - documents.len();
                let row = csr.indptr[before..].partition_point(|&start| start <= entry as u64) - 1;
                let (row, column) = (first + row, csr.indices[entry] as usize);
                Err(invalid_value::too_large_for_sparse(
                    count.into(),
                    row,
                    column,
                    Some(&file.path),
                ))
            }
        }
    }

    /// What to do about a damaged block.
    fn remedy(&self, path: &Path, damaged: &Range<usize>) -> String {
        let (before, after) = (0..damaged.start, damaged.end..self.documents);
        let rest = match (before.is_empty(), after.is_empty()) {
            (true, true) => return DAMAGED.into(),
            (true, false) => format!("{after:?}"),
            (false, true) => format!("{before:?}"),
            (false, false) => format!("({before:?}).chain({after:?}).collect::<Vec<_>>()"),
        };
        format!("{DAMAGED}; Counts::open({path:?})?.select({rest})? reads the other documents")
    }
}

fn shown(documents: &Range<usize>) -> String {
    let (first, last) = (documents.start, documents.end - 1);
    format!("documents {first} to {last} (counted from 0)")
}

/// Unpacks a block after its checksum, and appends its rows. `None` if it is not packed as it should be; otherwise the first
/// entry of `csr` whose count is not exact in `f32`, and that count.
fn append_block(
    packed: &[u8],
    documents: usize,
    stored: usize,
    terms: usize,
    csr: &mut Csr,
) -> Option<Option<(usize, u32)>> {
    let packer = BitPacker4x::new();
    let chunks = documents.div_ceil(CHUNK) + 2 * stored.div_ceil(CHUNK);
    let (heads, mut bodies) = packed.split_at_checked(chunks * HEAD_BYTES)?;
    let (heads, _) = heads.as_chunks::<HEAD_BYTES>();
    let mut heads = heads.iter();
    let mut chunk = [0; CHUNK];
    let mut next = |chunk: &mut [u32; CHUNK]| {
        let head = Head::from_bytes(*heads.next()?)?;
        let (body, rest) = bodies.split_at_checked(head.body_bytes())?;
        bodies = rest;
        unpack(packer, head, body, chunk)
    };
    let (first_row, first) = (csr.indptr.len() - 1, csr.indices.len());
    let mut end = first as u64;
    for row in (0..documents).step_by(CHUNK) {
        next(&mut chunk)?;
        for &length in &chunk[..CHUNK.min(documents - row)] {
            end += u64::from(length);
            csr.indptr.push(end);
        }
    }
    if end != (first + stored) as u64 {
        return None;
    }
    let mut inexact = None;
    for at in (0..stored).step_by(CHUNK) {
        let length = CHUNK.min(stored - at);
        next(&mut chunk)?;
        csr.indices.extend_from_slice(&chunk[..length]);
        next(&mut chunk)?;
        // A count is stored as what it is above 1.
        if chunk.iter().fold(0, |bits, above| bits | above) >> 24 == 0 {
            let counts = chunk[..length]
                .iter()
                .map(|&above| (above as i32 + 1) as f32);
            csr.values.extend(counts);
        } else {
            for above in &chunk[..length] {
                let count = above.checked_add(1)?;
                if f64::from(count as f32) != f64::from(count) {
                    inexact = inexact.or(Some((csr.values.len(), count)));
                }
                csr.values.push(count as f32);
            }
        }
    }
    if !bodies.is_empty() {
        return None;
    }
    for row in first_row..first_row + documents {
        let row = csr.indptr[row] as usize..csr.indptr[row + 1] as usize;
        if columns_of_gaps(&mut csr.indices[row]) > terms as u64 {
            return None;
        }
    }
    Some(inexact)
}

/// Replaces the gaps before the columns of a row by the columns, and returns the column after the last one.
fn columns_of_gaps(row: &mut [u32]) -> u64 {
    let bits = row.iter().fold(0, |bits, &gap| bits | gap);
    let most = (u64::from(bits) + 1).saturating_mul(row.len() as u64);
    let (groups, rest) = match most <= u64::from(u32::MAX) {
        true => row.as_chunks_mut::<4>(),
        false => (&mut [][..], row),
    };
    let mut next = u64::from(columns_of_groups(groups));
    for gap in rest {
        let column = next + u64::from(*gap);
        *gap = column as u32;
        next = column + 1;
    }
    next
}

/// Does the same for groups of gaps, whose columns are below 2^32. Each addition of the loop in [`columns_of_gaps`] waits for the
/// one before. Here a group is added up in a register of SSE2 in two steps (Hillis and Steele 1986), and only `start` waits.
#[cfg(target_arch = "x86_64")]
fn columns_of_groups(groups: &mut [[u32; 4]]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is a part of x86-64, and a group has the 16 bytes of a register, which may be at any address.
    unsafe {
        let mut start = _mm_setr_epi32(0, 1, 2, 3);
        for group in groups {
            let gaps = _mm_loadu_si128(group.as_ptr().cast());
            let pairs = _mm_add_epi32(gaps, _mm_slli_si128::<4>(gaps));
            let sums = _mm_add_epi32(pairs, _mm_slli_si128::<8>(pairs));
            _mm_storeu_si128(group.as_mut_ptr().cast(), _mm_add_epi32(sums, start));
            let step = _mm_add_epi32(_mm_shuffle_epi32::<0xff>(sums), _mm_set1_epi32(4));
            start = _mm_add_epi32(start, step);
        }
        _mm_cvtsi128_si32(start) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn columns_of_groups(groups: &mut [[u32; 4]]) -> u32 {
    let mut next = 0;
    for gap in groups.as_flattened_mut() {
        *gap += next;
        next = *gap + 1;
    }
    next
}
