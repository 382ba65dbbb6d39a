//! Read-only memory maps of files.

use std::path::Path;

use memmap2::Mmap;

use super::OpenFile;
use super::mapped_range::MappedRange;
use crate::error::{Error, Result};

/// A read-only memory map of a whole file.
pub struct MappedFile {
    file: OpenFile,
    range: MappedRange,
    map: Mmap,
}

impl MappedFile {
    pub fn new(file: OpenFile) -> Result<Self> {
        // SAFETY: the map is read-only, and every access goes through `bytes`, which fails for a file that changed.
        // A write at the moment of a read can still give a stale or torn count, which is a valid value of every
        // element type. Pages that a truncation takes away read as zeros, because the range is registered.
        let map = unsafe { Mmap::map(&file.handle) }
            .map_err(|source| Error::io("map", &file.path, source))?;
        let range = MappedRange::new(&map, false);
        Ok(Self { file, range, map })
    }

    pub fn path(&self) -> &Path {
        &self.file.path
    }

    pub fn file(&self) -> &OpenFile {
        &self.file
    }

    /// All bytes of the file, after a check that the file has not changed. If it is truncated later, they read as zeros: call
    /// [`check_unchanged`](Self::check_unchanged) before a result computed from them is used.
    pub fn bytes(&self) -> Result<&[u8]> {
        self.check_unchanged()?;
        Ok(&self.map)
    }

    /// The address of the file's first byte, for values that lie in the map.
    pub fn map_start(&self) -> *const u8 {
        self.map.as_ptr()
    }

    /// Fails if the file was truncated or rewritten since it was opened, or a page of the map was lost. Costs one system
    /// call.
    pub fn check_unchanged(&self) -> Result<()> {
        self.file.check_unchanged()?;
        match self.range.is_lost() {
            false => Ok(()),
            true => Err(Error::format(
                &self.file.path,
                format!(
                    "a part of its {} bytes could not be read: it was cut meanwhile, or its disk failed",
                    self.file.length
                ),
            )
            .fix("open it again when no program writes to it any more, and check the disk")),
        }
    }
}
