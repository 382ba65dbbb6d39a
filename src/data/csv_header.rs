//! The header of a CSV file.

use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::bytes;

/// Longest header.
const LONGEST: usize = 1 << 20;

/// The first line that is not blank, without its end. Fails where it does not end: Polars copies it.
pub(crate) fn csv_header(map: &MappedFile) -> Result<&[u8]> {
    let text = map.bytes()?;
    let mut lines = text[..text.len().min(LONGEST)].split(|&byte| byte == b'\n');
    let line = lines.by_ref().find(|line| !line.trim_ascii().is_empty());
    match line {
        // The last piece of a part is the beginning of a line that may go on.
        Some(line) if lines.next().is_some() || text.len() <= LONGEST => Ok(line),
        None if text.len() <= LONGEST => Ok(&[]),
        _ => {
            let what = format!("its first {} have no header", bytes(LONGEST as u64));
            Err(Error::format(map.path(), what)
                .at("line 1")
                .fix("begin the file with a line of the names of its columns"))
        }
    }
}
