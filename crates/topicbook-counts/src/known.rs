//! What is known of counts without reading them: where they are, and the memory that they use.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::system::Claim;
use crate::text::{bytes, counted, shown_path};

use super::layout::shown_paths;
use super::{Counts, Layout, Location, Store, Summary};

/// Anonymous memory that counts use, in bytes. Pages of a memory-mapped file do not belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InMemory {
    /// Memory in use now.
    pub loaded: u64,
    /// Additional memory from the first use of the counts on.
    pub to_read: u64,
    /// Additional memory while the counts are read into memory.
    pub while_reading: u64,
}

impl Counts {
    /// Whether the counts are to be read into memory and have not been yet.
    pub(super) fn is_unread(&self) -> bool {
        match &self.inner.store {
            Store::Csr(csr) => csr.is_unread(),
            Store::Files(files) => files.is_unread(),
            Store::Dense(_) | Store::Expected(_) => false,
        }
    }

    /// Path of the counts' file, for messages.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.inner.location {
            Location::Memory => None,
            Location::File(path) | Location::Loaded(path) => Some(path),
            Location::Files(paths) => paths.first().and_then(|path| path.parent()),
        }
    }

    /// The shape of the counts, as a claim.
    #[doc(hidden)]
    pub fn claim(&self) -> Claim<'_> {
        let shape = format!(
            "{} × {}",
            counted(self.documents(), "document"),
            counted(self.terms(), "term")
        );
        let held = match self.stored_counts() {
            Some(stored) => counted(stored as usize, "stored count"),
            None => format!("{} of counts", bytes(self.bytes_stored())),
        };
        Claim::new(self.path(), shape, held)
    }

    /// Anonymous memory of the process for these counts.
    #[doc(hidden)]
    pub fn in_memory(&self) -> InMemory {
        match (&self.inner.store, &self.inner.location) {
            (_, Location::File(_)) => InMemory::default(),
            (Store::Csr(csr), _) if csr.is_unread() => InMemory {
                loaded: csr.source().map_or(0, |file| file.held_bytes()),
                to_read: self.bytes_stored(),
                while_reading: csr.source().map_or(0, |file| file.scratch_bytes()),
            },
            (Store::Files(files), _) if files.is_unread() => InMemory {
                loaded: files.held_bytes(),
                to_read: self.bytes_stored(),
                while_reading: files.scratch_bytes(),
            },
            (Store::Expected(_), _) => InMemory {
                to_read: self.bytes_stored(),
                ..InMemory::default()
            },
            _ => InMemory {
                loaded: self.bytes_stored(),
                ..InMemory::default()
            },
        }
    }

    /// Bytes of a piece of the counts' file that is unpacked for any of its rows; 0 where there are none.
    #[doc(hidden)]
    pub fn piece_bytes(&self) -> u64 {
        match &self.inner.store {
            Store::Csr(csr) => csr.source().map_or(0, |file| file.piece_bytes()),
            Store::Files(files) => files.piece_bytes(),
            Store::Dense(_) | Store::Expected(_) => 0,
        }
    }

    /// Documents of such a piece, if it is so many whole rows.
    #[doc(hidden)]
    pub fn piece_documents(&self) -> Option<usize> {
        match &self.inner.store {
            Store::Csr(csr) => csr.source()?.piece_documents(),
            Store::Files(files) => files.one().piece_documents(),
            Store::Dense(_) | Store::Expected(_) => None,
        }
    }

    /// Mean number of nonzero counts in a document, rounded up, if it is known without reading the counts.
    #[doc(hidden)]
    pub fn mean_nonzeros(&self) -> Option<usize> {
        let nonzeros = self.known_nonzeros()?;
        usize::try_from(nonzeros.div_ceil(self.documents() as u64)).ok()
    }

    /// Whether the summary is cached.
    #[doc(hidden)]
    pub fn is_summarised(&self) -> bool {
        self.inner.summary.get().is_some()
    }

    /// Number of stored counts, for sparse counts.
    #[doc(hidden)]
    pub fn stored_counts(&self) -> Option<u64> {
        match &self.inner.store {
            Store::Csr(csr) => Some(csr.stored()),
            Store::Expected(expected) if expected.layout == Layout::Csr => Some(expected.nonzeros),
            Store::Files(files) => files.sum(Self::stored_counts),
            Store::Dense(_) | Store::Expected(_) => None,
        }
    }

    /// Number of nonzero counts; for sparse counts, of stored ones. Dense counts are read for it, unless they have been.
    #[doc(hidden)]
    pub fn nonzeros(&self) -> Result<u64> {
        match self.known_nonzeros() {
            Some(nonzeros) => Ok(nonzeros),
            None => Ok(self.summary()?.nonzeros()),
        }
    }

    /// The same, if it is known without reading the counts.
    #[doc(hidden)]
    pub fn known_nonzeros(&self) -> Option<u64> {
        match &self.inner.store {
            Store::Csr(csr) => Some(csr.stored()),
            Store::Expected(expected) => Some(expected.nonzeros),
            Store::Files(_) if self.layout() == Layout::Csr => self.stored_counts(),
            Store::Dense(_) | Store::Files(_) => self.inner.summary.get().map(Summary::nonzeros),
        }
    }

    /// The largest count, if the summary is cached; infinite otherwise.
    #[doc(hidden)]
    pub fn largest_known(&self) -> f64 {
        let summary = self.inner.summary.get();
        summary.map_or(f64::INFINITY, Summary::largest)
    }

    /// The total of all counts, if the summary is cached.
    #[doc(hidden)]
    pub fn known_total(&self) -> Option<f64> {
        self.inner.summary.get().map(Summary::total)
    }

    /// The files of the counts, in the order of their documents; none for counts in memory alone.
    #[doc(hidden)]
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.inner.location {
            Location::Memory => Vec::new(),
            Location::File(path) | Location::Loaded(path) => vec![path.clone()],
            Location::Files(paths) => paths.clone(),
        }
    }

    /// The number of documents of each of the [`files`](Self::files) that counts are streamed from.
    #[doc(hidden)]
    pub fn documents_of_files(&self) -> Vec<usize> {
        match &self.inner.store {
            Store::Files(files) => files.documents_of_files(),
            _ => vec![self.documents()],
        }
    }

    /// The location, for messages. Says so if the counts are still to be read.
    #[doc(hidden)]
    pub fn location_text(&self) -> String {
        match (&self.inner.store, &self.inner.location) {
            (Store::Csr(csr), Location::Loaded(path)) if csr.is_unread() => {
                format!("file {}, read into memory on first use", shown_path(path))
            }
            (Store::Files(files), Location::Files(paths)) if files.is_unread() => {
                format!("{}, read into memory on first use", shown_paths(paths))
            }
            (_, location) => location.to_string(),
        }
    }
}
