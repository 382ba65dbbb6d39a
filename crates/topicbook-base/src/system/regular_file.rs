//! Regular files, which are neither folders nor FIFOs, devices or sockets.

use std::fs::{self, Metadata};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::text::{bytes, shown_path};

use super::memory::check_free;

/// The metadata of a regular file. Fails if the path names none. Called before the file is opened: opening a FIFO waits for a writer, and opening
/// a device may move it.
pub fn check_regular(path: &Path) -> Result<Metadata> {
    let metadata = fs::metadata(path).map_err(|source| Error::io("open", path, source))?;
    let (what, fix) = match metadata.is_dir() {
        _ if metadata.is_file() => return Ok(metadata),
        true => ("is a folder", "name a file inside it"),
        false => (
            "is a FIFO, a device or a socket, not a file",
            "name a file: what is opened here may be read more than once, so write it to a file first",
        ),
    };
    Err(Error::new(ErrorKind::Io, format!("{} {what}", shown_path(path))).fix(fix))
}

/// Reads a whole file. Fails if the file and what is made of it, `copies` times its length, exceed the free memory.
pub fn read_whole(path: &Path, copies: u64) -> Result<Vec<u8>> {
    let length = check_regular(path)?.len();
    let what = format!("{} ({}), read as a whole,", shown_path(path), bytes(length));
    check_free(length.saturating_mul(1 + copies), &what).map_err(|error| {
        error
            .fix("look for a damaged file where the size surprises you; otherwise free some memory")
    })?;
    fs::read(path).map_err(|source| Error::io("read", path, source))
}
