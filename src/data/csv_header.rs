//! The header of a CSV file.

use crate::error::{Error, Result};
use crate::system::OpenFile;
use crate::text::bytes;

/// Longest header.
const LONGEST: u64 = 1 << 20;

/// The first line that is not blank, without its end. Fails where it does not end: Polars copies it.
pub(crate) fn csv_header(file: &OpenFile) -> Result<Vec<u8>> {
    let mut start = vec![0; file.length.min(LONGEST) as usize];
    file.read_exact_at(0, &mut start)?;
    let mut lines = start.split(|&byte| byte == b'\n');
    let line = lines.by_ref().find(|line| !line.trim_ascii().is_empty());
    match line {
        // The last piece of a part is the beginning of a line that may go on.
        Some(line) if lines.next().is_some() || file.length <= LONGEST => Ok(line.to_vec()),
        None if file.length <= LONGEST => Ok(Vec::new()),
        _ => {
            let what = format!("its first {} have no header", bytes(LONGEST));
            Err(Error::format(&file.path, what)
                .at("line 1")
                .fix("begin the file with a line of the names of its columns"))
        }
    }
}
