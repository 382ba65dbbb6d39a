//! Changes of Parquet files. Their footer and the headers of their pages are Thrift's compact protocol, in which numbers are
//! varints: seven bits a byte, the lowest first, with the high bit set in all but the last byte.

use testkit::Random;

use super::{EXTREMES, extreme};

const MAGIC: &[u8] = b"PAR1";

/// Changes a number of the footer and corrects its length, or changes a number anywhere before it.
pub(crate) fn parquet(data: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let body = data.strip_suffix(MAGIC)?;
    let (body, length) = body.split_last_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (pages, footer) = body.split_at_checked(body.len().checked_sub(length)?)?;
    let (mut pages, mut footer) = (pages.to_vec(), footer.to_vec());
    match random.below(4) {
        0 | 1 => replace_varint(&mut footer, random),
        2 => overwrite_varint(&mut pages, random),
        _ => {
            let at = random.below(pages.len());
            extreme(&mut pages[at..], random);
        }
    }
    let length = (footer.len() as u32).to_le_bytes();
    Some([&pages, &footer, &length[..], MAGIC].concat())
}

/// Puts an extreme number in the place of one that begins at a random byte.
fn replace_varint(data: &mut Vec<u8>, random: &mut Random) {
    let (start, end) = varint_at(data, random);
    let new = varint(*random.of(&EXTREMES));
    data.splice(start..end, new);
}

/// Puts a large number of the same length there, so that nothing moves.
fn overwrite_varint(data: &mut [u8], random: &mut Random) {
    let (start, end) = varint_at(data, random);
    let largest = *random.of(&[0xff, 0xfe, 0x80]);
    for (at, byte) in data[start..end].iter_mut().enumerate() {
        *byte = if start + at + 1 < end {
            largest
        } else {
            largest & 0x7f
        };
    }
}

/// First and one past the last byte of a number.
fn varint_at(data: &[u8], random: &mut Random) -> (usize, usize) {
    let start = random.below(data.len());
    let more = data[start..]
        .iter()
        .take_while(|&&byte| byte & 0x80 != 0)
        .count();
    (start, data.len().min(start + more + 1))
}

pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
