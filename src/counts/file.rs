//! An open file that must not change under us.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memmap2::Mmap;

use crate::error::{Error, ErrorKind, Result};

/// A file kept open, with the length and time of change it had when it was opened.
pub struct KeptFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) length: u64,
    modified: Option<SystemTime>,
}

/// How the system should treat a part of a file in its page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    /// Read on from where the last read ended.
    Sequential,
    /// Read no more than is asked for.
    Random,
    /// Start reading this.
    WillNeed,
    /// This will not be read again soon: its memory is better given to others.
    DontNeed,
}

impl KeptFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| Error::io("open", path, source))?;
        let metadata = metadata(&file, path)?;
        if metadata.is_dir() {
            return Err(
                Error::new(ErrorKind::Io, format!("{} is a folder", path.display()))
                    .fix("name a file inside it"),
            );
        }
        Ok(Self {
            file,
            path: path.to_path_buf(),
            length: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }

    /// Refuses a file that was cut or rewritten since it was opened.
    ///
    /// Reading a mapped page beyond the end of a file ends the process (SIGBUS), so this comes before
    /// every access; it costs one system call. A cut in the very moment after it is not caught.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        let now = metadata(&self.file, &self.path)?;
        if now.len() != self.length {
            return Err(Error::format(
                &self.path,
                format!(
                    "was {} bytes long when it was opened and is {} now",
                    self.length,
                    now.len()
                ),
            )
            .fix("open it again once nothing writes to it any more"));
        }
        if now.modified().ok() != self.modified {
            return Err(Error::format(&self.path, "was changed since it was opened")
                .fix("open it again once nothing writes to it any more"));
        }
        Ok(())
    }
}

impl KeptFile {
    /// The same file opened anew, so that advice on how it is read does not reach those who have it mapped.
    pub(super) fn open_again(&self) -> Result<Self> {
        let again = Self::open(&self.path)?;
        if !same_file(
            &metadata(&self.file, &self.path)?,
            &metadata(&again.file, &self.path)?,
        ) {
            return Err(replaced(&self.path));
        }
        self.check_unchanged()?;
        Ok(again)
    }

    /// Refuses a file whose name now leads to another one.
    pub(super) fn check_in_place(&self) -> Result<()> {
        match std::fs::metadata(&self.path) {
            Ok(now) if !same_file(&now, &metadata(&self.file, &self.path)?) => {
                Err(replaced(&self.path))
            }
            // A file that lost its name can still be read.
            _ => Ok(()),
        }
    }

    /// Tells the system how the bytes from `start` to `end` (0: to the end of the file) will be read. Only a hint.
    pub(super) fn advise(&self, start: u64, end: u64, advice: Advice) {
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
            // SAFETY: the descriptor is open for as long as `self` is borrowed; the call touches no memory of ours.
            unsafe { libc::posix_fadvise(self.file.as_raw_fd(), start, length, advice) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (start, end, advice);
    }

    /// Reads bytes from `offset` on. A file that ends before is an error.
    pub(super) fn read_exact_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset);
        #[cfg(not(unix))]
        let read = File::open(&self.path).and_then(|mut file| {
            use std::io::{Read, Seek, SeekFrom};
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(bytes)
        });
        read.or_else(|source| {
            // Says that the file was cut, if that is why.
            self.check_unchanged()?;
            Err(Error::io("read", &self.path, source))
        })
    }
}

fn replaced(path: &Path) -> Error {
    Error::format(path, "was replaced by another file since it was opened").fix(
        "open the counts again; a fit with a checkpoint goes on only with the counts it began with",
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
        .map_err(|source| Error::io("look at", path, source))
}

/// A file mapped into memory, read-only.
pub struct MappedFile {
    kept: KeptFile,
    map: Mmap,
}

impl MappedFile {
    pub(super) fn new(kept: KeptFile) -> Result<Self> {
        // SAFETY: the map is read-only and every access goes through `bytes`, which refuses a file that
        // changed. What remains (a write at the very moment of a read) gives a stale or torn count, which
        // is a valid value of every element type; a cut at that moment ends the process.
        let map = unsafe { Mmap::map(&kept.file) }
            .map_err(|source| Error::io("map", &kept.path, source))?;
        Ok(Self { kept, map })
    }

    pub(super) fn path(&self) -> &Path {
        &self.kept.path
    }

    pub(super) fn kept(&self) -> &KeptFile {
        &self.kept
    }

    /// All bytes of the file, after a check that they are still there.
    pub(super) fn bytes(&self) -> Result<&[u8]> {
        self.kept.check_unchanged()?;
        Ok(&self.map)
    }
}
