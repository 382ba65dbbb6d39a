//! A walk of the entries of a `.xlsx` file before calamine reads them.
//!
//! calamine allocates as many texts as an attribute states, copies a font into each cell style, and unpacks what there is.
//! Therefore each entry is unpacked here once, and what its tags can take is compared with the free memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use zip::ZipArchive;

use crate::error::{Error, Result};
use crate::system::OpenFile;
use crate::text::{bytes, counted};

use super::sheet_file::{KIND, NOT_XLSX};

/// What an old workbook begins with, and one that is encrypted.
const COMPOUND: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0];
/// The name of the encrypted part, in UTF-16.
const ENCRYPTED: &[u8] = b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0";
/// Most bytes that a byte of a deflated entry expands to: the shortest code, of 2 bits, repeats 258 bytes.
const MAX_INFLATION: u64 = 1032;
/// Bytes of the shortest text, `<si/>`.
const SHORTEST_TEXT: u64 = 5;
/// Upper bounds of the memory that calamine takes for a byte of an entry, for a tag, and for a tag in the styles.
const BYTE: u64 = 4;
const TAG: u64 = 64;
const STYLE_TAG: u64 = 1024;

/// What an entry has.
#[derive(Default)]
struct Weight {
    bytes: u64,
    tags: u64,
    longest_tag: u64,
    /// The largest number of texts that it states.
    texts: u64,
}

/// Fails if the file is no zip archive, an entry has more than it states, or memory does not hold what they take.
pub(super) fn check_entries(file: &OpenFile, data: &[u8]) -> Result<()> {
    let wrong = |what: &str, fix: &str| Err(Error::format(&file.path, what).fix(fix));
    if data.starts_with(COMPOUND) {
        let mut parts = data.windows(ENCRYPTED.len());
        return match parts.any(|part| part == ENCRYPTED) {
            true => wrong(
                "is protected by a password",
                "open it in Excel, remove the password (File, Info, Protect Workbook, Encrypt with Password), and save it again",
            ),
            false => wrong(
                "is an old workbook (.xls) under another name",
                "open it in Excel or LibreOffice, and save it as .xlsx",
            ),
        };
    }
    let unreadable = |what: String| {
        Error::format(&file.path, format!("cannot be read as {KIND}: {what}")).fix(NOT_XLSX)
    };
    let mut archive = ZipArchive::new(Cursor::new(data))
        .map_err(|source| unreadable(source.to_string()).because(source))?;
    let (mut stored, mut needed) = (0u64, 0u64);
    for at in 0..archive.len() {
        let entry = archive.by_index(at);
        let entry = entry.map_err(|source| unreadable(source.to_string()).because(source))?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let (packed, size) = (entry.compressed_size(), entry.size());
        let claim = |what: String| file.claim(what).at(format!("entry {name}"));
        // Entries may overlap.
        stored = stored.saturating_add(packed);
        claim(format!("entries of {}", bytes(stored))).check_held(stored, file.length)?;
        let states = claim(format!("its directory states {}", bytes(size)));
        states.check_held(size, packed.saturating_mul(MAX_INFLATION))?;
        needed = needed.saturating_add(size.saturating_mul(BYTE));
        states.check_memory(needed)?;
        // A byte more shows whether there is more than was stated.
        let weight = Weight::of(entry.take(size + 1))
            .map_err(|source| unreadable(source.to_string()).at(format!("entry {name}")))?;
        if weight.bytes != size {
            let what = format!(
                "an entry does not unpack to the {} that it states",
                bytes(size)
            );
            return Err(unreadable(what).at(format!("entry {name}")));
        }
        claim(counted(weight.texts as usize, "text"))
            .check_held(weight.texts, size / SHORTEST_TEXT)?;
        // A style has a copy of its font and of its number format.
        let tag = match name.to_ascii_lowercase().ends_with("styles.xml") {
            true => STYLE_TAG.saturating_add(weight.longest_tag.saturating_mul(3)),
            false => TAG,
        };
        needed = needed.saturating_add(weight.tags.saturating_mul(tag));
        claim(counted(weight.tags as usize, "tag")).check_memory(needed)?;
    }
    Ok(())
}

impl Weight {
    /// Reads an entry to its end.
    fn of(entry: impl Read) -> io::Result<Self> {
        let mut entry = BufReader::with_capacity(1 << 16, entry);
        let (mut weight, mut tag) = (Self::default(), Vec::new());
        while entry.read_until(b'<', &mut tag)? > 0 {
            weight.bytes += tag.len() as u64;
            weight.tags += 1;
            weight.longest_tag = weight.longest_tag.max(tag.len() as u64);
            weight.texts = weight.texts.max(stated_texts(&tag));
            tag.clear();
        }
        Ok(weight)
    }
}

/// The attribute `uniqueCount` of a tag `sst`, with a prefix or without.
fn stated_texts(tag: &[u8]) -> u64 {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let name = tag.split(ends).next().unwrap_or_default();
    if name.rsplit(|&byte| byte == b':').next() != Some(b"sst") {
        return 0;
    }
    let tag = String::from_utf8_lossy(tag);
    let stated = tag.split("uniqueCount").skip(1).map(|rest| {
        let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit());
        match &digits[..end.unwrap_or(digits.len())] {
            "" => 0,
            digits => digits.parse().unwrap_or(u64::MAX),
        }
    });
    stated.max().unwrap_or_default()
}
