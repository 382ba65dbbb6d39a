//! The header of a CSV file: its separator, the names of its columns, and which of them has the text.

use std::path::Path;

use crate::data::{CsvRows, check_names};
use crate::error::{Error, ErrorKind, Result};
use crate::system::OpenFile;
use crate::text::{bytes, quoted_list, shown_path};

use super::TEXT;

/// Longest header, in bytes.
const LONGEST: usize = 1 << 20;

pub struct CsvShape {
    pub(super) separator: u8,
    pub(super) names: Vec<String>,
    /// The column that has the text.
    pub(super) text: usize,
}

/// Reads the header of a file.
pub(super) fn of(path: &Path, column: Option<&str>) -> Result<CsvShape> {
    let file = OpenFile::open(path)?;
    let mut start = vec![0; LONGEST.min(file.length as usize)];
    file.read_exact_at(0, &mut start)?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let line = start
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let separator = match extension.to_ascii_lowercase().as_str() {
        "csv" => [b',', b';', b'\t']
            .into_iter()
            .find(|byte| line.contains(byte))
            .unwrap_or(b','),
        _ => b'\t',
    };
    let mut rows = CsvRows::new(separator, start);
    let names: Vec<String> = rows
        .next()
        .map(|row| row.iter().map(|name| name.trim().to_owned()).collect())
        .unwrap_or_default();
    let whole = rows.position() < LONGEST;
    if names.is_empty() || !whole {
        let what = match whole {
            false => format!("its first {} have no header", bytes(LONGEST as u64)),
            true => "has no header".into(),
        };
        return Err(Error::format(path, what)
            .at("line 1")
            .fix("begin the file with a line of the names of its columns"));
    }
    check_names(path, names.iter().map(String::as_str))?;
    let wanted = column.unwrap_or(TEXT);
    let text = names.iter().position(|name| name == wanted);
    Ok(CsvShape {
        text: text.ok_or_else(|| no_text(path, wanted, &names))?,
        separator,
        names,
    })
}

/// The error where no column has the text.
pub(super) fn no_text(path: &Path, wanted: &str, names: &[String]) -> Error {
    Error::new(
        ErrorKind::Table,
        format!("{} has no column {wanted:?}", shown_path(path)),
    )
    .at(format!("its columns are {}", quoted_list(names, 30)))
    .fix("name the column that has the text: Texts::open(path)?.column(\"abstract\")")
}
