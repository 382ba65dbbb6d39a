//! Sparse counts in memory, or in a file until they are needed.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::csr::Csr;
use crate::error::Result;
use crate::system::{Claim, OpenFile};
use crate::text::counted;

use super::file_rows::FileRows;

/// Sparse counts in memory, or in a file from which they are read on first use.
pub enum LazyCsr {
    Ready(Csr),
    File {
        source: Box<dyn CsrFile>,
        csr: OnceLock<Csr>,
        /// Locked while reading, so that only one thread reads.
        reading: Mutex<()>,
    },
}

/// A file whose headers have been read.
pub trait CsrFile: Send + Sync {
    fn file(&self) -> &OpenFile;

    /// Documents and terms.
    fn shape(&self) -> (usize, usize);

    /// Number of stored counts.
    fn stored(&self) -> u64;

    /// The rows in the file, if they can be read from it separately.
    fn rows(&self) -> Option<FileRows>;

    /// Bytes of scratch memory that reading needs on top of the CSR rows it produces.
    fn scratch_bytes(&self) -> u64;

    /// Reads all counts into memory, as CSR. The caller has checked that they fit.
    fn read(&self) -> Result<Csr>;

    /// A note for users of the file.
    fn note(&self) -> Option<&str> {
        None
    }

    /// Bytes in memory while the counts are in the file.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Bytes of a piece of the file that is unpacked for any of its rows; 0 where rows are read as they are, or in small
    /// pieces.
    fn piece_bytes(&self) -> u64 {
        0
    }

    /// Documents of such a piece, if a piece is so many whole rows.
    fn piece_documents(&self) -> Option<usize> {
        None
    }

    fn claim(&self) -> Claim<'_> {
        let (documents, terms) = self.shape();
        self.file().claim(format!(
            "{} × {} with {}",
            counted(documents, "document"),
            counted(terms, "term"),
            counted(self.stored() as usize, "stored count")
        ))
    }
}

impl LazyCsr {
    pub fn ready(csr: Csr) -> Self {
        LazyCsr::Ready(csr)
    }

    pub fn in_file(source: impl CsrFile + 'static) -> Self {
        LazyCsr::File {
            source: Box::new(source),
            csr: OnceLock::new(),
            reading: Mutex::new(()),
        }
    }

    /// Number of stored counts. Reads nothing.
    pub fn stored(&self) -> u64 {
        match self {
            LazyCsr::Ready(csr) => csr.values.len() as u64,
            LazyCsr::File { source, .. } => source.stored(),
        }
    }

    /// The file and its rows, if they can be read from it separately.
    pub fn rows(&self) -> Option<(&OpenFile, FileRows)> {
        match self {
            LazyCsr::Ready(_) => None,
            LazyCsr::File { source, .. } => Some((source.file(), source.rows()?)),
        }
    }

    /// Whether the counts have not been read from their file yet.
    pub fn is_unread(&self) -> bool {
        matches!(self, LazyCsr::File { csr, .. } if csr.get().is_none())
    }

    /// The file, if the counts began in one.
    pub fn source(&self) -> Option<&dyn CsrFile> {
        match self {
            LazyCsr::Ready(_) => None,
            LazyCsr::File { source, .. } => Some(&**source),
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
                let rows = 8 * (source.stored() + source.shape().0 as u64 + 1);
                source.claim().check_memory(rows + source.scratch_bytes())?;
                let read = source.read()?;
                Ok(csr.get_or_init(|| read))
            }
        }
    }
}
