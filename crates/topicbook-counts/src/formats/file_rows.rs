//! Rows of sparse counts in a file, read by position.

use std::ops::Range;

use crate::csr::Csr;
use crate::error::Result;
use crate::system::OpenFile;

use super::csr_arrays::{Checksums, CsrArrays};
use super::packed::PackedRows;

/// The rows of a file, as it stores them.
pub enum FileRows {
    Arrays(Box<CsrArrays>),
    Packed(PackedRows),
}

impl FileRows {
    /// Checksums for a pass; `None` where there are none to verify by a pass. A packed block is verified whenever it is read.
    pub fn checksums(&self, file: &OpenFile) -> Result<Option<Checksums>> {
        match self {
            Self::Arrays(arrays) => arrays.checksums(file),
            Self::Packed(_) => Ok(None),
        }
    }

    /// Bytes of the columns and counts of all rows in the file.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Arrays(arrays) => arrays.bytes(),
            Self::Packed(rows) => rows.bytes(),
        }
    }

    /// The bytes of the columns and of the counts of `rows` in the file, which may be together.
    pub fn byte_ranges(&self, file: &OpenFile, rows: Range<usize>) -> Result<[Range<u64>; 2]> {
        match self {
            Self::Arrays(arrays) => arrays.byte_ranges(file, rows),
            Self::Packed(packed) => Ok([packed.byte_range(rows), 0..0]),
        }
    }

    /// Reads rows, with the same checks as reading the whole file, and appends them to `csr`.
    pub fn append(
        &mut self,
        file: &OpenFile,
        terms: usize,
        rows: Range<usize>,
        csr: &mut Csr,
        stage: &mut [u8],
        checksums: Option<&mut Checksums>,
    ) -> Result<()> {
        match self {
            Self::Arrays(arrays) => arrays.append(file, terms, rows, csr, stage, checksums),
            Self::Packed(packed) => packed.append(file, terms, rows, csr),
        }
    }

    /// Frees what was kept for the next read.
    pub fn rest(&mut self) {
        match self {
            Self::Arrays(arrays) => arrays.rest(),
            Self::Packed(rows) => rows.rest(),
        }
    }
}
