//! The header of a CSV file: its separator, the names of its columns, and which of them has the text.

use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::system::OpenFile;
use crate::text::{bytes, shown_path};

use super::TEXT;

/// Longest header.
const LONGEST: usize = 1 << 20;

pub(crate) struct CsvShape {
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
    let mut reader = reader(separator, start);
    let mut header = csv::ByteRecord::new();
    let found = reader.read_byte_record(&mut header).unwrap_or(false);
    let whole = reader.position().byte() < LONGEST as u64;
    if !found || !whole {
        let what = match found {
            true => format!("its first {} have no header", bytes(LONGEST as u64)),
            false => "has no header".into(),
        };
        return Err(Error::format(path, what)
            .at("line 1")
            .fix("begin the file with a line of the names of its columns"));
    }
    let names: Vec<String> = header
        .iter()
        .map(|name| String::from_utf8_lossy(name).trim().to_owned())
        .collect();
    let wanted = column.unwrap_or(TEXT);
    let text = names.iter().position(|name| name == wanted);
    Ok(CsvShape {
        text: text.ok_or_else(|| no_text(path, wanted, &names))?,
        separator,
        names,
    })
}

/// A reader of records without a header, of any number of values.
pub(super) fn reader(separator: u8, bytes: &[u8]) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(bytes)
}

/// The error where no column has the text.
pub(super) fn no_text(path: &Path, wanted: &str, names: &[String]) -> Error {
    /// Names that the message lists.
    const LISTED: usize = 30;
    let listed: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|name| format!("{name:?}"))
        .collect();
    Error::new(
        ErrorKind::Table,
        format!("{} has no column {wanted:?}", shown_path(path)),
    )
    .at(format!("its columns are {}", listed.join(", ")))
    .fix("name the column that has the text: Texts::open(path)?.column(\"abstract\")")
}
