//! The text of a table's file.

use std::borrow::Cow;

use crate::error::Result;
use crate::system::{Encoding, MappedFile, TextFile, line_of, not_utf8};

/// What becomes of a column with a whole number that no integer of 64 bits holds, for a card.
pub(super) const WIDE: &str = "whole numbers beyond 2^63 as texts";

/// The text of a file as UTF-8, and what was done to get it.
pub(super) fn text_of(
    map: &MappedFile,
    encoding: Option<Encoding>,
) -> Result<(Cow<'_, str>, Vec<String>)> {
    let bytes = map.bytes()?;
    let path = map.path();
    let mut file = TextFile::open_as(path, encoding)?;
    // A first look, by which compression and byte order marks are known.
    let mut text = Vec::new();
    file.append(1, &mut text)?;
    if file.understood().is_empty()
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        return Ok((text.into(), Vec::new()));
    }
    // Twice: Polars copies texts.
    file.append_all(1, &mut text)?;
    map.file().check_not_replaced()?;
    match String::from_utf8(text) {
        Ok(text) => Ok((text.into(), file.understood())),
        Err(source) => {
            let valid = source.utf8_error().valid_up_to();
            let line = line_of(source.as_bytes(), valid);
            Err(not_utf8(path, valid as u64, line).because(source))
        }
    }
}
