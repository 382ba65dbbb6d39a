//! The header of a CSV file.

use crate::error::{Error, Result};
use crate::system::MappedFile;
use crate::text::{bytes, counted};

/// Longest header.
const LONGEST: usize = 1 << 20;
/// Most memory of a column beside its values, in Polars.
const COLUMN_BYTES: u64 = 512;

/// The first line that is not blank, without its end. Fails where it does not end, because Polars copies it, and where the memory
/// does not hold its columns.
pub(crate) fn csv_header(map: &MappedFile) -> Result<&[u8]> {
    let text = map.bytes()?;
    let mut lines = text[..text.len().min(LONGEST)].split(|&byte| byte == b'\n');
    let line = lines.by_ref().find(|line| !line.trim_ascii().is_empty());
    match line {
        // The last piece of a part is the beginning of a line that may go on.
        Some(line) if lines.next().is_some() || text.len() <= LONGEST => {
            let ends = line
                .iter()
                .filter(|byte| matches!(byte, b',' | b';' | b'\t'));
            let columns = ends.count() + 1;
            let claim = map.file().claim(counted(columns, "column"));
            claim.check_memory(columns as u64 * COLUMN_BYTES)?;
            Ok(line)
        }
        None if text.len() <= LONGEST => Ok(&[]),
        _ => {
            let what = format!("its first {} have no header", bytes(LONGEST as u64));
            Err(Error::format(map.path(), what)
                .at("line 1")
                .fix("begin the file with a line of the names of its columns"))
        }
    }
}
