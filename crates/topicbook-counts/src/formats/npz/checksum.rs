//! CRC-32 of the arrays of an archive, computed while a sequential pass reads them.

use std::path::Path;

use crate::error::Result;

use super::archive::damaged;

/// CRC-32 of one entry.
pub struct EntryChecksum {
    name: &'static str,
    /// Offset in the file of the first byte that has not been seen.
    next: u64,
    /// Offset after the last byte.
    end: u64,
    /// The checksum in the archive's directory.
    stated: u32,
    computed: crc32fast::Hasher,
}

impl EntryChecksum {
    pub fn new(name: &'static str, next: u64, end: u64, stated: u32) -> Self {
        Self {
            name,
            next,
            end,
            stated,
            computed: crc32fast::Hasher::new(),
        }
    }

    /// Continues with bytes that were read at `offset`, without the ones seen before. After a gap, all further bytes are ignored.
    pub fn update(&mut self, offset: u64, bytes: &[u8]) {
        let seen = self.next.checked_sub(offset).map(|seen| seen as usize);
        if let Some(new) = seen.and_then(|seen| bytes.get(seen..)) {
            self.computed.update(new);
            self.next += new.len() as u64;
        }
    }

    /// Whether all bytes were seen. Fails if their checksum is not the one in the directory.
    pub fn is_verified(&self, path: &Path) -> Result<bool> {
        let complete = self.next == self.end;
        if complete && self.computed.clone().finalize() != self.stated {
            let what = std::io::Error::other("Invalid checksum");
            return Err(damaged(path, self.name, what));
        }
        Ok(complete)
    }
}
