//! Changes of `.npy` files.

use testkit::Random;

use super::{extreme_value, text};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The values start at a multiple of this.
const ALIGNMENT: usize = 64;
const DTYPES: [&str; 16] = [
    "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8", ">u4", ">f8", "<f2",
    "|b1", "<c8", "|O",
];

/// Changes a number or the type in the header, or a value, and corrects the header's length.
pub(crate) fn npy(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let (start, rest) = data.strip_prefix(MAGIC)?.split_at_checked(2)?;
    let (length, rest) = rest.split_at_checked(if start[0] == 1 { 2 } else { 4 })?;
    let length = length
        .iter()
        .rev()
        .fold(0, |sum, &byte| 256 * sum + usize::from(byte));
    let (header, values) = rest.split_at_checked(length)?;
    let (mut header, mut values) = (header.to_vec(), values.to_vec());
    match random.below(5) {
        0 | 1 => header = text::number(&header, random)?,
        2 => header = other_dtype(&header, random)?,
        _ => extreme_value(&mut values, random),
    }
    Some(written(&header, &values))
}

/// The header with another type in the place of its own.
fn other_dtype(header: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let header = String::from_utf8(header.to_vec()).ok()?;
    let old = *DTYPES.iter().find(|dtype| header.contains(**dtype))?;
    Some(header.replace(old, random.of::<&str>(&DTYPES)).into_bytes())
}

/// A file of version 1 with this header, padded anew.
fn written(header: &[u8], values: &[u8]) -> Vec<u8> {
    let mut header = header.trim_ascii_end().to_vec();
    let start = MAGIC.len() + 4;
    while !(start + header.len() + 1).is_multiple_of(ALIGNMENT) {
        header.push(b' ');
    }
    header.push(b'\n');
    let length = (header.len() as u16).to_le_bytes();
    [MAGIC, &[1, 0], &length, &header, values].concat()
}
