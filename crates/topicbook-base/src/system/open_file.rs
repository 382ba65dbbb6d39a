//! Open files with checks that nothing changes or replaces them.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, Result};
use crate::text::bytes;

use super::{Claim, check_regular};

/// An open file, with its length and modification time at the moment of opening.
pub struct OpenFile {
    pub handle: File,
    pub path: PathBuf,
    pub length: u64,
    modified: Option<SystemTime>,
    /// Whether its name was removed when it was opened.
    unlinked: bool,
}

/// Hint to the OS about a range of a file (`posix_fadvise`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Reads continue where the last one ended (`POSIX_FADV_SEQUENTIAL`): the OS reads ahead more.
    Sequential,
    /// Reads are scattered (`POSIX_FADV_RANDOM`): the OS does not read ahead.
    Random,
    /// Start reading the range into the page cache (`POSIX_FADV_WILLNEED`).
    WillNeed,
    /// Drop the range from the page cache (`POSIX_FADV_DONTNEED`).
    DontNeed,
}

impl OpenFile {
    pub fn open(path: &Path) -> Result<Self> {
        check_regular(path)?;
        let handle = File::open(path).map_err(|source| Error::io("open", path, source))?;
        let metadata = metadata(&handle, path)?;
        Ok(Self {
            handle,
            path: path.to_path_buf(),
            length: metadata.len(),
            modified: metadata.modified().ok(),
            unlinked: false,
        })
    }

    /// Opens a temporary file and removes its name: the system frees its space when the last handle is closed, also after a
    /// crash.
    pub fn open_unlinked(path: &Path) -> Result<Self> {
        let file = Self::open(path)?;
        std::fs::remove_file(path).map_err(|source| Error::io("remove", path, source))?;
        Ok(Self {
            unlinked: true,
            ..file
        })
    }

    /// Something that the file states, to be checked against its length and the free memory.
    pub fn claim(&self, what: impl Into<String>) -> Claim<'_> {
        let held = format!("a file of {}", bytes(self.length));
        Claim::new(self.path.as_path(), what, held)
    }

    /// Fails if the file was truncated or rewritten since it was opened. Costs one system call.
    pub fn check_unchanged(&self) -> Result<()> {
        let now = metadata(&self.handle, &self.path)?;
        if now.len() != self.length {
            return Err(Error::format(
                &self.path,
                format!(
                    "was {} bytes long when it was opened and is {} now",
                    self.length,
                    now.len()
                ),
            )
            .fix("open it again when no program writes to it any more"));
        }
        if now.modified().ok() != self.modified {
            return Err(Error::format(&self.path, "was changed since it was opened")
                .fix("open it again when no program writes to it any more"));
        }
        Ok(())
    }

    /// Opens the same file a second time. Advice on the new descriptor does not affect other users of the file, such
    /// as its memory maps.
    pub fn reopen(&self) -> Result<Self> {
        if self.unlinked {
            // Reads are positioned, so that the position, which the copy shares, does not matter.
            let handle = self.handle.try_clone();
            return Ok(Self {
                handle: handle.map_err(|source| Error::io("open", &self.path, source))?,
                path: self.path.clone(),
                ..*self
            });
        }
        let again = Self::open(&self.path)?;
        if !same_file(
            &metadata(&self.handle, &self.path)?,
            &metadata(&again.handle, &self.path)?,
        ) {
            return Err(replaced(&self.path));
        }
        self.check_unchanged()?;
        Ok(again)
    }

    /// Fails if the path now names another file.
    pub fn check_not_replaced(&self) -> Result<()> {
        if self.unlinked {
            return Ok(());
        }
        match std::fs::metadata(&self.path) {
            Ok(now) if !same_file(&now, &metadata(&self.handle, &self.path)?) => {
                Err(replaced(&self.path))
            }
            // A deleted file is still readable through its descriptor.
            _ => Ok(()),
        }
    }

    /// Advises the OS on the bytes from `start` to `end` (0 for the end of the file). Only a hint; errors are ignored.
    pub fn advise(&self, start: u64, end: u64, advice: Advice) {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            let advice = match advice {
                Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
                Advice::Random => libc::POSIX_FADV_RANDOM,
                Advice::WillNeed => libc::POSIX_FADV_WILLNEED,
                Advice::DontNeed => libc::POSIX_FADV_DONTNEED,
            };
            let (start, length) = (
                start as libc::off_t,
                end.saturating_sub(start) as libc::off_t,
            );
            // SAFETY: the descriptor stays open while `self` is borrowed, and the call accesses no memory of ours.
            unsafe { libc::posix_fadvise(self.handle.as_raw_fd(), start, length, advice) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (start, end, advice);
    }

    /// Fills `bytes` from the file, starting at `offset`. Fails if the file ends before.
    pub fn read_exact_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_exact_at(&self.handle, bytes, offset);
        #[cfg(not(unix))]
        let read = File::open(&self.path).and_then(|mut file| {
            use std::io::{Read, Seek, SeekFrom};
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(bytes)
        });
        read.or_else(|source| {
            // If the file was truncated, report that instead of the I/O error.
            self.check_unchanged()?;
            Err(Error::io("read", &self.path, source))
        })
    }
}

fn replaced(path: &Path) -> Error {
    Error::format(path, "was replaced by another file since it was opened").fix(
        "open the counts again; a fit resumed from a checkpoint needs the counts it was started with",
    )
}

#[cfg(unix)]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same_file(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len() && a.modified().ok() == b.modified().ok()
}

fn metadata(file: &File, path: &Path) -> Result<Metadata> {
    file.metadata()
        .map_err(|source| Error::io("read the metadata of", path, source))
}
