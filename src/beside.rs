//! Files that are there whole or not at all: written beside their place, then renamed into it.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// Writes `path` by `write`; on an error nothing stays behind and an earlier file of that name is untouched.
pub(crate) fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let Some(name) = path.file_name() else {
        return Err(
            Error::new(ErrorKind::Io, format!("{} names no file", path.display()))
                .fix("end the path in a file name"),
        );
    };
    let mut beside = name.to_os_string();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = File::create(&beside)
        .map_err(|error| Error::io("create", path, error))
        .and_then(|file| {
            let mut file = BufWriter::new(file);
            write(&mut file)?;
            file.flush()
                .map_err(|error| Error::io("write", path, error))
        })
        .and_then(|()| fs::rename(&beside, path).map_err(|error| Error::io("write", path, error)));
    if written.is_err() {
        // The error that led here says more than one of the clean-up would.
        let _ = fs::remove_file(&beside);
    }
    written
}
