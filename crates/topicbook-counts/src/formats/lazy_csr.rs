//! Sparse counts in memory, or in a file until they are needed.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::csr::Csr;
use crate::error::Result;
use crate::system::{Claim, OpenFile};

use super::csr_arrays::CsrArrays;
use super::hdf5::HdfFile;
use super::npz::NpzFile;
#[cfg(feature = "polars")]
use super::triplets::TripletFile;

/// Sparse counts in memory, or in a file from which they are read on first use.
pub enum LazyCsr {
    Ready(Csr),
    File {
        source: CsrFile,
        csr: OnceLock<Csr>,
        /// Locked while reading, so that only one thread reads.
        reading: Mutex<()>,
    },
}

/// A file whose headers have been read.
pub enum CsrFile {
    Npz(Box<NpzFile>),
    Hdf5(Box<HdfFile>),
    #[cfg(feature = "polars")]
    Groups(Box<TripletFile>),
}

/// Calls a method that the files of both formats have.
macro_rules! each {
    ($file:expr, $method:ident) => {
        match $file {
            CsrFile::Npz(file) => file.$method(),
            CsrFile::Hdf5(file) => file.$method(),
            #[cfg(feature = "polars")]
            CsrFile::Groups(file) => file.$method(),
        }
    };
}

impl CsrFile {
    fn claim(&self) -> Claim<'_> {
        each!(self, claim)
    }
}

impl LazyCsr {
    pub fn ready(csr: Csr) -> Self {
        LazyCsr::Ready(csr)
    }

    pub fn in_file(source: CsrFile) -> Self {
        LazyCsr::File {
            source,
            csr: OnceLock::new(),
            reading: Mutex::new(()),
        }
    }

    /// Number of stored counts. Reads nothing.
    pub fn stored(&self) -> u64 {
        match self {
            LazyCsr::Ready(csr) => csr.values.len() as u64,
            LazyCsr::File { source, .. } => each!(source, stored),
        }
    }

    /// The file and its CSR arrays, if rows can be read from the file separately.
    pub fn arrays(&self) -> Option<(&OpenFile, CsrArrays)> {
        match self {
            LazyCsr::Ready(_) => None,
            LazyCsr::File { source, .. } => each!(source, arrays),
        }
    }

    /// Whether the counts have not been read from their file yet.
    pub fn is_unread(&self) -> bool {
        matches!(self, LazyCsr::File { csr, .. } if csr.get().is_none())
    }

    /// A note for users of the file.
    pub fn note(&self) -> Option<&str> {
        match self {
            LazyCsr::File {
                source: CsrFile::Hdf5(file),
                ..
            } => file.note(),
            _ => None,
        }
    }

    /// Bytes in memory while the counts are in their file.
    pub fn held_bytes(&self) -> u64 {
        match self {
            #[cfg(feature = "polars")]
            LazyCsr::File {
                source: CsrFile::Groups(file),
                ..
            } => file.held_bytes(),
            _ => 0,
        }
    }

    /// Bytes of a piece of the file that is unpacked for any of its rows; 0 where rows are read as they are, or in small
    /// pieces.
    pub fn piece_bytes(&self) -> u64 {
        match self {
            #[cfg(feature = "polars")]
            LazyCsr::File {
                source: CsrFile::Groups(file),
                ..
            } => file.scratch_bytes(),
            _ => 0,
        }
    }

    /// Bytes of scratch memory that reading needs on top of the CSR rows it produces.
    pub fn read_scratch_bytes(&self) -> u64 {
        match self {
            LazyCsr::Ready(_) => 0,
            LazyCsr::File { source, .. } => each!(source, scratch_bytes),
        }
    }

    /// The rows; reads the file on the first call.
    pub fn get(&self) -> Result<&Csr> {
        match self {
            LazyCsr::Ready(csr) => Ok(csr),
            LazyCsr::File {
                source,
                csr,
                reading,
            } => {
                if let Some(csr) = csr.get() {
                    return Ok(csr);
                }
                let _reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(csr) = csr.get() {
                    return Ok(csr);
                }
                let rows = 8 * (each!(source, stored) + each!(source, documents) as u64 + 1);
                source
                    .claim()
                    .check_memory(rows + self.read_scratch_bytes())?;
                let read = each!(source, read)?;
                Ok(csr.get_or_init(|| read))
            }
        }
    }
}
